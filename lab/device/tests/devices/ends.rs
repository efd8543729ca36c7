//! The generator's two ends of a test: memif masters that send a few packets and look at all that come.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_device::{Device, Port};
use quiver_memif_client::{Client, Packets, RxQueue, Settings, TxQueue};
use quiver_suite::field::Function;
use quiver_suite::{Case, Routes, Side, Traffic};
use quiver_wire::{EtherType, EthernetHeader, Header as _, IpProtocol, checksum};

/// Time for whatever is waited for on a busy machine.
const WITHIN: Duration = Duration::from_secs(60);
/// What a packet carries in front of its number.
const MARK: &[u8; 8] = b"quiver/?";
const IP: usize = 20;
const IP6: usize = 40;
const UDP: usize = 8;

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

    /// What the device is told.
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
    /// Every packet must come, with the headers that the case's device gives it.
    pub fn exchange(&mut self, case: &Case, length: usize, count: u32) -> Result<(), Failed> {
        let traffic = Traffic::of(case);
        for (from, to) in [(0, 1), (1, 0)] {
            let [here, there] = [&traffic.sides[from], &traffic.sides[to]];
            for burst in (0..count).step_by(8) {
                let numbers = burst..count.min(burst + 8);
                let frames: Vec<_> = numbers.clone().map(|n| frame(case, here, there, length, n)).collect();
                let sent = self.queues[from].1.send(frames.iter().map(Vec::as_slice))?;
                assert_eq!(sent, frames.len(), "the ring has room");
                let wanted: Vec<_> = numbers.map(|n| expected(case, here, there, length, n)).collect();
                let came = self.take(to, wanted.len())?;
                assert!(
                    came == wanted,
                    "{}: sent {frames:02x?}, expected {wanted:02x?}, came {came:02x?}",
                    case.name()
                );
            }
        }
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
fn frame(case: &Case, from: &Side, to: &Side, length: usize, number: u32) -> Vec<u8> {
    let next = if case.function.is_routing() { from.gateway } else { to.station };
    bytes(next.0, from.station.0, &from.tags, 64, to, length, number)
}

/// What becomes of it: a router gives it a new header and counts down, a switch changes its tags.
fn expected(case: &Case, from: &Side, to: &Side, length: usize, number: u32) -> Vec<u8> {
    match case.function {
        Function::Ip4 | Function::Ip6 => bytes(hop(to, number), to.gateway.0, &to.tags, 63, to, length, number),
        Function::CrossConnect | Function::Bridge => {
            bytes(to.station.0, from.station.0, &to.tags, 64, to, length, number)
        }
    }
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

fn hop(to: &Side, number: u32) -> [u8; 6] {
    to.routes[destination(to, number).0].station.0
}

fn bytes(to_mac: [u8; 6], from_mac: [u8; 6], tags: &[u16], ttl: u8, to: &Side, length: usize, number: u32) -> Vec<u8> {
    let mut bytes = [to_mac, from_mac].concat();
    for (index, tag) in tags.iter().enumerate() {
        let is_outer_of_two = index == 0 && tags.len() == 2;
        bytes.extend(if is_outer_of_two { 0x88a8_u16 } else { 0x8100 }.to_be_bytes());
        bytes.extend(tag.to_be_bytes());
    }
    let packet = (length - EthernetHeader::LENGTH) as u16;
    let header = match destination(to, number).1 {
        IpAddr::V4(destination) => {
            bytes.extend(EtherType::IP4.get().to_be_bytes());
            let mut ip = vec![0; IP];
            (ip[0], ip[8], ip[9]) = (0x45, ttl, IpProtocol::UDP.0);
            ip[2..4].copy_from_slice(&packet.to_be_bytes());
            ip[12..16].copy_from_slice(&[192, 0, 2, 99]);
            ip[16..20].copy_from_slice(&destination.octets());
            let sum = checksum::of(&ip).checksum();
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip
        }
        IpAddr::V6(destination) => {
            bytes.extend(EtherType::IP6.get().to_be_bytes());
            let mut ip = vec![0; IP6];
            (ip[0], ip[6], ip[7]) = (0x60, IpProtocol::UDP.0, ttl);
            ip[4..6].copy_from_slice(&(packet - IP6 as u16).to_be_bytes());
            ip[8..24].copy_from_slice(&Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99).octets());
            ip[24..40].copy_from_slice(&destination.octets());
            ip
        }
    };
    bytes.extend(&header);
    let payload = packet - header.len() as u16;
    bytes.extend([4, 0, 4, 0]);
    bytes.extend(payload.to_be_bytes());
    // A sum of zero says that there is none (RFC 768); no router looks at that of IPv6.
    bytes.extend([0, 0]);
    bytes.extend(MARK);
    bytes.extend(number.to_be_bytes());
    bytes.resize(bytes.len() + usize::from(payload) - UDP - MARK.len() - 4, 0x5a);
    bytes
}
