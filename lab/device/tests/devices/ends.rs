//! The generator's two ends of a test: memif masters that send a few packets and look at all that come.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_device::{Device, Port};
use quiver_memif_client::{Client, Packets, RxQueue, Settings, TxQueue};
use quiver_suite::field::{Feature, Function};
use quiver_suite::{Case, Routes, Side, Traffic};
use quiver_wire::{EtherType, EthernetHeader, Header as _, IpProtocol, checksum};

/// Time for whatever is waited for on a busy machine.
const WITHIN: Duration = Duration::from_secs(60);
/// Bytes before a packet's number.
const MARK: &[u8; 8] = b"quiver/?";
const IP: usize = 20;
const IP6: usize = 40;
const UDP: usize = 8;

/// Packets of a burst.
pub const BURST: u32 = 8;

/// Source address of a packet.
#[derive(Clone, Copy)]
pub enum Sender {
    /// A host on the side by which it enters.
    Own,
    /// A host on the other side.
    Opposite,
    /// An address without a route.
    Nowhere,
}

impl Sender {
    fn address(self, [from, to]: [&Side; 2], number: u32) -> IpAddr {
        match self {
            Sender::Own if !from.routes.is_empty() => drawn(from, number).1,
            Sender::Opposite => drawn(to, number).1,
            _ if from.address.is_ipv4() => Ipv4Addr::new(192, 0, 2, 99).into(),
            _ => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99).into(),
        }
    }
}

/// Two masters on one socket.
pub struct Ends {
    client: Client,
    sockets: String,
}

/// Both ends of a connected device.
pub struct Wires {
    _client: Client,
    queues: [(RxQueue, TxQueue); 2],
}

impl Ends {
    /// Listens in a folder.
    pub fn listen(folder: &Path) -> Result<Ends, Failed> {
        let mut client = Client::new()?;
        let sockets = folder.join("memif").display().to_string();
        for id in [0, 1] {
            client.open(Settings::master(sockets.parse()?, id))?;
        }
        Ok(Ends { client, sockets })
    }

    /// The ports to give to the device.
    pub fn ports(&self) -> [Port<'static>; 2] {
        [0, 1].map(|id| Port::Memif { socket: self.sockets.clone().into(), id })
    }

    /// Waits until a device has connected by both.
    pub fn connect(mut self, device: &mut dyn Device) -> Result<Wires, Failed> {
        let start = Instant::now();
        let ids = [0, 1].map(quiver_memif_client::InterfaceId);
        while !ids.iter().all(|id| self.client.is_connected(*id)) {
            if start.elapsed() > WITHIN {
                return Err(format!("{} does not connect", device.version()).into());
            }
            self.client.wait(Some(Duration::from_millis(5)))?;
        }
        device.wait_until_ready(WITHIN)?;
        let mut queues = ids.map(|id| {
            let (mut rx, mut tx) = self.client.take_queues(id)?;
            rx.pop().zip(tx.pop())
        });
        let mut take = |at: usize| queues[at].take().ok_or("an interface has no queues");
        Ok(Wires { queues: [take(0)?, take(1)?], _client: self.client })
    }
}

