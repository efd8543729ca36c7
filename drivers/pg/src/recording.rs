//! The packets of a pcap file, and the type of their first header.

use std::path::Path;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use quiver_control::files::{FileError, Reach};
use quiver_control::{Control, LocalFuture, ObjectError};

use crate::interface::PgMode;
use crate::stream::PgStream;

/// Packets of a file at most.
const PACKETS_MAX: usize = 65_536;
/// Bytes of it at most.
const BYTES_MAX: u64 = 64 << 20;
/// The bits of a link type; those above say how long the checksum of frames is.
const LINK_TYPE: u32 = 0x03ff_ffff;
/// IP without a header before it, by the number that Linux gives it inside (DLT_RAW).
const RAW: u32 = 12;

/// The packets of a file. Shared by control and the workers that send them.
#[derive(Debug)]
pub struct Recording {
    path: String,
    link: DataLink,
    /// All packets, one behind the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

/// Reads the file of a stream, aside from control.
pub(crate) fn read(control: &Control, stream: &PgStream) -> LocalFuture<Result<Recording, ObjectError>> {
    let (reach, path) = (control.files(), stream.pcap.clone().unwrap_or_default());
    let reading = control.read_by_helper({
        let path = path.clone();
        move || Recording::read(&reach, &path)
    });
    Box::pin(async move {
        let refused = |error| Err(ObjectError::field("pcap", FileError::refused(Path::new(&path), error).to_string()));
        reading.await.unwrap_or_else(refused)
    })
}

impl Recording {
    /// Reads a file of at least one packet, if it is within the client's reach.
    ///
    /// # Errors
    /// It is no pcap file, too large, or empty.
    pub fn read(reach: &Reach, path: &str) -> Result<Recording, ObjectError> {
        let wrong = |what: String| wrong(path, what);
        let file = reach.read(Path::new(path), BYTES_MAX);
        let file = file.map_err(|error| ObjectError::field("pcap", error.to_string()))?;
        let mut reader = PcapReader::new(&file[..]).map_err(|error| wrong(error.to_string()))?;
        let link = DataLink::from(u32::from(reader.header().datalink) & LINK_TYPE);
        let (mut bytes, mut ends) = (Vec::with_capacity(file.len()), Vec::new());
        while let Some(packet) = reader.next_packet() {
            let packet = packet.map_err(|error| wrong(format!("packet {}: {error}", ends.len() + 1)))?;
            if ends.len() == PACKETS_MAX {
                return Err(wrong(format!("there are more than {PACKETS_MAX} packets")).remedy("split the file"));
            }
            bytes.extend_from_slice(&packet.data);
            // A file has at most 64 MiB.
            ends.push(bytes.len() as u32);
        }
        match ends.is_empty() {
            true => Err(wrong("there is no packet".into()).remedy("give a file with packets")),
            false => Ok(Recording { path: path.to_owned(), link, bytes, ends }),
        }
    }

    /// Number of packets, at least one.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// A packet of the file, which is repeated from its begin.
    pub fn packet(&self, number: u64) -> &[u8] {
        let at = (number % self.ends.len().max(1) as u64) as usize;
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// All packets of the file.
    pub fn packets(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count() as u64).map(|number| self.packet(number))
    }

