//! VPP's messages about routes of groups: `mfib_types.api`, and those of `ip.api`.
//!
//! - `sweep`: what clients do with all routes of a table.

use std::collections::BTreeSet;

use quiver_compat::types::{AddressFamily, AddressUnion, FibPath, FibPathNh, FibPathNhProto, FibPathType};
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire, flags};
use quiver_control::{Control, one_by_one};
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, Interfaces, walk};
use quiver_ip::Ip;
use quiver_ip::api::{IpTable, by_family};
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_wire::{Prefix, V4, V6};

use crate::change;
use crate::family::Multicast;
use crate::objects::{MulticastPath, MulticastRoute, PathFlag, RouteFlag};
use crate::show::standing;
use crate::signal::{self, Signal};
use crate::table::{Mfib, has_groups, key};
use crate::view::{Entry, port};

pub(crate) fn register(control: &Control) {
    sweep::register::<V4>(control);
    sweep::register::<V6>(control);
    quiver_compat::add(control, "mfib_types", (1, 0, 0), |file| file.define_type::<MfibPath>());
    let (name, version) = quiver_ip::api::FILE;
    quiver_compat::add(control, name, version, |file| {
        file.request(|control, IpMrouteAddDel { is_add, route, .. }| {
            let is_ip6 = route.prefix.af == AddressFamily::Ip6;
            by_family!(is_ip6, change(control, is_add, &route)).map(|stats_index| IpMrouteAddDelReply { stats_index })
        });
        file.dump(|control, IpMrouteDump { table }| by_family!(table.is_ip6, routes(control, TableId(table.table_id))));
        file.dump(|control, _: MfibSignalDump| {
            let signals = signal::read(control);
            signals.into_iter().map(|(route, interface, packet)| told(&route, interface, &packet)).collect::<Vec<_>>()
        });
    });
}

flags! {
    /// Flags of a multicast route.
    struct MfibEntryFlags(u32) as "mfib_entry_flags" Enum {
        /// No flag.
        NONE = 0 => "MFIB_API_ENTRY_FLAG_NONE",
        /// Packets are signaled to clients.
        SIGNAL = 1 => "MFIB_API_ENTRY_FLAG_SIGNAL",
        /// Packets are dropped.
        DROP = 2 => "MFIB_API_ENTRY_FLAG_DROP",
        /// Packets of senders on the link are signaled to clients.
        CONNECTED = 4 => "MFIB_API_ENTRY_FLAG_CONNECTED",
        /// Packets are accepted from every interface.
        ACCEPT_ALL_ITF = 8 => "MFIB_API_ENTRY_FLAG_ACCEPT_ALL_ITF",
    }
}

flags! {
    /// Flags of an interface of a multicast route.
    struct MfibItfFlags(u32) as "mfib_itf_flags" Enum {
        /// No flag.
        NONE = 0 => "MFIB_API_ITF_FLAG_NONE",
        /// The route's signal flag is inverted.
        NEGATE_SIGNAL = 1 => "MFIB_API_ITF_FLAG_NEGATE_SIGNAL",
        /// Packets are accepted from the interface.
        ACCEPT = 2 => "MFIB_API_ITF_FLAG_ACCEPT",
        /// Packets are forwarded to the interface.
        FORWARD = 4 => "MFIB_API_ITF_FLAG_FORWARD",
        /// A signal waits to be read.
        SIGNAL_PRESENT = 8 => "MFIB_API_ITF_FLAG_SIGNAL_PRESENT",
        /// Signals do not include the packet.
        DONT_PRESERVE = 16 => "MFIB_API_ITF_FLAG_DONT_PRESERVE",
    }
}

/// Groups, and the sender.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
#[wire(name = "mprefix")]
struct Mprefix {
    af: AddressFamily,
    grp_address_length: u16,
    grp_address: AddressUnion,
    src_address: AddressUnion,
}

