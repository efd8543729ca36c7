//! IPv4 routers whose receiving interface has an access list, to compare with `ip4, 8 routes`. Rules and packets are drawn by a fixed
//! seed, from the same networks: some packets match early rules, and most the last one.

use std::net::Ipv4Addr;

use quiver_acl::Acl;
use quiver_testkit::daemon::Daemon;

use super::{Path, router, send_to};
use crate::command::command;

const ETHERNET: usize = 14;
/// Masks of the rules: lengths of both prefixes, and whether a destination port is named. Short prefixes stand beside long ones, so that
/// no rule takes all packets from the next.
const MASKS: [(u8, u8, bool); 40] = [
    (32, 32, true),
    (32, 24, true),
    (32, 16, true),
    (32, 8, true),
    (28, 32, true),
    (28, 24, true),
    (28, 16, true),
    (28, 8, true),
    (24, 32, true),
    (24, 24, true),
    (24, 16, true),
    (24, 8, true),
    (20, 32, true),
    (20, 24, true),
    (20, 16, true),
    (20, 8, true),
    (16, 32, true),
    (16, 24, true),
    (16, 16, true),
    (8, 32, true),
    (8, 24, true),
    (32, 32, false),
    (32, 28, false),
    (32, 24, false),
    (32, 20, false),
    (32, 16, false),
    (28, 32, false),
    (28, 28, false),
    (28, 24, false),
    (28, 20, false),
    (24, 32, false),
    (24, 28, false),
    (24, 24, false),
    (24, 20, false),
    (20, 32, false),
    (20, 28, false),
    (20, 24, false),
    (16, 32, false),
    (16, 28, false),
    (16, 24, false),
];

/// All of them.
pub(super) fn all() -> Vec<Path> {
    let drawn = |name, prepare, peer| {
        // VPP gets as many packets as many rules could tell apart.
        Path { peer: Some(peer), prepare, distinct: 65_536, ..Path::new(name, || router("", 8, 16), spread) }
    };
    vec![
        Path {
            peer: Some(fifty_of_peer),
            prepare: fifty,
            ..Path::new("ip4, ACL of 50 rules, last matches", || router("", 8, 16), super::to_few)
        },
        drawn("ip4, ACL of 1,000 rules", listed::<1_000>, listed_of_peer::<1_000>),
        drawn("ip4, ACL of 10,000 rules", listed::<10_000>, listed_of_peer::<10_000>),
    ]
}

/// Rules as VPP reads them, of which the last one permits what the others deny no packet of.
fn few_rules() -> String {
    let mut rules: Vec<_> = (0..49).map(|n| format!("deny src 10.3.{n}.0/24 proto 17 dport {}", 5000 + n)).collect();
    rules.push("permit src 10.0.0.0/8 proto 17".to_owned());
    rules.join(", ")
}

fn fifty(daemon: &mut Daemon) -> Result<(), String> {
    give(daemon, &few_rules())
}

fn fifty_of_peer() -> Vec<String> {
    vec![format!("set acl-plugin acl {}", few_rules()), AT_PG0.to_owned()]
}

/// Has received packets checked by a list of these rules. It is too long for a command of ours.
fn give(daemon: &mut Daemon, rules: &str) -> Result<(), String> {
    let words: Vec<_> = rules.split(' ').map(str::to_owned).collect();
    let rules = quiver_acl::text::rules(&words).map_err(|error| error.to_string())?;
    daemon.control().put(Acl { id: 0, tag: None, rules: rules.into() }).map_err(|error| error.to_string())?;
    command(daemon, AT_PG0)
}

const AT_PG0: &str = "set acl-plugin interface pg0 input acl 0";

/// A number that looks like chance.
fn drawn(n: u32) -> u32 {
    let mixed = (n ^ n >> 16).wrapping_mul(0x7feb_352d);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b);
    mixed ^ mixed >> 16
}

/// Addresses of both networks, and a port.
fn ends(n: u32) -> (u32, u32, u16) {
    let (source, destination, port) = (drawn(3 * n), drawn(3 * n + 1), drawn(3 * n + 2));
    (0x0a00_0000 | source >> 8, 0x3000_0000 | (destination >> 8 & 0x07_ffff), 1024 + (port >> 22) as u16)
}

/// Drawn rules, as VPP reads them, of which the last one permits everything.
fn drawn_rules(count: u32) -> String {
    let rule = |n: u32| {
        let (source_length, destination_length, has_port) = MASKS[n as usize % MASKS.len()];
        let (source, destination, port) = ends(n);
        let first = |address: u32, length: u8| Ipv4Addr::from(address >> (32 - length) << (32 - length));
        let (source, destination) = (first(source, source_length), first(destination, destination_length));
        let port = if has_port { format!(" dport {port}") } else { String::new() };
        format!("permit src {source}/{source_length} dst {destination}/{destination_length} proto 17{port}")
    };
    (0..count - 1).map(rule).chain(["permit".to_owned()]).collect::<Vec<_>>().join(", ")
}

fn listed<const COUNT: u32>(daemon: &mut Daemon) -> Result<(), String> {
    give(daemon, &drawn_rules(COUNT))
}

fn listed_of_peer<const COUNT: u32>() -> Vec<String> {
    vec![format!("set acl-plugin acl {}", drawn_rules(COUNT)), AT_PG0.to_owned()]
}

/// Packets from and to the networks of the rules.
fn spread(n: u32, packet: &mut [u8]) {
    let (source, destination, port) = ends(n + 1_000_000);
    packet[ETHERNET + 12..ETHERNET + 16].copy_from_slice(&source.to_be_bytes());
    packet[ETHERNET + 22..ETHERNET + 24].copy_from_slice(&port.to_be_bytes());
    send_to(packet, Ipv4Addr::from(destination));
}
