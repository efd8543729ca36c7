//! A client of the statistics segment: version 2 of VPP's, whose layout engine/stats describes. It reads the file that the
//! daemon gives it and maps nothing, so a daemon that goes away is an error, not a fault.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// Bytes of a word, and of an entry: type, value, and a name of 128 bytes.
const WORD: usize = 8;
const ENTRY: usize = 18 * WORD;
/// Words of the header: version, base, epoch, whether it is being changed, directory.
const HEADER: usize = 5;
const VERSION: u64 = 2;

/// Types of entries.
const SIMPLE: u32 = 2;
const COMBINED: u32 = 3;
const NAMES: u32 = 4;

/// Elements of a vector, and texts' bytes, that are believed: more is a damaged segment.
const LENGTH_MAX: usize = 1 << 22;
/// Attempts to read while the directory stays as it is.
const ATTEMPTS: usize = 50;

/// A mapping's stand-in: the file, read where it is needed.
#[derive(Debug)]
pub struct Segment(File);

/// The directory at one moment.
pub struct Directory<'s> {
    segment: &'s Segment,
    base: u64,
    epoch: u64,
    /// Type, value, name.
    entries: Vec<(u32, u64, String)>,
}

impl Segment {
    /// Connects to a statistics socket, which gives the file.
    pub fn connect(path: &Path) -> io::Result<Segment> {
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let mut byte = [0; 64];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let given = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        let file = given.ok_or_else(|| io::Error::other("it gives no file: is it a statistics socket?"))?;
        Ok(Segment(file.into()))
    }

    /// Reads by a function while the directory stays as it is; again if it was changed meanwhile.
    pub fn read<T>(&self, read: impl Fn(&Directory<'_>) -> io::Result<T>) -> io::Result<T> {
        let mut last = io::Error::other("its directory is always being changed");
        for _ in 0..ATTEMPTS {
            match self.directory().and_then(|directory| Ok((read(&directory)?, directory.epoch))) {
                Ok((value, epoch)) if self.state()? == (epoch, false) => return Ok(value),
                Ok(_) => {}
                Err(error) => last = error,
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(last)
    }

    /// Number of changes of the directory, and whether a change is in progress.
    fn state(&self) -> io::Result<(u64, bool)> {
        let header = self.words(0, HEADER)?;
        Ok((header[2], header[3] != 0))
    }

    fn directory(&self) -> io::Result<Directory<'_>> {
        let header = self.words(0, HEADER)?;
        if header[0] != VERSION {
            return Err(io::Error::other(format!("its version is {}, must be {VERSION}", header[0])));
        }
        let mut directory = Directory { segment: self, base: header[1], epoch: header[2], entries: Vec::new() };
        let bytes = directory.vector(header[4], ENTRY)?;
        directory.entries = bytes.chunks_exact(ENTRY).map(entry).collect();
        Ok(directory)
    }

    fn words(&self, offset: u64, count: usize) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; count * WORD];
        self.0.read_exact_at(&mut bytes, offset)?;
        Ok(words(&bytes))
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

fn entry(bytes: &[u8]) -> (u32, u64, String) {
    let (word, name) = (words(&bytes[..2 * WORD]), &bytes[2 * WORD..]);
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    (word[0] as u32, word[1], String::from_utf8_lossy(&name[..length]).into_owned())
}

impl Directory<'_> {
    /// Sums of a vector of counters over all threads; of pairs, packets and bytes. Empty if there is no such entry.
    pub fn sums<const COLUMNS: usize>(&self, name: &str) -> io::Result<Vec<[u64; COLUMNS]>> {
        let mut sums: Vec<[u64; COLUMNS]> = Vec::new();
        for row in self.rows::<COLUMNS>(name)? {
            sums.resize(sums.len().max(row.len()), [0; COLUMNS]);
            for (sum, own) in sums.iter_mut().zip(row) {
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
            }
        }
        Ok(sums)
    }

    /// Counters by thread.
    pub fn rows<const COLUMNS: usize>(&self, name: &str) -> io::Result<Vec<Vec<[u64; COLUMNS]>>> {
        let Some(value) = self.find(name, if COLUMNS == 2 { COMBINED } else { SIMPLE }) else { return Ok(Vec::new()) };
        let rows = words(&self.vector(value, WORD)?);
        let row = |at: u64| {
            let words = words(&self.vector(at, COLUMNS * WORD)?);
            Ok(words.as_chunks::<COLUMNS>().0.to_vec())
        };
        rows.into_iter().map(row).collect()
    }

    /// Texts of a vector of names; empty where there is none.
    pub fn names(&self, name: &str) -> io::Result<Vec<String>> {
        let Some(value) = self.find(name, NAMES) else { return Ok(Vec::new()) };
        let texts = words(&self.vector(value, WORD)?);
        let text = |at: u64| {
            let bytes = if at == 0 { Vec::new() } else { self.vector(at, 1)? };
            Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
        };
        texts.into_iter().map(text).collect()
    }

    fn find(&self, name: &str, kind: u32) -> Option<u64> {
        self.entries.iter().find(|(own, _, title)| *own == kind && title == name).map(|(_, value, _)| *value)
    }

    /// The bytes of a vector: the half word that begins a word before it is its length.
    fn vector(&self, address: u64, element: usize) -> io::Result<Vec<u8>> {
        let damaged = || io::Error::other("it is damaged, or being changed");
        let offset = address.checked_sub(self.base).filter(|_| address != 0).ok_or_else(damaged)?;
        let length = self.segment.words(offset.checked_sub(WORD as u64).ok_or_else(damaged)?, 1)?[0] as u32 as usize;
        if length > LENGTH_MAX {
            return Err(damaged());
        }
        let mut bytes = vec![0; length * element];
        self.segment.0.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}
