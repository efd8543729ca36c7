//! Routes by `ip_route_add_del`, as VPP's API and Quiver's have it: `ip.api`.

use std::net::IpAddr;

use quiver_compat::Message;
use quiver_compat::types::{Address, AddressUnion, FibPath, FibPathNh, FibPathNhProto, IpRoute, Prefix};

/// In place of an interface's number: the next hop is looked up in the route's table.
const NO_INTERFACE: u32 = u32::MAX;

/// Add a route, or replace it, or delete it.
#[derive(Message)]
#[message(request, reply = IpRouteAddDelReply)]
pub struct IpRouteAddDel {
    is_add: bool,
    is_multipath: bool,
    route: IpRoute,
}

/// It is done.
#[derive(Message, Default)]
#[message(reply)]
pub struct IpRouteAddDelReply {
    /// Where it is counted.
    pub stats_index: u32,
}

/// A next hop, and the number of the interface by which it is reached; without one it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via {
    /// The address.
    pub address: IpAddr,
    /// The interface.
    pub interface: Option<u32>,
}

/// Has a network's packets go by a next hop, in place of whatever they went by before; without a next hop, its route goes.
pub fn set((address, len): (IpAddr, u8), table_id: u32, via: Option<Via>) -> IpRouteAddDel {
    let path = |via: Via| FibPath {
        sw_if_index: via.interface.unwrap_or(NO_INTERFACE),
        weight: 1,
        proto: if via.address.is_ipv6() { FibPathNhProto::Ip6 } else { FibPathNhProto::Ip4 },
        nh: FibPathNh { address: AddressUnion::new(via.address), ..FibPathNh::default() },
        ..FibPath::default()
    };
    let prefix = Prefix { address: Address::from(address), len };
    let route = IpRoute { table_id, prefix, paths: via.map(path).into_iter().collect(), ..IpRoute::default() };
    IpRouteAddDel { is_add: via.is_some(), is_multipath: false, route }
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
