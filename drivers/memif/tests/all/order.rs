//! In which order packets come from ring to ring, and with how few buffers.

use std::collections::BTreeMap;

use crate::site::path::Path;
use quiver_testkit::daemon::Setup;
use quiver_wire::checksum;

const CONNECT: &str = "set interface l2 xconnect memif1/0 memif2/0
    set interface l2 xconnect memif2/0 memif1/0";
const BRIDGE: &str = "create bridge-domain 1
    set interface l2 bridge memif1/0 1
    set interface l2 bridge memif2/0 1";
const ROUTE: &str = "set interface ip address memif1/0 10.0.0.1/24
    set interface ip address memif2/0 10.0.1.1/24
    ip neighbor memif1/0 10.0.0.2 02:00:00:00:00:02
    ip neighbor memif2/0 10.0.1.2 02:00:00:00:00:12
    ip neighbor memif2/0 10.0.1.3 02:00:00:00:00:13
    ip route add 20.0.0.0/8 via 10.0.1.2 memif2/0
    ip route add 20.1.0.0/16 via 10.0.1.2 memif2/0 via 10.0.1.3 memif2/0
    ip route add 20.2.0.0/16 via drop
    ip route add 20.3.0.0/16 via 10.0.0.2 memif1/0
    ip route add 30.0.0.0/8 via 10.0.0.2 memif1/0";
const FUNCTIONS: [&str; 3] = [CONNECT, BRIDGE, ROUTE];

/// Packet `number` of a flow, of this length.
fn numbered(length: usize, number: u16) -> Vec<u8> {
    of_flow(0, length, number)
}

fn of_flow(flow: u8, length: usize, number: u16) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[..14].copy_from_slice(&[2, 0, 0, 0, 0xaa, 1, 2, 9, 9, 9, 9, 9, 8, 0]);
    packet[14..24].copy_from_slice(&[0x45, 0, 0, 0, 1, 2, 0, 0, 64, 17]);
    packet[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
    packet[26..34].copy_from_slice(&[10, 0, 0, 2, 20, 0, flow, 1]);
    let sum = checksum::of(&packet[14..34]).checksum();
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet[42..44].copy_from_slice(&number.to_be_bytes());
    packet
}

/// The numbers of packets, in the order in which they came out again.
fn numbers(buffers: u32, function: &str, packets: &[Vec<u8>]) -> Vec<u16> {
    let mut path = Path::new(Setup { buffers, ..Setup::default() }, "slave", function);
    if function == BRIDGE {
        // Where the two are has to be learned.
        let mut answer = numbered(60, 0);
        answer[..12].copy_from_slice(&[2, 9, 9, 9, 9, 9, 2, 0, 0, 0, 0xaa, 1]);
        for (from, packet) in [("pg1", answer), ("pg0", numbered(60, 0))] {
            path.tester.send(from, &packet).expect("it is up");
            path.run(20);
        }
        path.tester.sent();
    }
    for packets in packets.chunks(250) {
        packets.iter().for_each(|packet| path.tester.send("pg0", packet).expect("it is up"));
        path.run(2);
    }
    let came = path.tester.sent();
    assert_eq!(path.daemon.drops(), BTreeMap::new(), "{function}");
    path.finish();
    // Beside what a router says of its own addresses.
    let came = came.iter().filter(|(_, packet)| packet[12..14] == [8, 0]);
    came.map(|(_, packet)| u16::from_be_bytes([packet[42], packet[43]])).collect()
}

/// There are fewer buffers than packets wait.
#[test]
fn few_buffers_suffice() {
    let packets: Vec<_> = (0..1000).map(|number| numbered(60, number)).collect();
    for function in FUNCTIONS {
        assert_eq!(numbers(512, function, &packets), (0..1000).collect::<Vec<_>>(), "{function}");
    }
}

/// A packet that is longer than a buffer is received into a chain of buffers, and does not overtake others either.
#[test]
fn chains_keep_the_order() {
    let packets: Vec<_> = (0..1000).map(|n| numbered(if n % 100 == 99 { 3000 } else { 60 }, n)).collect();
    for function in FUNCTIONS {
        assert_eq!(numbers(2048, function, &packets), (0..1000).collect::<Vec<_>>(), "{function}");
    }
}

/// One packet in a hundred is odd: a question for an address, one for us, one that is too long for the way on, one that is too
/// long for a buffer. The others of their flows do not overtake them.
#[test]
fn odd_packets_are_not_overtaken() {
    const FLOWS: u16 = 20;
    let packet = |n: u16| {
        let flow = (n % FLOWS) as u8;
        let mut packet = of_flow(flow, 60, n);
        match n % 400 {
            50 => {
                packet[..6].fill(0xff);
                packet[12..14].copy_from_slice(&[8, 6]);
                packet[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
                packet[22..32].copy_from_slice(&[2, 9, 9, 9, 9, 9, 10, 0, 0, 2]);
                packet[38..42].copy_from_slice(&[10, 0, 0, 1]);
            }
            150 => packet[30..34].copy_from_slice(&[10, 0, 0, 1]),
            250 => packet = of_flow(flow, 1400, n),
            350 => packet = of_flow(flow, 3000, n),
            _ => {}
        }
        packet[24..26].fill(0);
        let sum = checksum::of(&packet[14..34]).checksum();
        packet[24..26].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    let packets: Vec<_> = (0..8000).map(packet).collect();
    let mut path = Path::new(Setup { buffers: 4096, ..Setup::default() }, "slave", ROUTE);
    path.daemon.configure("set interface mtu 1000 memif2/0");
    for packets in packets.chunks(250) {
        packets.iter().for_each(|packet| path.tester.send("pg0", packet).expect("it is up"));
        path.run(2);
    }
    let mut flows = BTreeMap::<u8, Vec<u16>>::new();
    for (_, packet) in path.tester.sent().iter().filter(|(name, _)| name == "pg1") {
        // First fragments have the number.
        if packet[12..14] == [8, 0] && packet[21] == 0 && packet[20] & 0x1f == 0 {
            flows.entry(packet[32]).or_default().push(u16::from_be_bytes([packet[42], packet[43]]));
        }
    }
    path.finish();
    for flow in 0..FLOWS {
        let sent: Vec<_> = (0..8000).filter(|n| n % FLOWS == flow && !matches!(n % 400, 50 | 150)).collect();
        assert_eq!(flows[&(flow as u8)], sent, "flow {flow}");
    }
}
