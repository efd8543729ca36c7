//! The room on the control side: what is configured, and the rules for workers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Publisher, Snapshot};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::fib::TableId;
use quiver_session::expiry::end_translated;
use quiver_session::key::Format;
use quiver_session::no_space;
use quiver_session::node::lifecycle::LIFECYCLE;
use quiver_session::room::{Room as SessionRoom, secret};
use quiver_session::second::{Ip4End, Second};
use quiver_session::service::{Chain, Services};
use quiver_session::sessions::TICKS;
use quiver_session::tenant::{TenantRow, Tenants};
use quiver_session::timeouts::{EMBRYONIC, ESTABLISHED, TCP_ESTABLISHED, TIMEOUTS_MAX};
use quiver_session::translation;
use quiver_wire::{IpFamily, V4};

use crate::config::{External, NatAddresses, NatInterface, NatInterfaceAddress, NatMapping, NatSettings};
use crate::counters::NatCounters;
use crate::mappings::{Inside, Mappings};
use crate::node::session::{flag, has};
use crate::node::tables::Slots;
use crate::node::{output, service};
use crate::ports::Ports;
use crate::rules::{Local, Mapping, Rules};
use crate::tuple::Tuple;

/// The room.
pub struct Nat {
    settings: NatSettings,
    pub(crate) addresses: BTreeMap<Ipv4Addr, NatAddresses>,
    pub(crate) interface_addresses: BTreeMap<InterfaceName, NatInterfaceAddress>,
    /// Mappings, with the rules that workers have of them: None while an interface has no address.
    mappings: BTreeMap<<NatMapping as Object>::Key, (NatMapping, Option<Mapping>)>,
    pub(crate) rules: Publisher<Rules>,
    /// Ports of workers, once an interface translates.
    pub(crate) ports: Arc<OnceLock<Ports>>,
    pub(crate) slots: Slots,
    icmp_timeout: u8,
    /// Format of the sessions' keys.
    pub(crate) format: Format,
    pub(crate) counters: NatCounters,
}

impl Nat {
    pub(crate) fn new(
        domain: &Domain,
        slots: Slots,
        (format, icmp_timeout): (Format, u8),
        counters: NatCounters,
    ) -> Nat {
        let settings = NatSettings::standard();
        let rules = Rules::of_limits(settings.sessions, rest_of(&settings));
        let (addresses, interface_addresses, mappings, ports) = Default::default();
        let rules = Publisher::new(domain, rules);
        Nat { settings, addresses, interface_addresses, mappings, rules, ports, slots, icmp_timeout, format, counters }
    }
    /// Rules for workers.
    pub fn rules(&self) -> Snapshot<Rules> {
        self.rules.snapshot()
    }
    /// The rules as they were published last.
    pub fn current(&self) -> &Rules {
        self.rules.current()
    }
    /// Settings.
    pub fn settings(&self) -> &NatSettings {
        &self.settings
    }
}

/// Deletes the configuration of NAT44.
pub(crate) fn clear(control: &Control) -> Result<(), ObjectError> {
    fn delete_all<O: Object>(control: &Control) -> Result<(), ObjectError> {
        control.walk::<O>().try_for_each(|object| control.delete::<O>(&object.key()))
    }
    delete_all::<NatInterface>(control)?;
    delete_all::<NatMapping>(control)?;
    delete_all::<NatAddresses>(control)?;
    delete_all::<NatInterfaceAddress>(control)?;
    delete_all::<NatSettings>(control)
}

/// The chains of a tenant of this room, whose packets of a direction that leave where they are translated end there.
fn chains(control: &Control, ends: [&str; 2]) -> [Chain; 2] {
    let services = control.room::<Services>();
    let number = |name: &str| services.number(name).unwrap_or(quiver_session::service::DROP);
    ends.map(|end| services.chain(&[number(LIFECYCLE), number(service::NAME), number(end)], false))
}

/// The end of chains of packets that are translated where they come in.
pub(crate) const LOOKUP: &str = "ip4-lookup";

/// The tenants of sessions: those translated where they come in; those translated where they leave, from the inside and from the outside.
pub(crate) fn tenants(control: &Control, icmp_timeout: u8) -> Option<Slots> {
    let timeouts = timeouts(&NatSettings::standard(), icmp_timeout);
    let slot = |ends| {
        let chains = chains(control, ends);
        let closing = Some(NatSettings::standard().tcp_transitory_timeout);
        let row = TenantRow { is_there: true, id: u32::MAX, chains, timeouts, closing, ..TenantRow::default() };
        control.room_mut::<Tenants>().add_own(row)
    };
    Some(Slots {
        input: slot([LOOKUP, LOOKUP])?,
        output: slot([output::END, LOOKUP])?,
        inbound: slot([LOOKUP, output::END])?,
    })
}

