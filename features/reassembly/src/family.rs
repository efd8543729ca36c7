//! Differences between fragments of IPv4 and of IPv6.

use quiver_ip::{Family, Fault};
use quiver_wire::icmp6::parameter_problem;
use quiver_wire::ip6::{FragmentHeader, extension, walk};
use quiver_wire::{Header, Ip4Header, Ip6Header, IpFamily, IpProtocol, TcpHeader, UdpHeader, V4, V6};

/// A parameter problem's code: the first fragment does not have all headers (RFC 7112, 5).
const INCOMPLETE_CHAIN: u8 = 3;

/// A fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Identification, which all fragments of a packet share.
    pub identification: u32,
    /// Protocol, which all fragments share; 0 for IPv6, where it does not count.
    pub protocol: u8,
    /// Offset in the payload.
    pub offset: usize,
    /// Whether more fragments follow.
    pub more: bool,
    /// The bytes in front of the payload.
    pub front: &'a [u8],
    /// Offset of the field with the payload's protocol, or with the fragment header's.
    pub pointer: usize,
    /// Bytes of the payload.
    pub bytes: &'a [u8],
    /// Protocol of the payload, as this fragment says; for IPv6 it may be an extension header.
    pub payload: IpProtocol,
    /// Offsets of the packet's length field and of its fragment offset.
    pub pointers: (usize, usize),
}

/// A family whose packets are reassembled.
pub trait Reassembled: Family {
    /// The node that puts together what interfaces receive, and that of shallow reassembly.
    const FULL: &'static str;
    /// See above.
    const SHALLOW: &'static str;
    /// The kind of what is enabled by interface.
    const KIND: &'static str;
    /// The kind of the settings.
    const SETTINGS: &'static str;
    /// Number of arcs of `ip4-reassembly` that the family has.
    const ARCS: usize;
    /// Whether a timeout is reported to senders of forwarded packets, too.
    const TELLS_FOR_OTHERS: bool;

    /// The fragment in a packet. None if the packet is no fragment.
    fn part(packet: &[u8]) -> Option<Part<'_>>;
    /// Whether a packet's first bytes show that it is no fragment.
    fn is_no_fragment(packet: &[u8]) -> bool;
    /// Bytes in front of a fragment's payload that the length in the whole packet's header does not count.
    const UNCOUNTED: usize;
    /// Makes of what is in front of a first part what is in front of the whole payload, which has so many bytes; `pointer` is the
    /// part's. None if the packet would be too long.
    fn complete(front: &mut Vec<u8>, pointer: usize, payload: usize) -> Option<()>;
    /// Why a sender is told of what cannot be: of IPv6 alone (RFC 8200, 4.5). The field that is wrong is at `pointer`.
    fn problem(pointer: usize) -> Option<Fault>;
    /// Why the sender of a first fragment is told that headers are missing in it: of IPv6 alone (RFC 7112, 5).
    fn incomplete(part: &Part<'_>) -> Option<Fault>;
    /// Whether there may be ports, or what stands for them, in what the fragments carry.
    fn may_have_ports(payload: IpProtocol) -> bool;
}

impl Reassembled for V4 {
    const FULL: &'static str = "ip4-full-reassembly-feature";
    const SHALLOW: &'static str = "ip4-sv-reassembly-feature";
    const KIND: &'static str = "reassemblies";
    const SETTINGS: &'static str = "reassembly-settings";
    const ARCS: usize = 12;
    // RFC 792 has hosts speak.
    const TELLS_FOR_OTHERS: bool = false;

