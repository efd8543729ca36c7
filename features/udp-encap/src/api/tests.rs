//! The messages, as a client sends them, and what its routes make of packets.

use super::*;
use quiver_compat::Caller;
use quiver_scenarios::daemon;

/// The commands that configure the daemon of each test.
const CONFIGURED: &str = "ip table add 1\nip6 table add 2";

fn encap(ends: [&str; 2], ports: (u16, u16), table_id: u32) -> UdpEncap {
    let [src_ip, dst_ip] = ends.map(|end| end.parse::<IpAddr>().expect("an address").into());
    UdpEncap { table_id, src_port: ports.0, dst_port: ports.1, src_ip, dst_ip, id: 0 }
}

#[test]
fn encapsulations_come_with_numbers_and_go() {
    let daemon = daemon(CONFIGURED);
    let mut caller = Caller::connect(daemon.control());
    let mut add = |said: &UdpEncap| caller.request(&UdpEncapAdd { udp_encap: said.clone() }).map(|reply| reply.id);
    let (four, six) = (["10.0.0.1", "10.0.0.2"], ["2001:db8::1", "2001:db8::2"]);
    let all = [encap(four, (0, 4000), 1), encap(six, (3000, 4000), 2), encap(four, (3, 4), 0)];
    assert_eq!(all.each_ref().map(&mut add), [Ok(0), Ok(1), Ok(2)]);
    for (wrong, retval) in [
        (encap(four, (3, 4), 2), Retval::NO_SUCH_TABLE),
        (encap(six, (3, 4), 1), Retval::NO_SUCH_TABLE),
        (encap(["10.0.0.1", "2001:db8::2"], (3, 4), 0), Retval::INVALID_VALUE),
        (encap(four, (3, 0), 0), Retval::INVALID_VALUE),
        (encap(["10.0.0.1", "224.0.0.9"], (3, 4), 0), Retval::INVALID_VALUE),
        (encap(["2001:db8::1", "fe80::2"], (3, 4), 0), Retval::INVALID_VALUE),
    ] {
        assert_eq!(add(&wrong), Err(retval), "{wrong:?}");
    }
    let dumped: Vec<UdpEncap> = caller.dump(&UdpEncapDump).into_iter().map(|details| details.udp_encap).collect();
    let numbered = (0..).zip(all).map(|(id, encap)| UdpEncap { id, ..encap }).collect::<Vec<_>>();
    assert_eq!(dumped, numbered);
    caller.request(&UdpEncapDel { id: 1 }).expect("it is there");
    for gone in [1, 70_000] {
        assert_eq!(caller.request(&UdpEncapDel { id: gone }).map(drop), Err(Retval::NO_SUCH_ENTRY));
    }
    // The least number that is free.
    let reply = caller.request(&UdpEncapAdd { udp_encap: encap(four, (5, 6), 0) }).expect("it fits");
    assert_eq!((reply.id, caller.dump(&UdpEncapDump).len()), (1, 3));
}
