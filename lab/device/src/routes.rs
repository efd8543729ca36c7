//! Routes by VPP's binary API, which Quiver serves, too: many that have nothing in common but their table.

use quiver_client::routes::{Via, set};
use quiver_client::{Client, ClientError};
use quiver_suite::Routes;

/// So many parts of a side's routes are commands; more are messages.
const COMMANDS_MAX: usize = 64;

/// Whether routes go by messages.
pub fn are_messages(routes: &[Routes]) -> bool {
    routes.len() > COMMANDS_MAX
}

/// What a configuration says of them.
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