    fn part(packet: &[u8]) -> Option<Part<'_>> {
        let (header, rest) = Ip4Header::parse(packet)?;
        let (_, bytes) = header.split(rest).filter(|_| header.is_fragment())?;
        let front = packet.get(..header.header_length())?;
        Some(Part {
            identification: header.identification.get().into(),
            protocol: header.protocol.0,
            offset: header.fragment_offset(),
            more: header.more_fragments(),
            front,
            pointer: V4::PROTOCOL_OFFSET,
            bytes,
            payload: header.protocol,
            pointers: (V4::LENGTH_OFFSET, 6),
        })
    }
    #[inline(always)]
    fn is_no_fragment(packet: &[u8]) -> bool {
        // RFC 791, 3.1: more fragments, and the offset.
        let start: Option<&[u8; 8]> = packet.first_chunk();
        start.is_some_and(|start| u16::from_be_bytes([start[6], start[7]]) & 0x3fff == 0)
    }
    const UNCOUNTED: usize = 0;
    fn complete(front: &mut Vec<u8>, _: usize, payload: usize) -> Option<()> {
        let total = u16::try_from(front.len() + payload).ok()?;
        let (header, options) = Ip4Header::parse_mut(front)?;
        header.total_length = total.into();
        header.flags_fragment = 0.into();
        header.fill_checksum(options);
        Some(())
    }
    fn problem(_: usize) -> Option<Fault> {
        None
    }
    fn incomplete(_: &Part<'_>) -> Option<Fault> {
        None
    }
    fn may_have_ports(payload: IpProtocol) -> bool {
        has_ports(payload)
    }
}

impl Reassembled for V6 {
    const FULL: &'static str = "ip6-full-reassembly-feature";
    const SHALLOW: &'static str = "ip6-sv-reassembly-feature";
    const KIND: &'static str = "ip6-reassemblies";
    const SETTINGS: &'static str = "ip6-reassembly-settings";
    const ARCS: usize = 11;
    const TELLS_FOR_OTHERS: bool = true;

    fn part(packet: &[u8]) -> Option<Part<'_>> {
        let (header, rest) = Ip6Header::parse(packet)?;
        let rest = rest.get(..header.payload_length.get().into())?;
        let (mut pointer, mut found) = (V6::PROTOCOL_OFFSET, None);
        walk(header.next_header, rest, |kind, offset, bytes| match kind {
            extension::FRAGMENT if found.is_none() => found = Some((offset, bytes, pointer)),
            _ => pointer = Ip6Header::LENGTH + offset,
        });
        let (at, bytes, pointer) = found?;
        let (fragment, _) = FragmentHeader::parse(bytes)?;
        let place = fragment.fragment();
        let length = Ip6Header::LENGTH + at;
        let front = packet.get(..length + FragmentHeader::LENGTH)?;
        Some(Part {
            identification: fragment.identification.get(),
            protocol: 0,
            offset: place.offset,
            more: place.more,
            front,
            pointer,
            bytes: rest.get(at + FragmentHeader::LENGTH..)?,
            payload: fragment.next_header,
            pointers: (V6::LENGTH_OFFSET, length + 2),
        })
    }
    #[inline(always)]
    fn is_no_fragment(packet: &[u8]) -> bool {
        let next = packet.get(V6::PROTOCOL_OFFSET).map(|next| IpProtocol(*next));
        matches!(next, Some(IpProtocol::TCP | IpProtocol::UDP | IpProtocol::ICMP6))
    }
    // RFC 8200, 3: the fixed header is none of the payload, which alone may have 65,535 bytes.
    const UNCOUNTED: usize = Ip6Header::LENGTH + FragmentHeader::LENGTH;
    fn complete(front: &mut Vec<u8>, pointer: usize, payload: usize) -> Option<()> {
        let fragment = front.len().checked_sub(FragmentHeader::LENGTH)?;
        *front.get_mut(pointer)? = FragmentHeader::parse(front.get(fragment..)?)?.0.next_header.0;
        front.truncate(fragment);
        let length = u16::try_from((fragment + payload).checked_sub(Ip6Header::LENGTH)?).ok()?;
        Ip6Header::parse_mut(front)?.0.payload_length = length.into();
        Some(())
    }
    fn problem(pointer: usize) -> Option<Fault> {
        Some(Fault::parameter(parameter_problem::HEADER_FIELD, pointer))
    }
    fn incomplete(part: &Part<'_>) -> Option<Fault> {
        if part.offset > 0 {
            return None;
        }
        let mut packet = part.front.to_vec();
        V6::complete(&mut packet, part.pointer, part.bytes.len())?;
        packet.extend_from_slice(part.bytes);
        let is_complete = V6::payload(&packet).is_some_and(|payload| {
            let least = match payload.protocol {
                IpProtocol::TCP => TcpHeader::LENGTH,
                IpProtocol::UDP | IpProtocol::ICMP6 => UdpHeader::LENGTH,
                _ => 1,
            };
            packet.len() >= payload.offset + least
        });
        (!is_complete).then(|| Fault::parameter(INCOMPLETE_CHAIN, 0))
    }
    fn may_have_ports(payload: IpProtocol) -> bool {
        // Headers in front of them may be in the fragments themselves.
        let is_header = matches!(
            payload,
            extension::ROUTING | extension::DESTINATION | extension::AUTHENTICATION | extension::MOBILITY
        );
        is_header || has_ports(payload)
    }
}

