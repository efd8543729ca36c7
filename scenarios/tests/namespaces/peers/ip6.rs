//! IPv6 between hosts and the router; and groups of both families.

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::World;

use super::site::Site;

pub fn pings(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "pings")?;
    for (is_left, to) in [(true, "fd00:b::2"), (false, "fd00:a::2"), (true, "fd00:a::1"), (true, "fd00:b::1")] {
        let said = site.ping(is_left, &format!("-c 3 {to}"))?;
        assert!(said.contains(" 0% packet loss"), "{to}: {said}");
    }
    // Linux cuts what is too long, and puts it together again.
    site.ping(true, "-c 2 -s 4000 fd00:b::2")?;
    // All routers of the link, of which one answers, by its address of the same scope as the host's.
    let said = site.ping(true, "-c 1 ff02::2%eth0")?;
    assert!(said.contains("from fd00:a::1") || said.contains("from fe80::"), "{said}");
    Ok(site.daemon.finish()?)
}

/// The longest that ping sends. Of IPv6 the packets are longer than 65,535 bytes with their headers (RFC 8200, 3).
pub fn longest(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "longest")?;
    site.ping4(true, "-c 2 -s 65507 10.99.0.1")?;
    site.ping(true, "-c 2 -s 65507 fd00:a::1")?;
    let drops = site.daemon.drops();
    assert!(!drops.keys().any(|(node, _)| node.contains("reassembly")), "{drops:?}");
    Ok(site.daemon.finish()?)
}

pub fn errors(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "errors")?;
    for (arguments, expected) in [
        ("-c 1 -t 1 fd00:b::2", "From fd00:a::1 icmp_seq=1 Time exceeded: Hop limit"),
        ("-c 1 fd00:c::2", "From fd00:a::1 icmp_seq=1 Destination unreachable: No route"),
        ("-c 1 -w 6 fd00:b::77", "From fd00:a::1 icmp_seq=1 Destination unreachable: Address unreachable"),
    ] {
        let output = site.run(true, "ping", &format!("-6 -n -W 5 {arguments}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    Ok(site.daemon.finish()?)
}

pub fn path_mtu(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "mtu")?;
    site.daemon.configure("set interface mtu 1280 tap1");
    let said = site.run(true, "ping", "-6 -n -c 1 -W 5 -M do -s 1400 fd00:b::2")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("From fd00:a::1 icmp_seq=1 Packet too big: mtu=1280"), "{said}");
    let route = site.left.ip("-6 route get fd00:b::2")?;
    assert!(route.contains("mtu 1280"), "{route}");
    // From now on the host cuts its packets to what fits.
    site.right.ip("link set eth0 mtu 1280")?;
    site.ping(true, "-c 2 -s 1400 fd00:b::2")?;
    Ok(site.daemon.finish()?)
}

pub fn duplicate(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "duplicate")?;
    site.left.ip("-6 addr add fd00:a::1/64 dev eth0")?;
    for _ in 0..100 {
        site.run(true, "sleep", "0.1")?;
        let addresses = site.left.ip("-6 addr show dev eth0 dadfailed")?;
        if addresses.contains("fd00:a::1/64") {
            return Ok(site.daemon.finish()?);
        }
    }
    Err("Linux uses an address that the router has".into())
}

/// Longest time that a host waits for packets on their way.
const PATIENCE: Duration = Duration::from_secs(10);

/// Packets of a sender behind tap0 reach the host behind tap1 that has joined their group, as a route says, and those for a group
/// without a route do not.
pub fn groups(world: &World) -> Result<(), Failed> {
    const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
    const OTHER: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 2);
    const PORT: u16 = 7001;
    const HOPS: u32 = 3;
    let mut site = Site::new(world, "groups")?;
    site.daemon.configure(&format!("ip mroute add {GROUP} via tap0 accept via tap1 forward"));
    let (ready, is_ready) = mpsc::channel();
    let receiver = site.right.spawn(move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        for group in [GROUP, OTHER] {
            socket.join_multicast_v4(&group, &Ipv4Addr::new(10, 99, 1, 2))?;
        }
        socket.set_read_timeout(Some(PATIENCE))?;
        // A sender that has given up has said why itself.
        let _ = ready.send(());
        let mut bytes = [0; 64];
        let heard = (0..3).map(|_| socket.recv_from(&mut bytes).map(|(n, from)| (bytes[..n].to_vec(), from.ip())));
        heard.collect::<Result<Vec<_>, _>>()
    });
    let sender = site.left.spawn(move || {
        let _ = is_ready.recv();
        let socket = UdpSocket::bind((Ipv4Addr::new(10, 99, 0, 2), 0))?;
        socket.set_multicast_ttl_v4(HOPS)?;
        for _ in 0..20 {
            socket.send_to(b"to another group", (OTHER, PORT))?;
            socket.send_to(b"to the group", (GROUP, PORT))?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok::<_, std::io::Error>(())
    });
    let heard = site.daemon.run_until(receiver)??;
    for (bytes, from) in heard {
        assert_eq!((bytes.as_slice(), from.to_string().as_str()), (&b"to the group"[..], "10.99.0.2"));
    }
    site.daemon.run_until(sender)??;
    let shown = site.daemon.run(&format!("show ip mfib {GROUP}"))?.text;
    assert!(shown.contains("packets:20"), "{shown}");
    Ok(site.daemon.finish()?)
}

/// The same of IPv6, there and back: Linux answers echo requests to groups that it is in.
pub fn groups6(world: &World) -> Result<(), Failed> {
    const GROUP: Ipv6Addr = Ipv6Addr::new(0xff3e, 0, 0, 0, 0, 0, 0, 0x99);
    let mut site = Site::new(world, "groups6")?;
    let link = site.right.ip("-o link show eth0")?;
    let index: u32 = link.split(':').next().and_then(|index| index.trim().parse().ok()).ok_or("no index")?;
    // It is in the group as long as the socket is there.
    let _socket = site.right.within(move || {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
        socket.join_multicast_v6(&GROUP, index).map(|()| socket)
    })??;
    let silent = site.run(true, "ping", &format!("-6 -n -c 1 -W 1 -t 3 -I eth0 {GROUP}"))?;
    assert!(!silent.status.success(), "nobody forwards it: {silent:?}");
    site.daemon.configure(&format!("ip mroute add {GROUP} via tap0 accept via tap1 forward"));
    let said = site.ping(true, &format!("-c 3 -t 3 -I eth0 {GROUP}"))?;
    assert!(said.contains("from fd00:b::2"), "{said}");
    Ok(site.daemon.finish()?)
}
