//! Fuzz targets of this room: no bytes and no text make it panic or contradict itself. How to run: fuzz/README.md.
use quiver_wire::checksum;
use quiver_wire::ip6::{self, Options6};
use quiver_wire::nd::{self, NdOptions, NeighborMessage};
use quiver_wire::offload::VirtioNetHeaderMergeable;
use quiver_wire::options::Options;
use quiver_wire::segment::Segments;
use quiver_wire::summary;
use quiver_wire::vlan::TaggedFrame;
use quiver_wire::{
    ArpPacket, EtherType, EthernetHeader, Header, Icmp4Header, Icmp6Header, InterfaceAddress, Ip4Header, Ip6Header,
    IpFamily, IpHeader, IpProtocol, MacAddress, Prefix, TcpFlags, TcpHeader, UdpHeader, UnicastMac, V4, V6,
    VirtioNetHeader, VlanId, VlanTag,
};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Every header type laid over the same bytes, with everything that reads lengths from them.
#[test]
fn headers() {
    bolero::check!().for_each(|bytes: &[u8]| {
        layout::<EthernetHeader>(bytes);
        layout::<VlanTag>(bytes);
        layout::<ArpPacket>(bytes);
        layout::<Ip4Header>(bytes);
        layout::<Ip6Header>(bytes);
        layout::<Icmp4Header>(bytes);
        layout::<Icmp6Header>(bytes);
        layout::<NeighborMessage>(bytes);
        layout::<nd::RouterAdvertisement>(bytes);
        layout::<nd::Redirect>(bytes);
        layout::<nd::PrefixOption>(bytes);
        layout::<nd::MtuOption>(bytes);
        layout::<ip6::FragmentHeader>(bytes);
        layout::<UdpHeader>(bytes);
        layout::<TcpHeader>(bytes);
        layout::<VirtioNetHeader>(bytes);
        layout::<VirtioNetHeaderMergeable>(bytes);
        if let Some(frame) = TaggedFrame::parse(bytes) {
            let tags = usize::from(frame.outer.is_some()) + usize::from(frame.inner.is_some());
            assert_eq!(14 + 4 * tags + frame.payload.len(), bytes.len());
        }
        if let Some((header, rest)) = Ip4Header::parse(bytes) {
            ip4(*header, rest);
        }
        if let Some((header, rest)) = TcpHeader::parse(bytes)
            && let Some((options, payload)) = header.split(rest)
        {
            assert_eq!(options.len() + payload.len(), rest.len());
        }
        walk(bytes);
        extensions(bytes);
        discovery(bytes);
        complete(bytes);
        sum(bytes);
        family::<V4>(bytes);
        family::<V6>(bytes);
    });
}

/// The header's bytes and the rest are all the bytes, and writing the header back changes nothing.
fn layout<H: Header + Debug>(bytes: &[u8]) {
    let Some((header, rest)) = H::parse(bytes) else {
        assert!(bytes.len() < H::LENGTH);
        return;
    };
    assert_eq!([header.as_bytes(), rest].concat(), bytes);
    let mut copy = bytes.to_vec();
    let (writable, _) = H::parse_mut(&mut copy).expect("what can be read can be written");
    *writable = H::read_from_bytes(header.as_bytes()).expect("any bytes are a header");
    assert_eq!(copy, bytes);
    assert_eq!(H::parse_at(bytes, 1).is_some(), bytes.len() > H::LENGTH);
}

fn ip4(mut header: Ip4Header, rest: &[u8]) {
    let Some((options, payload)) = header.split(rest) else { return };
    assert_eq!(20 + options.len(), header.header_length());
    assert_eq!(20 + options.len() + payload.len(), usize::from(header.total_length.get()));
    header.fill_checksum(options);
    assert!(header.checksum_is_right(options));
    // RFC 1624: the update in place and computing anew agree, whatever the header.
    header.decrement_ttl();
    assert!(header.checksum_is_right(options));
}

fn walk(bytes: &[u8]) {
    let mut end = 0;
    for option in Options::new(bytes) {
        let Ok(option) = option else { break };
        assert!(option.offset >= end);
        end = option.offset + 2 + option.data.len();
        assert_eq!(bytes[option.offset], option.kind);
    }
    assert!(end <= bytes.len());
}

