//! A FIB, and where it leads, in words.

use quiver_engine::Domain;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Fib, Forwarding, Path, Size, TableId, hop};
use quiver_wire::V4;

pub type Paths<F = V4> = Vec<Path<F>>;

pub fn up() -> Link {
    Link { up: true, mtu: 1500, ..Link::default() }
}

/// A FIB with table 0 and interfaces 1 to 4.
pub fn fib<F: Forwarding>() -> Fib<F> {
    let mut fib = Fib::new(&Domain::new(), 1);
    fib.add_table(TableId::DEFAULT, Size::Small, false).expect("new");
    (1..5).for_each(|interface| fib.set_link(InterfaceId(interface), Some(up())));
    fib
}

/// The group of an address, if it has a route.
pub fn group<F: Forwarding>(fib: &Fib<F>, table: TableId, to: F::Address) -> Option<u32> {
    fib.table(table).expect("there").find(to).map(|(_, group)| group)
}
/// Where packets for its addresses go, by bucket.
pub fn row_of<F: Forwarding>(fib: &Fib<F>, group: u32) -> Vec<String> {
    let group = fib.groups.get(group).expect("a leaf leads to a group");
    group.hops.iter().map(|hop| end(fib, *hop)).collect()
}
fn end<F: Forwarding>(fib: &Fib<F>, hop: u32) -> String {
    match fib.adjacencies.get(hop) {
        Some(adjacency) => text::<F>(adjacency.interface, adjacency.next_hop),
        None => hop::name(hop).expect("a bucket has a meaning").into(),
    }
}
pub fn text<F: Forwarding>(interface: InterfaceId, next_hop: Option<F::Address>) -> String {
    format!("{} {}", interface.0, next_hop.map_or("glean".into(), |next_hop| next_hop.to_string()))
}
