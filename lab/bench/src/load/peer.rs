//! The other end of quiverd's interfaces: it sends at exact times by one, takes from the other, and never sleeps.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use quiver_memif_client::{Client, InterfaceId, Packets, RxQueue, Settings, TxQueue};
use quiver_wire::{EtherType, EthernetHeader, Header as _, IpProtocol, MacAddress, checksum};

use crate::memif::pin;
use crate::quiverd::Quiverd;

/// The address of quiverd's first interface.
pub const GATEWAY_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xa0]);
/// Where packets go to, and the address of its hardware.
pub const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
pub const NEXT_HOP_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xb2]);

/// The core of this process. Workers get the highest ones.
const CORE: usize = 0;
/// How long the ends may take to be connected.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);
/// How long packets may take to arrive that have been sent when the window ends.
const STRAGGLING: Duration = Duration::from_millis(50);
/// Packets sent at once at most.
pub const BURST: usize = 64;
/// Bytes of a packet: the shortest frame, without the checksum that hardware adds.
const LENGTH: usize = 60;
/// Where a packet tells when it was sent: behind the headers of Ethernet, IPv4 and UDP.
const STAMP: usize = EthernetHeader::LENGTH + 28;

/// The socket of quiverd's memif interfaces, numbers 0 and 1.
pub fn memif(folder: &Path) -> PathBuf {
    folder.join("memif")
}

/// Counts of the packets of a window.
#[derive(Default)]
pub struct Counts {
    pub sent: u64,
    pub received: u64,
    /// Nanoseconds from sending to receiving; none if there were no packets.
    latency: Option<Histogram<u64>>,
}

impl Counts {
    /// Microseconds that this share of the packets did not exceed.
    pub fn latency(&self, quantile: f64) -> f64 {
        self.latency.as_ref().map_or(0.0, |latency| latency.value_at_quantile(quantile) as f64 / 1000.0)
    }
}

/// Two ends between which packets pass.
pub struct Peer {
    /// Keeps the connections.
    _client: Client,
    out: TxQueue,
    back: RxQueue,
    /// All unlike in their stamps only.
    packets: [[u8; LENGTH]; BURST],
    start: Instant,
}

