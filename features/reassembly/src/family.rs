//! What differs between fragments of IPv4 and of IPv6.

use std::time::Duration;

use quiver_ip::{Family, Fault};
use quiver_wire::icmp6::parameter_problem;
use quiver_wire::ip6::{FragmentHeader, extension, walk};
use quiver_wire::{Header, Ip4Header, Ip6Header, IpFamily, V4, V6};
use zerocopy::IntoBytes;

/// A fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// What the fragments of a packet have in common beside their addresses.
    pub identification: u32,
    /// The same; 0 where it does not count.
    pub protocol: u8,
    /// Its place in the payload.
    pub offset: usize,
    /// Whether more follow.
    pub more: bool,
    /// What is in front of the payload, if this is the first: the header as the whole packet has it, but for lengths.
    pub head: Vec<u8>,
    /// The payload's bytes.
    pub bytes: &'a [u8],
    /// Where the packet says how long it is, and at which place it lies.
    pub pointers: (usize, usize),
}

/// A family whose packets are put together.
pub trait Reassembled: Family {
    /// How long parts are waited for from the first on.
    const PATIENCE: Duration;
    /// How many of the arcs of `ip4-reassembly` the family has.
    const ARCS: usize;

    /// The fragment that a packet is. None if it is none.
    fn part(packet: &[u8]) -> Option<Part<'_>>;
    /// The packet of this payload. None if it would be too long.
    fn whole(head: &[u8], payload: &[u8]) -> Option<Vec<u8>>;
    /// Why a sender is told of what cannot be: of IPv6 alone (RFC 8200, 4.5). The field that is wrong is at `pointer`.
    fn problem(pointer: usize) -> Option<Fault>;
}

impl Reassembled for V4 {
    // RFC 1122, 3.3.2, says between 60 and 120 seconds; Linux 30.
    const PATIENCE: Duration = Duration::from_secs(60);
    const ARCS: usize = 10;

    fn part(packet: &[u8]) -> Option<Part<'_>> {
        let (header, rest) = Ip4Header::parse(packet)?;
        let (options, bytes) = header.split(rest).filter(|_| header.is_fragment())?;
        Some(Part {
            identification: header.identification.get().into(),
            protocol: header.protocol.0,
            offset: header.fragment_offset(),
            more: header.more_fragments(),
            head: [header.as_bytes(), options].concat(),
            bytes,
            pointers: (V4::LENGTH_OFFSET, 6),
        })
    }
    fn whole(head: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = [head, payload].concat();
        let total = u16::try_from(packet.len()).ok()?;
        let (header, rest) = Ip4Header::parse_mut(&mut packet)?;
        header.total_length = total.into();
        header.flags_fragment = 0.into();
        let options = rest.get(..header.header_length().checked_sub(Ip4Header::LENGTH)?)?;
        header.fill_checksum(options);
        Some(packet)
    }
    fn problem(_: usize) -> Option<Fault> {
        None
    }
}

impl Reassembled for V6 {
    const PATIENCE: Duration = Duration::from_secs(60);
    const ARCS: usize = 8;

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
        let front = Ip6Header::LENGTH + at;
        let mut head = packet.get(..front)?.to_vec();
        *head.get_mut(pointer)? = fragment.next_header.0;
        Some(Part {
            identification: fragment.identification.get(),
            protocol: 0,
            offset: place.offset,
            more: place.more,
            head,
            bytes: rest.get(at + FragmentHeader::LENGTH..)?,
            pointers: (V6::LENGTH_OFFSET, front + 2),
        })
    }
    fn whole(head: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let mut packet = [head, payload].concat();
        let length = u16::try_from(packet.len().checked_sub(Ip6Header::LENGTH)?).ok()?;
        Ip6Header::parse_mut(&mut packet)?.0.payload_length = length.into();
        Some(packet)
    }
    fn problem(pointer: usize) -> Option<Fault> {
        Some(Fault::parameter(parameter_problem::HEADER_FIELD, pointer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet is cut as its family cuts it, and its parts put together again.
    fn cut_and_whole<F: Reassembled>(packet: &[u8], mtu: usize) {
        let parts = F::fragments(packet, mtu, false).expect("it can be cut");
        assert!(parts.len() > 2);
        let mut payload = vec![];
        for (number, part) in parts.iter().enumerate() {
            let read = F::part(part).expect("a fragment");
            assert_eq!((read.offset, read.more), (payload.len(), number + 1 < parts.len()));
            assert_eq!(read.identification, F::part(&parts[0]).expect("a fragment").identification);
            payload.extend(read.bytes);
        }
        let head = F::part(&parts[0]).expect("a fragment").head;
        assert_eq!(F::whole(&head, &payload).expect("short enough"), packet);
        assert_eq!(F::part(packet), None, "a whole one");
        assert_eq!(F::whole(&head, &[0; 65_536]), None);
    }

    #[test]
    fn what_was_cut_is_whole_again() {
        let payload: Vec<u8> = (0..4000).map(|i| (i * 7) as u8).collect();
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut header = Ip4Header::new(a, b, quiver_wire::IpProtocol::UDP, 64, 4000 + 4).expect("short enough");
        (header.version_ihl, header.identification) = (0x46, 77.into());
        header.fill_checksum(&[148, 4, 0, 0]);
        cut_and_whole::<V4>(&[header.as_bytes(), &[148, 4, 0, 0], &payload].concat(), 1000);
        let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let header = Ip6Header::new(a, b, quiver_wire::IpProtocol::UDP, 64, 4000).expect("short enough");
        cut_and_whole::<V6>(&[header.as_bytes(), &payload].concat(), 1280);
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
        assert_eq!((part.head.len(), part.head[6], part.head[40], part.pointers), (48, 60, 17, (4, 50)));
    }
}
