//! The messages, as a client sends them.

use std::time::Duration;

use quiver_compat::Caller;
use quiver_scenarios::daemon;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

use super::slow_path::{SfdpSetIcmpErrorNode, SfdpSetSpNode, SpNode};
use super::tcp::{SfdpTcpSessionDump, TcpFlags};
use super::*;

/// A router whose interface has number 1.
const ROUTER: &str = "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    set interface state pg0 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg0 2001:db8::1/64";

fn receive(daemon: &mut Daemon, packet: &str) {
    let packet = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {packet}");
    let packet = packet.parse::<Packet>().expect("it is a packet").to_bytes();
    daemon.send("pg0", &packet).expect("it is up");
    daemon.settle().expect("it settles");
}

fn names(names: &[&str]) -> Vec<ServiceName> {
    names.iter().map(|name| ServiceName { data: (*name).into() }).collect()
}

fn input(tenant_id: u32, is_ip6: u8, is_disable: u8) -> SfdpInterfaceInputSet {
    SfdpInterfaceInputSet { sw_if_index: InterfaceIndex(1), tenant_id, is_ip6, is_disable }
}

#[test]
fn tenants_services_and_timeouts_are_set_and_dumped() {
    let daemon = daemon("");
    let mut caller = Caller::connect(daemon.control());
    let tenant = |id, context_id, is_del| SfdpTenantAddDel { tenant_id: id, context_id, is_del };
    caller.request(&tenant(100, 7, false)).expect("new");
    caller.request(&tenant(101, NONE, false)).expect("new");
    assert_eq!(caller.request(&tenant(100, 7, false)).map(drop), Err(Retval::ENTRY_ALREADY_EXISTS));
    let services = caller.dump(&SfdpServiceDump {});
    assert!(services.iter().all(|service| service.scope.as_str() == "default"));
    let index =
        |name: &str| services.iter().find(|service| service.node_name.as_str() == name).expect("it is one").index;
    assert!(services[usize::from(index("ip4-lookup"))].is_terminal);
    let set = |dir, services: &[&str]| SfdpSetServices { tenant_id: 100, dir, services: names(services) };
    // VPP orders them itself.
    caller.request(&set(SessionDirection::Forward, &["sfdp-drop", "sfdp-l4-lifecycle"])).expect("they are services");
    caller.request(&set(SessionDirection::Reverse, &["ip4-lookup"])).expect("it is a service");
    assert!(caller.request(&set(SessionDirection::Forward, &["sfdp-l5-lifecycle"])).is_err());
    let unknown = SfdpSetServices { tenant_id: 5, dir: SessionDirection::Forward, services: vec![] };
    assert_eq!(caller.request(&unknown).map(drop), Err(Retval::NO_SUCH_ENTRY));
    let timeout = |tenant_id, timeout_id, timeout_value| SfdpSetTimeout { tenant_id, timeout_value, timeout_id };
    caller.request(&timeout(100, 1, 31)).expect("it is a timeout");
    assert_eq!(caller.request(&timeout(100, 0xff, 31)).map(drop), Err(Retval::UNSPECIFIED));
    assert_eq!(caller.request(&timeout(5, 1, 31)).map(drop), Err(Retval::NO_SUCH_ENTRY));
    let timeouts = |caller: &mut Caller, tenant_id| {
        let all = caller.dump(&SfdpTimeoutDump { tenant_id });
        all.into_iter().map(|timeout| (timeout.index, timeout.name.0, timeout.timeout_value)).collect::<Vec<_>>()
    };
    assert_eq!(timeouts(&mut caller, 100)[..2], [(0, "embryonic".to_owned(), 5), (1, "established".to_owned(), 31)]);
    assert_eq!(timeouts(&mut caller, NONE)[1], (1, "established".to_owned(), 120));
    assert_eq!(timeouts(&mut caller, 5), []);
    let [first, second] = &caller.dump(&SfdpTenantDump {})[..] else { panic!("two") };
    assert_eq!((first.index, first.context_id, second.index, second.context_id), (0, 7, 1, 101));
    assert_eq!(first.forward_bitmap, 1 << index("sfdp-drop") | 1 << index("sfdp-l4-lifecycle"));
    assert_eq!((first.reverse_bitmap, first.timeout[1]), (1 << index("ip4-lookup"), 31));
    caller.request(&tenant(100, NONE, true)).expect("it is there");
    assert!(caller.request(&tenant(100, NONE, true)).is_err());
    assert_eq!(caller.dump(&SfdpTenantDump {}).len(), 1);
}

