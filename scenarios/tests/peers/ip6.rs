//! Linux hosts in namespaces speak IPv6 to a router, and through it to each other; and both families to groups.

use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::{ExitCode, Output};
use std::sync::mpsc;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::{Namespace, World, enter};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::trials;
use quiver_testkit::trials::Trial;

const TRIALS: &[Trial<World>] = &[
    ("hosts_ping_each_other_and_the_router", pings),
    ("a_host_is_told_where_its_packets_end", errors),
    ("a_host_finds_out_what_the_way_takes", path_mtu),
    ("a_host_does_not_take_the_routers_address", duplicate),
    ("a_host_hears_the_groups_that_it_has_joined", groups),
    ("a_host_answers_whoever_asks_a_group_that_it_has_joined", groups6),
];

fn main() -> ExitCode {
    trials::main(enter(), TRIALS)
}

/// A router between two hosts: fd00:a::2 behind tap0, fd00:b::2 behind tap1.
struct Site {
    daemon: Daemon,
    left: Namespace,
    right: Namespace,
}

impl Site {
    fn new(world: &World, name: &str) -> Result<Site, Failed> {
        let mut daemon = Daemon::new(ROOMS, Setup { buffers: 8192, ..Setup::default() })?;
        let [left, right] = [format!("{name}-l"), format!("{name}-r")];
        let (left, right) = (Namespace::add(world, &left)?, Namespace::add(world, &right)?);
        for (id, (host, net)) in [(&left, "a"), (&right, "b")].into_iter().enumerate() {
            daemon.configure(&format!(
                "create tap id {id} host-ns {} host-if-name eth0
                 set interface ip address tap{id} fd00:{net}::1/64
                 set interface mtu 1500 tap{id}
                 set interface state tap{id} up",
                host.name()
            ));
            host.ip("link set eth0 up mtu 1500")?;
            host.ip(&format!("-6 addr add fd00:{net}::2/64 dev eth0 nodad"))?;
            host.ip(&format!("-6 route add default via fd00:{net}::1 dev eth0"))?;
        }
        Ok(Site { daemon, left, right })
    }
    /// Runs a program on a host while the router works.
    fn run(&mut self, is_left: bool, program: &str, arguments: &str) -> Result<Output, Failed> {
        let host = if is_left { &self.left } else { &self.right };
        let mut command = host.command(program);
        command.args(arguments.split(' '));
        Ok(self.daemon.run_until(std::thread::spawn(move || command.output()))?)
    }
    /// What `ping` says; its echo requests must be answered.
    fn ping(&mut self, is_left: bool, arguments: &str) -> Result<String, Failed> {
        let output = self.run(is_left, "ping", &format!("-6 -n -i 0.05 -W 2 {arguments}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(format!("ping {arguments}: {said}{}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    }
}

fn pings(world: &World) -> Result<(), Failed> {
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

fn errors(world: &World) -> Result<(), Failed> {
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

fn path_mtu(world: &World) -> Result<(), Failed> {
    let mut site = Site::new(world, "mtu")?;
    site.daemon.configure("set interface mtu 1280 tap1");
    let said = site.run(true, "ping", "-6 -n -c 1 -W 1 -M do -s 1400 fd00:b::2")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("From fd00:a::1 icmp_seq=1 Packet too big: mtu=1280"), "{said}");
    let route = site.left.ip("-6 route get fd00:b::2")?;
    assert!(route.contains("mtu 1280"), "{route}");
    // From now on the host cuts its packets to what fits.
    site.right.ip("link set eth0 mtu 1280")?;
    site.ping(true, "-c 2 -s 1400 fd00:b::2")?;
    Ok(site.daemon.finish()?)
}

fn duplicate(world: &World) -> Result<(), Failed> {
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

/// How long a host listens for packets that are on their way.
const PATIENCE: Duration = Duration::from_secs(10);

/// Packets of a sender behind tap0 reach the host behind tap1 that has joined their group, as a route says, and those for a group
/// without a route do not.
fn groups(world: &World) -> Result<(), Failed> {
    const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
    const OTHER: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 2);
    const PORT: u16 = 7001;
    const HOPS: u32 = 3;
    let mut site = Site::new(world, "groups")?;
    for (id, host) in [&site.left, &site.right].into_iter().enumerate() {
        site.daemon.configure(&format!("set interface ip address tap{id} 10.99.{id}.1/24"));
        host.ip(&format!("addr add 10.99.{id}.2/24 dev eth0"))?;
        host.ip(&format!("route add default via 10.99.{id}.1 dev eth0"))?;
    }
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
fn groups6(world: &World) -> Result<(), Failed> {
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
