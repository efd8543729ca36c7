//! `tcp 1000 > 80 syn seq 1 ack 2 window 65535 [urgent 3] [options 020405b4] [data-offset 0x60]`: flags come first.
use super::checksum::Sums;
use super::inside::Inside;
use super::place::{Next, Place, Step};
use super::pseudo_header::{Ends, pseudo_header};
use super::text::{Words, hex};
use super::{Checksum, PacketTextError};
use quiver_wire::{Header, IpProtocol, TcpFlags, TcpHeader};
use std::fmt;
use zerocopy::IntoBytes;

/// A TCP header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// The sender's port.
    pub source: u16,
    /// The receiver's port.
    pub destination: u16,
    /// The control bits.
    pub flags: TcpFlags,
    /// Of the first byte of payload.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Receive window.
    pub window: u16,
    /// Where urgent data ends.
    pub urgent: u16,
    /// Options, filled up with zeros to whole words.
    pub options: Vec<u8>,
    /// The byte with the data offset in words in its high four bits; `None` if that is the options' and the low are zero.
    pub data_offset: Option<u8>,
    /// Over pseudo header, header and payload.
    pub checksum: Checksum,
}

impl Tcp {
    /// A header between these ports with a window of 65,535, everything else computed or zero.
    pub fn new(source: u16, destination: u16, flags: TcpFlags) -> Tcp {
        Tcp {
            source,
            destination,
            flags,
            seq: 0,
            ack: 0,
            window: 65_535,
            urgent: 0,
            options: Vec::new(),
            data_offset: None,
            checksum: Checksum::Right,
        }
    }

    pub(super) fn read(words: &mut Words<'_>) -> Result<Tcp, PacketTextError> {
        let source = words.number("source port", 0xffff)?;
        words.exactly(">")?;
        let destination = words.number("destination port", 0xffff)?;
        let flags = words.value("flags", "names with commas between such as syn,ack, or none")?;
        let mut layer = Tcp::new(source, destination, flags);
        while let Some(field) = words.field() {
            match field {
                "seq" => layer.seq = words.number("seq", u32::MAX)?,
                "ack" => layer.ack = words.number("ack", u32::MAX)?,
                "window" => layer.window = words.number("window", 0xffff)?,
                "urgent" => layer.urgent = words.number("urgent", 0xffff)?,
                "options" => layer.options = words.options()?,
                "data-offset" => layer.data_offset = Some(words.number("data-offset", 255)?),
                other => layer.checksum = words.checksum(other, "seq, ack, window, urgent, options, data-offset")?,
            }
        }
        Ok(layer)
    }

    pub(super) fn header(&self, inside: &Inside<'_>) -> Vec<u8> {
        let mut header = TcpHeader {
            source_port: self.source.into(),
            destination_port: self.destination.into(),
            sequence: self.seq.into(),
            acknowledgment: self.ack.into(),
            data_offset: self.data_offset.unwrap_or(offset(&self.options)),
            flags: self.flags,
            window: self.window.into(),
            checksum: 0.into(),
            urgent: self.urgent.into(),
        };
        let sums = sums(&header, &[&self.options, inside.bytes], inside.ends, true);
        header.checksum = self.checksum.value(sums).into();
        [header.as_bytes(), &self.options].concat()
    }

    pub(super) fn dissect<'a>(place: &Place<'a>) -> Option<Step<'a, Self>> {
        let (header, rest) = TcpHeader::parse(place.bytes)?;
        let (options, data) = rest.split_at_checked(header.header_length().saturating_sub(TcpHeader::LENGTH))?;
        let layer = Tcp {
            source: header.source_port.get(),
            destination: header.destination_port.get(),
            flags: header.flags,
            seq: header.sequence.get(),
            ack: header.acknowledgment.get(),
            window: header.window.get(),
            urgent: header.urgent.get(),
            options: options.into(),
            data_offset: (header.data_offset != offset(options)).then_some(header.data_offset),
            checksum: Checksum::read(header.checksum.get(), sums(header, &[rest], place.ends, place.whole), false),
        };
        Some(Step::new(layer, place.then(Next::Payload, data)))
    }
}

/// The data offset's byte of a header with these options.
fn offset(options: &[u8]) -> u8 {
    (((TcpHeader::LENGTH + options.len()) / 4) as u8) << 4
}

fn sums(header: &TcpHeader, behind: &[&[u8]], ends: Option<Ends>, whole: bool) -> Sums {
    let length = TcpHeader::LENGTH + behind.iter().map(|bytes| bytes.len()).sum::<usize>();
    let pseudo = pseudo_header(ends, IpProtocol::TCP, length as u32);
    let header = TcpHeader { checksum: 0.into(), ..*header };
    let sum = behind.iter().fold(pseudo.add_bytes(header.as_bytes()), |sum, bytes| sum.add_bytes(bytes));
    Sums { pseudo, right: sum.checksum(), whole }
}

impl fmt::Display for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tcp {} > {} {} seq {} ack {} window {}",
            self.source, self.destination, self.flags, self.seq, self.ack, self.window
        )?;
        if self.urgent != 0 {
            write!(f, " urgent {}", self.urgent)?;
        }
        if !self.options.is_empty() {
            write!(f, " options {}", hex(&self.options))?;
        }
        if let Some(byte) = self.data_offset {
            write!(f, " data-offset 0x{byte:02x}")?;
        }
        fmt::Display::fmt(&self.checksum, f)
    }
}
