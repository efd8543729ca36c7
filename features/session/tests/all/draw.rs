//! Random steps of the simulation: packets, most of them of known flows, and changes, most of them of what is there.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use quiver_session::record::State;

use crate::oracle::{Key, Oracle, SECOND, Service, Session, Tenant};
use crate::packets::{ACK, End, FIN, Family, Packet, Protocol, RST, SYN, Segment};
use crate::router::{INTERFACES, WORKERS};

/// Tenants at most.
const TENANTS: u32 = 5;

/// A step.
#[derive(Clone, Debug)]
pub enum Action {
    Packets(usize, Vec<Packet>),
    Advance(u64),
    Tenant(u32, Tenant),
    Delete(u32),
    /// Another tenant takes the place of one, also at an interface to which packets come.
    Replace(u32, Tenant, usize, Vec<Packet>),
    Assign(usize, Family, Option<u32>),
    Place(usize, usize),
    Blocks(bool),
    Kill(Key),
    KillAll,
}

/// How things are.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub oracle: &'a Oracle,
    /// Tenants of interfaces by family.
    pub tenants: &'a BTreeMap<(usize, Family), u32>,
}

/// Draws what happens.
pub struct Draw {
    pub random: Rng,
    /// Packets so far.
    pub number: u32,
}

impl Draw {
    fn family(&mut self) -> Family {
        if self.random.bool() { Family::V4 } else { Family::V6 }
    }

    /// Services in front of the end of a chain.
    fn services(&mut self) -> Vec<Service> {
        use Service::{Check, Lifecycle, Sample};
        match self.random.u32(..12) {
            0 => vec![],
            1 => vec![Sample],
            2 | 3 => vec![Check],
            4 => vec![Check, Lifecycle],
            _ => vec![Lifecycle],
        }
    }

    /// Chains with these services, and an end by which packets leave most often.
    fn chains(&mut self, services: [Vec<Service>; 2]) -> [Vec<Service>; 2] {
        services.map(|services| {
            let end = match self.random.u32(..12) {
                0 => None,
                1 => Some(Service::Drop),
                _ => Some(Service::Lookup),
            };
            services.into_iter().chain(end).collect()
        })
    }

    /// Chains with the same services in both directions.
    fn equal_chains(&mut self) -> [Vec<Service>; 2] {
        let services = self.services();
        self.chains([services.clone(), services])
    }

    fn timeouts(&mut self) -> [u32; 5] {
        std::array::from_fn(|_| [0, 1, 2, 5, 10, 30][self.random.usize(..6)])
    }

    /// The tenant with an entry mode, and most often without a limit of sources.
    fn with_limits(&mut self, tenant: Tenant) -> Tenant {
        let source_max = (self.random.u32(..3) == 0).then(|| self.random.u32(1..6));
        Tenant { policy_first: self.random.bool(), source_max, ..tenant }
    }

    /// A context that a tenant of the family has or had, so that keys meet.
    fn context(&mut self) -> u32 {
        self.random.u32(..4)
    }

    fn some_tenant(&mut self, of: Now<'_>) -> Option<u32> {
        let ids: Vec<u32> = of.oracle.tenants.keys().copied().collect();
        self.random.choice(ids)
    }

    /// The next step.
    pub fn action(&mut self, of: Now<'_>) -> Action {
        match self.random.u32(..1000) {
            ..700 => self.packets(of),
            700..860 => Action::Advance([1, 1, 2, 5, 10, 20, 50, 100, 200][self.random.usize(..9)] * SECOND / 10),
            860..900 => self.tenant(of),
            900..910 => match (self.some_tenant(of), self.random.bool()) {
                (None, _) => self.tenant(of),
                (Some(id), false) => Action::Delete(id),
                (Some(id), true) => {
                    let (family, first) = (of.oracle.tenants[&id].family, self.context());
                    // Packets that come at once could find sessions of the former tenant if it had the same context.
                    let former = of.oracle.sessions.iter().filter(|(_, session)| session.tenant == id);
                    let former: BTreeSet<u32> = former.map(|(key, _)| key.context).collect();
                    let context = (first..).find(|context| !former.contains(context)).unwrap_or_default();
                    let (chains, timeouts) = (self.equal_chains(), self.timeouts());
                    let tenant = self.with_limits(Tenant { family, context, chains, timeouts, ..Tenant::default() });
                    let (interface, packet) = (self.random.usize(..INTERFACES), self.packet(family, &[]));
                    let count = if tenant.policy_first { 1 } else { 3 };
                    let packets = (0..count).map(|_| self.again(packet)).collect();
                    Action::Replace(id, tenant, interface, packets)
                }
            },
            910..940 => {
                let (interface, family) = (self.random.usize(..INTERFACES), self.family());
                let ids = of.oracle.tenants.iter().filter(|(_, tenant)| tenant.family == family).map(|(id, _)| *id);
                let mut ids: Vec<Option<u32>> = ids.map(Some).collect();
                if ids.is_empty() || self.random.u32(..6) == 0 {
                    ids.push(None);
                }
                Action::Assign(interface, family, ids[self.random.usize(..ids.len())])
            }
            940..955 => Action::Place(self.random.usize(..INTERFACES), self.random.usize(..WORKERS)),
            955..965 => Action::Blocks(self.random.bool()),
            965..995 => {
                let keys: Vec<Key> = of.oracle.sessions.keys().copied().collect();
                self.random.choice(keys).map_or(Action::KillAll, Action::Kill)
            }
            _ => Action::KillAll,
        }
    }

