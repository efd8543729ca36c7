//! Both families on one interface, behind tags, with what edges ask of them.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{HOPS, Path, lines, links, router6, send_to, sub_interfaces};

/// Where the IP header begins behind one tag.
const IP: usize = 18;

/// All of them.
pub(super) fn all() -> Vec<Path> {
    let path = Path::new("vlan, strict uRPF, ip4 and ip6", commands, half_and_half);
    // A packet has room for the headers of IPv6. VPP's packets are made of one template.
    vec![Path { vlan: Some(10), payload: 38, peer: None, ..path }]
}

/// A router of both families, between sub-interfaces, that asks strictly whether there is a way back to the senders.
fn commands() -> Vec<String> {
    let mut of_whole = vec!["ip table add 1".to_owned()];
    of_whole.extend(links(1, HOPS));
    of_whole.extend(router6());
    of_whole.extend((0..HOPS).map(|hop| format!("ip route add 48.{hop}.0.0/16 table 1 via 10.2.0.{} pg1", hop + 2)));
    of_whole.extend(lines([
        "ip neighbor pg0 10.1.0.2 02:01:00:00:00:01",
        "ip neighbor pg0 2001:db8:1::2 02:01:00:00:00:01",
        "ip route add count 8 64.0.0.0/16 table 1 via 10.1.0.2 pg0",
        "ip route add count 8 4000::/32 table 1 via 2001:db8:1::2 pg0",
        "set urpf ip4 rx strict pg0",
        "set urpf ip6 rx strict pg0",
    ]));
    sub_interfaces(of_whole.iter().map(|line| line.replace("pg0", "pg0.10").replace("pg1", "pg1.10")).collect())
}

/// Packets from eight networks to eight, every other one of IPv6.
fn half_and_half(n: u32, packet: &mut [u8]) {
    let (from, to, length) = (n / 16 % 8, n / 2 % 8, packet.len() - IP);
    let is_ip4 = n.is_multiple_of(2);
    packet[IP - 2..IP].copy_from_slice(if is_ip4 { &[8, 0] } else { &[0x86, 0xdd] });
    let header = &mut packet[IP..IP + 40];
    // UDP in each, whose checksum no router looks at.
    if is_ip4 {
        header[..12].copy_from_slice(&[0x45, 0, 0, length as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
        header[12..16].copy_from_slice(&(0x4000_0000 | from << 16 | 1).to_be_bytes());
        send_to(packet, Ipv4Addr::from(0x3000_0000 | to << 16 | 1));
    } else {
        let address = |network: u128, n: u32| Ipv6Addr::from_bits(network << 112 | u128::from(n) << 96 | 1).octets();
        header[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, (length - 40) as u8, 17, 64]);
        header[8..24].copy_from_slice(&address(0x4000, from));
        header[24..].copy_from_slice(&address(0x3000, to));
    }
}
