//! IPv4 router features: each with about eight routes, to compare with `ip4, 8 routes`.

use std::net::Ipv4Addr;

use quiver_wire::checksum;

use super::{HOPS, Path, lines, links, router, send_to, to_few};

/// Paths of the route that has most.
const PATHS: u32 = 16;
/// Tables of the router that has many, and the one of its interfaces.
const TABLES: u32 = 100;
const OURS: u32 = 42;
/// Bytes of a packet behind its Ethernet header, and of what its link takes, that is sent in three parts.
const LONG: usize = 1400;
const MTU: usize = 600;
/// Bytes of half an echo request; parts lie at multiples of eight.
const HALF: usize = 696;
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;

/// All of them.
pub(super) fn all() -> Vec<Path> {
    vec![
        Path::new("ip4, loose uRPF", || checked("loose"), from_few),
        Path::new("ip4, strict uRPF", || checked("strict"), from_few),
        Path::new("ip4, ABF", by_lists, to_few),
        Path::new("ip4, MSS clamp", clamped, to_few_by_tcp),
        Path::new("ip4, 256 sessions", with_sessions, |n, packet| of_session(n % 256, packet)),
        Path { distinct: 1 << 16, ..Path::new("ip4, a session for each packet", with_sessions, of_session) },
        Path::new("ip4, reflecting ACL, 256 sessions", reflecting, |n, packet| of_session(n % 256, packet)),
        Path {
            distinct: 64_000,
            ..Path::new("ip4, reflecting ACL, 64,000 sessions", reflecting, |n, packet| of_session(n % 64_000, packet))
        },
        Path::new("ip4, ECMP over 16 paths", many_paths, |n, packet| {
            send_to(packet, Ipv4Addr::from(0x3000_0000 + n % 65_536));
        }),
        Path::new("ip4, in table 0", || in_table(0, 0), to_few),
        Path::new("ip4, in one of 100 tables", || in_table(OURS, TABLES), to_few),
        Path::new("ip4, from table to table", from_table_to_table, to_few),
        Path {
            payload: LONG - IP - UDP,
            ratio: (3, 1),
            peer: None,
            ..Path::new(
                "ip4, sent in fragments",
                || [router("", 8, 16), vec![format!("set interface mtu {MTU} pg1")]].concat(),
                to_few,
            )
        },
        Path {
            payload: HALF - UDP,
            sends: "pg0",
            ratio: (1, 2),
            peer: None,
            ..Path::new("ip4, echo requests in fragments", for_us, half_an_echo)
        },
    ]
}

/// A router with a reverse-path check of the sender, which is behind one of eight routes.
fn checked(mode: &str) -> Vec<String> {
    let mut commands = router("", 8, 16);
    commands.extend(lines([
        "ip neighbor pg0 10.1.0.2 02:01:00:00:00:01",
        "ip route add count 8 64.0.0.0/16 table 1 via 10.1.0.2 pg0",
    ]));
    commands.push(format!("set urpf ip4 rx {mode} pg0"));
    commands
}

/// Packets from eight networks to eight.
fn from_few(n: u32, packet: &mut [u8]) {
    packet[ETHERNET + 12..ETHERNET + 16].copy_from_slice(&(0x4000_0000 | (n / 8 % 8) << 16 | 1).to_be_bytes());
    to_few(n, packet);
}

/// A router with one policy, whose list has eight rules, of which the last permits all that comes.
fn by_lists() -> Vec<String> {
    let others = (0..7).map(|n| format!("deny proto 17 dport {}", 5000 + n)).collect::<Vec<_>>().join(", ");
    let mut commands = router("", 8, 16);
    commands.extend([
        format!("set acl-plugin acl {others}, permit src 10.1.0.0/16 proto 17"),
        "abf policy add id 1 acl 0 via 10.2.0.9 pg1".to_owned(),
        "abf attach ip4 policy 1 pg0".to_owned(),
    ]);
    commands
}

/// A router that looks at what those say of segments that open connections.
fn clamped() -> Vec<String> {
    let mut commands = router("", 8, 16);
    commands.push("set interface tcp-mss-clamp pg0 ip4 rx ip4-mss 1400".to_owned());
    commands
}

