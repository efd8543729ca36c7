//! Frames of a cross-connect that go into tunnels, and come out of them.

use std::net::Ipv4Addr;

use quiver_bridge::objects::Layer2Interface;
use quiver_interface::InterfaceName;
use quiver_testkit::daemon::Daemon;
use quiver_tunnel::configured::{Fields, add};
use quiver_vxlan::VxlanTunnel;
use quiver_wire::{EtherType, GeneveHeader, Vni, VxlanHeader};
use zerocopy::IntoBytes;

use super::{Path, send_to};

/// Networks of the paths with many tunnels. Tests, which look at what becomes of packets, have fewer.
const MANY: u32 = if cfg!(test) { 1_000 } else { 100_000 };
/// The network of the others.
const NETWORK: u32 = 1000;
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
/// Bytes of a frame inside.
const INSIDE: usize = 60;

/// All of them.
pub(super) fn all() -> Vec<Path> {
    let layer2 = |name, commands| Path {
        routed: false,
        ..Path::new(name, commands, |n, packet| send_to(packet, Ipv4Addr::from(0x3000_0000 + n % 256)))
    };
    let out = |name, commands, vary| Path { payload: VXLAN + INSIDE, ..Path::new(name, commands, vary) };
    vec![
        layer2("vxlan, encapsulation", || into("vxlan tunnel src 10.2.0.1 dst 10.2.0.2")),
        out(
            "vxlan, decapsulation",
            || out_of("vxlan tunnel src 10.1.0.1 dst 10.1.0.2"),
            |_, packet| in_vxlan(NETWORK, packet),
        ),
        Path {
            prepare: make_many,
            peer: None,
            ..out(
                "vxlan, decapsulation, 100 thousand tunnels",
                || ends("pg0"),
                |n, packet| {
                    // A walk over all networks in an order that no prefetcher follows.
                    in_vxlan((u64::from(n) * 1_234_577 % u64::from(MANY)) as u32, packet);
                },
            )
        },
        layer2("geneve, encapsulation", || into("geneve tunnel local 10.2.0.1 remote 10.2.0.2")),
        out(
            "geneve, decapsulation",
            || out_of("geneve tunnel local 10.1.0.1 remote 10.1.0.2"),
            |_, packet| in_geneve(packet),
        ),
    ]
}

const VXLAN: usize = size_of::<VxlanHeader>();

/// The addresses of the ends, which are behind this interface.
fn ends(interface: &str) -> Vec<String> {
    let net = if interface == "pg0" { 1 } else { 2 };
    vec![
        format!("set interface ip address {interface} 10.{net}.0.1/16"),
        format!("ip neighbor {interface} 10.{net}.0.2 02:00:00:00:01:00"),
    ]
}

/// Commands that route from pg0 into a tunnel, whose other end is behind pg1.
fn into(tunnel: &str) -> Vec<String> {
    [ends("pg1"), connected(tunnel, "pg0")].concat()
}

/// Out of a tunnel, whose other end is behind pg0, to pg1.
fn out_of(tunnel: &str) -> Vec<String> {
    [ends("pg0"), connected(tunnel, "pg1")].concat()
}

/// A tunnel, and an interface at the other end of a cross-connect. VPP wants both ways of it.
fn connected(tunnel: &str, interface: &str) -> Vec<String> {
    let name = format!("{}_tunnel0", tunnel.split(' ').next().unwrap_or_default());
    vec![
        format!("create {tunnel} vni {NETWORK}"),
        format!("set interface l2 xconnect {name} {interface}"),
        format!("set interface l2 xconnect {interface} {name}"),
    ]
}

/// A tunnel of each network, and what comes out leaves by pg1.
fn make_many(daemon: &mut Daemon) -> Result<(), String> {
    let (ours, theirs) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 1, 0, 2));
    for vni in 0..MANY {
        let fields = Fields::between::<VxlanTunnel>(ours.into(), theirs.into(), vni);
        let control = daemon.control();
        let name = add::<VxlanTunnel>(control, fields, Some(vni)).map_err(|error| error.to_string())?;
        let mut connect = Layer2Interface::new(InterfaceName(name));
        connect.connect = Some(InterfaceName("pg1".into()));
        control.put(connect).map_err(|error| error.to_string())?;
        // What was replaced is kept until workers have passed.
        if vni % 64 == 0 {
            daemon.settle().map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Makes a packet a datagram of a network.
fn in_vxlan(vni: u32, packet: &mut [u8]) {
    datagram(VxlanHeader::PORT.0, VxlanHeader::new(Vni::new(vni).unwrap_or(Vni::MAX)).as_bytes(), packet);
}

fn in_geneve(packet: &mut [u8]) {
    let vni = Vni::new(NETWORK).unwrap_or(Vni::MAX);
    let header = GeneveHeader::new(vni, EtherType::TRANSPARENT_BRIDGING);
    datagram(GeneveHeader::PORT.0, header.as_bytes(), packet);
}

/// Makes a datagram from the other end to us, with a tunnel's header and a frame behind the UDP header. It has no
/// checksum, as tunnels over IPv4 send it.
fn datagram(port: u16, own: &[u8], packet: &mut [u8]) {
    packet[ETHERNET + 12..ETHERNET + 16].copy_from_slice(&[10, 1, 0, 2]);
    send_to(packet, Ipv4Addr::new(10, 1, 0, 1));
    let udp = &mut packet[ETHERNET + IP..];
    udp[2..4].copy_from_slice(&port.to_be_bytes());
    udp[6..8].fill(0);
    let inside = &mut udp[UDP..];
    inside[..own.len()].copy_from_slice(own);
    let frame = &mut inside[own.len()..];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0x31]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0x32]);
    frame[12..14].copy_from_slice(&0x88b5u16.to_be_bytes());
}
