//! Types of `ip.api` in messages about routes, and the conversion of clients' paths (`fib_types.api`) to configured
//! paths.

use quiver_compat::api::Adding;
use quiver_compat::definition::{Field, Kind, Shape, Type};
use quiver_compat::types::{
    AddressFamily, AddressUnion, FibPath, FibPathFlags, FibPathNh, FibPathNhProto, FibPathType, InterfaceIndex,
    IpRoute, NONE, Prefix,
};
use quiver_compat::wire::{Input, Malformed};
use quiver_compat::{Refusal, Retval, Text, Wire};
use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_interface::api::name;
use quiver_wire::IpFamily;

use crate::config::objects::{NextHop, RouteAction, RoutePath, TableNumber};
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::kind::Of;
use crate::fib::{Path, Special, TableId, Target};

pub(super) fn add_types(file: &mut Adding<'_>) {
    file.define_type::<FibPath>();
}

/// Converts a client's path to a configured path, for routes and other objects.
///
/// # Errors
/// Path features that the FIB does not support are refused by the field's name.
pub fn configured<F: Family>(said: &FibPath, control: &Control) -> Result<RoutePath<F>, Refusal> {
    let FibPath { sw_if_index, table_id, rpf_id, preference, n_labels, flags, .. } = *said;
    let known_table = || match control.room::<Ip<F>>().fib.table(TableId(table_id)) {
        Some(table) => Ok(TableNumber::from(table.id)),
        None => Err(Refusal::new(Retval::NO_SUCH_FIB, format!("paths: there is no table {table_id}"))),
    };
    let cannot = |what: &str| Err(Refusal::unimplemented(format!("paths: {what}")));
    let mut path = RoutePath::<F> { weight: said.weight.max(1), preference, ..RoutePath::default() };
    let mut to = None;
    path.action = match said.r#type {
        FibPathType::Normal => None,
        FibPathType::Local => Some(RouteAction::Local),
        FibPathType::Drop => Some(RouteAction::Drop),
        FibPathType::IcmpUnreach => Some(RouteAction::Unreachable),
        FibPathType::IcmpProhibit => Some(RouteAction::Prohibit),
        FibPathType::SourceLookup => Some(RouteAction::SourceLookup),
        FibPathType::InterfaceRx => Some(RouteAction::Receive),
        other => {
            let Some(kind) = control.room::<Ip<F>>().fib.kinds.of_path_type(other) else {
                return cannot(&format!("type {other:?} is not there"));
            };
            to = Some(kind.spec());
            None
        }
    };
    match () {
        () if n_labels > 0 => return cannot("there is no MPLS"),
        () if flags != FibPathFlags::NONE => return cannot("next hops are resolved by any route; give no flags"),
        () if rpf_id != 0 && rpf_id != NONE => return cannot("rpf_id is for multicast, which is not there"),
        () => {}
    }
    if let Some(kind) = to {
        let of_kind = |number| Some(NextHop { kind: kind.name.into(), number });
        if kind.of == Of::Interface {
            let interface = Some(name(control, InterfaceIndex(sw_if_index))?);
            return Ok(RoutePath { to: of_kind(None), interface, ..path });
        }
        path.to = of_kind(Some(said.nh.obj_id));
        let provider = path.to.as_ref().and_then(NextHop::provider);
        if !provider.is_some_and(|provider| control.objects().exists(&provider)) {
            let what = format!("paths: there is no {} {}", kind.name, said.nh.obj_id);
            return Err(Refusal::new(Retval::NO_SUCH_ENTRY, what));
        }
        return Ok(path);
    }
    match path.action {
        Some(RouteAction::SourceLookup) => return Ok(RoutePath { table: known_table()?, ..path }),
        Some(RouteAction::Receive) => {
            return Ok(RoutePath { interface: Some(name(control, InterfaceIndex(sw_if_index))?), ..path });
        }
        Some(_) => return Ok(path),
        None => {}
    }
    // Without a next hop it does not matter of which family it is said to be.
    if said.proto != proto::<F>() && said.nh.address != AddressUnion::default() {
        if said.proto != proto::<F::Other>() {
            let what = format!("paths: the next hop is an address neither of {} nor of {}", F::TITLE, F::Other::TITLE);
            return Err(Refusal::new(Retval::INVALID_ADDRESS_FAMILY, what));
        }
        path.other_via = Some(said.nh.address.get(family::<F::Other>()));
        return match sw_if_index {
            NONE if table_id != 0 => cannot("next hops of the other family are looked up in table 0"),
            NONE => Ok(path),
            index => Ok(RoutePath { interface: Some(name(control, InterfaceIndex(index))?), ..path }),
        };
    }
    let via = F::from_ip(said.nh.address.get(family::<F>()));
    path.via = via.filter(|via| *via != F::UNSPECIFIED);
    match sw_if_index {
        NONE => {
            path.table = known_table()?;
            path.action = path.via.is_none().then_some(RouteAction::Lookup);
        }
        index => path.interface = Some(name(control, InterfaceIndex(index))?),
    }
    Ok(path)
}

