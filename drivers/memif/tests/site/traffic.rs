//! Interface configurations, and packets that exercise them.

use fastrand::Rng;
use quiver_wire::checksum;

/// Functions of the interfaces `A` and `B`.
pub const FUNCTIONS: [&str; 11] = [
    "set interface l2 xconnect A B
    set interface l2 xconnect B A",
    "create bridge-domain 1
    set interface l2 bridge A 1
    set interface l2 bridge B 1",
    "set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add 20.0.0.0/8 via 10.0.1.2 B
    ip route add 20.1.0.0/16 via 10.0.1.2 B via 10.0.1.3 B
    ip route add 20.2.0.0/16 via drop
    ip route add 20.3.0.0/16 via 10.0.0.2 A
    ip route add 30.0.0.0/8 via 10.0.0.2 A",
    "create sub-interfaces A 10
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    create sub-interfaces B 20
    set interface state A.10 up
    set interface state A.30 up
    set interface state B.20 up
    set interface l2 xconnect A.10 B.20
    set interface l2 xconnect B.20 A.10
    set interface l2 xconnect A.30 B
    set interface l2 xconnect B A.30
    set interface l2 tag-rewrite A.10 translate 1-1 dot1q 20
    set interface l2 tag-rewrite A.30 pop 2",
    "create bridge-domain 1
    create sub-interfaces A 10
    create sub-interfaces A 20
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    set interface state A.10 up
    set interface state A.20 up
    set interface state A.30 up
    set interface l2 bridge A.10 1
    set interface l2 bridge A.20 1
    set interface l2 bridge A.30 1
    set interface l2 bridge B 1
    set interface l2 tag-rewrite A.10 pop 1
    set interface l2 tag-rewrite A.30 translate 2-1 dot1q 7",
    "create sub-interfaces A 10
    create sub-interfaces A 30 dot1ad 30 inner-dot1q 5 exact-match
    set interface state A.10 up
    set interface state A.30 up
    set interface ip address A.10 10.0.0.1/24
    set interface ip address A.30 10.0.3.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A.10 10.0.0.2 02:00:00:00:00:02
    ip neighbor A.30 10.0.3.2 02:00:00:00:00:32
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip route add 20.0.0.0/8 via 10.0.1.2 B
    ip route add 20.1.0.0/16 via 10.0.3.2 A.30
    ip route add 30.0.0.0/8 via 10.0.0.2 A.10
    ip route add 30.1.0.0/16 via 10.0.3.2 A.30",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::2 02:00:00:00:00:12
    ip neighbor B fe80::13 02:00:00:00:00:13
    ip route add 3020::/16 via 2001:db8:1::2 B
    ip route add 3020:1::/32 via 2001:db8:1::2 B via fe80::13 B
    ip route add 3020:2::/32 via drop
    ip route add 3020:3::/32 via 2001:db8::2 A
    ip route add 3030::/16 via 2001:db8::2 A",
    // There is a way back to the stations of A, and none to some of those of B.
    "set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add 10.0.1.4/32 via drop
    ip route add 20.0.0.0/8 via 10.0.1.3 B
    ip route add 30.0.0.0/8 via 10.0.0.2 A
    set urpf ip4 rx strict A
    set urpf ip4 rx loose B",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::3 02:00:00:00:00:13
    ip route add 2001:db8:1::4/128 via drop
    ip route add 3020::/16 via 2001:db8:1::3 B
    ip route add 3030::/16 via 2001:db8::2 A
    set urpf ip6 rx strict A
    set urpf ip6 rx loose B",
    // Tables that are walked ahead, the first of which counts by route.
    "ip table add 1 counters
    set interface ip table A 1
    set interface ip table B 1
    set interface ip address A 10.0.0.1/24
    set interface ip address B 10.0.1.1/24
    ip neighbor A 10.0.0.2 02:00:00:00:00:02
    ip neighbor B 10.0.1.2 02:00:00:00:00:12
    ip neighbor B 10.0.1.3 02:00:00:00:00:13
    ip route add count 20000 20.0.0.0/32 table 1 via 10.0.1.2 B
    ip route add 20.0.0.0/8 table 1 via 10.0.1.2 B
    ip route add 20.1.0.0/16 table 1 via 10.0.1.2 B via 10.0.1.3 B
    ip route add 20.3.0.0/16 table 1 via 10.0.0.2 A
    ip route add 30.0.0.0/8 table 1 via 10.0.0.2 A",
    "set interface ip address A 2001:db8::1/64
    set interface ip address B 2001:db8:1::1/64
    ip neighbor A 2001:db8::2 02:00:00:00:00:02
    ip neighbor B 2001:db8:1::2 02:00:00:00:00:12
    ip route add count 2000 3020:0:0:1::/128 via 2001:db8:1::2 B
    ip route add 3020::/16 via 2001:db8:1::2 B
    ip route add 3020:2::/32 via drop
    ip route add 3020:3::/32 via 2001:db8::2 A
    ip route add 3030::/16 via 2001:db8::2 A",
];

/// Bursts of any packets: for us and not, with tags and without, short and long, sound and broken.
pub fn bursts(seed: u64, count: usize, ip6: bool) -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut sizes = Rng::with_seed(!seed);
    let mut random = Rng::with_seed(seed);
    let make = |random: &mut Rng, side: u8| match ip6 && random.u8(..4) > 0 {
        true => packet6(random, side),
        false => packet(random, side),
    };
    let burst = |_| {
        let side = sizes.usize(..2);
        (side, (0..sizes.usize(1..300)).map(|_| make(&mut random, side as u8)).collect())
    };
    (0..count).map(burst).collect()
}

