//! The messages, by a client, against what is sent.

use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_compat::Caller;
use quiver_compat::types::{Address, NONE};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

use super::*;
use crate::config::PREFIXES_MAX;

/// The generators' numbers; the second one speaks no IPv6.
const PG0: InterfaceIndex = InterfaceIndex(1);
const PG1: InterfaceIndex = InterfaceIndex(2);

fn house() -> (Daemon, Caller) {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1
         set interface state pg0 up
         set interface ip address pg0 2001:db8::1/64",
    );
    daemon.advance(Duration::from_secs(2)).expect("it settles");
    daemon.sent();
    let caller = Caller::connect(daemon.control());
    (daemon, caller)
}

/// Names nothing.
fn config() -> SwInterfaceIp6ndRaConfig {
    SwInterfaceIp6ndRaConfig {
        sw_if_index: PG0,
        suppress: 0,
        managed: 0,
        other: 0,
        ll_option: 0,
        send_unicast: 0,
        cease: 0,
        is_no: false,
        default_router: 0,
        max_interval: 0,
        min_interval: 0,
        lifetime: 0,
        initial_count: 0,
        initial_interval: 0,
    }
}

fn prefix(text: &str) -> SwInterfaceIp6ndRaPrefix {
    let (address, len) = text.split_once('/').expect("a length");
    let address: Address = address.parse::<Ipv6Addr>().expect("an address").into();
    SwInterfaceIp6ndRaPrefix {
        sw_if_index: PG0,
        prefix: Prefix { address, len: len.parse().expect("a number") },
        use_default: false,
        no_advertise: false,
        off_link: false,
        no_autoconfig: false,
        no_onlink: false,
        is_no: false,
        val_lifetime: 0,
        pref_lifetime: 0,
    }
}

fn dump(caller: &mut Caller, sw_if_index: InterfaceIndex) -> Vec<SwInterfaceIp6ndRaDetails> {
    caller.dump(&SwInterfaceIp6ndRaDump { sw_if_index })
}

/// Packets sent within this many seconds, as text.
fn sent(daemon: &mut Daemon, seconds: u64) -> Vec<String> {
    daemon.advance(Duration::from_secs(seconds)).expect("it settles");
    daemon.sent().into_iter().map(|(_, bytes)| Packet::dissect(&bytes).to_string()).collect()
}

#[test]
fn what_is_configured_is_sent_and_told() {
    let (mut daemon, mut caller) = house();
    let [before] = &dump(&mut caller, InterfaceIndex(NONE))[..] else { panic!("one interface speaks IPv6") };
    assert_eq!((before.sw_if_index, before.send_radv, before.n_advertisements_sent), (PG0, false, 0));
    assert_eq!((before.last_radv_time, before.last_multicast_time, before.next_multicast_time), (0.0, 0.0, 0.0));
    assert_eq!((before.max_radv_interval, before.min_radv_interval, before.adv_router_lifetime), (200.0, 150.0, 600));

    caller.request(&SwInterfaceIp6ndRaConfig { is_no: true, suppress: 1, ..config() }).expect("it is set back");
    caller.request(&prefix("2001:db8::1/64")).expect("it is advertised");
    let off = SwInterfaceIp6ndRaPrefix { off_link: true, no_autoconfig: true, ..prefix("1::/96") };
    caller.request(&off).expect("it is advertised");
    let first = sent(&mut daemon, 1);
    let lives = "prefix 2001:db8::1/64 flags onlink,auto valid 0 preferred 0";
    assert!(matches!(&first[..], [one] if one.contains(lives)), "{first:?}");
    let [now] = &dump(&mut caller, PG0)[..] else { panic!("it is there") };
    assert!(now.send_radv && now.last_multicast_time > 0.0 && now.next_multicast_time > 0.0);
    assert_eq!((now.n_advertisements_sent, now.last_radv_time, now.n_solicitations_rcvd), (1, 0.0, 0));
    let told: Vec<_> = now.prefixes.iter().map(|of| (of.prefix.len, of.onlink_flag, of.autonomous_flag)).collect();
    assert_eq!(told, [(64, true, true), (96, false, false)], "in the order in which they came");

    caller.request(&SwInterfaceIp6ndRaPrefix { use_default: true, ..prefix("1::/96") }).expect("it is changed");
    caller.request(&SwInterfaceIp6ndRaPrefix { is_no: true, ..prefix("2001:db8::1/64") }).expect("it is deleted");
    let last = sent(&mut daemon, 3);
    let lives = "prefix 1::/96 flags onlink,auto valid 2592000 preferred 604800";
    assert!(matches!(&last[..], [one] if one.ends_with(lives)), "{last:?}");
    caller.request(&SwInterfaceIp6ndRaConfig { cease: 1, ..config() }).expect("it ceases");
    let last = sent(&mut daemon, 300);
    assert!(matches!(&last[..], [one] if one.contains("lifetime 0")), "{last:?}");
    assert!(!dump(&mut caller, PG0)[0].send_radv);
}