impl Wires {
    /// Sends so many packets of this length to both sides, in small bursts, and waits for each burst on the other side.
    /// Every packet must come, with the headers that the case's device gives it, and none that was not sent now.
    pub fn exchange(&mut self, case: &Case, sender: Sender, length: usize, count: u32) -> Result<(), Failed> {
        let traffic = Traffic::of(case);
        for (from, to) in [(0, 1), (1, 0)] {
            let [here, there] = [&traffic.sides[from], &traffic.sides[to]];
            let mut stations = BTreeSet::new();
            for burst in (0..count).step_by(BURST as usize) {
                let numbers = burst..count.min(burst + BURST);
                let frames: Vec<_> = numbers.clone().map(|n| frame(case, sender, [here, there], length, n)).collect();
                self.send(from, &frames)?;
                let mut wanted: Vec<_> = numbers.map(|n| expected(case, sender, [here, there], length, n)).collect();
                let came = self.take(to, wanted.len())?;
                if case.feature == Feature::MultiPath {
                    // Which way a flow goes is the device's affair.
                    wanted.iter_mut().zip(&came).for_each(|(wanted, came)| wanted[..6].copy_from_slice(&came[..6]));
                    stations.extend(came.iter().filter_map(|frame| frame.first_chunk::<6>().copied()));
                }
                assert!(
                    came == wanted,
                    "{}: sent {frames:02x?}, expected {wanted:02x?}, came {came:02x?}",
                    case.name()
                );
            }
            if case.feature == Feature::MultiPath {
                let hops: BTreeSet<_> = there.hops().values().map(|station| station.0).collect();
                assert!(stations.len() > 1 && stations.is_subset(&hops), "{stations:02x?} of {hops:02x?}");
            }
        }
        Ok(())
    }

    /// Sends a burst to both sides, and waits for nothing.
    pub fn send_in_vain(&mut self, case: &Case, sender: Sender, length: usize) -> Result<(), Failed> {
        let traffic = Traffic::of(case);
        for (from, to) in [(0, 1), (1, 0)] {
            let sides = [&traffic.sides[from], &traffic.sides[to]];
            let frames: Vec<_> = (0..BURST).map(|n| frame(case, sender, sides, length, n)).collect();
            self.send(from, &frames)?;
        }
        Ok(())
    }

    fn send(&mut self, from: usize, frames: &[Vec<u8>]) -> Result<(), Failed> {
        let sent = self.queues[from].1.send(frames.iter().map(Vec::as_slice))?;
        assert_eq!(sent, frames.len(), "the ring has room");
        Ok(())
    }

    /// Waits for so many packets of ours.
    fn take(&mut self, at: usize, count: usize) -> Result<Vec<Vec<u8>>, Failed> {
        let (start, mut packets, mut came) = (Instant::now(), Packets::new(), vec![]);
        while came.len() < count {
            if start.elapsed() > WITHIN {
                return Err(format!("{} of {count} packets came", came.len()).into());
            }
            self.queues[at].0.receive(&mut packets, 64)?;
            // Devices say things of their own, too: ARP, multicast.
            came.extend(packets.iter().filter(|packet| packet.windows(8).any(|part| part == MARK)).map(<[u8]>::to_vec));
        }
        Ok(came)
    }
}

/// The frame of a number, as the generator sends it.
fn frame(case: &Case, sender: Sender, [from, to]: [&Side; 2], length: usize, number: u32) -> Vec<u8> {
    let next = if case.function.is_routing() { from.gateway } else { to.station };
    let addresses = [sender.address([from, to], number), destination(to, number).1];
    bytes([next.0, from.station.0], &from.tags, 64, addresses, length, number)
}

/// The packet as it must come out: a router rewrites the header and decrements the TTL, a switch changes its tags.
fn expected(case: &Case, sender: Sender, [from, to]: [&Side; 2], length: usize, number: u32) -> Vec<u8> {
    let addresses = [sender.address([from, to], number), destination(to, number).1];
    let (stations, hops_left) = match case.function {
        Function::Ip4 | Function::Ip6 => ([hop(to, number), to.gateway.0], 63),
        _ if case.feature == Feature::MacSwap => ([from.station.0, to.station.0], 64),
        Function::CrossConnect | Function::Bridge => ([to.station.0, from.station.0], 64),
    };
    bytes(stations, &to.tags, hops_left, addresses, length, number)
}