/// Number of the timeout of ICMP sessions: the last one, which only tenants of this room have. VPP's clients expect that the others' are five.
pub(crate) const ICMP_TIMEOUT: u8 = TIMEOUTS_MAX as u8 - 1;

/// Timeouts of sessions, by number.
fn timeouts(settings: &NatSettings, icmp_timeout: u8) -> [u32; TIMEOUTS_MAX] {
    let mut values = [settings.tcp_transitory_timeout; TIMEOUTS_MAX];
    for (number, seconds) in [
        (EMBRYONIC, settings.tcp_transitory_timeout),
        (ESTABLISHED, settings.udp_timeout),
        (TCP_ESTABLISHED, settings.tcp_established_timeout),
        (icmp_timeout, settings.icmp_timeout),
    ] {
        values.get_mut(usize::from(number)).into_iter().for_each(|value| *value = seconds);
    }
    values
}

/// Ticks for which ports of mappings rest.
fn rest_of(settings: &NatSettings) -> u32 {
    settings.port_rest.saturating_mul(TICKS)
}

/// Makes the tables of sessions and the ports, unless they are there.
///
/// # Errors
/// If the system refuses the address space of the tables.
pub(crate) fn start(control: &Control) -> Result<(), ObjectError> {
    let ports = control.room::<Nat>().ports.clone();
    let of_ended = ports.clone();
    translation::enable(control, move |worker, key, second| {
        let Some(ports) = of_ended.get() else { return };
        let Some(mut own) = ports.of(worker) else { return };
        own.sessions = own.sessions.saturating_sub(1);
        let protocol = second.key.protocol;
        if has(second, flag::MAPPED) {
            let end = Tuple::from_inside(key, has(second, flag::INSIDE_HIGH)).source;
            ports.mappings.release(&Inside { end, context: key.context(), protocol });
        }
        if has(second, flag::CONTACT) {
            ports.mappings.release_contact((second.key.near, protocol), second.key.far.address);
        }
        if has(second, flag::OWNS_PORT) {
            own.set(second.key.near.address, protocol).free(second.key.near.port);
        }
        if has(second, flag::OWNS_FAR_PORT) {
            let far = Tuple::from_inside(key, has(second, flag::INSIDE_HIGH)).destination;
            own.set(far.address, protocol).free(far.port);
        }
    })
    .map_err(no_space)?;
    let sessions = control.room::<SessionRoom>().sessions();
    if let Some(sessions) = sessions.filter(|_| ports.get().is_none()) {
        let mappings = Mappings::new(sessions.workers(), sessions.capacity(), secret()).map_err(no_space)?;
        ports.get_or_init(|| Ports::new(sessions.workers(), mappings));
    }
    Ok(())
}

/// Notes the MTU of an interface of either side. The least one spares workers a second look at shorter packets.
pub(crate) fn note_mtu(control: &Control, id: InterfaceId) {
    let mtu = control.room::<Interfaces>().get(id).map(|interface| u32::from(interface.mtu_of(V4::VERSION)));
    let mut nat = control.room_mut::<Nat>();
    if let Some(mtu) = mtu.filter(|mtu| *mtu < nat.current().mtu_least) {
        nat.rules.edit(|rules| rules.mtu_least = mtu);
    }
}

/// The first IPv4 address of an interface.
pub(crate) fn address_of(control: &Control, interface: &InterfaceName) -> Option<Ipv4Addr> {
    let id = control.room::<Interfaces>().id_of(&interface.0).ok()?;
    control.room::<Ip<V4>>().addresses(id).first().map(|address| address.address())
}

/// The slot of a table.
pub(crate) fn slot_of(control: &Control, id: TableId) -> Option<u32> {
    let ip = control.room::<Ip<V4>>();
    let found = ip.current().tables.iter().position(|table| table.as_ref().is_some_and(|table| table.id == id));
    found.map(|slot| slot as u32)
}

