//! Fragmentation by who sends (RFC 8200, 4.5).

use quiver_wire::ip6::extension;
use quiver_wire::{Header, Ip6Header};
use zerocopy::IntoBytes;

/// Bytes of a fragment header.
const LENGTH: usize = 8;

/// Cuts a packet of ours into fragments of at most `mtu` bytes, and gives out each one's headers and its part of the payload. None
/// if it cannot be cut: its length is not what it says, the link takes too little, or it has headers of its own that each fragment
/// would need.
pub(super) fn cut(packet: &[u8], mtu: usize, mut give: impl FnMut([&[u8]; 3])) -> Option<()> {
    let (header, rest) = Ip6Header::parse(packet)?;
    let payload = rest.get(..header.payload_length.get().into())?;
    let of_each_hop = [extension::HOP_BY_HOP, extension::ROUTING, extension::DESTINATION, extension::FRAGMENT];
    let room = mtu.checked_sub(Ip6Header::LENGTH + LENGTH)? / 8 * 8;
    if room == 0 || payload.is_empty() || of_each_hop.contains(&header.next_header) {
        return None;
    }
    let identification = identification(packet).to_be_bytes();
    for (number, part) in payload.chunks(room).enumerate() {
        let offset = u16::try_from(number * room).ok()?;
        let more = usize::from(offset) + part.len() < payload.len();
        let mut own = *header;
        own.next_header = extension::FRAGMENT;
        own.payload_length = u16::try_from(LENGTH + part.len()).ok()?.into();
        // The offset counts units of eight bytes in the high 13 bits, so it stands there as it is.
        let mut fragment = [0; LENGTH];
        fragment[0] = header.next_header.0;
        fragment[2..4].copy_from_slice(&(offset | u16::from(more)).to_be_bytes());
        fragment[4..].copy_from_slice(&identification);
        give([own.as_bytes(), &fragment, part]);
    }
    Some(())
}

/// Fragment identification: a hash of the packet's bytes (FNV-1a). It needs no state and differs between packets (RFC
/// 7739, 3).
fn identification(packet: &[u8]) -> u32 {
    packet.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quiver_wire::IpProtocol;
    use quiver_wire::ip6::{Fragment, upper};

    fn fragments(packet: &[u8], mtu: usize) -> Option<Vec<Vec<u8>>> {
        let mut parts = vec![];
        cut(packet, mtu, |stretches| parts.push(stretches.concat())).map(|()| parts)
    }

    fn packet(next: IpProtocol, payload: &[u8]) -> Vec<u8> {
        let (a, b) = ("2001:db8::1".parse().expect("one"), "2001:db8::2".parse().expect("one"));
        let header = Ip6Header::new(a, b, next, 64, payload.len()).expect("short enough");
        [header.as_bytes(), payload].concat()
    }

    proptest! {
        #[test]
        fn fragments_make_the_whole_again(length in 1usize..6000, mtu in 1280usize..1500) {
            let payload: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let parts = fragments(&packet(IpProtocol::UDP, &payload), mtu).expect("fits");
            let mut whole: Vec<u8> = vec![];
            for (number, part) in parts.iter().enumerate() {
                prop_assert!(part.len() <= mtu);
                let (header, rest) = Ip6Header::parse(part).expect("a header");
                prop_assert_eq!(usize::from(header.payload_length.get()), rest.len());
                let found = upper(header.next_header, rest).expect("whole headers");
                let place = Fragment { offset: whole.len(), more: number + 1 < parts.len() };
                prop_assert_eq!((found.protocol, found.fragment), (IpProtocol::UDP, Some(place)));
                prop_assert_eq!(&rest[4..8], &parts[0][44..48]);
                whole.extend(&rest[8..]);
            }
            prop_assert_eq!(whole, payload);
        }
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        assert_eq!(fragments(&packet(IpProtocol::UDP, &[1; 100]), 55), None);
        assert_eq!(fragments(&packet(IpProtocol::UDP, &[1; 100])[..60], 100), None);
        assert_eq!(fragments(&packet(extension::HOP_BY_HOP, &[0; 100]), 100), None);
        assert_eq!(fragments(&packet(IpProtocol::UDP, &[]), 100), None);
    }

    #[test]
    fn packets_have_different_identifications() {
        let of = |payload: &[u8]| fragments(&packet(IpProtocol::UDP, payload), 100).expect("fits")[0][44..48].to_vec();
        assert_ne!(of(&[1; 100]), of(&[2; 100]));
    }
}