/// A path of a route, and what holds there.
#[derive(Wire, Clone, Debug, Default)]
#[wire(name = "mfib_path")]
struct MfibPath {
    itf_flags: MfibItfFlags,
    path: FibPath,
}

/// A route.
#[derive(Wire, Clone, Debug, Default)]
#[wire(name = "ip_mroute")]
struct IpMroute {
    table_id: u32,
    entry_flags: MfibEntryFlags,
    rpf_id: u32,
    prefix: Mprefix,
    #[count(u8, "n_paths")]
    paths: Vec<MfibPath>,
}

/// Adds or deletes paths of a multicast route; without paths, changes the flags of the route.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpMrouteAddDelReply)]
struct IpMrouteAddDel {
    is_add: bool,
    is_multipath: bool,
    route: IpMroute,
}

/// Index of the route's counter in `/net/mroute`.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct IpMrouteAddDelReply {
    stats_index: u32,
}

/// Dumps the multicast routes of a table.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpMrouteDetails)]
struct IpMrouteDump {
    table: IpTable,
}

/// Describes one multicast route: its source, group, flags and paths.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct IpMrouteDetails {
    route: IpMroute,
}

/// Dumps, once each, packets that matched multicast routes with a signal flag.
#[derive(Message, Clone, Debug)]
#[message(dump, details = MfibSignalDetails)]
struct MfibSignalDump;

/// Describes one signaled packet: its interface, table, route and first bytes.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct MfibSignalDetails {
    sw_if_index: InterfaceIndex,
    table_id: u32,
    prefix: Mprefix,
    ip_packet_len: u16,
    ip_packet_data: [u8; Signal::PACKET_MAX],
}

fn family<F: Multicast>() -> AddressFamily {
    if F::VERSION == 4 { AddressFamily::Ip4 } else { AddressFamily::Ip6 }
}

fn proto<F: Multicast>() -> FibPathNhProto {
    if F::VERSION == 4 { FibPathNhProto::Ip4 } else { FibPathNhProto::Ip6 }
}

/// The route that a client means, without its paths.
fn meant<F: Multicast>(route: &IpMroute) -> Result<MulticastRoute<F>, Refusal> {
    let Mprefix { grp_address_length, grp_address, src_address, .. } = route.prefix;
    let address = |union: AddressUnion| F::from_ip(union.get(family::<F>())).unwrap_or(F::UNSPECIFIED);
    let (group, source) = (address(grp_address), address(src_address));
    // Of one sender there is one group, whatever length is given.
    let length = match source == F::UNSPECIFIED {
        true => u8::try_from(grp_address_length).unwrap_or(u8::MAX).min(F::ADDRESS_BITS),
        false => F::ADDRESS_BITS,
    };
    let wrong = |error| Refusal::new(Retval::INVALID_VALUE, format!("route.prefix: {error}"));
    let group = Prefix::new(group, length).map_err(wrong)?;
    let mut meant = MulticastRoute::new(TableNumber::new(route.table_id), group, source);
    let flags = RouteFlag::ALL.into_iter().filter(|flag| route.entry_flags.0 & u32::from(flag.bit()) != 0);
    meant.flags = flags.collect();
    Ok(meant)
}

fn path<F: Multicast>(control: &Control, said: &MfibPath) -> Result<MulticastPath<F>, Refusal> {
    let cannot = |what: &str| Err(Refusal::unimplemented(format!("route.paths: {what}")));
    let bits = said.itf_flags.0;
    let flags = PathFlag::ALL.into_iter().filter(|flag| bits & u32::from(flag.bit()) != 0).collect();
    let mut path = MulticastPath { interface: None, via: None, local: false, flags };
    match said.path.r#type {
        FibPathType::Normal if said.path.sw_if_index != NONE => {}
        FibPathType::Normal => return cannot("a path has an interface, or is local"),
        FibPathType::Local => {
            path.local = true;
            return Ok(path);
        }
        other => return cannot(&format!("type {other:?} is not there")),
    }
    if said.path.n_labels > 0 {
        return cannot("there is no MPLS");
    }
    path.interface = Some(name(control, InterfaceIndex(said.path.sw_if_index))?);
    // Clients that give no next hop may say that it is of the other family.
    let next_hop = F::from_ip(said.path.nh.address.get(family::<F>()));
    path.via = next_hop.filter(|via| *via != F::UNSPECIFIED && said.path.proto == proto::<F>());
    Ok(path)
}

