//! The paths that are measured: how a daemon is configured, and the packets that take the path.

mod ip4;
mod lists;
mod mixed;
mod nat;
pub mod sessions;
mod tunnels;

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_control::Control;
use quiver_interface::Interfaces;
use quiver_ip::fib::{self, Source, TableId, Target};
use quiver_ip::{Family, Ip};
use quiver_testkit::daemon::Daemon;
use quiver_wire::{Prefix, V4, V6};

use crate::graph::filling::FILL;
use crate::shape;

/// Routes of a table that no cache near a core holds.
const MANY: u32 = 200_000;
/// Routes of the large table. Tests, which look at what becomes of packets, have fewer.
const MILLIONS: u32 = if cfg!(test) { MANY } else { 2_000_000 };
/// Stations on each side of the large bridge.
const STATIONS: u32 = if cfg!(test) { 50_000 } else { 500_000 };
/// Routes of the smallest table whose words are fetched ahead.
const FAR: u32 = 1_100;
/// Routes that commands make in a short time.
const FEW: u32 = 10_000;
/// Next hops that the routes are spread over.
const HOPS: u32 = 8;

/// Makes packet `n` of a packet.
pub type Vary = fn(u32, &mut [u8]);

/// A path through the graph.
pub struct Path {
    /// Its name.
    pub name: &'static str,
    /// Ticks per packet at vectors of 256 that we want to stay below.
    pub goal: Option<u32>,
    /// The commands that configure it: from pg0 to pg1.
    pub commands: fn() -> Vec<String>,
    /// Set-up that is too slow by commands, such as adding routes one by one, by the million.
    pub prepare: fn(&mut Daemon) -> Result<(), String>,
    /// The commands by which VPP is configured for the same, behind ours; None if it is not measured beside us.
    pub peer: Option<fn() -> Vec<String>>,
    /// Makes packet `n` of a packet.
    pub vary: Vary,
    /// Whether the packets are routed, so that they are for the address of pg0.
    pub routed: bool,
    /// Stations on each side that have spoken before.
    pub stations: u32,
    /// The VLAN of the packets: pg0.10 receives them then, not pg0.
    pub vlan: Option<u16>,
    /// Whether they are of IPv6.
    pub ip6: bool,
    /// Bytes behind their headers.
    pub payload: usize,
    /// The interface that sends what comes of them.
    pub sends: &'static str,
    /// How many packets are sent for so many that were received.
    pub ratio: (usize, usize),
    /// Packets that are in the rings at once. Headers of more than [`FILL`] do not stay in the nearest caches.
    pub in_flight: usize,
    /// Packets after which they repeat themselves, at least those of a filling: so many a VPP beside us gets.
    pub distinct: usize,
    /// Packets that come before all others, so many of each kind: the interface that receives them, and what makes packet `n`.
    pub before: &'static [(&'static str, Vary)],
    /// Sessions that there may be, if not as many as by default.
    pub sessions: Option<usize>,
}

impl Path {
    /// Packets of 64 bytes from pg0 to pg1, each of which is sent.
    fn new(name: &'static str, commands: fn() -> Vec<String>, vary: Vary) -> Path {
        Path {
            name,
            goal: None,
            commands,
            prepare: |_| Ok(()),
            peer: Some(Vec::new),
            vary,
            routed: true,
            stations: 0,
            vlan: None,
            ip6: false,
            payload: 18,
            sends: "pg1",
            ratio: (1, 1),
            in_flight: FILL,
            distinct: FILL,
            before: &[],
            sessions: None,
        }
    }
}

