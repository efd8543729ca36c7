//! A router with sessions on a virtual clock: two workers with two interfaces each, and one interface by which all packets leave.

use std::collections::BTreeSet;
use std::time::Duration;

use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_scenarios::ROOMS;
use quiver_session::expiry::{Which, end_session, end_sessions};
use quiver_session::listing::{self, Listed};
use quiver_session::node::lifecycle::Blocks;
use quiver_session::room::Room;
use quiver_session::tcp::FirstWithoutSyn;
use quiver_session::tenant::{EntryMode, TenantTimeout, Tenants};
use quiver_session::{SessionDefaults, SessionInterface, Tenant, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::{V4, V6};

use crate::oracle::{self, Service, TIMEOUTS};
use crate::packets::{Family, Packet, number_of};

/// Workers.
pub const WORKERS: usize = 2;
/// Interfaces that receive; they begin at the worker of their number, modulo [`WORKERS`].
pub const INTERFACES: usize = 4;
/// Sessions there may be.
pub const CAPACITY: usize = 256;

/// The router.
pub struct Router {
    pub daemon: Daemon,
}

impl Router {
    /// A router that looks at sessions in this interval.
    pub fn new(seed: u64, interval: Duration) -> Router {
        let setup =
            Setup { workers: WORKERS, buffers: 2048, statistics: 8 << 20, rehearses: false, seed, ..Setup::default() };
        let mut daemon = Daemon::new(ROOMS, setup).expect("the rooms fit");
        set_session_defaults(daemon.control(), SessionDefaults { sessions: CAPACITY, interval });
        for number in 0..INTERFACES {
            daemon.configure(&format!(
                "create packet-generator interface pg{number} hw-addr 02:00:00:00:00:a0
                 set interface state pg{number} up
                 set interface ip address pg{number} 10.0.{number}.1/24
                 set interface ip address pg{number} 2001:db8:f{number}::1/64
                 set interface rx-placement pg{number} worker {}",
                number % WORKERS,
            ));
        }
        daemon.configure(
            "create packet-generator interface pg9 hw-addr 02:00:00:00:00:a9
             set interface state pg9 up
             set interface ip address pg9 10.0.9.1/24
             set interface ip address pg9 2001:db8:f9::1/64
             ip neighbor pg9 10.0.9.2 02:00:00:00:00:92
             ip neighbor pg9 2001:db8:f9::2 02:00:00:00:00:92
             ip route add 10.1.0.0/16 via 10.0.9.2 pg9
             ip route add 2001:db8:1::/64 via 2001:db8:f9::2 pg9",
        );
        let mut router = Router { daemon };
        router.advance(Duration::from_secs(3));
        router.daemon.sent();
        router
    }

    pub fn control(&self) -> &Control {
        self.daemon.control()
    }

    /// The time in nanoseconds.
    pub fn now(&self) -> u64 {
        self.daemon.time().0
    }

    pub fn settle(&mut self) {
        self.daemon.settle().expect("it settles");
    }

    pub fn advance(&mut self, duration: Duration) {
        self.daemon.advance(duration).expect("it settles");
    }

    /// Packets come to an interface at once; the numbers of those that leave.
    pub fn send(&mut self, interface: usize, packets: &[Packet]) -> BTreeSet<u32> {
        for packet in packets {
            self.daemon.send(&format!("pg{interface}"), &packet.bytes()).expect("it is up");
        }
        self.settle();
        self.left()
    }

    /// The numbers of packets that have left since the last call.
    pub fn left(&mut self) -> BTreeSet<u32> {
        self.daemon.sent().iter().filter_map(|(_, frame)| number_of(frame)).collect()
    }

    /// Creates or changes a tenant.
    pub fn put_tenant(&self, id: u32, tenant: &oracle::Tenant) {
        let name = |service: &Service| match (service, tenant.family) {
            (Service::Check, _) => "sfdp-tcp-check",
            (Service::Lifecycle, _) => "sfdp-l4-lifecycle",
            (Service::Sample, _) => "sample-non-terminal",
            (Service::Drop, _) => "sfdp-drop",
            (Service::Lookup, Family::V4) => "ip4-lookup",
            (Service::Lookup, Family::V6) => "ip6-lookup",
        };
        let [forward, reverse] = [0, 1].map(|direction| {
            let services: &Vec<Service> = &tenant.chains[direction];
            services.iter().map(|service| name(service).to_owned()).collect()
        });
        let timeouts = TIMEOUTS.iter().zip(tenant.timeouts);
        let timeouts = timeouts.map(|(name, seconds)| TenantTimeout { name: (*name).to_owned(), seconds }).collect();
        let entry = if tenant.policy_first { EntryMode::PolicyFirst } else { EntryMode::SessionFirst };
        let (context, source_sessions_max) = (Some(tenant.context), tenant.source_max);
        // The model knows no pressure.
        let (adaptive_start, adaptive_end) = (0, 0);
        let limits = Tenant { source_sessions_max, adaptive_start, adaptive_end, ..Tenant::new(id) };
        let object = Tenant { context, forward, reverse, timeouts, entry, ..limits };
        self.control().put(object).expect("the tenant is valid");
    }

    pub fn delete_tenant(&self, id: u32) {
        self.control().delete::<Tenant>(&id).expect("no interface refers to it");
    }

    /// Packets of a family that an interface receives belong to a tenant.
    pub fn assign(&self, interface: usize, family: Family, tenant: Option<u32>) {
        let name = InterfaceName(format!("pg{interface}"));
        let control = self.control();
        let result = match family {
            Family::V4 => control.assign(&name, tenant.map(|tenant| SessionInterface::<V4>::of(name.clone(), tenant))),
            Family::V6 => control.assign(&name, tenant.map(|tenant| SessionInterface::<V6>::of(name.clone(), tenant))),
        };
        result.expect("there is such a tenant");
    }

    /// Packets of an interface come to another worker.
    pub fn place(&mut self, interface: usize, worker: usize) {
        self.daemon.configure(&format!("set interface rx-placement pg{interface} worker {worker}"));
        self.settle();
    }

    /// Whether sessions whose first packet is no SYN are blocked.
    pub fn set_blocks(&self, blocks: bool) {
        let first = if blocks { FirstWithoutSyn::Security } else { FirstWithoutSyn::Remove };
        self.control().room::<Blocks>().set(first);
    }

    /// Ends a session; time stands still.
    pub fn kill(&mut self, worker: usize, index: u32) {
        let control = self.control().clone();
        self.control().spawn("kill", async move {
            assert!(end_session(control, worker, index).await, "there is a session {worker}/{index}");
        });
        self.settle();
    }

    /// Ends all sessions; time stands still.
    pub fn kill_all(&mut self) {
        self.control().spawn("kill", end_sessions(self.control().clone(), Which::All));
        self.settle();
    }

    pub fn listed(&self) -> Vec<Listed> {
        listing::all(self.control()).flatten().collect()
    }

    /// Sessions of a tenant by state, as workers count them.
    pub fn live(&self, tenant: u32) -> [usize; 3] {
        let tenants = self.control().room::<Tenants>();
        let slot = tenants.slot(tenant).expect("there is such a tenant");
        tenants.counts(slot).live.map(|count| count as usize)
    }

    /// Sessions in the directory.
    pub fn len(&self) -> usize {
        self.control().room::<Room>().sessions().map_or(0, |sessions| sessions.len())
    }

    /// Packets that left the room's nodes for a reason to drop them.
    pub fn dropped(&self, reason: &str) -> u64 {
        let drops = self.daemon.drops().into_iter();
        drops.filter(|((node, why), _)| node.starts_with("sfdp-") && *why == reason).map(|(_, count)| count).sum()
    }
}