#[test]
fn packets_without_a_session_have_a_node() {
    let mut daemon = daemon(ROUTER);
    let mut caller = Caller::connect(daemon.control());
    caller.request(&SfdpTenantAddDel { tenant_id: 1, context_id: 7, is_del: false }).expect("new");
    caller.request(&input(1, 0, 0)).expect("it is a tenant");
    daemon.configure("ip neighbor pg0 10.0.0.2 02:00:00:00:00:03");
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    let node = |name: &str| {
        let dataplane = daemon.control().room::<quiver_engine::Dataplane>();
        dataplane.graph().find(name).expect("it is there").index() as u32
    };
    let [lookup, lookup6, drop, other] = ["ip4-lookup", "ip6-lookup", "drop", "ip4-rewrite"].map(node);
    let sp_node = |tenant_id, sp_node, node_index| SfdpSetSpNode { tenant_id, sp_node, node_index };
    let unknown = SpNode::Ip4UnknownProtocol;
    for (request, answer) in [
        (sp_node(2, unknown, lookup), Err(Retval::NO_SUCH_ENTRY)),
        (sp_node(1, unknown, u32::MAX), Err(Retval::NO_SUCH_NODE)),
        (sp_node(1, unknown, other), Err(Retval::INVALID_VALUE)),
        (sp_node(1, unknown, lookup6), Err(Retval::INVALID_VALUE)),
        (sp_node(1, SpNode::Ip6Reassembly, lookup6), Ok(())),
        (sp_node(1, unknown, drop), Ok(())),
    ] {
        assert_eq!(caller.request(&request).map(std::mem::drop), answer, "{request:?}");
    }
    let sent = |daemon: &mut Daemon| {
        daemon.sent();
        receive(daemon, "ip4 10.0.0.9 > 10.0.0.2 ttl 64 protocol 253 / payload 8");
        daemon.sent().len()
    };
    assert_eq!(sent(&mut daemon), 0);
    caller.request(&sp_node(1, unknown, lookup)).expect("it is a lookup");
    assert_eq!(sent(&mut daemon), 1);
    caller.request(&sp_node(1, unknown, drop)).expect("it is a node");
    assert_eq!(sent(&mut daemon), 0);
    let error_node = |is_ip6, node_index| SfdpSetIcmpErrorNode { tenant_id: 1, is_ip6, node_index };
    assert_eq!(caller.request(&error_node(true, lookup)).map(std::mem::drop), Err(Retval::INVALID_VALUE));
    // A tenant without services drops the errors of its sessions, too.
    let errors = |daemon: &mut Daemon| {
        receive(daemon, "ip4 10.0.0.9 > 10.0.0.2 ttl 64 / udp 1000 > 53 / payload 8");
        daemon.sent();
        let quoted = "ip4 10.0.0.2 > 10.0.0.9 ttl 1 / udp 53 > 1000 / payload 8";
        receive(daemon, &format!("ip4 10.0.0.7 > 10.0.0.2 ttl 64 / icmp time-exceeded / {quoted}"));
        daemon.sent().len()
    };
    assert_eq!(errors(&mut daemon), 0);
    caller.request(&error_node(false, lookup)).expect("it is a lookup");
    assert_eq!(errors(&mut daemon), 1);
    caller.request(&error_node(false, drop)).expect("it is a node");
    assert_eq!(errors(&mut daemon), 0);
}

#[test]
fn sessions_are_dumped_and_ended() {
    let mut daemon = daemon(ROUTER);
    let mut caller = Caller::connect(daemon.control());
    caller.request(&SfdpTenantAddDel { tenant_id: 1, context_id: 7, is_del: false }).expect("new");
    let forward = SfdpSetServices {
        tenant_id: 1,
        dir: SessionDirection::Forward,
        services: names(&["sfdp-l4-lifecycle", "ip4-lookup"]),
    };
    caller.request(&forward).expect("they are services");
    assert!(caller.request(&input(2, 0, 0)).is_err(), "there is no tenant 2");
    caller.request(&input(1, 0, 0)).expect("it is a tenant");
    caller.request(&input(1, 1, 0)).expect("the other family");
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    receive(&mut daemon, "ip4 10.0.0.9 > 10.0.0.2 ttl 64 / tcp 1000 > 80 syn seq 1");
    receive(&mut daemon, "ip6 2001:db8::9 > 2001:db8::2 hlim 64 / udp 1000 > 53 / payload 8");
    let sessions = caller.dump(&SfdpSessionDump {});
    let [tcp, udp] = &sessions[..] else { panic!("two: {sessions:?}") };
    assert_eq!((tcp.session_idx, tcp.thread_index, tcp.tenant_id, tcp.remaining_time), (0, 1, 1, 5.0));
    assert_eq!((tcp.session_type, tcp.protocol, tcp.state), (SessionType::Ip4, IpProto::TCP, SessionState::Embryonic));
    let key = SessionKey {
        context_id: 7,
        init_addr: std::net::Ipv4Addr::new(10, 0, 0, 9).into(),
        init_port: 1000,
        resp_addr: std::net::Ipv4Addr::new(10, 0, 0, 2).into(),
        resp_port: 80,
    };
    assert_eq!(tcp.keys, [key]);
    assert_eq!((udp.session_type, udp.protocol), (SessionType::Ip6, IpProto::UDP));
    let [of_tcp] = &caller.dump(&SfdpTcpSessionDump {})[..] else { panic!("one") };
    assert_eq!((of_tcp.session_id, of_tcp.keys.clone()), (tcp.session_id, vec![key]));
    assert!(of_tcp.flags.has(TcpFlags::WAIT_FOR_RESP_SYN | TcpFlags::WAIT_FOR_RESP_ACK_TO_SYN));
    for (session_index, is_all, answer, left) in
        [(7, false, Err(Retval::NO_SUCH_ENTRY), 2), (0, false, Ok(()), 1), (0, true, Ok(()), 0)]
    {
        let (after, answered) = daemon.run_task(async move {
            let answered = caller.waiting(&SfdpKillSession { session_index, is_all }).await;
            (caller, answered.map(drop))
        });
        caller = after;
        assert_eq!((answered, caller.dump(&SfdpSessionDump {}).len()), (answer, left), "{session_index} {is_all}");
    }
    caller.request(&input(1, 0, 1)).expect("it is enabled");
    caller.request(&input(1, 0, 1)).expect("it is disabled");
}