/// Adds a route's paths or deletes them; where it is counted from now on.
fn change<F: Multicast>(control: &Control, is_add: bool, said: &IpMroute) -> Result<u32, Refusal> {
    let table = TableId(said.table_id);
    if control.room::<Ip<F>>().fib.table(table).is_none() || (is_add && !has_groups::<F>(control, table)) {
        return Err(Refusal::new(Retval::NO_SUCH_FIB, format!("route.table_id: there is no table {table} of groups")));
    }
    if said.rpf_id != 0 && said.rpf_id != NONE {
        return Err(Refusal::unimplemented("route.rpf_id: packets are known by their interfaces; give 0"));
    }
    let mut route = meant::<F>(said)?;
    route.paths = said.paths.iter().map(|said| path(control, said)).collect::<Result<_, _>>()?;
    let key = key(&route);
    match is_add {
        true => {
            let flags = route.flags.clone();
            change::add(control, route, Some(flags))?;
            sweep::keep::<F>(control, &key);
        }
        // VPP's clients may delete what is not there.
        false => drop(change::delete(control, &route)?),
    }
    Ok(control.room::<Mfib<F>>().get(&key).map_or(NONE, |entry| entry.counter))
}

/// Groups and sender, as clients know them: of one sender, the length counts both addresses.
fn mprefix<F: Multicast>(group: &Prefix<F>, source: F::Address) -> Mprefix {
    let of_source = if source == F::UNSPECIFIED { 0 } else { u16::from(F::ADDRESS_BITS) };
    Mprefix {
        af: family::<F>(),
        grp_address_length: u16::from(group.length()) + of_source,
        grp_address: AddressUnion::new(group.address().into()),
        src_address: AddressUnion::new(source.into()),
    }
}

/// Paths of a route in a message, whose number has eight bits.
const PATHS_MAX: usize = u8::MAX as usize;

/// Step by step: the routes of a table; the groups of every router, and those that its interfaces are in; and what becomes of the
/// packets that none of these takes.
fn routes<F: Multicast>(control: &Control, table: TableId) -> Box<dyn Iterator<Item = Option<IpMrouteDetails>>> {
    let configured = control.clone();
    let configured = one_by_one(move |last| {
        let mfib = configured.room::<Mfib<F>>();
        let (key, route, entry) = mfib.route_behind(table, last)?;
        Some((key, Some(configured_route(&configured.room::<Interfaces>(), table, route, entry))))
    });
    let rest = control.clone();
    let rest = std::iter::once_with(move || {
        let is_drop = !is_configured::<F>(&rest, table, Prefix::ALL);
        is_drop.then(|| route_of::<F>(table, &Prefix::ALL, MfibEntryFlags::DROP, vec![]))
    });
    let all = configured.chain(groups::<F>(control, table)).chain(rest);
    Box::new(all.map(|route| route.map(|route| IpMrouteDetails { route })))
}

fn configured_route<F: Multicast>(
    interfaces: &Interfaces,
    table: TableId,
    route: &MulticastRoute<F>,
    entry: &Entry,
) -> IpMroute {
    let path = |path: &MulticastPath<F>| {
        let id = path.interface.as_ref().and_then(|name| interfaces.id_of(&name.0).ok());
        let waits = id.and_then(|id| entry.port(id.0)).is_some_and(|port| port.is_signalled());
        let bits = path.bits() | if waits { port::SIGNAL_PRESENT } else { 0 };
        known::<F>(id, path.via, bits)
    };
    IpMroute {
        table_id: table.0,
        entry_flags: MfibEntryFlags(route.bits().into()),
        rpf_id: 0,
        prefix: mprefix(&route.group, route.source),
        paths: route.paths.iter().map(path).take(PATHS_MAX).collect(),
    }
}

