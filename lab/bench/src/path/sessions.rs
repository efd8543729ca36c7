//! An IPv4 router with sessions by the million: those of CSIT's largest profile, 63 connections of each of 65,536 hosts, in random order.

use std::net::Ipv6Addr;

use super::{HOPS, Path, lines, router, router6, send_to};

/// Live connections while a flood of SYNs comes.
pub const LIVE: u32 = 10_000;
/// Names of the paths.
pub const IP4: &str = "ip4, 4.1 million sessions of TCP";
pub const IP6: &str = "ip6, 4.1 million sessions of TCP";
/// Bytes of headers.
const ETHERNET: usize = 14;
const HEADER4: usize = 20;
const HEADER6: usize = 40;
/// As many as that profile has. Tests, which look at what becomes of packets, have fewer.
const CONNECTIONS: u32 = if cfg!(test) { 63 << 10 } else { 63 << 16 };
/// Sessions for which the table is configured: the connections fill 98 % of it.
const CONFIGURED: usize = (CONNECTIONS / 63) as usize * 64;
/// Has no factor in common with the number of connections, so multiples of it are all connections in another order.
const STRIDE: u64 = 2_654_435_761;
/// Flags of a header (RFC 9293, 3.1).
pub const SYN: u8 = 2;
pub const ACK: u8 = 16;
const TCP: u8 = 6;

/// All of them.
pub(super) fn all() -> Vec<Path> {
    vec![
        Path {
            before: &[("pg0", opening), ("pg1", answer), ("pg0", segment)],
            distinct: CONNECTIONS as usize,
            sessions: Some(CONFIGURED),
            ..Path::new(IP4, followed, segment)
        },
        Path {
            before: &[("pg0", opening6), ("pg1", answer6), ("pg0", segment6)],
            distinct: CONNECTIONS as usize,
            sessions: Some(CONFIGURED),
            peer: None,
            ip6: true,
            payload: 12,
            ..Path::new(IP6, followed6, segment6)
        },
    ]
}
/// The path of live connections beside a flood, which comes to pg0 from anywhere.
pub fn flooded() -> Path {
    Path {
        before: &[("pg0", opening), ("pg1", answer), ("pg0", segment)],
        distinct: LIVE as usize,
        in_flight: 4096,
        ..Path::new("ip4, a flood of SYNs", policed, segment)
    }
}

/// A router that knows its clients by a default route, and stores sessions that its policy permits.
fn policed() -> Vec<String> {
    let mut commands = followed();
    commands.extend(lines(["ip route add 0.0.0.0/0 table 1 via 10.1.0.2 pg0", "set sfdp entry tenant 1 policy-first"]));
    commands.push("set sfdp timeout tenant 1 embryonic 5".into());
    commands
}

/// A router between clients, behind pg0, and eight networks, whose connections are followed.
fn followed() -> Vec<String> {
    let mut commands = router("", HOPS, 16);
    commands.extend(lines([
        "ip neighbor pg0 10.1.0.2 02:01:00:00:00:01",
        "ip route add 192.168.0.0/16 table 1 via 10.1.0.2 pg0",
    ]));
    commands.extend(tenant("ip4-lookup", ""));
    commands
}

/// The same of IPv6, without a way back.
fn followed6() -> Vec<String> {
    let mut commands = router6();
    commands.extend(tenant("ip6-lookup", " ip6"));
    commands
}

/// A tenant of both interfaces, whose sessions do not end while they are measured.
fn tenant(lookup: &str, family: &str) -> Vec<String> {
    let mut commands = vec!["sfdp tenant add 1".to_owned()];
    let chain = |direction| format!("set sfdp services tenant 1 sfdp-l4-lifecycle {lookup} {direction}");
    let timeout = |timeout| format!("set sfdp timeout tenant 1 {timeout} 10000000");
    commands.extend(["forward", "reverse"].map(chain));
    commands.extend(["embryonic", "established", "tcp-established"].map(timeout));
    commands.extend(["pg0", "pg1"].map(|interface| format!("set sfdp interface-input {interface} tenant 1{family}")));
    commands
}

/// Numbers of the initiator and of the responder behind their SYNs.
const NUMBERS: [u32; 2] = [1001, 5001];