impl Peer {
    /// At the other ends of a quiverd's two interfaces.
    pub fn through(quiverd: &Quiverd) -> Result<Peer, String> {
        let socket = memif(quiverd.folder());
        Peer::connect(Settings::slave(address(&socket)?, 0), Settings::slave(address(&socket)?, 1))
    }
    /// With both ends joined.
    pub fn direct(folder: &Path) -> Result<Peer, String> {
        let socket = folder.join("direct");
        Peer::connect(Settings::slave(address(&socket)?, 0), Settings::master(address(&socket)?, 0))
    }
    fn connect(out: Settings, back: Settings) -> Result<Peer, String> {
        pin(CORE);
        let mut client = Client::new().map_err(|error| error.to_string())?;
        // Whoever listens comes first.
        let back = client.open(back).map_err(|error| error.to_string())?;
        let out = client.open(out).map_err(|error| error.to_string())?;
        let start = Instant::now();
        while !(client.is_connected(out) && client.is_connected(back)) {
            if start.elapsed() > CONNECTED_WITHIN {
                return Err("quiverd's interfaces cannot be joined".into());
            }
            client.wait(Some(Duration::from_millis(10))).map_err(|error| error.to_string())?;
        }
        let (_, out) = queues(&mut client, out)?;
        let (back, _) = queues(&mut client, back)?;
        Ok(Peer { _client: client, out, back, packets: [packet(); BURST], start })
    }
    /// Sends so many packets in a second for so long.
    pub fn run(&mut self, load: u64, time: Duration) -> Result<Counts, String> {
        let latency = Histogram::new_with_bounds(1, 60_000_000_000, 3).map_err(|error| error.to_string())?;
        let mut counts = Counts { latency: Some(latency), ..Counts::default() };
        let mut packets = Packets::new();
        // What came late in an earlier window is not of this one.
        while self.back.receive(&mut packets, BURST).map_err(|error| error.to_string())? > 0 {}
        let (start, time) = (self.now(), time.as_nanos() as u64);
        let mut end = u64::MAX;
        loop {
            let now = self.now();
            let passed = now - start;
            if passed >= time && end == u64::MAX {
                end = now + STRAGGLING.as_nanos() as u64;
            }
            if now >= end || passed >= time && counts.received == counts.sent {
                return Ok(counts);
            }
            let due = (passed.min(time) * load / 1_000_000_000 - counts.sent).min(BURST as u64) as usize;
            if due > 0 {
                counts.sent += self.send(due, now)? as u64;
            }
            self.receive(&mut packets, &mut counts)?;
        }
    }
    /// Sends a packet to each of these destinations, [`BURST`] at most; how many had room.
    pub fn send_to(&mut self, destinations: impl Iterator<Item = Ipv4Addr>) -> Result<usize, String> {
        let mut count = 0;
        for (packet, destination) in self.packets.iter_mut().zip(destinations) {
            address_to(packet, destination);
            count += 1;
        }
        self.send(count, self.now())
    }
    /// Takes what has come, and says how many packets of ours that are: quiverd announces its addresses by ARP, too.
    pub fn take(&mut self, packets: &mut Packets) -> Result<usize, String> {
        self.back.receive(packets, 256).map_err(|error| error.to_string())?;
        let is_ours = |packet: &&[u8]| packet.get(12..14) == Some(&EtherType::IP4.get().to_be_bytes()[..]);
        Ok(packets.iter().filter(is_ours).count())
    }
    fn send(&mut self, count: usize, now: u64) -> Result<usize, String> {
        for packet in &mut self.packets[..count] {
            packet[STAMP..STAMP + 8].copy_from_slice(&now.to_be_bytes());
        }
        let packets = self.packets[..count].iter().map(|packet| &packet[..]);
        self.out.send(packets).map_err(|error| error.to_string())
    }
    fn receive(&mut self, packets: &mut Packets, counts: &mut Counts) -> Result<(), String> {
        if self.back.receive(packets, 256).map_err(|error| error.to_string())? == 0 {
            return Ok(());
        }
        let now = self.now();
        for packet in packets.iter() {
            let stamp = packet.get(STAMP..STAMP + 8).and_then(|bytes| bytes.first_chunk());
            let sent = u64::from_be_bytes(*stamp.ok_or("a packet came back shorter than it was")?);
            counts.received += 1;
            if let Some(latency) = &mut counts.latency {
                latency.saturating_record(now.saturating_sub(sent));
            }
        }
        Ok(())
    }
    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

fn address(path: &Path) -> Result<quiver_memif_client::Address, String> {
    path.display().to_string().parse().map_err(|error| format!("{}: {error}", path.display()))
}

fn queues(client: &mut Client, interface: InterfaceId) -> Result<(RxQueue, TxQueue), String> {
    let (mut rx, mut tx) = client.take_queues(interface).ok_or("an interface is not connected any more")?;
    rx.pop().zip(tx.pop()).ok_or_else(|| "an interface has no queues".into())
}

/// A UDP packet to be routed. Its checksum of UDP is zero, which says that there is none (RFC 768).
fn packet() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..6].copy_from_slice(&GATEWAY_MAC.0);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&EtherType::IP4.get().to_be_bytes());
    let ip = &mut bytes[EthernetHeader::LENGTH..];
    let length = (LENGTH - EthernetHeader::LENGTH) as u16;
    (ip[0], ip[8], ip[9]) = (0x45, 64, IpProtocol::UDP.0);
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip[12..16].copy_from_slice(&[10, 0, 0, 2]);
    ip[20..24].copy_from_slice(&[4, 0, 4, 0]);
    ip[24..26].copy_from_slice(&(length - 20).to_be_bytes());
    address_to(&mut bytes, DESTINATION);
    bytes
}

fn address_to(packet: &mut [u8; LENGTH], destination: Ipv4Addr) {
    let ip = &mut packet[EthernetHeader::LENGTH..];
    ip[16..20].copy_from_slice(&destination.octets());
    // The checksum is that of the header in which it is zero (RFC 791, 3.1).
    ip[10..12].fill(0);
    let sum = checksum::of(&ip[..20]).checksum();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}