/// The number of an interface in a message that may name none.
pub(super) fn index_of(id: Option<InterfaceId>) -> u32 {
    id.map_or(NONE, |id| id.0)
}

/// The family, as messages say it.
pub(super) fn family<F: Family>() -> AddressFamily {
    if F::VERSION == 4 { AddressFamily::Ip4 } else { AddressFamily::Ip6 }
}

fn proto<F: Family>() -> FibPathNhProto {
    if F::VERSION == 4 { FibPathNhProto::Ip4 } else { FibPathNhProto::Ip6 }
}

/// A path of the FIB, as clients know it.
pub fn known<F: Family>(path: &Path<F>) -> FibPath {
    let next_hop =
        |address: F::Address| FibPathNh { address: AddressUnion::new(address.into()), ..FibPathNh::default() };
    let (sw_if_index, table_id, nh, r#type) = match path.target {
        Target::NextHop(interface, via) => (index_of(Some(interface)), 0, next_hop(via), FibPathType::Normal),
        Target::Link(interface) => (index_of(Some(interface)), 0, FibPathNh::default(), FibPathType::Normal),
        Target::Recursive(table, via) => (NONE, table.0, next_hop(via), FibPathType::Normal),
        Target::Special(special) => {
            let r#type = match special {
                Special::Drop => FibPathType::Drop,
                Special::Unreachable => FibPathType::IcmpUnreach,
                Special::Prohibit => FibPathType::IcmpProhibit,
                Special::Local => FibPathType::Local,
                // Packets for everybody on a link are not forwarded, which is what clients know as a drop.
                Special::Broadcast => FibPathType::Drop,
                // They are looked up among what their link has.
                Special::LinkLocal => FibPathType::Local,
            };
            (NONE, 0, FibPathNh::default(), r#type)
        }
        Target::Lookup(table) => (NONE, table.0, FibPathNh::default(), FibPathType::Normal),
        Target::SourceLookup(table) => (NONE, table.0, FibPathNh::default(), FibPathType::SourceLookup),
        Target::Received(interface) => (index_of(Some(interface)), 0, FibPathNh::default(), FibPathType::InterfaceRx),
        Target::Crossing(_, way) => {
            let nh = FibPathNh { address: AddressUnion::new(way.via), ..FibPathNh::default() };
            (index_of(way.interface), 0, nh, FibPathType::Normal)
        }
        Target::Kind(kind, index) => {
            let (spec, of_kind) = (kind.spec(), kind.hop(index));
            let interface = of_kind.interface().map(InterfaceId);
            let nh = FibPathNh { obj_id: if interface.is_none() { index } else { 0 }, ..FibPathNh::default() };
            (index_of(interface), 0, nh, spec.path_type)
        }
    };
    let (weight, preference) = (path.weight.max(1), path.preference);
    let proto = if matches!(path.target, Target::Crossing(..)) { proto::<F::Other>() } else { proto::<F>() };
    FibPath { sw_if_index, table_id, weight, preference, r#type, proto, nh, ..FibPath::default() }
}

/// A table.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub struct IpTable {
    /// Its number.
    pub table_id: u32,
    /// Of which family it is.
    pub is_ip6: bool,
    /// Its name, for people.
    pub name: Text<64>,
}

/// A route, and who made it.
#[derive(Clone, Debug, Default)]
pub(super) struct IpRouteV2 {
    pub route: IpRoute,
    pub src: u8,
}

/// It is a route with another field between the number of its paths and the paths.
impl Wire for IpRouteV2 {
    fn of() -> Type {
        let field = |name: &str, of, shape| Field { name: name.into(), of, shape };
        let fields = vec![
            field("table_id", u32::of(), Shape::One),
            field("stats_index", u32::of(), Shape::One),
            field("prefix", Prefix::of(), Shape::One),
            field("n_paths", u8::of(), Shape::One),
            field("src", u8::of(), Shape::One),
            field("paths", FibPath::of(), Shape::Counted("n_paths".into())),
        ];
        Type::named("ip_route_v2", Kind::Struct(fields))
    }
    fn put(&self, out: &mut Vec<u8>) {
        let IpRoute { table_id, stats_index, prefix, paths } = &self.route;
        let count = u8::try_from(paths.len()).unwrap_or(u8::MAX);
        table_id.put(out);
        stats_index.put(out);
        prefix.put(out);
        count.put(out);
        self.src.put(out);
        paths.iter().take(count.into()).for_each(|path| path.put(out));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let (table_id, stats_index, prefix) = (u32::take(input)?, u32::take(input)?, Prefix::take(input)?);
        let (count, src) = (u8::take(input)?, u8::take(input)?);
        let paths = (0..count).map(|_| FibPath::take(input)).collect::<Result<_, _>>()?;
        Ok(IpRouteV2 { route: IpRoute { table_id, stats_index, prefix, paths }, src })
    }
}
