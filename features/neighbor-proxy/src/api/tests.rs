//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;
use quiver_testkit::daemon::Daemon;

fn house() -> (Daemon, Caller) {
    let daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         ip table add 7",
    );
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

fn range(table_id: u32, low: u8, hi: u8) -> ProxyArp {
    ProxyArp { table_id, low: Ipv4Addr::new(10, 0, 0, low), hi: Ipv4Addr::new(10, 0, 0, hi) }
}

#[test]
fn ranges_come_and_go() {
    let (_daemon, mut caller) = house();
    let set = |caller: &mut Caller, is_add, proxy| caller.request(&ProxyArpAddDel { is_add, proxy }).map(drop);
    for proxy in [range(0, 2, 9), range(7, 2, 9), range(0, 2, 9)] {
        assert_eq!(set(&mut caller, true, proxy), Ok(()), "what is there may be added again");
    }
    let all = |caller: &mut Caller| -> Vec<ProxyArp> {
        caller.dump(&ProxyArpDump).into_iter().map(|details| details.proxy).collect()
    };
    assert_eq!(all(&mut caller), [range(0, 2, 9), range(7, 2, 9)]);
    assert_eq!(set(&mut caller, true, range(8, 2, 9)), Err(Retval::NO_SUCH_FIB));
    assert_eq!(set(&mut caller, true, range(0, 9, 2)), Err(Retval::INVALID_VALUE), "it ends before it begins");
    assert_eq!(set(&mut caller, false, range(0, 2, 8)), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(set(&mut caller, false, range(0, 2, 9)), Ok(()));
    assert_eq!(all(&mut caller), [range(7, 2, 9)]);
}

#[test]
fn interfaces_answer_for_others_and_stop() {
    let (mut daemon, mut caller) = house();
    let [ip4, ip6] = [1, 2].map(InterfaceIndex);
    for enable in [true, true, false, false, true] {
        let ip4 = ProxyArpIntfcEnableDisable { sw_if_index: ip4, enable };
        caller.request(&ip4).expect("what is so already may be said again");
        let expected = if enable { vec![ProxyArpIntfcDetails { sw_if_index: 1 }] } else { vec![] };
        assert_eq!(caller.dump(&ProxyArpIntfcDump), expected);
        let ip6 = Ip6ndProxyEnableDisable { sw_if_index: ip6, is_enable: enable };
        caller.request(&ip6).expect("the other family has its own");
        let shown = daemon.run("show ip6 nd proxy").expect("a table").text;
        assert_eq!(shown.contains("pg1"), enable, "{shown}");
    }
    let nobody = InterfaceIndex(9);
    let ip4 = ProxyArpIntfcEnableDisable { sw_if_index: nobody, enable: true };
    assert_eq!(caller.request(&ip4).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
    let ip6 = Ip6ndProxyEnableDisable { sw_if_index: nobody, is_enable: true };
    assert_eq!(caller.request(&ip6).map(drop), Err(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn hosts_come_and_go() {
    let (_daemon, mut caller) = house();
    let set = |caller: &mut Caller, is_add, index, ip: &str| {
        let ip = ip.parse().expect("an address");
        caller.request(&Ip6ndProxyAddDel { sw_if_index: InterfaceIndex(index), is_add, ip }).map(drop)
    };
    let host = "2001:db8::2";
    assert_eq!(set(&mut caller, true, 1, host), Ok(()));
    assert_eq!(set(&mut caller, true, 1, host), Ok(()), "what is there may be added again");
    let details = Ip6ndProxyDetails { sw_if_index: InterfaceIndex(1), ip: host.parse().expect("an address") };
    assert_eq!(caller.dump(&Ip6ndProxyDump), [details]);
    assert_eq!(set(&mut caller, true, 9, host), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(set(&mut caller, true, 1, "fe80::2"), Err(Retval::INVALID_VALUE), "it means something on one link only");
    assert_eq!(set(&mut caller, false, 2, host), Err(Retval::NO_SUCH_ENTRY), "it is behind the other one");
    assert_eq!(set(&mut caller, false, 1, host), Ok(()));
    assert_eq!(caller.dump(&Ip6ndProxyDump), []);
}