#[test]
fn what_is_named_is_set_or_set_back() {
    let (_daemon, mut caller) = house();
    let all = SwInterfaceIp6ndRaConfig {
        managed: 1,
        other: 1,
        ll_option: 1,
        send_unicast: 1,
        default_router: 1,
        max_interval: 100,
        lifetime: 65_000,
        initial_count: 2,
        initial_interval: 5,
        ..config()
    };
    let of = |caller: &mut Caller| {
        let of = dump(caller, PG0).remove(0);
        let flags = (of.adv_managed_flag, of.adv_other_flag, of.adv_link_layer_address, of.send_unicast);
        let times = (of.max_radv_interval, of.min_radv_interval, of.adv_router_lifetime);
        (flags, times, (of.initial_adverts_count, of.initial_adverts_interval))
    };
    caller.request(&all).expect("it is set");
    let set = ((true, true, false, true), (100.0, 75.0, 9000), (2, 5.0));
    assert_eq!(of(&mut caller), set);
    caller.request(&config()).expect("it names nothing");
    assert_eq!(of(&mut caller), set);
    caller.request(&SwInterfaceIp6ndRaConfig { is_no: true, ..all }).expect("it is set back");
    assert_eq!(of(&mut caller), ((false, false, true, false), (200.0, 150.0, 600), (3, 16.0)));
}

#[test]
fn what_cannot_be_advertised_is_refused() {
    let (_daemon, mut caller) = house();
    let of = |sw_if_index| SwInterfaceIp6ndRaConfig { sw_if_index, suppress: 1, ..config() };
    assert_eq!(caller.request(&of(InterfaceIndex(9))).err(), Some(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(caller.request(&of(PG1)).err(), Some(Retval::IP6_NOT_ENABLED));
    for (max_interval, min_interval, lifetime, initial_count, initial_interval) in
        [(0, 2, 600, 0, 0), (100, 76, 600, 0, 0), (0, 0, 200, 0, 0), (0, 0, 600, 4, 0), (0, 0, 600, 0, 17)]
    {
        let wrong = SwInterfaceIp6ndRaConfig {
            default_router: 1,
            max_interval,
            min_interval,
            lifetime,
            initial_count,
            initial_interval,
            ..config()
        };
        assert_eq!(caller.request(&wrong).err(), Some(Retval::INVALID_VALUE), "{wrong:?}");
    }
    caller.request(&prefix("1::/64")).expect("it is right");
    let gone = |text| SwInterfaceIp6ndRaPrefix { is_no: true, ..prefix(text) };
    for (request, retval) in [
        (gone("2::/64"), Retval::INVALID_VALUE),
        (gone("1::/65"), Retval::INVALID_VALUE_2),
        (prefix("1::/65"), Retval::INVALID_VALUE_2),
        (prefix("1::1/129"), Retval::INVALID_VALUE),
        (SwInterfaceIp6ndRaPrefix { sw_if_index: PG1, ..prefix("1::/64") }, Retval::IP6_NOT_ENABLED),
        (SwInterfaceIp6ndRaPrefix { pref_lifetime: 1, ..prefix("3::/64") }, Retval::INVALID_VALUE),
    ] {
        assert_eq!(caller.request(&request).err(), Some(retval), "{request:?}");
    }
    for number in 3..=PREFIXES_MAX as u16 + 1 {
        let more = prefix(&format!("{:x}::/64", 0x2000 + number));
        caller.request(&more).expect("there is room");
    }
    assert_eq!(caller.request(&prefix("4::/64")).err(), Some(Retval::INVALID_VALUE), "one more than a message holds");
}