/// Extension headers lie within the packet; options of IPv6 do not overlap.
fn extensions(bytes: &[u8]) {
    if let Some((header, rest)) = Ip6Header::parse(bytes)
        && let Some(upper) = ip6::upper(header.next_header, rest)
    {
        assert!(upper.offset <= rest.len() && upper.pointer < 40 + upper.offset);
        assert_eq!(bytes[upper.pointer], upper.protocol.0);
        assert!(upper.fragment.is_none() || upper.offset >= 8);
    }
    let mut end = 0;
    for option in Options6::new(bytes).map_while(Result::ok) {
        assert!(option.offset >= end);
        end = option.offset + 2 + option.data.len();
        assert_eq!(bytes[option.offset], option.kind);
    }
    assert!(end <= bytes.len());
}

/// Options of neighbour discovery are whole units of eight bytes, one after the other, and all of them together.
fn discovery(bytes: &[u8]) {
    let mut whole = Vec::new();
    let mut options = NdOptions::new(bytes);
    let is_right = options.all(|option| option.map(|option| whole.extend(option.bytes)).is_ok());
    assert!(bytes.starts_with(&whole) && whole.len() % 8 == 0);
    assert_eq!(is_right, whole.len() == bytes.len());
    for kind in [nd::option::SOURCE_LINK_LAYER, nd::option::TARGET_LINK_LAYER] {
        assert_eq!(NdOptions::new(bytes).mac(kind).is_ok(), is_right);
    }
}

/// A checksum is completed in its two bytes only, and so that the covered bytes add up.
fn complete(bytes: &[u8]) {
    let Some((header, packet)) = VirtioNetHeader::parse(bytes) else { return };
    let mut completed = packet.to_vec();
    if header.complete_checksum(&mut completed).is_none() || !header.needs_checksum() {
        assert_eq!(completed, packet);
        return;
    }
    let start = usize::from(header.checksum_start.get());
    let field = start + usize::from(header.checksum_offset.get());
    let checksum = u16::from_be_bytes([completed[field], completed[field + 1]]);
    assert_eq!(checksum::of(&packet[start..]).add_word(checksum).folded(), 0xffff);
    completed[field..field + 2].copy_from_slice(&packet[field..field + 2]);
    assert_eq!(completed, packet);
}

/// Summing in two pieces is summing at once (RFC 1071, 2(B)), wherever the cut is.
fn sum(bytes: &[u8]) {
    let cut = bytes.first().map_or(0, |byte| usize::from(*byte).min(bytes.len()));
    let (head, tail) = bytes.split_at(cut);
    assert_eq!(checksum::of(head).add_bytes(tail).folded(), checksum::of(bytes).folded());
}

fn family<F: IpFamily>(bytes: &[u8]) {
    let Some((header, _)) = F::Header::parse(bytes) else { return };
    let address = header.destination();
    assert_eq!(F::from_bits(F::to_bits(address)), address);
    assert_eq!(F::from_ip(address.into()), Some(address));
    assert_eq!(bytes[F::HOP_LIMIT_OFFSET], header.hop_limit());
    assert_eq!(bytes[F::PROTOCOL_OFFSET], header.protocol().0);
    let prefix = Prefix::<F>::new(address, header.hop_limit());
    assert_eq!(prefix.is_ok(), header.hop_limit() <= F::ADDRESS_BITS);
    if let Ok(prefix) = prefix {
        assert!(prefix.contains(address) && prefix.contains(prefix.last_address()));
        assert!(Prefix::ALL.covers(&prefix) && prefix.covers(&Prefix::host(address)));
    }
}