/// The routes that a number's destination belongs to, of which those of the longest prefix, and that destination.
fn destination(to: &Side, number: u32) -> (usize, IpAddr) {
    let (index, address) = drawn(to, number);
    let contains = |routes: &Routes| {
        let behind = u32::from(whole(routes.first) - routes.length);
        let prefix = |address: IpAddr| bits(address).checked_shr(behind).unwrap_or(0);
        (prefix(routes.first)..prefix(routes.first) + u128::from(routes.count)).contains(&prefix(address))
    };
    let longest = to.routes.iter().enumerate().filter(|(_, routes)| contains(routes)).max_by_key(|(_, of)| of.length);
    (longest.map_or(index, |(index, _)| index), address)
}

/// The routes that a number is of, and an address there.
fn drawn(to: &Side, number: u32) -> (usize, IpAddr) {
    let total: u32 = to.routes.iter().map(|routes| routes.count).sum();
    let mut left = number.checked_rem(total).unwrap_or(0);
    for (index, routes) in to.routes.iter().enumerate() {
        if left < routes.count {
            // The second host of a network.
            let host = if routes.length == whole(routes.first) { 0 } else { 2 };
            return (index, address(routes.first, bits(routes.prefix(left)) + host));
        }
        left -= routes.count;
    }
    (0, Ipv4Addr::new(192, 0, 2, 1).into())
}

/// The bits of an address, and how many it has.
pub fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

pub fn whole(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with these bits, of the family of another one.
pub fn address(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits(bits as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}

/// The station that a router sends a number to: that of its route, unless a policy knows better.
fn hop(to: &Side, number: u32) -> [u8; 6] {
    to.policy_hop.map_or_else(|| to.routes[destination(to, number).0].station, |(_, station)| station).0
}

/// The frame of a number between two stations, the receiver's first, and two addresses, the sender's first.
fn bytes(
    stations: [[u8; 6]; 2],
    tags: &[u16],
    ttl: u8,
    [sender, destination]: [IpAddr; 2],
    length: usize,
    number: u32,
) -> Vec<u8> {
    let mut bytes = stations.concat();
    for (index, tag) in tags.iter().enumerate() {
        let is_outer_of_two = index == 0 && tags.len() == 2;
        bytes.extend(if is_outer_of_two { 0x88a8_u16 } else { 0x8100 }.to_be_bytes());
        bytes.extend(tag.to_be_bytes());
    }
    let packet = (length - EthernetHeader::LENGTH) as u16;
    let header = match (sender, destination) {
        (IpAddr::V4(sender), IpAddr::V4(destination)) => {
            bytes.extend(EtherType::IP4.get().to_be_bytes());
            let mut ip = vec![0; IP];
            (ip[0], ip[8], ip[9]) = (0x45, ttl, IpProtocol::UDP.0);
            ip[2..4].copy_from_slice(&packet.to_be_bytes());
            ip[12..16].copy_from_slice(&sender.octets());
            ip[16..20].copy_from_slice(&destination.octets());
            let sum = checksum::of(&ip).checksum();
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip
        }
        (IpAddr::V6(sender), IpAddr::V6(destination)) => {
            bytes.extend(EtherType::IP6.get().to_be_bytes());
            let mut ip = vec![0; IP6];
            (ip[0], ip[6], ip[7]) = (0x60, IpProtocol::UDP.0, ttl);
            ip[4..6].copy_from_slice(&(packet - IP6 as u16).to_be_bytes());
            ip[8..24].copy_from_slice(&sender.octets());
            ip[24..40].copy_from_slice(&destination.octets());
            ip
        }
        _ => unreachable!("both ends of a packet are of a family"),
    };
    bytes.extend(&header);
    let payload = packet - header.len() as u16;
    // Each is a flow of its own.
    bytes.extend((1024 + number as u16).to_be_bytes());
    bytes.extend([4, 0]);
    bytes.extend(payload.to_be_bytes());
    // A sum of zero says that there is none (RFC 768); no router looks at that of IPv6.
    bytes.extend([0, 0]);
    bytes.extend(MARK);
    bytes.extend(number.to_be_bytes());
    bytes.resize(bytes.len() + usize::from(payload) - UDP - MARK.len() - 4, 0x5a);
    bytes
}
