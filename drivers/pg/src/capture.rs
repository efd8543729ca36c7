//! Copies of packets that the generator's interfaces send: kept in memory, or written to a pcap file as they come.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use quiver_control::files::{FileError, Place};
use quiver_engine::channel::Inbox;

use crate::interface::PgMode;

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The name of the interface.
    pub interface: Arc<str>,
    /// Nanoseconds of the engine's clock.
    pub time: u64,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// All captures, by interface.
pub(crate) struct Captures {
    from_workers: Inbox<Sent>,
    running: BTreeMap<String, Capture>,
    /// Packets that a test has not taken yet; None until it asks for the first time.
    for_test: Option<VecDeque<Sent>>,
}

/// A capture of at most so many packets.
pub(crate) struct Capture {
    most: u64,
    taken: u64,
    store: Store,
}

/// Where copies go.
pub(crate) enum Store {
    Memory(Vec<Sent>),
    File(PcapFile),
}

impl Capture {
    pub fn new(most: u64, store: Store) -> Capture {
        Capture { most, taken: 0, store }
    }
    fn take(&mut self, sent: &Sent) {
        if self.is_full() {
            return;
        }
        self.taken += 1;
        match &mut self.store {
            Store::Memory(packets) => packets.push(sent.clone()),
            Store::File(file) => file.append(sent),
        }
    }
    fn is_full(&self) -> bool {
        self.taken >= self.most
    }
    pub fn taken(&self) -> u64 {
        self.taken
    }
    /// The packets kept in memory, or the file that has them.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl Captures {
    pub fn new(from_workers: Inbox<Sent>) -> Captures {
        Captures { from_workers, running: BTreeMap::new(), for_test: None }
    }
    /// Whether interfaces capture from their start, for a test.
    pub fn all(&self) -> bool {
        self.for_test.is_some()
    }
    /// Takes the packets sent since the last call, and makes interfaces capture from their start.
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
    /// Begins a capture; one of the same interface is forgotten.
    pub fn begin(&mut self, interface: &str, capture: Capture) {
        self.drain();
        self.running.insert(interface.to_owned(), capture);
    }
    /// Ends a capture and gives it back.
    pub fn end(&mut self, interface: &str) -> Option<Capture> {
        self.drain();
        self.running.remove(interface)
    }
    /// Distributes the packets that workers have sent by now. True if they have sent more since.
    pub fn drain(&mut self) -> bool {
        for sent in self.from_workers.waiting() {
            if let Some(capture) = self.running.get_mut(&*sent.interface) {
                capture.take(&sent);
            }
            if let Some(list) = &mut self.for_test {
                list.push_back(sent);
            }
        }
        !self.from_workers.is_empty()
    }
    /// Interfaces whose capture has all the packets it wanted.
    pub fn full(&self) -> Vec<String> {
        self.running.iter().filter(|(_, capture)| capture.is_full()).map(|(name, _)| name.clone()).collect()
    }
}

/// A pcap file with times in microseconds since the daemon's start, which comes into being with its first packet. Others
/// read it while it grows: each packet is written in one go.
pub(crate) struct PcapFile {
    place: Place,
    /// The pcap link type.
    link_type: u32,
    file: Option<File>,
    /// Why it does not grow any more.
    failed: Option<FileError>,
}

/// Bytes of a packet at most, as the file says.
const LONGEST: u32 = 65_536;

impl PcapFile {
    /// A file of packets as they go over the wire of such an interface. An error if there is a file of this name.
    pub fn new(place: Place, mode: PgMode) -> io::Result<PcapFile> {
        if place.is_taken() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // LINKTYPE_ETHERNET; and 12, which is IP without a header before it to readers on Linux (DLT_RAW).
        let link_type = match mode {
            PgMode::Ethernet => 1,
            PgMode::Ip4 | PgMode::Ip6 => 12,
        };
        Ok(PcapFile { place, link_type, file: None, failed: None })
    }
    pub fn path(&self) -> &Path {
        self.place.path()
    }
    pub fn failed(&self) -> Option<&FileError> {
        self.failed.as_ref()
    }
    fn append(&mut self, sent: &Sent) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self.write(sent) {
            tracing::warn!("packet-generator capture: {error}");
            self.failed = Some(error);
        }
    }
    fn write(&mut self, sent: &Sent) -> Result<(), FileError> {
        let mut bytes = vec![];
        if self.file.is_none() {
            self.file = Some(self.place.create()?);
            bytes.extend(0xa1b2_c3d4_u32.to_ne_bytes());
            bytes.extend([2_u16, 4].map(u16::to_ne_bytes).as_flattened());
            bytes.extend([0, 0, LONGEST, self.link_type].map(u32::to_ne_bytes).as_flattened());
        }
        let (seconds, nanoseconds, length) = (sent.time / 1_000_000_000, sent.time % 1_000_000_000, sent.bytes.len());
        let header = [seconds as u32, (nanoseconds / 1000) as u32, length as u32, length as u32];
        bytes.extend(header.map(u32::to_ne_bytes).as_flattened());
        bytes.extend(&sent.bytes);
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(&bytes));
        written.map_err(|error| FileError::refused(self.path(), error))
    }
}