fn has_ports(protocol: IpProtocol) -> bool {
    matches!(protocol, IpProtocol::TCP | IpProtocol::UDP | IpProtocol::ICMP4 | IpProtocol::ICMP6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    /// A packet is cut as its family cuts it, and its parts put together again, which have so many bytes `more` in front.
    fn cut_and_whole<F: Reassembled>(packet: &[u8], mtu: usize, more: usize) {
        let mut parts = vec![];
        F::cut(packet, mtu, false, |stretches| parts.push(stretches.concat())).expect("it can be cut");
        assert!(parts.len() > 2 && !parts.iter().any(|part| F::is_no_fragment(part)));
        let mut payload = vec![];
        for (number, part) in parts.iter().enumerate() {
            let read = F::part(part).expect("a fragment");
            assert_eq!((read.offset, read.more), (payload.len(), number + 1 < parts.len()));
            assert_eq!(read.identification, F::part(&parts[0]).expect("a fragment").identification);
            assert_eq!([read.front, read.bytes].concat(), *part);
            payload.extend(read.bytes);
        }
        let first = F::part(&parts[0]).expect("a fragment");
        let mut front = first.front.to_vec();
        F::complete(&mut front, first.pointer, payload.len()).expect("short enough");
        assert_eq!([&front[..], &payload].concat(), packet);
        assert_eq!((front.len() + more, F::part(packet)), (first.front.len(), None), "a whole one");
        assert_eq!(F::complete(&mut first.front.to_vec(), first.pointer, 65_536), None);
    }

    #[test]
    fn what_was_cut_is_whole_again() {
        let payload: Vec<u8> = (0..4000).map(|i| (i * 7) as u8).collect();
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut header = Ip4Header::new(a, b, quiver_wire::IpProtocol::UDP, 64, 4000 + 4).expect("short enough");
        (header.version_ihl, header.identification) = (0x46, 77.into());
        header.fill_checksum(&[148, 4, 0, 0]);
        cut_and_whole::<V4>(&[header.as_bytes(), &[148, 4, 0, 0], &payload].concat(), 1000, 0);
        let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let header = Ip6Header::new(a, b, quiver_wire::IpProtocol::UDP, 64, 4000).expect("short enough");
        cut_and_whole::<V6>(&[header.as_bytes(), &payload].concat(), 1280, FragmentHeader::LENGTH);
    }

    #[test]
    fn headers_before_the_fragments_stay() {
        let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let options = [44, 0, 1, 4, 0, 0, 0, 0];
        let fragment = [17, 0, 0, 1, 0, 0, 0, 9];
        let header = Ip6Header::new(a, b, extension::DESTINATION, 64, 8 + 8 + 8).expect("short enough");
        let packet = [header.as_bytes(), &options, &fragment, b"eight by"].concat();
        let part = V6::part(&packet).expect("a fragment");
        assert_eq!((part.identification, part.offset, part.more, part.bytes), (9, 0, true, &b"eight by"[..]));
        assert_eq!((part.pointer, part.pointers), (40, (4, 50)));
        let mut front = part.front.to_vec();
        V6::complete(&mut front, part.pointer, 8).expect("short enough");
        assert_eq!((front.len(), front[5], front[6], front[40]), (48, 16, 60, 17));
    }
}
