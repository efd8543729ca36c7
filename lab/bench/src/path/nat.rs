//! IPv4 routers that translate addresses (NAT44, endpoint-dependent), to compare with `ip4, 8 routes` and `ip4, 256 sessions`.
//!
//! Each datagram has a port of its client, and so a session. Those from the inside begin their sessions themselves; those from the
//! outside do so by static mappings of eight hosts.

use super::{HOPS, Path, lines, links, send_to};

const ETHERNET: usize = 14;
const IP: usize = 20;
/// Sessions of the larger number: as many as ports of one address that are no system ports (RFC 6335, 6), rounded.
const MANY: u32 = 64_000;
const FEW: u32 = 256;
const PORTS: u32 = 1_024;
/// Outside ports of the hosts on the inside, from here on.
const MAPPED: u32 = 8_000;
/// The address that the outside sees of all of them.
const OUTSIDE: [u8; 4] = [10, 1, 0, 100];

/// All of them.
pub(super) fn all() -> Vec<Path> {
    let of = |sessions: u32, path: Path| Path { distinct: sessions as usize, ..path };
    vec![
        of(FEW, Path::new("nat44, in2out, 256 sessions", in2out, from_inside::<FEW>)),
        of(MANY, Path::new("nat44, in2out, 64,000 sessions", in2out, from_inside::<MANY>)),
        of(FEW, Path::new("nat44, out2in, 256 sessions", out2in, from_outside::<FEW>)),
        of(MANY, Path::new("nat44, out2in, 64,000 sessions", out2in, from_outside::<MANY>)),
    ]
}

/// A router between the inside, pg0, and eight networks behind pg1.
fn in2out() -> Vec<String> {
    let mut commands = translator("set interface nat44 in pg0 out pg1", "10.2.0.100");
    commands.extend((0..HOPS).map(|hop| format!("ip route add 48.{hop}.0.0/16 via 10.2.0.{} pg1", hop + 2)));
    commands
}

/// A router between the outside, pg0, and eight hosts behind pg1, each of which has a port there.
fn out2in() -> Vec<String> {
    let address = std::net::Ipv4Addr::from(OUTSIDE);
    let mut commands = translator("set interface nat44 in pg1 out pg0", &address.to_string());
    commands.extend((0..HOPS).map(|host| {
        let (local, port) = (host + 2, MAPPED + host);
        format!("nat44 add static mapping udp local 10.2.0.{local} 80 external {address} {port}")
    }));
    commands
}

/// A router whose sessions do not end while they are measured.
fn translator(sides: &str, address: &str) -> Vec<String> {
    let mut commands = links(0, HOPS);
    commands.extend(lines(["nat44 plugin enable sessions 131072", "set nat timeout udp 1000000", sides]));
    commands.push(format!("nat44 add address {address}"));
    commands
}

/// A datagram of one of so many sessions, to one of eight networks.
fn from_inside<const SESSIONS: u32>(n: u32, packet: &mut [u8]) {
    set_port(packet, 0, PORTS + n % SESSIONS);
    super::to_few(n, packet);
}

/// A datagram of one of so many sessions, to one of eight hosts.
fn from_outside<const SESSIONS: u32>(n: u32, packet: &mut [u8]) {
    set_port(packet, 0, PORTS + n % SESSIONS);
    set_port(packet, 2, MAPPED + n % HOPS);
    send_to(packet, OUTSIDE.into());
}

fn set_port(packet: &mut [u8], at: usize, port: u32) {
    packet[ETHERNET + IP + at..ETHERNET + IP + at + 2].copy_from_slice(&(port as u16).to_be_bytes());
}