fn route_of<F: Multicast>(table: TableId, group: &Prefix<F>, flags: MfibEntryFlags, paths: Vec<MfibPath>) -> IpMroute {
    IpMroute { table_id: table.0, entry_flags: flags, rpf_id: 0, prefix: mprefix(group, F::UNSPECIFIED), paths }
}

/// Whether there is a route of all senders to these groups.
fn is_configured<F: Multicast>(control: &Control, table: TableId, group: Prefix<F>) -> bool {
    control.room::<Mfib<F>>().get(&(table, group, F::UNSPECIFIED)).is_some()
}

/// The groups of every router, and those that the interfaces of a table are in, step by step: first the interfaces are looked
/// through.
fn groups<F: Multicast>(control: &Control, table: TableId) -> impl Iterator<Item = Option<IpMroute>> + use<F> {
    let always = F::STANDING.iter().filter_map(|(group, length)| Prefix::<F>::new(*group, *length).ok());
    let mut members: BTreeSet<(Prefix<F>, Option<InterfaceId>)> = always.map(|group| (group, None)).collect();
    let (control, mut ids, mut last) = (control.clone(), walk(control), None);
    std::iter::from_fn(move || {
        if let Some(id) = ids.next() {
            members.extend(standing::<F>(&control, table, id).into_iter().map(|group| (Prefix::host(group), Some(id))));
            return Some(None);
        }
        let (group, _) = *members.first()?;
        let mut paths = vec![known::<F>(None, None, port::FORWARD)];
        while paths.len() < PATHS_MAX
            && let Some((_, id)) = members.first().filter(|(of, _)| *of == group).copied()
        {
            members.pop_first();
            paths.extend(id.map(|id| known::<F>(Some(id), None, port::ACCEPT)));
        }
        // Of a group with more members the first ones are told.
        let is_told = last.replace(group) != Some(group) && !is_configured(&control, table, group);
        Some(is_told.then(|| route_of(table, &group, MfibEntryFlags::NONE, paths)))
    })
}

fn known<F: Multicast>(interface: Option<InterfaceId>, via: Option<F::Address>, bits: u8) -> MfibPath {
    let nh = FibPathNh { address: AddressUnion::new(via.unwrap_or(F::UNSPECIFIED).into()), ..FibPathNh::default() };
    let r#type = if interface.is_some() { FibPathType::Normal } else { FibPathType::Local };
    let sw_if_index = interface.map_or(NONE, |id| id.0);
    let path = FibPath { sw_if_index, weight: 1, r#type, proto: proto::<F>(), nh, ..FibPath::default() };
    MfibPath { itf_flags: MfibItfFlags(bits.into()), path }
}

fn told(route: &signal::Route, interface: InterfaceId, packet: &[u8]) -> MfibSignalDetails {
    let (table, prefix) = match route {
        signal::Route::V4((table, group, source)) => (table, mprefix(group, *source)),
        signal::Route::V6((table, group, source)) => (table, mprefix(group, *source)),
    };
    let mut ip_packet_data = [0; Signal::PACKET_MAX];
    ip_packet_data.iter_mut().zip(packet).for_each(|(to, from)| *to = *from);
    let ip_packet_len = u16::try_from(packet.len()).unwrap_or(u16::MAX);
    MfibSignalDetails { sw_if_index: interface.into(), table_id: table.0, prefix, ip_packet_len, ip_packet_data }
}

mod sweep;
#[cfg(test)]
mod tests;