/// Segments of connections that are open, to eight networks.
fn to_few_by_tcp(n: u32, packet: &mut [u8]) {
    packet[ETHERNET + 9] = 6;
    // A header without options, and ACK (RFC 9293, 3.1).
    packet[ETHERNET + IP + 12..ETHERNET + IP + 14].copy_from_slice(&[0x50, 0x10]);
    to_few(n, packet);
}

/// A router whose packets have sessions, which do not end.
fn with_sessions() -> Vec<String> {
    let mut commands = router("", 8, 16);
    commands.extend(lines([
        "sfdp tenant add 1",
        "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward",
        "set sfdp timeout tenant 1 embryonic 10000000",
        "set sfdp interface-input pg0 tenant 1",
    ]));
    commands
}

/// A router whose packets pass the access list of their interface by sessions.
fn reflecting() -> Vec<String> {
    let mut commands = router("", 8, 16);
    commands.extend(lines([
        "set acl-plugin session timeout udp idle 1000000",
        "set acl-plugin acl permit+reflect src 10.0.0.0/8 proto 17",
        "set acl-plugin interface pg0 input acl 0",
    ]));
    commands
}

/// A datagram of a session, to one of eight networks.
fn of_session(n: u32, packet: &mut [u8]) {
    packet[ETHERNET + IP..ETHERNET + IP + 2].copy_from_slice(&(n as u16).to_be_bytes());
    to_few(n, packet);
}

/// A router with one route by many neighbours.
fn many_paths() -> Vec<String> {
    let paths: Vec<_> = (0..PATHS).map(|path| format!("via 10.2.0.{} pg1", path + 2)).collect();
    let mut commands = [vec!["ip table add 1".to_owned()], links(1, PATHS)].concat();
    commands.push(format!("ip route add 48.0.0.0/8 table 1 {}", paths.join(" ")));
    commands
}

/// A router whose interfaces are in a table, beside so many with the same routes.
fn in_table(table: u32, tables: u32) -> Vec<String> {
    let mut commands: Vec<_> = (1..=tables).map(|table| format!("ip table add {table}")).collect();
    commands.extend(links(table, HOPS));
    commands.extend((0..tables.max(1)).flat_map(|other| routes(if tables == 0 { 0 } else { other + 1 })));
    commands
}

/// Eight routes in a table, each by a neighbour of its own.
fn routes(table: u32) -> impl Iterator<Item = String> {
    (0..HOPS).map(move |hop| format!("ip route add 48.{hop}.0.0/16 table {table} via 10.2.0.{} pg1", hop + 2))
}

/// A router whose packets are looked up in another table, which has the eight routes.
fn from_table_to_table() -> Vec<String> {
    let mut commands = [lines(["ip table add 1", "ip table add 2"]), links(1, HOPS)].concat();
    commands.extend(routes(2));
    commands.push("ip route add 48.0.0.0/8 table 1 via ip4-lookup-in-table 2".to_owned());
    commands
}

/// A router that knows who asks it.
fn for_us() -> Vec<String> {
    let mut commands = router("", 8, 16);
    commands.push("ip neighbor pg0 10.1.0.2 02:01:00:00:00:01".to_owned());
    commands
}

/// The first half of an echo request of ICMP, or the second (RFC 792, RFC 791 section 3.2).
fn half_an_echo(n: u32, packet: &mut [u8]) {
    let (header, message) = packet[ETHERNET..].split_at_mut(IP);
    message.fill(0);
    let (is_first, more, offset) = (n.is_multiple_of(2), 1 << 13, (HALF / 8) as u16);
    header[4..6].copy_from_slice(&((n / 2) as u16).to_be_bytes());
    header[6..8].copy_from_slice(&if is_first { more } else { offset }.to_be_bytes());
    header[9] = 1;
    if is_first {
        message[0] = 8;
        // All else is zero, in both halves.
        let sum = checksum::of(message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    send_to(packet, Ipv4Addr::new(10, 1, 0, 1));
}