/// Long packets with any fields changed are cut into segments that carry their payload, whole and once.
#[test]
fn segments() {
    // A virtio_net_hdr that asks for TCP segments of 16 bytes, and the IPv4 packet that it is for.
    const OFFLOADED: &[u8] = b"\x01\x01\x36\0\x10\0\x22\0\x10\0\
        \x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0\
        \x45\0\0\x5c\0\x01\0\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02\
        \x03\xe8\0\x50\0\0\0\x01\0\0\0\x02\x50\x18\x02\0\0\0\0\0\
        fifty-two bytes that are to be cut into 4 segments..";
    let plain = cut(OFFLOADED).expect("the packet as it stands can be cut");
    assert_eq!(plain.iter().map(Vec::len).collect::<Vec<_>>(), [70, 70, 70, 58]);
    bolero::check!().with_max_len(12).for_each(|changes: &[u8]| {
        let mut bytes = OFFLOADED.to_vec();
        for change in changes.chunks_exact(2) {
            // Only headers: changes of the payload would be wasted.
            bytes[usize::from(change[0]) % 64] = change[1];
        }
        cut(&bytes);
    });
}

/// Cuts a packet behind its `virtio_net_hdr`, and puts it together again.
fn cut(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (offload, packet) = VirtioNetHeader::parse(bytes)?;
    let mut segments = Segments::new(packet, offload)?;
    let (mut all, mut segment) = (Vec::new(), Vec::new());
    while segments.next_into(&mut segment) {
        all.push(segment.clone());
    }
    let size = usize::from(offload.gso_size.get());
    let headers = match all.as_slice() {
        [only] => only.len().min(packet.len()),
        [first, ..] => first.len() - size,
        [] => panic!("a packet is at least one segment"),
    };
    assert_eq!(all.iter().flat_map(|segment| &segment[headers..]).copied().collect::<Vec<_>>(), &packet[headers..]);
    for segment in &all {
        let frame = TaggedFrame::parse(segment).expect("headers are repeated");
        if let Some((ip, rest)) = Ip4Header::parse(frame.payload)
            && frame.ethertype == EtherType::IP4
        {
            let (options, transport) = ip.split(rest).expect("lengths are filled in");
            assert!(ip.checksum_is_right(options));
            let length = transport.len() as u32;
            let sum = checksum::pseudo_header4(ip.source(), ip.destination(), ip.protocol, length);
            assert!(sum.add_bytes(transport).is_right());
        }
    }
    Some(all)
}

/// Every text form: what is read prints as something that is read as the same.
#[test]
fn texts() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        same::<MacAddress>(text);
        same::<UnicastMac>(text);
        same::<EtherType>(text);
        same::<IpProtocol>(text);
        same::<TcpFlags>(text);
        same::<VlanId>(text);
        prefix::<V4>(text);
        prefix::<V6>(text);
    });
}

/// A prefix holds the address it was written with, and has the very length; so does an interface's address.
fn prefix<F: IpFamily>(text: &str) {
    same::<Prefix<F>>(text);
    same::<InterfaceAddress<F>>(text);
    let read = text.parse::<Prefix<F>>();
    let interface = text.parse::<InterfaceAddress<F>>();
    assert_eq!(interface.as_ref().map(InterfaceAddress::prefix), read.as_ref().copied());
    if let Ok(prefix) = read {
        let (address, length) = text.split_once('/').expect("a length was read");
        assert!(prefix.contains(address.parse().expect("an address was read")));
        assert!(prefix.length() <= F::ADDRESS_BITS && prefix.length().to_string() == length);
        assert_eq!(Prefix::parse_canonical(&prefix.to_string()), Ok(prefix));
    }
}

fn same<T: FromStr<Err: Debug + PartialEq> + Display + Debug + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse(), Ok(value));
    }
}

/// Any bytes are one short line of printable characters, which names the addresses where there are some.
#[test]
fn summaries() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let (of_frame, of_packet) = (summary::of(bytes), summary::of_packet(bytes));
        for line in [&of_frame, &of_packet] {
            assert!(
                !line.is_empty() && line.len() < 600 && line.chars().all(|c| c.is_ascii_graphic() || c == ' '),
                "{line}"
            );
        }
        if bytes.first().is_some_and(|byte| byte >> 4 == 4)
            && let Some((header, _)) = Ip4Header::parse(bytes)
        {
            assert!(of_packet.starts_with(&header.source().to_string()), "{of_packet}");
        }
        // Behind an Ethernet header a packet is what it is alone.
        let stations = [[2; 12].as_slice(), b"\x08\0", bytes].concat();
        assert_eq!(summary::of(&stations), of_packet);
    });
}
