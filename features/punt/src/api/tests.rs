//! The messages, as a client sends them.

use quiver_compat::types::{Address, AddressFamily, FibPath, FibPathType, InterfaceIndex, IpProto, NONE};
use quiver_compat::{Caller, Retval, Text, Wire};
use quiver_scenarios::daemon;
use quiver_testkit::daemon::Daemon;

use super::police::*;
use super::redirects::*;
use super::traffic::*;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg0 2001:db8::1/64
    set interface ip address pg1 10.0.1.1/24";

fn l4(af: AddressFamily, port: u16) -> PuntWhat {
    let mut bytes = vec![];
    PuntL4 { af, protocol: IpProto::UDP, port }.put(&mut bytes);
    PuntWhat { r#type: PuntType::L4, punt: PuntUnion(bytes.try_into().expect("four bytes")) }
}

fn protocol(protocol: IpProto) -> PuntWhat {
    PuntWhat { r#type: PuntType::IpProto, punt: PuntUnion([AddressFamily::Ip4 as u8, protocol.0, 0, 0]) }
}

#[test]
fn redirects_come_change_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let nh = |address: &str| Address::from(address.parse::<std::net::IpAddr>().expect("an address"));
    let redirect = |rx: u32, tx: u32, to: &str| RedirectTo {
        rx_sw_if_index: InterfaceIndex(rx),
        tx_sw_if_index: InterfaceIndex(tx),
        nh: nh(to),
    };
    let dump = |index, is_ipv6| IpPuntRedirectDump { sw_if_index: InterfaceIndex(index), is_ipv6 };
    let found = |caller: &mut Caller, index, is_ip6| -> Vec<RedirectTo> {
        caller.dump(&dump(index, is_ip6)).into_iter().map(|details| details.punt).collect()
    };
    let set = |punt: &RedirectTo, is_add| IpPuntRedirect { punt: punt.clone(), is_add };
    let (one, all, link) = (redirect(1, 2, "10.0.1.2"), redirect(NONE, 2, "10.0.1.3"), redirect(2, 2, "0.0.0.0"));
    for punt in [&one, &all, &link] {
        caller.request(&set(punt, true)).expect("it fits");
    }
    assert_eq!(found(&mut caller, NONE, false), [all.clone(), one.clone(), link.clone()]);
    assert_eq!(found(&mut caller, 2, false), std::slice::from_ref(&link));
    assert_eq!(found(&mut caller, NONE, true), []);
    let other = redirect(1, 1, "2001:db8::2");
    caller.request(&set(&other, true)).expect("IPv6");
    assert_eq!(found(&mut caller, NONE, true), [other]);
    for punt in [&all, &link, &link] {
        caller.request(&set(punt, false)).expect("what is not there may be deleted");
    }
    // By paths: several, and none.
    let path = |r#type| FibPath { sw_if_index: NONE, weight: 1, r#type, ..FibPath::default() };
    let by = |paths: Vec<FibPath>| RedirectBy { rx_sw_if_index: InterfaceIndex(1), af: AddressFamily::Ip4, paths };
    let set_v2 = |paths, is_add| AddDelIpPuntRedirectV2 { is_add, punt: by(paths) };
    caller.request(&set_v2(vec![path(FibPathType::Drop), path(FibPathType::IcmpUnreach)], true)).expect("two");
    let v2 = IpPuntRedirectV2Dump { sw_if_index: InterfaceIndex(NONE), af: AddressFamily::Ip4 };
    assert_eq!(caller.dump(&v2).iter().map(|details| details.punt.paths.len()).collect::<Vec<_>>(), [2]);
    caller.request(&set_v2(vec![], true)).expect("none");
    assert_eq!(caller.dump(&v2).iter().map(|details| details.punt.paths.len()).collect::<Vec<_>>(), [0]);
    caller.request(&set_v2(vec![], false)).expect("it is there");
    assert_eq!(caller.dump(&v2).len(), 0);
    assert_eq!(caller.request(&set(&redirect(9, 2, "10.0.1.2"), true)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.request(&set(&redirect(1, 9, "10.0.1.2"), true)).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
}

fn register(what: PuntWhat, path: &str) -> PuntSocketRegister {
    PuntSocketRegister { header_version: 1, punt: what, pathname: path.into() }
}

#[test]
fn sockets_come_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let found = |caller: &mut Caller, r#type| -> Vec<(PuntWhat, Text<108>)> {
        let all = caller.dump(&PuntSocketDump { r#type });
        all.into_iter().map(|details| (details.punt, details.pathname)).collect()
    };
    let (first, second) = (l4(AddressFamily::Ip4, 1111), l4(AddressFamily::Ip6, 65535));
    let told = caller.request(&register(first, "/a")).expect("a port");
    assert_eq!(told.pathname.as_str(), "", "nobody hosts a socket");
    caller.request(&register(second, "/b")).expect("all ports");
    caller.request(&register(protocol(IpProto::OSPF), "/c")).expect("a protocol");
    assert_eq!(found(&mut caller, PuntType::L4), [(first, "/a".into()), (second, "/b".into())]);
    assert_eq!(found(&mut caller, PuntType::IpProto), [(protocol(IpProto::OSPF), "/c".into())]);
    // In the order in which they were registered, not in that of their numbers.
    let (ospf, eigrp) = (protocol(IpProto::OSPF), protocol(IpProto::EIGRP));
    caller.request(&register(eigrp, "/e")).expect("a protocol");
    caller.request(&register(ospf, "/f")).expect("another path");
    assert_eq!(found(&mut caller, PuntType::IpProto), [(ospf, "/f".into()), (eigrp, "/e".into())]);
    caller.request(&PuntSocketDeregister { punt: ospf }).expect("it is there");
    caller.request(&register(ospf, "/c")).expect("it is back");
    assert_eq!(found(&mut caller, PuntType::IpProto), [(eigrp, "/e".into()), (ospf, "/c".into())]);
    caller.request(&PuntSocketDeregister { punt: eigrp }).expect("it is there");
    caller.request(&SetPunt { is_add: true, punt: first }).expect("the socket keeps it");
    caller.request(&SetPunt { is_add: false, punt: first }).expect("the socket keeps it");
    caller.request(&register(first, "/d")).expect("another path");
    assert_eq!(found(&mut caller, PuntType::L4)[0].1.as_str(), "/d");
    for what in [first, second, second, protocol(IpProto::OSPF)] {
        caller.request(&PuntSocketDeregister { punt: what }).expect("what is not there may go");
    }
    assert_eq!((found(&mut caller, PuntType::L4), found(&mut caller, PuntType::IpProto)), (vec![], vec![]));
    let no_ports = PuntWhat { punt: PuntUnion([0, 89, 0, 7]), ..first };
    assert_eq!(caller.request(&register(no_ports, "/a")).map(drop), Err(Retval::INVALID_VALUE));
    assert_eq!(caller.request(&register(l4(AddressFamily::Ip4, 0), "/a")).map(drop), Err(Retval::INVALID_VALUE));
}

#[test]
fn reasons_are_told_and_taken() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let named = |caller: &mut Caller, name: &str| -> Vec<PuntReason> {
        let reason = PuntReason { id: 0, name: name.into() };
        caller.dump(&PuntReasonDump { reason }).into_iter().map(|details| details.reason).collect()
    };
    let all = named(&mut caller, "");
    assert_eq!(all.iter().map(|reason| reason.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(named(&mut caller, "ip6-unknown-port"), all[4..5]);
    assert_eq!(named(&mut caller, "ip6-unknown"), []);
    let exception = |id: u32| PuntWhat { r#type: PuntType::Exception, punt: PuntUnion(id.to_be_bytes()) };
    let found = |caller: &mut Caller| -> Vec<(PuntWhat, Text<108>)> {
        let all = caller.dump(&PuntSocketDump { r#type: PuntType::Exception });
        all.into_iter().map(|details| (details.punt, details.pathname)).collect()
    };
    caller.request(&SetPunt { is_add: true, punt: exception(1) }).expect("a reason");
    assert_eq!(found(&mut caller), [], "it has no socket");
    caller.request(&register(exception(5), "/a")).expect("a reason");
    caller.request(&register(exception(1), "/b")).expect("the socket takes it");
    assert_eq!(found(&mut caller), [(exception(1), "/b".into()), (exception(5), "/a".into())]);
    caller.request(&SetPunt { is_add: false, punt: exception(5) }).expect("the socket keeps it");
    caller.request(&PuntSocketDeregister { punt: exception(1) }).expect("it is there");
    caller.request(&PuntSocketDeregister { punt: exception(1) }).expect("what is not there may go");
    assert_eq!(found(&mut caller), [(exception(5), "/a".into())]);
    for id in [0, 7, u32::MAX] {
        assert_eq!(caller.request(&register(exception(id), "/a")).map(drop), Err(Retval::NO_SUCH_ENTRY));
    }
    assert_eq!(caller.request(&register(exception(1), "")).map(drop), Err(Retval::INVALID_VALUE));
}

#[test]
fn punted_packets_are_policed_by_family() {
    let mut daemon = daemon(CONFIGURED);
    daemon.configure("policer add name spare cir 1 cb 9000\npolicer add name few cir 64 cb 9000");
    let mut caller = Caller::connect(daemon.control());
    let shown = |daemon: &mut Daemon, line: &str| daemon.run(line).expect(line).text;
    let set = |policer_index, is_add, is_ip6| IpPuntPolice { policer_index, is_add, is_ip6 };
    caller.request(&set(1, true, false)).expect("there is one of that number");
    assert_eq!(shown(&mut daemon, "show ip punt policer"), "few");
    assert_eq!(shown(&mut daemon, "show ip6 punt policer"), "none");
    caller.request(&set(0, true, true)).expect("IPv6 has its own");
    assert_eq!(shown(&mut daemon, "show ip6 punt policer"), "spare");
    assert_eq!(caller.request(&set(7, true, false)).map(drop), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(shown(&mut daemon, "show ip punt policer"), "few", "what was refused changes nothing");
    caller.request(&set(1, false, false)).expect("no more");
    caller.request(&set(1, false, false)).expect("what is not there may go");
    assert_eq!(shown(&mut daemon, "show ip punt policer"), "none");
    assert_eq!(shown(&mut daemon, "show ip6 punt policer"), "spare");
}
