//! Copies of what the generator's interfaces send, kept in memory and written as pcap.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use quiver_control::Control;
use quiver_engine::channel::Inbox;

use crate::interface::PacketGenerators;
use crate::queue::Sent;

/// All captures, by interface.
pub(crate) struct Captures {
    from_workers: Inbox<Sent>,
    running: BTreeMap<String, Capture>,
    /// What a test has yet to take; None until it asks for the first time.
    for_test: Option<VecDeque<Sent>>,
}

/// A capture: at most so many packets.
pub(crate) struct Capture {
    pub count: usize,
    pub packets: Vec<Sent>,
}

impl Captures {
    pub fn new(from_workers: Inbox<Sent>) -> Captures {
        Captures { from_workers, running: BTreeMap::new(), for_test: None }
    }
    /// Whether interfaces capture from their start, for a test.
    pub fn all(&self) -> bool {
        self.for_test.is_some()
    }
    /// Takes what was sent since the last call, and says that interfaces shall capture from their start.
    pub fn take_all(&mut self) -> VecDeque<Sent> {
        self.drain();
        self.for_test.replace(VecDeque::new()).unwrap_or_default()
    }
    /// Copies lost on their way to control.
    pub fn lost(&self) -> u64 {
        self.from_workers.lost()
    }
    pub fn get(&self, interface: &str) -> Option<&Capture> {
        self.running.get(interface)
    }
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Capture)> {
        self.running.iter()
    }
    /// Begins a capture; one of the same interface is forgotten.
    pub fn begin(&mut self, interface: &str, count: usize) {
        self.drain();
        self.running.insert(interface.to_owned(), Capture { count, packets: Vec::new() });
    }
    /// Ends a capture and gives it back.
    pub fn end(&mut self, interface: &str) -> Option<Capture> {
        self.drain();
        self.running.remove(interface)
    }
    /// Distributes what workers have sent by now. True if they have sent more since.
    pub fn drain(&mut self) -> bool {
        for sent in self.from_workers.waiting() {
            if let Some(capture) = self.running.get_mut(&*sent.interface)
                && capture.packets.len() < capture.count
            {
                capture.packets.push(sent.clone());
            }
            if let Some(list) = &mut self.for_test {
                list.push_back(sent);
            }
        }
        !self.from_workers.is_empty()
    }
    /// Interfaces whose capture has all the packets it wanted.
    fn full(&self) -> Vec<String> {
        self.iter().filter(|(_, c)| c.packets.len() >= c.count).map(|(name, _)| name.clone()).collect()
    }
}

/// Takes copies off the workers' queue. True if there are more by now.
pub(crate) fn collect(control: &Control) -> bool {
    let mut room = control.room_mut::<PacketGenerators>();
    let has_more = room.captures.drain();
    if !room.captures.all() {
        // Whoever has enough copies is not to pay for more.
        for name in room.captures.full() {
            room.ports.get(&name).into_iter().for_each(|port| port.capturing.store(false, Relaxed));
        }
    }
    has_more
}

/// Writes packets as pcap with times in nanoseconds since the daemon's start.
pub(crate) fn write(path: &Path, packets: &[Sent]) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(|error| told(&error))?;
    let header = PcapHeader {
        snaplen: u16::MAX.into(),
        datalink: DataLink::ETHERNET,
        ts_resolution: TsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(file, header).map_err(|error| told(&error))?;
    for sent in packets {
        let packet = PcapPacket::new(Duration::from_nanos(sent.time), sent.bytes.len() as u32, &sent.bytes);
        writer.write_packet(&packet).map_err(|error| told(&error))?;
    }
    Ok(())
}
