//! Messages about static mappings.

use std::net::Ipv4Addr;

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::{Control, Object};
use quiver_interface::api::name;

use super::rules::{index, table};
use super::types::ConfigFlags;
use crate::config::{Backend, External, MappedProtocol, NatMapping};
use crate::rules::TwiceNat;

pub(super) fn register(file: &mut Adding<'_>) {
    file.request(static_mapping);
    file.request(|control, request: Nat44AddDelStaticMappingV2| {
        if request.match_pool {
            return Err(Refusal::unimplemented("match_pool: clients get any address with twice NAT"));
        }
        static_mapping(control, request.into())
    });
    file.dump(static_mappings);
    file.request(identity_mapping);
    file.dump(identity_mappings);
    file.request(balancing);
    file.request(backend);
    file.dump(balancers);
}

/// Adds a static mapping, or deletes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44AddDelStaticMapping {
    is_add: bool,
    flags: ConfigFlags,
    local_ip_address: Ipv4Addr,
    external_ip_address: Ipv4Addr,
    protocol: u8,
    local_port: u16,
    external_port: u16,
    external_sw_if_index: InterfaceIndex,
    vrf_id: u32,
    tag: Text<64>,
}

/// Adds a static mapping, or deletes it. `match_pool` must be false.
#[derive(Message, Clone, Debug)]
#[message(request, name = "nat44_add_del_static_mapping_v2")]
struct Nat44AddDelStaticMappingV2 {
    is_add: bool,
    match_pool: bool,
    flags: ConfigFlags,
    pool_ip_address: Ipv4Addr,
    local_ip_address: Ipv4Addr,
    external_ip_address: Ipv4Addr,
    protocol: u8,
    local_port: u16,
    external_port: u16,
    external_sw_if_index: InterfaceIndex,
    vrf_id: u32,
    tag: Text<64>,
}

impl From<Nat44AddDelStaticMappingV2> for Nat44AddDelStaticMapping {
    fn from(request: Nat44AddDelStaticMappingV2) -> Nat44AddDelStaticMapping {
        Nat44AddDelStaticMapping {
            is_add: request.is_add,
            flags: request.flags,
            local_ip_address: request.local_ip_address,
            external_ip_address: request.external_ip_address,
            protocol: request.protocol,
            local_port: request.local_port,
            external_port: request.external_port,
            external_sw_if_index: request.external_sw_if_index,
            vrf_id: request.vrf_id,
            tag: request.tag,
        }
    }
}

/// Dumps the static mappings.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44StaticMappingDetails)]
struct Nat44StaticMappingDump {}

/// Describes a static mapping.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44StaticMappingDetails {
    flags: ConfigFlags,
    local_ip_address: Ipv4Addr,
    external_ip_address: Ipv4Addr,
    protocol: u8,
    local_port: u16,
    external_port: u16,
    external_sw_if_index: InterfaceIndex,
    vrf_id: u32,
    tag: Text<64>,
}

/// Leaves an address, or a port of it, as it is, or no longer.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44AddDelIdentityMapping {
    is_add: bool,
    flags: ConfigFlags,
    ip_address: Ipv4Addr,
    protocol: u8,
    port: u16,
    sw_if_index: InterfaceIndex,
    vrf_id: u32,
    tag: Text<64>,
}

/// Dumps the addresses and ports that are left as they are.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44IdentityMappingDetails)]
struct Nat44IdentityMappingDump {}

/// Describes an address, or a port of it, that is left as it is.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44IdentityMappingDetails {
    flags: ConfigFlags,
    ip_address: Ipv4Addr,
    protocol: u8,
    port: u16,
    sw_if_index: InterfaceIndex,
    vrf_id: u32,
    tag: Text<64>,
}

/// A host over which sessions are spread: its share is the probability.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[wire(name = "nat44_lb_addr_port")]
struct Nat44LbAddrPort {
    addr: Ipv4Addr,
    port: u16,
    probability: u8,
    vrf_id: u32,
}

/// Adds a static mapping that spreads sessions over hosts, or deletes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44AddDelLbStaticMapping {
    is_add: bool,
    flags: ConfigFlags,
    external_addr: Ipv4Addr,
    external_port: u16,
    protocol: u8,
    affinity: u32,
    tag: Text<64>,
    #[count(u32, "local_num")]
    locals: Vec<Nat44LbAddrPort>,
}

/// Adds a host to a mapping that spreads sessions, or deletes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct Nat44LbStaticMappingAddDelLocal {
    is_add: bool,
    external_addr: Ipv4Addr,
    external_port: u16,
    protocol: u8,
    local: Nat44LbAddrPort,
}

/// Dumps the mappings that spread sessions.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44LbStaticMappingDetails)]
struct Nat44LbStaticMappingDump {}

