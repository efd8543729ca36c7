//! Registration: the room of each family, its nodes and its objects.

use quiver_control::Control;
use quiver_engine::{Blueprint, Counters, Dataplane, DataplaneError};
use quiver_wire::{V4, V6};

use super::error::IpError;
use super::leaving::Leaving;
use super::nodes::{ip4_nodes, ip6_nodes};
use super::objects::{IpTable, TableSize};
use super::room::Ip;
use super::{
    addresses, broadcast, circles, crossing, deciding, flow_hash, interfaces, link_local, path_mtu, recursion, routes,
    sources, tables, unnumbered,
};
use crate::family::Family;
use crate::fib::{Shared, TableId};
use crate::node::local;
use crate::upper;

/// Routes, and neighbors, whose counters clients see at most: the segment may have room for less.
const NUMBERS_MAX: u32 = 1 << 21;

/// Registers rooms, nodes and objects, and follows the interfaces.
pub(crate) fn register(control: &Control) -> Result<(), IpError> {
    let shared = {
        let dataplane = control.room::<Dataplane>();
        let shown = |name| Counters::shown(dataplane.statistics(), name, NUMBERS_MAX);
        let (adjacencies, routes) = (shown("/net/adjacency"), shown("/net/route/to"));
        Shared::new(dataplane.domain(), dataplane.settings().workers, adjacencies, routes)
    };
    upper::register(control)?;
    register_family::<V4>(control, &shared, ip4_nodes)?;
    register_family::<V6>(control, &shared, ip6_nodes)?;
    crossing::register(control)?;
    circles::register(control);
    link_local::register(control);
    recursion::register(control);
    broadcast::register(control);
    path_mtu::register::<V4>(control);
    path_mtu::register::<V6>(control);
    tables::register_specials::<V4>(control);
    tables::register_specials::<V6>(control);
    sources::register(control);
    flow_hash::register(control);
    unnumbered::register(control);
    Ok(())
}

/// Adds the nodes that one family alone has.
type OwnNodes<F> = fn(&Ip<F>, &mut Blueprint) -> Result<(), DataplaneError>;

fn register_family<F: Family>(control: &Control, shared: &Shared, own_nodes: OwnNodes<F>) -> Result<(), IpError> {
    let upper = upper::key(control);
    let ip = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let domain = dataplane.domain().clone();
        let help = format!("{} packets that the interface received.", F::TITLE);
        let received = dataplane.add_simple_interface_counters(F::NAME, help);
        let mut ip = Ip::<F>::new(&domain, shared, received)?;
        ip.is_rehearsed = control.objects().stays_inside();
        ip.add_table(&IpTable { size: TableSize::Large, ..IpTable::new(TableId::DEFAULT.0) })?;
        ip.nodes(&mut dataplane, upper)?;
        own_nodes(&ip, dataplane.blueprint())?;
        // VPP counts those of IPv6 where packets come in.
        let counted = if F::VERSION == 6 { F::NAMES.input } else { F::NAMES.local };
        let unrouted = local::Next::arcs::<F>()[local::Next::Unrouted as usize].name;
        dataplane.also_called((F::NAMES.local, unrouted), &format!("{counted}/src_lookup_miss"))?;
        ip
    };
    control.insert_room(ip);
    control.insert_room(Leaving::<F>::default());
    quiver_ethernet::claim(control, F::ETHERTYPE, F::NAMES.input)?;
    deciding::register::<F>(control);
    tables::register::<F>(control);
    interfaces::register::<F>(control);
    addresses::register::<F>(control);
    routes::register::<F>(control);
    interfaces::follow::<F>(control);
    Ok(())
}
