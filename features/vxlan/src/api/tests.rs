//! The messages, as a client sends them.

use super::*;
use quiver_compat::{Caller, Retval};

/// A tunnel over IPv4 in this network.
fn asked(is_add: bool, vni: u32) -> VxlanAddDelTunnelV3 {
    VxlanAddDelTunnelV3 {
        is_add,
        instance: NONE,
        src_address: std::net::IpAddr::from([10, 0, 0, 1]).into(),
        dst_address: std::net::IpAddr::from([10, 0, 0, 2]).into(),
        src_port: 0,
        dst_port: 0,
        mcast_sw_if_index: InterfaceIndex(NONE),
        encap_vrf_id: 0,
        decap_next_index: NONE,
        vni,
        is_l3: false,
    }
}

#[test]
fn tunnels_come_and_go_by_all_versions() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let mut third = |asked: &VxlanAddDelTunnelV3| caller.request(asked).map(|reply| reply.sw_if_index);
    let one = third(&asked(true, 1)).expect("new");
    assert_eq!(third(&asked(true, 1)), Err(Retval::TUNNEL_EXIST));
    assert_eq!(third(&asked(false, 2)), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(third(&VxlanAddDelTunnelV3 { encap_vrf_id: 7, ..asked(true, 2) }), Err(Retval::NO_SUCH_FIB));
    assert_eq!(third(&VxlanAddDelTunnelV3 { decap_next_index: 99, ..asked(true, 2) }), Err(Retval::INVALID_DECAP_NEXT));
    assert_eq!(third(&VxlanAddDelTunnelV3 { instance: 0, ..asked(true, 2) }), Err(Retval::INSTANCE_IN_USE));
    assert_eq!(third(&asked(true, 1 << 24)), Err(Retval::INVALID_VALUE));
    let VxlanAddDelTunnelV3 { is_add, src_address, dst_address, mcast_sw_if_index, .. } = asked(true, 3);
    let first = VxlanAddDelTunnel {
        is_add,
        instance: 9,
        src_address,
        dst_address,
        mcast_sw_if_index,
        encap_vrf_id: 0,
        decap_next_index: 1,
        vni: 3,
    };
    caller.request(&first).expect("new");
    let VxlanAddDelTunnelV3 { src_address, dst_address, .. } = asked(true, 4);
    let second = VxlanAddDelTunnelV2 {
        is_add,
        instance: NONE,
        src_address,
        dst_address,
        src_port: 8472,
        dst_port: 8473,
        mcast_sw_if_index,
        encap_vrf_id: 0,
        decap_next_index: NONE,
        vni: 4,
    };
    caller.request(&second).expect("new");
    let all = caller.dump(&VxlanTunnelV2Dump { sw_if_index: InterfaceIndex(NONE) });
    let told: Vec<_> = all.iter().map(|told| (told.instance, told.vni, told.src_port, told.dst_port)).collect();
    assert_eq!(told, [(0, 1, 4789, 4789), (1, 4, 8472, 8473), (9, 3, 4789, 4789)]);
    let one_alone = caller.dump(&VxlanTunnelDump { sw_if_index: one });
    assert_eq!(one_alone.iter().map(|told| (told.sw_if_index, told.vni)).collect::<Vec<_>>(), [(one, 1)]);
    let mut bypass = |enable, sw_if_index| {
        caller.request(&SwInterfaceSetVxlanBypass { sw_if_index, is_ipv6: true, enable }).map(drop)
    };
    assert_eq!((bypass(true, one), bypass(false, one)), (Ok(()), Ok(())));
    assert_eq!(bypass(true, InterfaceIndex(77)), Err(Retval::INVALID_SW_IF_INDEX));
    let offload = VxlanOffloadRx { hw_if_index: one, sw_if_index: one, enable: true };
    assert_eq!(caller.request(&offload).map(drop), Err(Retval::UNIMPLEMENTED));
    caller.request(&asked(false, 1)).expect("it is there");
    assert_eq!(caller.dump(&VxlanTunnelDump { sw_if_index: InterfaceIndex(NONE) }).len(), 2);
}