/// The rule of a mapping; None while its interface has no address.
fn rule(control: &Control, mapping: &NatMapping) -> Option<Mapping> {
    let address = match &mapping.external {
        External::Address(address) => *address,
        External::Interface(interface) => address_of(control, interface)?,
    };
    let outside = Ip4End { address: address.to_bits(), port: mapping.external_port };
    let local = |address: Ipv4Addr, port, table: TableId, weight| {
        let end = Ip4End { address: address.to_bits(), port };
        Some(Local { end, table: slot_of(control, table)?, weight })
    };
    let locals: Option<Vec<_>> = if mapping.is_balancing() {
        let backends = mapping.backends.iter();
        backends.map(|backend| local(backend.address, backend.port, backend.table.into(), backend.weight)).collect()
    } else {
        let port = mapping.local_port.unwrap_or(mapping.external_port);
        local(mapping.local.unwrap_or(address), port, mapping.table.into(), 1).map(|local| vec![local])
    };
    Some(Mapping {
        outside,
        protocol: mapping.protocol.number(),
        locals: locals?.into(),
        twice: mapping.twice_nat,
        is_inbound_only: mapping.inbound_only,
        is_sticky: mapping.affinity.is_some(),
    })
}

/// Gives workers the mappings of interfaces anew.
pub(crate) fn publish_mappings_of_interfaces(control: &Control) {
    let of_interfaces: Vec<_> = {
        let nat = control.room::<Nat>();
        let mappings = nat.mappings.values().map(|(mapping, _)| mapping);
        mappings.filter(|mapping| matches!(mapping.external, External::Interface(_))).cloned().collect()
    };
    of_interfaces.into_iter().for_each(|mapping| drop(set_mapping(control, &mapping.key(), Some(mapping.clone()))));
}

/// Sets a mapping or takes it away; returns the rule that workers had of it.
fn set_mapping(control: &Control, key: &<NatMapping as Object>::Key, mapping: Option<NatMapping>) -> Option<Mapping> {
    let new = mapping.as_ref().and_then(|mapping| rule(control, mapping));
    let mut nat = control.room_mut::<Nat>();
    let old = nat.mappings.remove(key).and_then(|(_, old)| old);
    nat.rules.edit(|rules| {
        old.iter().for_each(|old| rules.remove(old));
        new.iter().for_each(|new| rules.add(new.clone()));
    });
    mapping.into_iter().for_each(|mapping| drop(nat.mappings.insert(key.clone(), (mapping, new.clone()))));
    old
}

pub(crate) fn apply_settings(control: &Control, change: Change<'_, NatSettings>) -> Result<(), ObjectError> {
    let (_, new) = change.sides();
    let settings = new.cloned().unwrap_or_else(NatSettings::standard);
    let (slots, timeouts) = {
        let mut nat = control.room_mut::<Nat>();
        let (forwards, most, rest) = (settings.forwarding, settings.sessions, rest_of(&settings));
        nat.rules.edit(|rules| (rules.forwards, rules.sessions_max, rules.rest) = (forwards, most, rest));
        nat.settings = settings.clone();
        (nat.slots, timeouts(&settings, nat.icmp_timeout))
    };
    for slot in [slots.input, slots.output, slots.inbound] {
        // RFC 7857, 2.1 and 2.2: a closed or reset connection keeps its mapping for the transitory timeout.
        let closing = Some(settings.tcp_transitory_timeout);
        let row = TenantRow { timeouts, closing, ..control.room::<Tenants>().row(slot) };
        control.room_mut::<Tenants>().set_own(slot, row);
    }
    Ok(())
}

/// Ends sessions of which a rule is gone, once workers do not have it any more.
pub(crate) fn end_sessions(control: &Control, is: impl Fn(&Second) -> bool + Clone + Send + 'static) {
    if control.room::<Nat>().ports.get().is_none() {
        return;
    }
    let later = control.clone();
    control.spawn("sessions of a NAT rule", async move {
        let settled = later.room::<Dataplane>().settled();
        settled.await;
        end_translated(later, move |_, second| is(second)).await;
    });
}

pub(crate) fn apply_mapping(control: &Control, change: Change<'_, NatMapping>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let Some(key) = new.or(old).map(Object::key) else { return Ok(()) };
    let ended = set_mapping(control, &key, new.cloned());
    if let Some(ended) = ended {
        end_sessions(control, move |second| {
            let near = second.key.near;
            let is_of = if ended.is_of_address() {
                near.address == ended.outside.address
            } else {
                (near, second.key.protocol) == (ended.outside, ended.protocol)
            };
            has(second, flag::STATIC) && is_of
        });
    }
    Ok(())
}