fn opening(n: u32, packet: &mut [u8]) {
    connect(n, packet, 0, (SYN, [NUMBERS[0] - 1, 0]));
}
fn answer(n: u32, packet: &mut [u8]) {
    connect(n, packet, 1, (SYN | ACK, [NUMBERS[1] - 1, NUMBERS[0]]));
}
/// A segment of an open connection.
pub fn segment(n: u32, packet: &mut [u8]) {
    connect(n, packet, 0, (ACK, NUMBERS));
}
fn opening6(n: u32, packet: &mut [u8]) {
    connect6(n, packet, 0, (SYN, [NUMBERS[0] - 1, 0]));
}
fn answer6(n: u32, packet: &mut [u8]) {
    connect6(n, packet, 1, (SYN | ACK, [NUMBERS[1] - 1, NUMBERS[0]]));
}
fn segment6(n: u32, packet: &mut [u8]) {
    connect6(n, packet, 0, (ACK, NUMBERS));
}

/// Host and port of connection `n` in random order.
fn client(n: u32) -> (u32, u16) {
    let n = (u64::from(n) * STRIDE % u64::from(CONNECTIONS)) as u32;
    (n / 63, 1024 + (n % 63) as u16)
}

/// A segment without payload of connection `n`, from its initiator (0) or responder (1), with flags, its own number and the one which it
/// acknowledges.
fn connect(n: u32, packet: &mut [u8], from: usize, segment: (u8, [u32; 2])) {
    let (host, port) = client(n);
    let mut addresses = [0xc0a8_0000 | host, 0x3000_0000 | (host % HOPS) << 16 | host >> 3];
    addresses.rotate_left(from);
    let (ip, tcp) = packet[ETHERNET..].split_at_mut(HEADER4);
    ip[9] = TCP;
    ip[12..16].copy_from_slice(&addresses[0].to_be_bytes());
    set_segment(tcp, port, from, segment);
    send_to(packet, addresses[1].into());
}

/// The same of IPv6.
fn connect6(n: u32, packet: &mut [u8], from: usize, segment: (u8, [u32; 2])) {
    let (host, port) = client(n);
    let client = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, host as u16).to_bits();
    let mut addresses = [client, 0x3000 << 112 | u128::from(host % HOPS) << 96 | u128::from(host)];
    addresses.rotate_left(from);
    let (ip, tcp) = packet[ETHERNET..].split_at_mut(HEADER6);
    ip[6] = TCP;
    ip[8..24].copy_from_slice(&addresses[0].to_be_bytes());
    ip[24..40].copy_from_slice(&addresses[1].to_be_bytes());
    set_segment(tcp, port, from, segment);
}

/// Writes a header without options, and a window of 65,535 bytes.
fn set_segment(tcp: &mut [u8], port: u16, from: usize, segment: (u8, [u32; 2])) {
    let mut ports = [port, SERVICE];
    ports.rotate_left(from);
    set_header(tcp, ports, segment);
}

/// Port of all servers.
pub const SERVICE: u16 = 8080;

/// Writes the same between two ports.
pub fn set_header(tcp: &mut [u8], ports: [u16; 2], (flags, numbers): (u8, [u32; 2])) {
    tcp[..2].copy_from_slice(&ports[0].to_be_bytes());
    tcp[2..4].copy_from_slice(&ports[1].to_be_bytes());
    tcp[4..8].copy_from_slice(&numbers[0].to_be_bytes());
    tcp[8..12].copy_from_slice(&numbers[1].to_be_bytes());
    tcp[12..16].copy_from_slice(&[0x50, flags, 0xff, 0xff]);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The keys of all connections, as packets of one end have them.
    fn keys(from: usize) -> BTreeSet<[Vec<u8>; 2]> {
        let mut packet = [0; ETHERNET + HEADER4 + 20];
        packet[ETHERNET] = 0x45;
        let key = |n| {
            connect(n, &mut packet, from, (ACK, NUMBERS));
            let end = |address: usize, port: usize| [&packet[address..address + 4], &packet[port..port + 2]].concat();
            let mut ends = [end(26, 34), end(30, 36)];
            ends.rotate_left(from);
            ends
        };
        (0..CONNECTIONS).map(key).collect()
    }

    #[test]
    fn each_connection_has_a_key_of_its_own_in_both_directions() {
        let there = keys(0);
        assert_eq!(there.len(), CONNECTIONS as usize);
        assert!(there == keys(1));
    }
}
