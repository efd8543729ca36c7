//! The packets of a pcap file, and the type of their first header.

use std::path::Path;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use quiver_control::ObjectError;
use quiver_control::files::Reach;

use crate::interface::PgMode;

/// Packets of a file at most.
const PACKETS_MAX: usize = 65_536;
/// Bytes of it at most: control reads it in one go.
const BYTES_MAX: u64 = 64 << 20;
/// The bits of a link type; those above say how long the checksum of frames is.
const LINK_TYPE: u32 = 0x03ff_ffff;
/// IP without a header before it, by the number that Linux gives it inside (DLT_RAW).
const RAW: u32 = 12;

/// A pcap file, read whole.
pub struct Recording<'p> {
    path: &'p str,
    link: DataLink,
    packets: Vec<Vec<u8>>,
}

impl<'p> Recording<'p> {
    /// Reads a file of at least one packet, if it is within the client's reach.
    ///
    /// # Errors
    /// It is no pcap file, too large, or empty.
    pub fn read(reach: &Reach, path: &'p str) -> Result<Self, ObjectError> {
        let wrong = |what: String| wrong(path, what);
        let bytes = reach.read(Path::new(path), BYTES_MAX);
        let bytes = bytes.map_err(|error| ObjectError::field("pcap", error.to_string()))?;
        let mut reader = PcapReader::new(&bytes[..]).map_err(|error| wrong(error.to_string()))?;
        let link = DataLink::from(u32::from(reader.header().datalink) & LINK_TYPE);
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet() {
            let packet = packet.map_err(|error| wrong(format!("packet {}: {error}", packets.len() + 1)))?;
            packets.push(packet.data.into_owned());
            if packets.len() > PACKETS_MAX {
                return Err(wrong(format!("there are more than {PACKETS_MAX} packets")).remedy("split the file"));
            }
        }
        match packets.is_empty() {
            true => Err(wrong("there is no packet".into()).remedy("give a file with packets")),
            false => Ok(Recording { path, link, packets }),
        }
    }

    /// Number of packets.
    pub fn count(&self) -> usize {
        self.packets.len()
    }

    /// The packets, if such an interface can receive them.
    ///
    /// # Errors
    /// They begin with another header.
    pub fn packets_for(self, mode: PgMode) -> Result<Vec<Vec<u8>>, ObjectError> {
        let raw = matches!(self.link, DataLink::RAW | DataLink::Unknown(RAW));
        let (fits, wanted) = match mode {
            PgMode::Ethernet => (self.link == DataLink::ETHERNET, "Ethernet frames"),
            PgMode::Ip4 => (raw || self.link == DataLink::IPV4, "IPv4 packets"),
            PgMode::Ip6 => (raw || self.link == DataLink::IPV6, "IPv6 packets"),
        };
        if fits {
            return Ok(self.packets);
        }
        let number = u32::from(self.link);
        let link = match self.link {
            DataLink::Unknown(_) => number.to_string(),
            link => format!("{link:?} ({number})"),
        };
        let what = format!("its packets are of link type {link}, and an interface of mode {mode} receives {wanted}");
        Err(wrong(self.path, what).remedy(match mode {
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
            recording.packets_for(mode).map(|packets| packets.len()).map_err(|error| error.to_string())
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
}
