//! The formats of capture files: pcap, which every tool reads, and pcapng, which has interfaces by name and says of each packet
//! where it was seen and why it was dropped. What comes to nodes is written as VPP's dispatch traces are, which Wireshark reads.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, Endianness, PcapError};
use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::capture::{Captured, Point};

use crate::dispatch;

/// Length of the longest packet, as the file's header says; readers take it for a bound (tcpdump writes the same).
/// Packets that are still to be segmented are longer than 65,535 bytes.
const LONGEST: u32 = 262_144;
/// The exponent of ten of a second's fraction in which times are: nanoseconds.
const NANOSECONDS: u8 = 9;

/// A file in the making.
pub(crate) enum Format<W: Write> {
    /// A file that every tool reads.
    Pcap(PcapWriter<W>),
    /// One with words in it, and the interfaces that it has named so far.
    PcapNg(PcapNgWriter<W>, Vec<u32>),
    /// One of packets as nodes found them, of VPP's own link type.
    Dispatch(PcapWriter<W>),
}

impl<W: Write> Format<W> {
    /// pcapng if the file's name ends so, else pcap.
    pub fn of(path: &Path, to: W) -> Result<Format<W>, PcapError> {
        if path.extension().is_some_and(|extension| extension == "pcapng") {
            return Ok(Format::PcapNg(PcapNgWriter::with_endianness(to, Endianness::native())?, vec![]));
        }
        let header = PcapHeader { snaplen: LONGEST, endianness: Endianness::native(), ..PcapHeader::default() };
        Ok(Format::Pcap(PcapWriter::with_header(to, header)?))
    }
    /// A file of packets as nodes found them.
    pub fn dispatch(to: W) -> Result<Format<W>, PcapError> {
        let datalink = DataLink::VPP_DISPATCH;
        let header =
            PcapHeader { snaplen: LONGEST, endianness: Endianness::native(), datalink, ..PcapHeader::default() };
        Ok(Format::Dispatch(PcapWriter::with_header(to, header)?))
    }
    /// Writes a packet.
    pub fn write(&mut self, control: &Control, copy: &Captured) -> Result<(), PcapError> {
        let timestamp = Duration::from_nanos(copy.time);
        match self {
            Format::Pcap(writer) => {
                writer.write_packet(&PcapPacket::new(timestamp, copy.length, &copy.bytes)).map(|_| ())
            }
            Format::Dispatch(writer) => {
                let Some(seen) = copy.seen else { return Ok(()) };
                let mut record = dispatch::head(control, copy, seen);
                let length = record.len() as u32 + copy.length;
                record.extend_from_slice(&copy.bytes);
                writer.write_packet(&PcapPacket::new(timestamp, length, &record)).map(|_| ())
            }
            Format::PcapNg(writer, named) => {
                let known = named.iter().position(|interface| *interface == copy.interface);
                let interface_id = known.unwrap_or(named.len()) as u32;
                if known.is_none() {
                    let name = crate::interface_name(control, copy.interface);
                    let options = vec![
                        InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                        InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                    ];
                    let linktype = DataLink::ETHERNET;
                    writer.write_pcapng_block(InterfaceDescriptionBlock { linktype, snaplen: LONGEST, options })?;
                    named.push(copy.interface);
                }
                // Inbound and outbound, the low bits of the flags (draft-ietf-opsawg-pcapng, 4.3.1).
                let direction = if copy.point == Point::Tx { 2 } else { 1 };
                let options = vec![
                    EnhancedPacketOption::Comment(Cow::Owned(comment(control, copy))),
                    EnhancedPacketOption::Flags(direction),
                ];
                let (original_len, data) = (copy.length, Cow::Borrowed(&copy.bytes[..]));
                let block = EnhancedPacketBlock { interface_id, timestamp, original_len, data, options };
                writer.write_pcapng_block(block).map(|_| ())
            }
        }
    }
}

/// Where the packet was seen; of a dropped one the node and the reason.
fn comment(control: &Control, copy: &Captured) -> String {
    let reason = || {
        let (reason, dataplane) = (copy.reason?, control.room::<Dataplane>());
        let graph = dataplane.graph();
        let arc = graph.arcs(reason.node()).get(reason.arc())?;
        Some(format!("dropped by {}: {}", graph.name(reason.node()), arc.name))
    };
    match copy.point {
        Point::Rx => "received".into(),
        Point::Tx => "sent".into(),
        Point::Node => "at a node".into(),
        Point::Drop => reason().unwrap_or_else(|| "dropped".into()),
    }
}