/// The last byte of a sender's address: that of the usual one, or of another.
fn sender(random: &mut Rng) -> u8 {
    if random.u8(..4) == 0 { 4 } else { 2 }
}

fn packet(random: &mut Rng, side: u8) -> Vec<u8> {
    const TAGS: [&[[u8; 4]]; 10] = [
        &[],
        &[],
        &[[0x81, 0, 0, 10]],
        &[[0x81, 0, 0, 10]],
        &[[0x81, 0, 0, 20]],
        &[[0x88, 0xa8, 0, 30], [0x81, 0, 0, 5]],
        &[[0x88, 0xa8, 0, 30], [0x81, 0, 0, 5]],
        &[[0x81, 0, 0, 0]],
        &[[0x81, 0, 0, 10], [0x81, 0, 0, 20]],
        &[[0x81, 0, 0, 10], [0x88, 0xa8, 0, 20], [0x81, 0, 0, 20]],
    ];
    // Most packets of a burst have the same tags.
    let choice = if random.u8(..4) == 0 { random.usize(..TAGS.len()) } else { [0, 2, 5][random.usize(..3)] };
    let (from, to) = ([2, 9, 9, 9, side << 4 | choice as u8, random.u8(..4)], random.u8(..8));
    // To us, or to a station of the other side's.
    let other = [2, 9, 9, 9, (side ^ 1) << 4 | [0, 2, 5, 0][random.usize(..4)], random.u8(..4)];
    let to = if to < 5 { [2, 0, 0, 0, 0xaa, side + 1] } else { other };
    let mut packet = [&to[..], &from].concat();
    for tag in TAGS[choice] {
        let priority = if random.u8(..4) == 0 { random.u8(..) << 4 } else { 0x20 };
        packet.extend([tag[0], tag[1], tag[2] | priority, tag[3]]);
    }
    packet.extend([8, 0]);
    let ip = packet.len();
    packet.extend([0x45, 0, 0, 46, 1, 2, 0, 0, 64, 17, 0, 0, 10, 0, side, sender(random)]);
    packet.extend([if side == 0 { 20 } else { 30 }, random.u8(..5), random.u8(..4), random.u8(..)]);
    packet.resize(ip + 46, 0x11);
    let kind = random.u8(..120);
    if kind < 12 {
        let length = [61, 64, 128, 1000, 1514, 2040, 2048, 2049, 2100, 4000, 9000][random.usize(..11)];
        packet.resize(length.max(ip + 20), 0x5a);
        let length = (packet.len() - ip) as u16;
        packet[ip + 2..ip + 4].copy_from_slice(&length.to_be_bytes());
    }
    let mut is_repaired = true;
    match kind {
        12 => packet[ip + 8] = random.u8(..3),
        13 => packet[ip] = random.u8(..),
        14 => packet[ip + 2..ip + 4].copy_from_slice(&random.u16(..).to_be_bytes()),
        15 => packet[..6].fill(0xff),
        16 => packet[0] = 1,
        17 => packet[12..14].copy_from_slice(&[0x81, 0]),
        18 => packet[12..14].copy_from_slice(&random.u16(..).to_be_bytes()),
        19 => packet[ip + 16..ip + 20].copy_from_slice(&[10, 0, 0, 1]),
        20 => packet[5] ^= 7,
        21 | 22 => packet.truncate(random.usize(1..60)),
        23 => is_repaired = false,
        24 => packet[ip + 6] = 0x20,
        _ => {}
    }
    if is_repaired && packet.len() >= ip + 20 {
        packet[ip + 10..ip + 12].fill(0);
        let sum = checksum::of(&packet[ip..ip + 20]).checksum();
        packet[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// The same of IPv6.
fn packet6(random: &mut Rng, side: u8) -> Vec<u8> {
    let to = if random.u8(..8) < 7 { [2, 0, 0, 0, 0xaa, side + 1] } else { [2, 9, 9, 9, 9, random.u8(..4)] };
    let mut packet = [&to[..], &[2, 9, 9, 9, side, random.u8(..4)], &[0x86, 0xdd]].concat();
    packet.extend([0x60, 0, random.u8(..2), random.u8(..), 0, 16, 17, 64]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, side, 0, 0, 0, 0, 0, 0, 0, 0, 0, sender(random)]);
    packet.extend([0x30, if side == 0 { 0x20 } else { 0x30 }, 0, random.u8(..5), 0, 0, 0, random.u8(..4)]);
    packet.extend([0, 0, 0, 0, 0, 0, 0, random.u8(1..)]);
    packet.resize(54 + 16, 0x11);
    let kind = random.u8(..120);
    if kind < 12 {
        let length = [71, 80, 128, 1000, 1514, 2040, 2048, 2049, 2100, 4000, 9000][random.usize(..11)];
        packet.resize(length, 0x5a);
        let length = (packet.len() - 54) as u16;
        packet[18..20].copy_from_slice(&length.to_be_bytes());
    }
    match kind {
        12 | 13 => packet[21] = random.u8(..3),
        14 => packet[14] = random.u8(..),
        15 => packet[18..20].copy_from_slice(&random.u16(..).to_be_bytes()),
        16 => packet[20] = [0, 6, 43, 44, 58, 59, 60][random.usize(..7)],
        17 => packet[22..24].copy_from_slice(&[0xfe, 0x80]),
        18 => packet[38..40].copy_from_slice(&[[0xfe, 0x80], [0xff, 2], [0, 0]][random.usize(..3)]),
        19 => packet[22..38].fill(0),
        20 => packet[38..54].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0, side, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        21 => packet[22] = 0xff,
        22 => packet[0] = 0x33,
        23 | 24 => packet.truncate(random.usize(1..70)),
        _ => {}
    }
    packet
}
