use quiver_compat::Caller;

use super::*;

const TCP: u8 = 6;
const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);

fn mapping(is_add: bool, external_port: u16) -> Nat44AddDelStaticMapping {
    Nat44AddDelStaticMapping {
        is_add,
        flags: ConfigFlags::OUT2IN_ONLY,
        local_ip_address: LOCAL,
        external_ip_address: EXTERNAL,
        protocol: TCP,
        local_port: 80,
        external_port,
        external_sw_if_index: InterfaceIndex(NONE),
        vrf_id: 0,
        tag: "web".into(),
    }
}

#[test]
fn static_mappings_come_and_go_in_both_versions() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let second = |is_add, match_pool| {
        let first = mapping(is_add, 8081);
        Nat44AddDelStaticMappingV2 {
            is_add,
            match_pool,
            flags: first.flags,
            pool_ip_address: Ipv4Addr::UNSPECIFIED,
            local_ip_address: first.local_ip_address,
            external_ip_address: first.external_ip_address,
            protocol: first.protocol,
            local_port: first.local_port,
            external_port: first.external_port,
            external_sw_if_index: first.external_sw_if_index,
            vrf_id: first.vrf_id,
            tag: first.tag,
        }
    };
    assert!(caller.request(&mapping(true, 8080)).is_ok());
    assert!(caller.request(&second(true, false)).is_ok());
    assert_eq!(caller.request(&second(true, true)).map(drop), Err(Retval::UNIMPLEMENTED));
    let ports = |caller: &mut Caller| -> Vec<_> {
        let found = caller.dump(&Nat44StaticMappingDump {});
        let of = |details: &Nat44StaticMappingDetails| (details.local_port, details.external_port, details.flags);
        found.iter().map(of).collect()
    };
    let flags = ConfigFlags::OUT2IN_ONLY;
    assert_eq!(ports(&mut caller), [(80, 8080, flags), (80, 8081, flags)]);
    let first = caller.dump(&Nat44StaticMappingDump {}).remove(0);
    assert_eq!((first.local_ip_address, first.external_ip_address, first.tag), (LOCAL, EXTERNAL, "web".into()));
    assert!(caller.request(&mapping(false, 8080)).is_ok() && caller.request(&second(false, false)).is_ok());
    assert_eq!(ports(&mut caller), []);
    assert!(caller.request(&mapping(false, 8080)).is_err(), "it is gone");
}

#[test]
fn an_identity_mapping_comes_and_goes() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let request = |is_add| Nat44AddDelIdentityMapping {
        is_add,
        flags: ConfigFlags::NONE,
        ip_address: EXTERNAL,
        protocol: TCP,
        port: 22,
        sw_if_index: InterfaceIndex(NONE),
        vrf_id: 0,
        tag: "ssh".into(),
    };
    assert!(caller.request(&request(true)).is_ok());
    let found = caller.dump(&Nat44IdentityMappingDump {});
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].ip_address, found[0].port, &found[0].tag), (EXTERNAL, 22, &"ssh".into()));
    assert!(caller.request(&request(false)).is_ok());
    assert_eq!(caller.dump(&Nat44IdentityMappingDump {}), []);
}

#[test]
fn a_mapping_spreads_sessions_over_hosts_that_come_and_go() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let host = |last| Nat44LbAddrPort { addr: Ipv4Addr::new(10, 0, 0, last), port: 80, probability: 50, vrf_id: 0 };
    let request = |is_add| Nat44AddDelLbStaticMapping {
        is_add,
        flags: ConfigFlags::NONE,
        external_addr: EXTERNAL,
        external_port: 80,
        protocol: TCP,
        affinity: 0,
        tag: "many".into(),
        locals: vec![host(2), host(3)],
    };
    let local = |is_add| Nat44LbStaticMappingAddDelLocal {
        is_add,
        external_addr: EXTERNAL,
        external_port: 80,
        protocol: TCP,
        local: host(4),
    };
    let hosts = |caller: &mut Caller| -> Vec<_> {
        let found = caller.dump(&Nat44LbStaticMappingDump {});
        found.into_iter().flat_map(|details| details.locals).map(|local| local.addr.octets()[3]).collect()
    };
    assert!(caller.request(&local(true)).is_err(), "there is no such mapping yet");
    assert!(caller.request(&request(true)).is_ok());
    assert_eq!(hosts(&mut caller), [2, 3]);
    assert!(caller.request(&local(true)).is_ok());
    assert_eq!(hosts(&mut caller), [2, 3, 4]);
    assert!(caller.request(&local(false)).is_ok());
    assert_eq!(hosts(&mut caller), [2, 3]);
    assert!(caller.request(&request(false)).is_ok());
    assert!(hosts(&mut caller).is_empty());
}