    /// A new tenant, or another context, chain or timeout of one.
    fn tenant(&mut self, of: Now<'_>) -> Action {
        let id = self.random.u32(..TENANTS);
        let Some(mut tenant) = of.oracle.tenants.get(&id).cloned() else {
            let (family, context) = (self.family(), self.context());
            let (chains, timeouts) = (self.equal_chains(), self.timeouts());
            let tenant = self.with_limits(Tenant { family, context, chains, timeouts, ..Tenant::default() });
            return Action::Tenant(id, tenant);
        };
        match self.random.u32(..7) {
            5 => tenant.policy_first = !tenant.policy_first,
            6 => tenant = self.with_limits(tenant),
            0 => tenant.context = self.context(),
            1 => tenant.chains = self.equal_chains(),
            2 => {
                let services = [self.services(), self.services()];
                tenant.chains = self.chains(services);
            }
            _ => tenant.timeouts[self.random.usize(..5)] = self.timeouts()[0],
        }
        Action::Tenant(id, tenant)
    }

    fn packets(&mut self, of: Now<'_>) -> Action {
        let interface = self.random.usize(..INTERFACES);
        // Most families of most interfaces have a tenant.
        let family = self.family();
        let tenant = of.tenants.get(&(interface, family)).map(|id| &of.oracle.tenants[id]);
        let context = tenant.map(|tenant| tenant.context);
        let known = of.oracle.sessions.iter().filter(|(key, _)| Some(key.context) == context && key.family == family);
        let known: Vec<(Key, Session)> = known.map(|(key, session)| (*key, session.clone())).collect();
        // Packets of one frame pass node by node: where directions have other services, their order is not that of the frame.
        let mut of_context = of.oracle.tenants.values().filter(|tenant| Some(tenant.context) == context);
        let are_equal = of_context.all(|tenant| {
            let [forward, reverse] = [0, 1]
                .map(|at: usize| tenant.chains[at].iter().filter(|s| !matches!(s, Service::Lookup | Service::Drop)));
            forward.eq(reverse)
        });
        // Where policy comes first, a frame's packets of a new session are all judged before it begins.
        let mut of_context = of.oracle.tenants.values().filter(|tenant| Some(tenant.context) == context);
        let are_equal = are_equal && of_context.all(|tenant| !tenant.policy_first);
        let count = if are_equal && self.random.u32(..3) == 0 { self.random.usize(2..6) } else { 1 };
        // Those of one session now and then, so that its first packets come together.
        let one = self.random.bool().then(|| self.packet(family, &known));
        let packets = (0..count).map(|_| match one {
            Some(packet) => self.again(packet),
            None => self.packet(family, &known),
        });
        let packets = packets.collect();
        Action::Packets(interface, packets)
    }

    fn end(&mut self) -> End {
        (self.random.u8(1..4), self.random.u16(1..3))
    }

    /// Another packet between the same ends.
    fn again(&mut self, mut packet: Packet) -> Packet {
        self.number += 1;
        packet.number = self.number;
        if self.random.bool() {
            (packet.source, packet.destination) = (packet.destination, packet.source);
            packet.is_reply = !packet.is_reply;
        }
        packet.segment.flags = self.flags();
        packet
    }

    fn flags(&mut self) -> u8 {
        [SYN, SYN, SYN | ACK, ACK, ACK, FIN | ACK, FIN | ACK, FIN, RST, RST | ACK, SYN | RST, 0]
            [self.random.usize(..12)]
    }

    /// A packet of a known session most often, and one that its state waits for.
    fn packet(&mut self, family: Family, known: &[(Key, Session)]) -> Packet {
        self.number += 1;
        let payload = self.random.u32(4..8);
        let random = self.random.u32(..3);
        let mut packet = Packet {
            number: self.number,
            family,
            protocol: [Protocol::Tcp, Protocol::Tcp, Protocol::Udp, Protocol::Echo][self.random.usize(..4)],
            source: self.end(),
            destination: self.end(),
            segment: Segment { flags: self.flags(), sequence: 0u32.wrapping_sub(2), acknowledgment: random },
            is_reply: false,
            payload,
        };
        if !known.is_empty() && self.random.u32(..4) > 0 {
            let (key, session) = &known[self.random.usize(..known.len())];
            packet.protocol = key.protocol;
            let direction = self.expected(session, &mut packet.segment);
            let other = if session.initiator == key.low { key.high } else { key.low };
            [packet.source, packet.destination] =
                if direction == 0 { [session.initiator, other] } else { [other, session.initiator] };
            packet.is_reply = direction == 1;
        }
        if packet.protocol == Protocol::Echo {
            packet.destination.1 = packet.source.1;
        }
        if packet.source == packet.destination {
            packet.destination.0 = packet.destination.0 % 3 + 1;
        }
        packet
    }

    /// Direction and segment of a packet that takes a connection further, or disturbs it.
    fn expected(&mut self, session: &Session, segment: &mut Segment) -> usize {
        let mut direction = self.random.usize(..2);
        let connection = &session.connection;
        if self.random.u32(..4) > 0 {
            (direction, segment.flags) = match (session.state, connection.syn_back) {
                (_, _) if connection.is_closing => (direction, self.flags()),
                (State::Embryonic, false) => (1, SYN | ACK),
                (State::Embryonic, true) => (0, ACK),
                _ => (direction, [ACK, FIN | ACK][self.random.usize(..2)]),
            };
        }
        segment.sequence = [1000, u32::MAX - 5][direction];
        if let Some(end) = connection.fins[1 - direction] {
            segment.acknowledgment = end.wrapping_sub(1).wrapping_add(self.random.u32(..3));
        }
        direction
    }
}
