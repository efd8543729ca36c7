//! Offloads of an interface, as of a device: checksums to be filled in, long packets to be segmented.

use quiver_wire::checksum::{self, Sum};
use quiver_wire::offload::{GsoType, NEEDS_CHECKSUM};
use quiver_wire::{EtherType, EthernetHeader, Header, Ip4Header, Ip6Header, IpProtocol, TcpHeader, VirtioNetHeader};

/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// Where the checksum stands in the headers of TCP and UDP.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
/// Where it stands in that of IPv4.
const IP4_CHECKSUM: usize = 10;

/// Work that is left to the receiver of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offloads {
    /// Checksums of TCP and UDP.
    pub checksums: bool,
    /// The cutting of TCP, into so many bytes of payload.
    pub segment: Option<u16>,
}

/// TCP or UDP in a frame.
struct Upper {
    ip: usize,
    start: usize,
    end: usize,
    protocol: IpProtocol,
    is_ip6: bool,
    /// Checksum of addresses, protocol and length.
    sum: Sum,
}

impl Offloads {
    /// Makes a frame look as a device gives it out, and says what is left to do. None if it is whole: it carries neither TCP
    /// nor UDP, or nothing of them is left to others.
    pub fn of(self, frame: &mut [u8]) -> Option<VirtioNetHeader> {
        let upper = Upper::of(frame)?;
        let is_tcp = upper.protocol == IpProtocol::TCP;
        let behind = frame.get(upper.start..upper.end)?;
        let headers = if is_tcp { TcpHeader::parse(behind)?.0.header_length() } else { 0 };
        let segment = self.segment.filter(|_| is_tcp);
        let cut = segment.filter(|segment| behind.len() > headers + usize::from(*segment));
        if !self.checksums && segment.is_none() {
            return None;
        }
        // A device has checked the header of IPv4, or filled it in.
        if !upper.is_ip6 {
            let header = frame.get_mut(upper.ip..upper.start)?;
            header.get_mut(IP4_CHECKSUM..IP4_CHECKSUM + 2)?.fill(0);
            let sum = checksum::of(header).checksum();
            header.get_mut(IP4_CHECKSUM..IP4_CHECKSUM + 2)?.copy_from_slice(&sum.to_be_bytes());
        }
        // The field holds the sum of what is not part of TCP or UDP (virtio 1.2, 5.1.6.2).
        let offset = if is_tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        let field = frame.get_mut(upper.start..upper.end)?.get_mut(offset..offset + 2)?;
        field.copy_from_slice(&upper.sum.folded().to_be_bytes());
        let kind = match (cut, upper.is_ip6) {
            (None, _) => GsoType::NONE,
            (Some(_), false) => GsoType::TCP4,
            (Some(_), true) => GsoType::TCP6,
        };
        Some(VirtioNetHeader {
            flags: NEEDS_CHECKSUM,
            gso_type: kind,
            header_length: 0.into(),
            gso_size: cut.unwrap_or(0).into(),
            checksum_start: u16::try_from(upper.start).ok()?.into(),
            checksum_offset: (offset as u16).into(),
        })
    }
}

impl Upper {
    fn of(frame: &[u8]) -> Option<Upper> {
        let (ethernet, _) = EthernetHeader::parse(frame)?;
        let (mut ip, mut kind) = (size_of::<EthernetHeader>(), ethernet.ethertype);
        while kind == EtherType::DOT1Q || kind == EtherType::DOT1AD {
            let bytes = frame.get(ip + 2..ip + TAG)?.first_chunk()?;
            (ip, kind) = (ip + TAG, EtherType::new(u16::from_be_bytes(*bytes)));
        }
        let packet = frame.get(ip..)?;
        let (protocol, start, end, is_ip6) = match kind {
            EtherType::IP4 => {
                let (header, _) = Ip4Header::parse(packet)?;
                let end = ip + usize::from(header.total_length.get());
                let protocol = Some(header.protocol).filter(|_| !header.is_fragment())?;
                (protocol, ip + header.header_length(), end, false)
            }
            EtherType::IP6 => {
                let (header, _) = Ip6Header::parse(packet)?;
                let start = ip + size_of::<Ip6Header>();
                (header.next_header, start, start + usize::from(header.payload_length.get()), true)
            }
            _ => return None,
        };
        let protocol = Some(protocol).filter(|it| [IpProtocol::TCP, IpProtocol::UDP].contains(it))?;
        let length = u32::try_from(frame.get(start..end)?.len()).ok()?;
        let sum = match is_ip6 {
            false => {
                let (header, _) = Ip4Header::parse(packet)?;
                checksum::pseudo_header4(header.source(), header.destination(), protocol, length)
            }
            true => {
                let (header, _) = Ip6Header::parse(packet)?;
                checksum::pseudo_header6(header.source(), header.destination(), protocol, length)
            }
        };
        Some(Upper { ip, start, end, protocol, is_ip6, sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_testkit::packet::Packet;

    const ALL: Offloads = Offloads { checksums: true, segment: Some(100) };

    fn bytes(text: &str) -> Vec<u8> {
        text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
    }

    #[test]
    fn what_is_left_makes_the_same_packet() {
        for text in [
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / udp 1 > 2 / payload 18",
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / dot1q 7 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / tcp 1 > 2 ack seq 1 ack 2 window 9 / payload 30",
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip6 2001:db8::1 > 2001:db8:1::1 hlim 64 / udp 1 > 2 / payload 18",
        ] {
            let (whole, mut frame) = (bytes(text), bytes(text));
            let left = ALL.of(&mut frame).unwrap_or_else(|| panic!("{text}"));
            assert!(frame != whole && left.needs_checksum() && !left.gso_type.is_segmented(), "{text}");
            left.complete_checksum(&mut frame).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(frame, whole, "{text}");
        }
    }

    #[test]
    fn long_tcp_is_to_be_cut() {
        let text = "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / tcp 1 > 2 ack seq 1 ack 2 window 9 / payload 101";
        let left = ALL.of(&mut bytes(text)).expect("tcp");
        assert_eq!((left.gso_type, left.gso_size.get()), (GsoType::TCP4, 100));
        let left = Offloads { segment: None, ..ALL }.of(&mut bytes(text)).expect("tcp");
        assert_eq!(left.gso_type, GsoType::NONE);
    }

    #[test]
    fn what_has_no_such_checksum_is_whole() {
        for text in [
            "eth 02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff / arp request 02:00:00:00:00:01 10.0.0.2 > 00:00:00:00:00:00 10.0.0.1",
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 id 7 offset 800 protocol udp / payload 18",
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / icmp echo-request id 1 seq 1 / payload 8",
        ] {
            let (whole, mut frame) = (bytes(text), bytes(text));
            assert_eq!((ALL.of(&mut frame), &frame), (None, &whole), "{text}");
        }
        let text =
            "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / udp 1 > 2 / payload 18";
        assert_eq!(Offloads { checksums: false, ..ALL }.of(&mut bytes(text)), None);
        // Cut off anywhere, it is never read beyond its end.
        let whole = bytes(text);
        for length in 0..whole.len() {
            assert_eq!(ALL.of(&mut whole[..length].to_vec()), None, "{length}");
        }
    }
}
