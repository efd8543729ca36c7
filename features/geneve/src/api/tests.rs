//! The messages, as a client sends them.

use super::*;
use quiver_compat::{Caller, Retval};
use quiver_interface::Interfaces;

/// A tunnel over IPv4 in this network.
fn asked(is_add: bool, vni: u32) -> GeneveAddDelTunnel {
    GeneveAddDelTunnel {
        is_add,
        local_address: std::net::IpAddr::from([10, 0, 0, 1]).into(),
        remote_address: std::net::IpAddr::from([10, 0, 0, 2]).into(),
        mcast_sw_if_index: InterfaceIndex(NONE),
        encap_vrf_id: 0,
        decap_next_index: NONE,
        vni,
    }
}

#[test]
fn tunnels_come_and_go_by_both_versions() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let one = caller.request(&asked(true, 1)).expect("new").sw_if_index;
    assert_eq!(caller.request(&asked(true, 1)).map(drop), Err(Retval::TUNNEL_EXIST));
    assert_eq!(caller.request(&asked(false, 2)).map(drop), Err(Retval::NO_SUCH_ENTRY));
    let GeneveAddDelTunnel { is_add, local_address, remote_address, mcast_sw_if_index, .. } = asked(true, 2);
    let second = GeneveAddDelTunnel2 {
        is_add,
        local_address,
        remote_address,
        mcast_sw_if_index,
        encap_vrf_id: 0,
        decap_next_index: 2,
        vni: 2,
        l3_mode: true,
    };
    let two = caller.request(&second).expect("new").sw_if_index;
    let mac = daemon.control().room::<Interfaces>().find("geneve_tunnel1").map(|interface| interface.mac);
    assert_eq!(mac, Some(MAC));
    let all = caller.dump(&GeneveTunnelDump { sw_if_index: InterfaceIndex(NONE) });
    let told: Vec<_> = all.iter().map(|told| (told.sw_if_index, told.vni, told.decap_next_index)).collect();
    assert_eq!(told, [(one, 1, 0), (two, 2, 2)]);
    let bypass = SwInterfaceSetGeneveBypass { sw_if_index: one, is_ipv6: false, enable: true };
    caller.request(&bypass).expect("it is there");
    caller.request(&asked(false, 1)).expect("it is there");
    assert_eq!(caller.dump(&GeneveTunnelDump { sw_if_index: InterfaceIndex(NONE) }).len(), 1);
}
