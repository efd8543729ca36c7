//! Capture files in tests: frames out of pcap and pcapng files, and into pcap files.
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a capture file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file itself.
    #[error("capture {path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The content of the file.
    #[error("capture {path}, packet {packet}: {source}")]
    Format {
        /// Which file.
        path: PathBuf,
        /// The packet, counted from one.
        packet: usize,
        /// Error of the format.
        source: PcapError,
    },
    /// Its packets do not begin with an Ethernet header.
    #[error("capture {path} was made on a link of type {link:?}: only captures of Ethernet frames can be read")]
    Link {
        /// Which file.
        path: PathBuf,
        /// Link type of the file.
        link: DataLink,
    },
    /// A packet was cut when it was captured.
    #[error(
        "capture {path}, packet {packet}: {captured} of {length} bytes were captured: capture whole packets (tcpdump -s 0)"
    )]
    Cut {
        /// Which file.
        path: PathBuf,
        /// The packet, counted from one.
        packet: usize,
        /// Bytes in the file.
        captured: usize,
        /// Bytes that the packet had.
        length: usize,
    },
}

/// The first bytes of a pcapng file, in either byte order (the section header block's type).
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// All Ethernet frames of a pcap or pcapng file, whole and in order.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Vec<u8>>, CaptureError> {
    let path = path.as_ref();
    let failed = |source| CaptureError::File { path: path.into(), source };
    let mut bytes = Vec::new();
    BufReader::new(File::open(path).map_err(failed)?).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(&PCAPNG) { read_pcapng(path, &bytes) } else { read_pcap(path, &bytes) }
}

fn read_pcap(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CaptureError> {
    let mut frames = Vec::new();
    let failed = |packet, source| CaptureError::Format { path: path.into(), packet, source };
    let mut reader = PcapReader::new(bytes).map_err(|source| failed(0, source))?;
    ethernet(path, reader.header().datalink)?;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|source| failed(frames.len() + 1, source))?;
        frames.push(whole(path, frames.len() + 1, &packet.data, packet.orig_len)?);
    }
    Ok(frames)
}

fn read_pcapng(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CaptureError> {
    let mut frames = Vec::new();
    let failed = |packet, source| CaptureError::Format { path: path.into(), packet, source };
    let mut reader = PcapNgReader::new(bytes).map_err(|source| failed(0, source))?;
    while let Some(block) = reader.next_block() {
        let number = frames.len() + 1;
        match block.map_err(|source| failed(number, source))? {
            Block::InterfaceDescription(interface) => ethernet(path, interface.linktype)?,
            Block::EnhancedPacket(packet) => frames.push(whole(path, number, &packet.data, packet.original_len)?),
            Block::SimplePacket(packet) => frames.push(whole(path, number, &packet.data, packet.original_len)?),
            _ => {}
        }
    }
    Ok(frames)
}

fn ethernet(path: &Path, link: DataLink) -> Result<(), CaptureError> {
    if link == DataLink::ETHERNET { Ok(()) } else { Err(CaptureError::Link { path: path.into(), link }) }
}

fn whole(path: &Path, packet: usize, data: &[u8], length: u32) -> Result<Vec<u8>, CaptureError> {
    let (captured, length) = (data.len(), length as usize);
    if captured == length {
        Ok(data.into())
    } else {
        Err(CaptureError::Cut { path: path.into(), packet, captured, length })
    }
}

/// Writes Ethernet frames into a pcap file, a microsecond apart.
pub fn write<F: AsRef<[u8]>>(path: impl AsRef<Path>, frames: impl IntoIterator<Item = F>) -> Result<(), CaptureError> {
    let path = path.as_ref();
    let failed = |source| CaptureError::File { path: path.into(), source };
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let wrong = |packet, source| CaptureError::Format { path: path.into(), packet, source };
    let mut writer = PcapWriter::with_header(file, header).map_err(|source| wrong(0, source))?;
    for (packet, frame) in (1..).zip(frames) {
        let frame = frame.as_ref();
        let record = PcapPacket::new(Duration::from_micros(packet as u64), frame.len() as u32, frame);
        writer.write_packet(&record).map_err(|source| wrong(packet, source))?;
    }
    writer.into_writer().flush().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section with one Ethernet interface and one enhanced packet block of five bytes, by the pcapng draft, 4.1-4.3.
    const SECTION: &[u8] =
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\
        \x01\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0\
        \x06\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0\x05\0\0\0hello\0\0\0\x28\0\0\0";

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.pcap");
        let frames = [vec![1; 60], vec![], vec![2; 9014]];
        write(&path, &frames).unwrap();
        assert_eq!(read(&path).unwrap(), frames);
    }

    #[test]
    fn pcapng_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.pcapng");
        std::fs::write(&path, SECTION).unwrap();
        assert_eq!(read(&path).unwrap(), [b"hello"]);
        // The link type lies in the interface description block, the packet's own length in its sixth word.
        for (at, message) in [(36, "was made on a link of type"), (72, "packet 1: 5 of 7 bytes were captured")] {
            let mut bytes = SECTION.to_vec();
            bytes[at] = 7;
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains("frames.pcapng") && error.contains(message), "{error}");
        }
    }

    #[test]
    fn what_is_no_capture_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.pcap");
        assert!(matches!(read(&path), Err(CaptureError::File { .. })));
        std::fs::write(&path, "no capture at all, only a text").unwrap();
        assert!(matches!(read(&path), Err(CaptureError::Format { packet: 0, .. })));
        write(&path, [[1; 60]]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(read(&path), Err(CaptureError::Format { packet: 1, .. })));
    }
}
