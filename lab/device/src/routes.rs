//! Routes: by a command that Quiver and VPP share, or, where they have nothing in common but their table, by VPP's binary API,
//! which Quiver serves, too.

use std::iter::once;
use std::net::IpAddr;

use quiver_client::routes::{Via, set};
use quiver_client::{Client, ClientError};
use quiver_suite::Routes;
use quiver_suite::field::Function;

/// The number of the table that a case's routes are in, where it is not the one that is there always.
pub const TABLE: u32 = 1;
/// Up to this many groups of routes are commands; more are API messages.
const COMMANDS_MAX: usize = 64;

/// The word of the family in commands about tables.
pub fn family(function: Function) -> &'static str {
    if function == Function::Ip6 { "ip6" } else { "ip" }
}

/// Whether routes go by messages.
pub fn are_messages(routes: &[Routes]) -> bool {
    routes.len() > COMMANDS_MAX
}

/// The command that adds neighbouring routes to a table, by other next hops beside their own.
pub fn command(
    routes: &Routes,
    others: impl IntoIterator<Item = IpAddr>,
    table: Option<u32>,
    interface: &str,
) -> String {
    let Routes { first, length, count, next_hop, .. } = routes;
    let table = table.map(|table| format!(" table {table}")).unwrap_or_default();
    let ways = once(*next_hop).chain(others).map(|hop| format!(" via {hop} {interface}")).collect::<String>();
    format!("ip route add count {count} {first}/{length}{table}{ways}")
}

/// Summary for the document's configuration of routes that go by API messages.
pub fn told(routes: &[Routes], table: u32, interface: &str) -> String {
    let count: u32 = routes.iter().map(|routes| routes.count).sum();
    format!("ip_route_add_del is_add 1, table_id {table}: {count} routes by {interface}")
}

/// Adds routes to a table, by an interface of this number.
pub fn add(client: &mut Client, routes: &[Routes], table_id: u32, sw_if_index: u32) -> Result<(), ClientError> {
    let each = routes.iter().flat_map(|routes| (0..routes.count).map(move |number| (routes.prefix(number), routes)));
    client.requests(each.map(|(address, routes)| {
        let via = Via { address: routes.next_hop, interface: Some(sw_if_index) };
        set((address, routes.length), table_id, Some(via))
    }))
}
