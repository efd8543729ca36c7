//! The messages, as a client sends them.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use quiver_compat::Caller;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

fn entry(bd_id: u32, ip: &str) -> BdIpMac {
    BdIpMac { bd_id, ip: ip.parse::<IpAddr>().expect("an address").into(), mac: HOST }
}

/// A daemon whose pg0, number 1, is in a domain that answers.
fn house() -> (Daemon, Caller) {
    let daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0
         set interface state pg0 up
         create bridge-domain 1 arp-term 1
         create bridge-domain 2
         set interface l2 bridge pg0 1",
    );
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

#[test]
fn hosts_are_named_listed_and_forgotten() {
    let (_daemon, mut caller) = house();
    let add = |bd_id, ip| BdIpMacAddDel { is_add: true, entry: entry(bd_id, ip) };
    for (bd_id, ip) in [(1, "10.0.0.9"), (1, "2001:db8::9"), (2, "10.0.0.9")] {
        assert_eq!(caller.request(&add(bd_id, ip)).map(drop), Ok(()), "{bd_id} {ip}");
    }
    let listed = |caller: &mut Caller, bd_id| {
        let details = caller.dump(&BdIpMacDump { bd_id });
        details.into_iter().map(|details| details.entry).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut caller, 1), [entry(1, "10.0.0.9"), entry(1, "2001:db8::9")]);
    assert_eq!(listed(&mut caller, NONE).len(), 3);
    let remove = |bd_id, ip| BdIpMacAddDel { is_add: false, entry: entry(bd_id, ip) };
    assert_eq!(caller.request(&remove(2, "10.0.0.9")).map(drop), Ok(()));
    assert_eq!(caller.request(&BdIpMacFlush { bd_id: 1 }).map(drop), Ok(()));
    assert_eq!(listed(&mut caller, NONE), []);
    let group = BdIpMac { mac: MacAddress::BROADCAST, ..entry(1, "10.0.0.9") };
    for (refused, retval) in [
        (caller.request(&remove(2, "10.0.0.9")).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&add(3, "10.0.0.9")).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&BdIpMacFlush { bd_id: 3 }).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&BdIpMacAddDel { is_add: true, entry: group }).map(drop), Retval::INVALID_VALUE),
    ] {
        assert_eq!(refused, Err(retval));
    }
}

#[test]
fn clients_hear_who_asks_once_in_ten_seconds() {
    let (mut daemon, mut caller) = house();
    let question = "eth 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff / \
        arp request 02:00:00:00:00:01 10.0.0.1 > 00:00:00:00:00:00 10.0.0.9";
    let question = question.parse::<Packet>().expect("a packet").to_bytes();
    let asked = L2ArpTermEvent {
        ip: IpAddr::from([10, 0, 0, 1]).into(),
        sw_if_index: InterfaceIndex(1),
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
    };
    let mut heard = |caller: &mut Caller, times: u32| {
        (0..times).for_each(|_| daemon.send("pg0", &question).expect("pg0 is up"));
        daemon.settle().expect("it settles");
        let heard = caller.events::<L2ArpTermEvent>();
        daemon.advance(Duration::from_secs(4)).expect("it settles");
        heard
    };
    assert_eq!(heard(&mut caller, 1), []);
    caller.request(&WantL2ArpTermEvents { enable: true, pid: 7 }).expect("from now on");
    assert_eq!(heard(&mut caller, 5), std::slice::from_ref(&asked));
    assert_eq!((heard(&mut caller, 1), heard(&mut caller, 1)), (vec![], vec![]), "after four and eight seconds");
    assert_eq!(heard(&mut caller, 1), [asked], "after twelve");
    caller.request(&WantL2ArpTermEvents { enable: false, pid: 7 }).expect("no longer");
    assert_eq!(heard(&mut caller, 1), []);
}