/// Describes a mapping that spreads sessions.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44LbStaticMappingDetails {
    external_addr: Ipv4Addr,
    external_port: u16,
    protocol: u8,
    flags: ConfigFlags,
    affinity: u32,
    tag: Text<64>,
    #[count(u32, "local_num")]
    locals: Vec<Nat44LbAddrPort>,
}

/// The outside address of a message.
fn external(control: &Control, address: Ipv4Addr, interface: InterfaceIndex) -> Result<External, Refusal> {
    match interface.0 {
        NONE => Ok(External::Address(address)),
        _ => Ok(External::Interface(name(control, interface)?)),
    }
}

fn protocol(number: u8) -> Result<MappedProtocol, Refusal> {
    let unknown = || Refusal::new(Retval::INVALID_VALUE, format!("protocol: {number} is neither TCP nor UDP nor ICMP"));
    MappedProtocol::of(number).filter(|protocol| *protocol != MappedProtocol::Any).ok_or_else(unknown)
}

fn twice(flags: ConfigFlags) -> TwiceNat {
    match (flags.has(ConfigFlags::TWICE_NAT), flags.has(ConfigFlags::SELF_TWICE_NAT)) {
        (_, true) => TwiceNat::Own,
        (true, _) => TwiceNat::On,
        _ => TwiceNat::Off,
    }
}

fn tag(text: &Text<64>) -> Option<String> {
    Some(text.0.clone()).filter(|text| !text.is_empty())
}

/// Adds or deletes a mapping.
fn change(control: &Control, is_add: bool, mapping: NatMapping) -> Result<(), Refusal> {
    if is_add {
        return Ok(control.put(mapping)?);
    }
    if control.objects().get::<NatMapping>(&mapping.key()).is_none() {
        return Err(Refusal::new(Retval::NO_SUCH_ENTRY, "there is no such mapping"));
    }
    Ok(control.delete::<NatMapping>(&mapping.key())?)
}

fn static_mapping(control: &Control, request: Nat44AddDelStaticMapping) -> Result<(), Refusal> {
    let external = external(control, request.external_ip_address, request.external_sw_if_index)?;
    let is_of_address = request.flags.has(ConfigFlags::ADDR_ONLY);
    let (protocol, port) = match is_of_address {
        true => (MappedProtocol::Any, 0),
        false => (protocol(request.protocol)?, request.external_port),
    };
    let mapping = NatMapping {
        local: Some(request.local_ip_address),
        local_port: (!is_of_address).then_some(request.local_port),
        table: table(control, if request.vrf_id == NONE { 0 } else { request.vrf_id })?,
        twice_nat: twice(request.flags),
        inbound_only: request.flags.has(ConfigFlags::OUT2IN_ONLY),
        tag: tag(&request.tag),
        ..NatMapping::new(external, protocol, port)
    };
    change(control, request.is_add, mapping)
}

fn identity_mapping(control: &Control, request: Nat44AddDelIdentityMapping) -> Result<(), Refusal> {
    let external = external(control, request.ip_address, request.sw_if_index)?;
    let (protocol, port) = match request.flags.has(ConfigFlags::ADDR_ONLY) {
        true => (MappedProtocol::Any, 0),
        false => (protocol(request.protocol)?, request.port),
    };
    let table = table(control, if request.vrf_id == NONE { 0 } else { request.vrf_id })?;
    let mapping = NatMapping { table, tag: tag(&request.tag), ..NatMapping::new(external, protocol, port) };
    change(control, request.is_add, mapping)
}

/// Flags of a mapping.
fn flags(mapping: &NatMapping) -> ConfigFlags {
    let of = |is: bool, flag: ConfigFlags| if is { flag.0 } else { 0 };
    ConfigFlags(
        of(mapping.protocol == MappedProtocol::Any, ConfigFlags::ADDR_ONLY)
            | of(mapping.twice_nat == TwiceNat::On, ConfigFlags::TWICE_NAT)
            | of(mapping.twice_nat == TwiceNat::Own, ConfigFlags::SELF_TWICE_NAT)
            | of(mapping.inbound_only, ConfigFlags::OUT2IN_ONLY),
    )
}

/// Outside address and interface of a mapping, of which one is given.
fn ends(control: &Control, mapping: &NatMapping) -> Option<(Ipv4Addr, InterfaceIndex)> {
    match &mapping.external {
        External::Address(address) => Some((*address, InterfaceIndex(NONE))),
        External::Interface(interface) => Some((Ipv4Addr::UNSPECIFIED, index(control, interface)?)),
    }
}

fn tag_of(mapping: &NatMapping) -> Text<64> {
    mapping.tag.clone().unwrap_or_default().into()
}

