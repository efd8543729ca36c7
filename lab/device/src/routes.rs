//! Routes by `ip_route_add_del` of VPP's binary API, which Quiver serves, too: many that have nothing in common but their table.
//!
//! The message is declared as VPP has it; its checksum goes with its name, so that a program that has another is told.

use quiver_client::{Client, ClientError};
use quiver_compat::Message;
use quiver_compat::types::{AddressUnion, FibPath, FibPathNh, FibPathNhProto, IpRoute, Prefix};
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
        let prefix = Prefix { address: address.into(), len: routes.length };
        let proto = if address.is_ipv4() { FibPathNhProto::Ip4 } else { FibPathNhProto::Ip6 };
        let nh = FibPathNh { address: AddressUnion::new(routes.next_hop), ..FibPathNh::default() };
        let paths = vec![FibPath { sw_if_index, weight: 1, proto, nh, ..FibPath::default() }];
        let route = IpRoute { table_id, prefix, paths, ..IpRoute::default() };
        IpRouteAddDel { is_add: true, is_multipath: false, route }
    }))
}

/// Add a route.
#[derive(Message)]
#[message(request, reply = IpRouteAddDelReply)]
struct IpRouteAddDel {
    is_add: bool,
    is_multipath: bool,
    route: IpRoute,
}

/// It is there.
#[derive(Message, Default)]
#[message(reply)]
struct IpRouteAddDelReply {
    stats_index: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_the_one_that_vpp_has() {
        // VPP 26.10's ip.api.json.
        assert_eq!(IpRouteAddDel::definition().name_crc(), "ip_route_add_del_b8ecfe0d");
    }
}
