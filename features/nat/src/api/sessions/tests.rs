use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quiver_compat::Caller;
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

use super::*;

#[test]
fn sessions_of_a_host_are_dumped_and_ended() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 192.0.2.1/24
         ip neighbor pg1 192.0.2.9 02:00:00:00:00:19
         nat44 plugin enable
         nat44 add address 192.0.2.50
         set interface nat44 in pg0 out pg1",
    );
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    let text =
        "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 192.0.2.9 ttl 64 / udp 5000 > 53 / payload 8";
    let packet = text.parse::<Packet>().expect("a packet").to_bytes();
    daemon.send("pg0", &packet).expect("it is up");
    daemon.settle().expect("it settles");

    let (inside, far) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(192, 0, 2, 9));
    let mut caller = Caller::connect(daemon.control());
    let users = caller.dump(&Nat44UserDump {});
    assert_eq!(users, [Nat44UserDetails { vrf_id: 0, ip_address: inside, nsessions: 1, nstaticsessions: 0 }]);
    let first = caller.dump(&Nat44UserSessionDump { ip_address: inside, vrf_id: 0 });
    let second = caller.dump(&Nat44UserSessionV2Dump { ip_address: inside, vrf_id: 0 });
    let third = caller.dump(&Nat44UserSessionV3Dump { ip_address: inside, vrf_id: 0 });
    assert_eq!((first.len(), second.len(), third.len()), (1, 1, 1));
    let of = &third[0];
    assert_eq!(
        (of.inside_ip_address, of.inside_port, of.outside_ip_address),
        (inside, 5000, Ipv4Addr::new(192, 0, 2, 50))
    );
    assert_eq!((of.ext_host_address, of.ext_host_port, of.protocol, of.total_pkts), (far, 53, 17, 1));
    assert_eq!((first[0].outside_port, second[0].outside_port), (of.outside_port, of.outside_port));
    assert!(!of.is_timed_out && !second[0].is_timed_out);

    let end = Nat44DelSession {
        address: inside,
        protocol: 17,
        port: 5000,
        vrf_id: 0,
        flags: ConfigFlags(ConfigFlags::INSIDE.0 | ConfigFlags::EXT_HOST_VALID.0),
        ext_host_address: far,
        ext_host_port: 53,
    };
    assert_eq!(ended(&mut daemon, &mut caller, &end), Ok(()));
    assert!(ended(&mut daemon, &mut caller, &end).is_err(), "it is gone");
    assert_eq!(caller.dump(&Nat44UserDump {}), []);
}

/// Ends a session, which its worker does.
fn ended(daemon: &mut Daemon, caller: &mut Caller, end: &Nat44DelSession) -> Result<(), Retval> {
    let mut ended = std::pin::pin!(caller.waiting(end));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        if let Poll::Ready(ended) = ended.as_mut().poll(&mut context) {
            return ended.map(drop);
        }
        daemon.advance(Duration::from_millis(10)).expect("it settles");
    }
    panic!("no answer within a second")
}