fn static_mappings(
    control: &Control,
    _: Nat44StaticMappingDump,
) -> impl Iterator<Item = Option<Nat44StaticMappingDetails>> + use<> {
    let all = control.walk::<NatMapping>();
    let control = control.clone();
    all.map(move |mapping| {
        let (external_ip_address, external_sw_if_index) = ends(&control, &mapping)?;
        Some(Nat44StaticMappingDetails {
            flags: flags(&mapping),
            local_ip_address: mapping.local?,
            external_ip_address,
            protocol: mapping.protocol.number(),
            local_port: mapping.local_port.unwrap_or(mapping.external_port),
            external_port: mapping.external_port,
            external_sw_if_index,
            vrf_id: mapping.table.0,
            tag: tag_of(&mapping),
        })
    })
}

fn identity_mappings(
    control: &Control,
    _: Nat44IdentityMappingDump,
) -> impl Iterator<Item = Option<Nat44IdentityMappingDetails>> + use<> {
    let all = control.walk::<NatMapping>();
    let control = control.clone();
    all.map(move |mapping| {
        let (ip_address, sw_if_index) = ends(&control, &mapping).filter(|_| mapping.is_identity())?;
        Some(Nat44IdentityMappingDetails {
            flags: flags(&mapping),
            ip_address,
            protocol: mapping.protocol.number(),
            port: mapping.external_port,
            sw_if_index,
            vrf_id: mapping.table.0,
            tag: tag_of(&mapping),
        })
    })
}

fn backend_of(control: &Control, local: &Nat44LbAddrPort) -> Result<Backend, Refusal> {
    let table = table(control, local.vrf_id)?;
    Ok(Backend { address: local.addr, port: local.port, weight: local.probability, table })
}

fn balancing(control: &Control, request: Nat44AddDelLbStaticMapping) -> Result<(), Refusal> {
    let backends: Result<Vec<_>, _> = request.locals.iter().map(|local| backend_of(control, local)).collect();
    let external = External::Address(request.external_addr);
    let mapping = NatMapping {
        backends: backends?,
        affinity: Some(request.affinity).filter(|seconds| *seconds > 0),
        twice_nat: twice(request.flags),
        inbound_only: request.flags.has(ConfigFlags::OUT2IN_ONLY),
        tag: tag(&request.tag),
        ..NatMapping::new(external, protocol(request.protocol)?, request.external_port)
    };
    if request.is_add && mapping.backends.is_empty() {
        return Err(Refusal::new(Retval::INVALID_VALUE, "locals: there are none"));
    }
    change(control, request.is_add, mapping)
}

fn backend(control: &Control, request: Nat44LbStaticMappingAddDelLocal) -> Result<(), Refusal> {
    let key = (External::Address(request.external_addr), protocol(request.protocol)?, request.external_port);
    let known = control.objects().get::<NatMapping>(&key).filter(|mapping| mapping.is_balancing());
    let unknown = || Refusal::new(Retval::NO_SUCH_ENTRY, "there is no such mapping that spreads sessions");
    let mut mapping = NatMapping::clone(&*known.ok_or_else(unknown)?);
    let wanted = backend_of(control, &request.local)?;
    let number = mapping.backends.len();
    mapping
        .backends
        .retain(|known| (known.address, known.port, known.table) != (wanted.address, wanted.port, wanted.table));
    match request.is_add {
        true => mapping.backends.push(wanted),
        false if mapping.backends.len() == number => {
            return Err(Refusal::new(Retval::NO_SUCH_ENTRY, "local: the mapping does not have it"));
        }
        false => {}
    }
    if mapping.backends.is_empty() { Ok(control.delete::<NatMapping>(&key)?) } else { Ok(control.put(mapping)?) }
}

fn balancers(
    control: &Control,
    _: Nat44LbStaticMappingDump,
) -> impl Iterator<Item = Option<Nat44LbStaticMappingDetails>> + use<> {
    let all = control.walk::<NatMapping>();
    let control = control.clone();
    all.map(move |mapping| {
        let (external_addr, _) = ends(&control, &mapping).filter(|_| mapping.is_balancing())?;
        let local = |backend: &Backend| Nat44LbAddrPort {
            addr: backend.address,
            port: backend.port,
            probability: backend.weight,
            vrf_id: backend.table.0,
        };
        Some(Nat44LbStaticMappingDetails {
            external_addr,
            external_port: mapping.external_port,
            protocol: mapping.protocol.number(),
            flags: flags(&mapping),
            affinity: mapping.affinity.unwrap_or_default(),
            tag: tag_of(&mapping),
            locals: mapping.backends.iter().map(local).collect(),
        })
    })
}

#[cfg(test)]
mod tests;