/// Sets the destination of an IPv4 packet behind an Ethernet header, which may have a tag.
pub fn send_to(packet: &mut [u8], to: Ipv4Addr) {
    let at = if packet[12..14] == [0x81, 0] { 18 } else { 14 };
    let header = &mut packet[at..at + 20];
    header[16..].copy_from_slice(&to.octets());
    header[10..12].fill(0);
    let sum = quiver_wire::checksum::of(header).checksum();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Sets the destination of an IPv6 packet behind an Ethernet header. Its checksum is no longer right then, at which no router
/// looks.
pub fn send_to6(packet: &mut [u8], to: Ipv6Addr) {
    packet[14 + 24..14 + 40].copy_from_slice(&to.octets());
}

/// Makes station `n` of an address: its lower half counts.
pub fn set_station(address: &mut [u8], n: u32) {
    address[2..6].copy_from_slice(&n.to_be_bytes());
}

/// All of them.
pub fn all() -> Vec<Path> {
    let few: Vary = to_few;
    // A walk over all routes in an order that no prefetcher follows: the factor has no divisor in common with the count.
    let many: Vary = |n, packet| {
        send_to(packet, Ipv4Addr::from(0x3000_0000 + (u64::from(n) * 1_234_567 % u64::from(MILLIONS)) as u32));
    };
    let layer2 = |name, goal, commands| {
        let vary = |n, packet: &mut [u8]| send_to(packet, Ipv4Addr::from(0x3000_0000 + n % 256));
        Path { goal, routed: false, stations: 1, ..Path::new(name, commands, vary) }
    };
    let layer3 = |name, goal, commands, vary| Path { goal, ..Path::new(name, commands, vary) };
    let tagged = |path: Path| Path { vlan: Some(10), ..path };
    let alone = |path: Path| Path { peer: None, ..path };
    // VPP's generator makes packets vector by vector.
    let under_way = |name, in_flight| alone(Path { in_flight, ..Path::new(name, || router("", 8, 16), few) });
    let plain: fn() -> Vec<String> = || router("", 0, 32);
    let counted: fn() -> Vec<String> = || router("counters", 0, 32);
    let mut all = vec![
        layer2("cross-connect", Some(15), || {
            lines(["set interface l2 xconnect pg0 pg1", "set interface l2 xconnect pg1 pg0"])
        }),
        layer2("bridge", Some(80), || {
            lines(["create bridge-domain 1", "set interface l2 bridge pg0 1", "set interface l2 bridge pg1 1"])
        }),
        stations::<5_000>("bridge, 10 thousand stations"),
        stations::<STATIONS>("bridge, 1 million stations"),
        layer3("ip4, 8 routes", Some(70), || router("", 8, 16), few),
        under_way("ip4, 8 routes, 4,096 in flight", 4_096),
        under_way("ip4, 8 routes, 65,536 in flight", 65_536),
        alone(layer3("ip4, 2 million routes", Some(110), || router("", MILLIONS, 32), many)),
        layer3("ip4, 8 routes, counted", None, || router("counters", 8, 16), few),
        alone(layer3("ip4, 2 million routes, counted", None, || router("counters", MILLIONS, 32), many)),
        // The fewest that are walked ahead, as millions are.
        bgp::<FAR>("ip4, 1,100 routes as in BGP", plain),
        bgp::<FAR>("ip4, 1,100 routes as in BGP, counted", counted),
        bgp::<10_000>("ip4, 10 thousand routes as in BGP", plain),
        bgp::<MANY>("ip4, 200 thousand routes as in BGP", plain),
        bgp::<MILLIONS>("ip4, 2 million routes as in BGP", plain),
        bgp::<MILLIONS>("ip4, 2 million routes as in BGP, counted", counted),
        of_ip6(
            IP6_FEW,
            Some(40),
            |_| Ok(()),
            |n, packet| {
                send_to6(packet, Ipv6Addr::from_bits(0x3000 << 112 | u128::from(n % 8) << 96 | 1));
            },
        ),
        of_ip6(
            "ip6, 2 million hosts",
            Some(80),
            |daemon| route6(daemon, shape::hosts6, MILLIONS),
            |n, packet| {
                send_to6(packet, Ipv6Addr::from_bits(shape::inside6(shape::hosts6, n, MILLIONS)));
            },
        ),
        of_ip6(
            "ip6, 1,100 routes as in BGP",
            None,
            |daemon| route6(daemon, shape::bgp6, FAR),
            |n, packet| {
                send_to6(packet, Ipv6Addr::from_bits(shape::inside6(shape::bgp6, n, FAR)));
            },
        ),
        of_ip6(
            "ip6, 200 thousand routes as in BGP",
            None,
            |daemon| route6(daemon, shape::bgp6, MANY),
            |n, packet| {
                send_to6(packet, Ipv6Addr::from_bits(shape::inside6(shape::bgp6, n, 200_000)));
            },
        ),
        of_ip6(
            "ip6, 2 million routes as in BGP",
            Some(140),
            |daemon| route6(daemon, shape::bgp6, MILLIONS),
            |n, packet| {
                send_to6(packet, Ipv6Addr::from_bits(shape::inside6(shape::bgp6, n, MILLIONS)));
            },
        ),
        tagged(layer2("vlan, cross-connect", None, || {
            sub_interfaces(lines([
                "set interface l2 xconnect pg0.10 pg1.10",
                "set interface l2 xconnect pg1.10 pg0.10",
            ]))
        })),
        tagged(layer2("vlan, bridge", None, || {
            sub_interfaces(lines([
                "create bridge-domain 1",
                "set interface l2 bridge pg0.10 1",
                "set interface l2 bridge pg1.10 1",
            ]))
        })),
        tagged(layer3(
            "vlan, ip4, 8 routes",
            None,
            || {
                let of_whole = router("", 8, 16);
                sub_interfaces(
                    of_whole.iter().map(|line| line.replace("pg0", "pg0.10").replace("pg1", "pg1.10")).collect(),
                )
            },
            few,
        )),
    ];
    all.extend(ip4::all());
    all.extend(lists::all());
    all.extend(mixed::all());
    all.extend(nat::all());
    all.extend(sessions::all());
    all.extend(tunnels::all());
    all
}

/// Packets to eight networks.
fn to_few(n: u32, packet: &mut [u8]) {
    send_to(packet, Ipv4Addr::from(0x3000_0000 | (n % 8) << 16 | 1));
}

fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

/// The same, with a sub-interface of each interface.
fn sub_interfaces(commands: Vec<String>) -> Vec<String> {
    let make = ["pg0", "pg1"].into_iter().flat_map(|interface| {
        [format!("create sub-interfaces {interface} 10"), format!("set interface state {interface}.10 up")]
    });
    make.chain(commands).collect()
}

/// A router with so many routes of this length from 48.0.0.0 on, over eight neighbours.
fn router(counters: &str, routes: u32, length: u32) -> Vec<String> {
    // Without any, they come later, by the million.
    let large = if routes > 1000 || routes == 0 { "large" } else { "" };
    let mut commands = vec![format!("ip table add 1 {counters} {large}")];
    commands.extend(links(1, HOPS));
    let each = routes / HOPS;
    for hop in (0..HOPS).filter(|_| each > 0) {
        let first = Ipv4Addr::from(0x3000_0000 + ((hop * each) << (32 - length)));
        let via = format!("10.2.0.{} pg1", hop + 2);
        commands.push(format!("ip route add count {each} {first}/{length} table 1 via {via}"));
    }
    commands
}

/// Both interfaces in a table, and so many neighbours behind pg1.
fn links(table: u32, neighbors: u32) -> Vec<String> {
    let mut commands = vec![];
    if table > 0 {
        commands.extend(["pg0", "pg1"].map(|interface| format!("set interface ip table {interface} {table}")));
    }
    commands.extend(lines(["set interface ip address pg0 10.1.0.1/16", "set interface ip address pg1 10.2.0.1/16"]));
    commands.extend((0..neighbors).map(|hop| format!("ip neighbor pg1 10.2.0.{} 02:00:00:00:01:{hop:02x}", hop + 2)));
    commands
}

/// A bridge with so many stations on each side, each of which sends to another.
fn stations<const EACH: u32>(name: &'static str) -> Path {
    let commands = || {
        lines([
            "create bridge-domain 1 learn-limit 2000000",
            "set interface l2 bridge pg0 1",
            "set interface l2 bridge pg1 1",
        ])
    };
    let vary = |n, packet: &mut [u8]| {
        let walk = |step: u64| (u64::from(n) * step % u64::from(EACH)) as u32;
        set_station(&mut packet[..6], walk(1_234_567));
        set_station(&mut packet[6..12], walk(7_654_321));
    };
    Path { routed: false, stations: EACH, peer: None, ..Path::new(name, commands, vary) }
}

/// A router with routes whose lengths are those of the Internet's, and packets to random addresses in them.
fn bgp<const ROUTES: u32>(name: &'static str, commands: fn() -> Vec<String>) -> Path {
    let vary = |n, packet: &mut [u8]| send_to(packet, shape::inside_bgp(n, ROUTES));
    let peer: Option<fn() -> Vec<String>> = if ROUTES <= FEW { Some(routed_as_in_bgp::<ROUTES>) } else { None };
    Path { prepare: route_as_in_bgp::<ROUTES>, peer, ..Path::new(name, commands, vary) }
}

/// The commands for the same routes.
fn routed_as_in_bgp<const ROUTES: u32>() -> Vec<String> {
    let route = |n: u32| {
        let (prefix, length) = shape::bgp(n);
        format!("ip route add {}/{length} table 1 via 10.2.0.{} pg1", Ipv4Addr::from(prefix), n % HOPS + 2)
    };
    (0..ROUTES).map(route).collect()
}

fn route_as_in_bgp<const ROUTES: u32>(daemon: &mut Daemon) -> Result<(), String> {
    let next_hop = |n: u32| Ipv4Addr::new(10, 2, 0, (n % HOPS) as u8 + 2);
    let prefix = |n| {
        let (prefix, length) = shape::bgp(n);
        Prefix::<V4>::new(prefix.into(), length).map_err(|error| error.to_string())
    };
    insert(daemon.control(), ROUTES, prefix, next_hop)
}

/// Routes so many prefixes of a shape to eight neighbours.
fn route6(daemon: &Daemon, shape: fn(u32) -> (u128, u8), routes: u32) -> Result<(), String> {
    let prefix = |n| {
        let (prefix, length) = shape(n);
        Prefix::<V6>::new(prefix.into(), length).map_err(|error| error.to_string())
    };
    insert(daemon.control(), routes, prefix, |n| hop6(n % HOPS))
}

fn insert<F: Family>(
    control: &Control,
    routes: u32,
    prefix: impl Fn(u32) -> Result<Prefix<F>, String>,
    next_hop: impl Fn(u32) -> F::Address,
) -> Result<(), String> {
    let sends = control.room::<Interfaces>().find("pg1").ok_or("pg1 is not there")?.id;
    let mut ip = control.room_mut::<Ip<F>>();
    for n in 0..routes {
        let path = fib::Path::to(Target::NextHop(sends, next_hop(n)));
        ip.fib.insert(TableId(1), prefix(n)?, Source::Static, vec![path]).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A router of IPv6 in a large table, with eight routes beside those that `prepare` makes.
fn of_ip6(name: &'static str, goal: Option<u32>, prepare: fn(&mut Daemon) -> Result<(), String>, vary: Vary) -> Path {
    // Only the eight routes come by commands.
    let peer: Option<fn() -> Vec<String>> = if name == IP6_FEW { Some(Vec::new) } else { None };
    Path { goal, prepare, peer, ip6: true, ..Path::new(name, router6, vary) }
}

/// The path with no other routes.
const IP6_FEW: &str = "ip6, 8 routes";

/// A neighbour behind pg1.
fn hop6(hop: u32) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, hop as u16 + 2)
}

fn router6() -> Vec<String> {
    let mut commands = lines([
        "ip6 table add 1 large",
        "set interface ip6 table pg0 1",
        "set interface ip6 table pg1 1",
        "set interface ip address pg0 2001:db8:1::1/64",
        "set interface ip address pg1 2001:db8:2::1/64",
    ]);
    commands.extend((0..HOPS).map(|hop| format!("ip neighbor pg1 {} 02:00:00:00:01:{hop:02x}", hop6(hop))));
    commands.extend((0..HOPS).map(|hop| format!("ip route add 3000:{hop:x}::/32 table 1 via {} pg1", hop6(hop))));
    commands
}