    /// Checks that such an interface can receive the packets.
    ///
    /// # Errors
    /// They begin with another header.
    pub fn check(&self, mode: PgMode) -> Result<(), ObjectError> {
        let raw = matches!(self.link, DataLink::RAW | DataLink::Unknown(RAW));
        let (fits, wanted) = match mode {
            PgMode::Ethernet => (self.link == DataLink::ETHERNET, "Ethernet frames"),
            PgMode::Ip4 => (raw || self.link == DataLink::IPV4, "IPv4 packets"),
            PgMode::Ip6 => (raw || self.link == DataLink::IPV6, "IPv6 packets"),
        };
        if fits {
            return Ok(());
        }
        let number = u32::from(self.link);
        let link = match self.link {
            DataLink::Unknown(_) => number.to_string(),
            link => format!("{link:?} ({number})"),
        };
        let what = format!("its packets are of link type {link}, and an interface of mode {mode} receives {wanted}");
        Err(wrong(&self.path, what).remedy(match mode {
            PgMode::Ethernet => "capture on an Ethernet interface by its name, not on `any`",
            PgMode::Ip4 | PgMode::Ip6 => "give a file of packets without a header before IP (link type RAW)",
        }))
    }
}

fn wrong(path: &str, what: String) -> ObjectError {
    ObjectError::field("pcap", format!("{path}: {what}"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

    use super::*;

    #[test]
    fn files_of_other_links_are_refused_by_the_name_of_the_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.pcap");
        let of_link = |datalink: DataLink, mode| {
            let header = PcapHeader { datalink, ..PcapHeader::default() };
            let mut writer = PcapWriter::with_header(File::create(&path).expect("a file"), header).expect("a header");
            writer.write_packet(&PcapPacket::new(Duration::ZERO, 60, &[7; 60])).expect("a packet");
            let recording = Recording::read(&Reach::default(), path.to_str().expect("text")).expect("a file");
            recording.check(mode).map(|()| recording.count()).map_err(|error| error.to_string())
        };
        let (ip, ip4, ip6) = (DataLink::RAW, DataLink::IPV4, DataLink::IPV6);
        let ethernet = DataLink::ETHERNET;
        // With checksums of 4 bytes, as the file says.
        let checked = DataLink::from(0x4400_0001);
        for (link, mode) in [
            (ethernet, PgMode::Ethernet),
            (checked, PgMode::Ethernet),
            (ip, PgMode::Ip4),
            (ip, PgMode::Ip6),
            (DataLink::from(12), PgMode::Ip4),
            (ip4, PgMode::Ip4),
            (ip6, PgMode::Ip6),
        ] {
            assert_eq!(of_link(link, mode), Ok(1), "{link:?} {mode}");
        }
        for (link, mode, named) in [
            (DataLink::LINUX_SLL2, PgMode::Ethernet, "link type LINUX_SLL2 (276)"),
            (ip, PgMode::Ethernet, "link type RAW (101)"),
            (DataLink::from(12), PgMode::Ethernet, "link type 12,"),
            (ethernet, PgMode::Ip4, "link type ETHERNET (1)"),
            (ip6, PgMode::Ip4, "link type IPV6 (229)"),
            (ip4, PgMode::Ip6, "link type IPV4 (228)"),
        ] {
            let refused = of_link(link, mode).expect_err("not for this mode");
            assert!(refused.contains("in.pcap") && refused.contains(named), "{refused}");
        }
    }
    #[test]
    fn packets_are_told_apart_and_come_again() {
        let packets = [&[1, 2, 3][..], &[], &[4]];
        let (mut bytes, mut ends) = (vec![], vec![]);
        for packet in packets {
            bytes.extend_from_slice(packet);
            ends.push(bytes.len() as u32);
        }
        let recording = Recording { path: "in.pcap".into(), link: DataLink::ETHERNET, bytes, ends };
        for number in 0..7 {
            assert_eq!(recording.packet(number), packets[number as usize % 3], "{number}");
        }
        assert_eq!(recording.packet(u64::MAX), packets[(u64::MAX % 3) as usize]);
    }

    #[test]
    fn files_that_are_none_or_end_too_early_are_refused_with_the_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let mut whole = PcapWriter::new(vec![]).expect("a header");
        for _ in 0..2 {
            whole.write_packet(&PcapPacket::new(Duration::ZERO, 60, &[7; 60])).expect("a packet");
        }
        let whole = whole.into_writer();
        let refused = |name: &str| {
            let path = path(name);
            Recording::read(&Reach::default(), path.to_str().expect("text")).expect_err(name).to_string()
        };
        for (name, bytes, words) in [
            ("empty.pcap", 0, "empty.pcap: "),
            ("header.pcap", 24, "header.pcap: there is no packet; give a file with packets"),
            ("half.pcap", whole.len() - 30, "half.pcap: packet 2: "),
        ] {
            std::fs::write(path(name), &whole[..bytes]).expect("written");
            let told = refused(name);
            assert!(told.starts_with("pcap: ") && told.contains(words), "{told}");
        }
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo.pcap"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        assert!(refused("fifo.pcap").contains("fifo.pcap is a FIFO, not a regular file"));
        assert!(refused("none.pcap").contains("none.pcap: No such file"));
        File::create(path("long.pcap")).expect("a file").set_len(BYTES_MAX + 1).expect("it is sparse");
        assert!(refused("long.pcap").contains("has more than 67108864 bytes"));
    }
}
