//! Fragmentation (RFC 791, 3.2).

use quiver_wire::ip4::MORE_FRAGMENTS;
use quiver_wire::options::Options;
use quiver_wire::{Header, Ip4Header, checksum};
use zerocopy::IntoBytes;

/// In an option's kind: it belongs into every fragment (RFC 791, 3.1).
const COPIED: u8 = 0x80;

/// Cuts a packet into fragments of at most `mtu` bytes, each one hop older if `forwarded`, and gives out each one's header, its
/// options and its part of the payload. None if it cannot be cut: its header is malformed, or leaves no room.
pub(super) fn cut(packet: &[u8], mtu: usize, forwarded: bool, mut give: impl FnMut([&[u8]; 3])) -> Option<()> {
    let (header, rest) = Ip4Header::parse(packet)?;
    let (options, payload) = header.split(rest).filter(|(_, payload)| !payload.is_empty())?;
    let copied = copied_options(options);
    let of_fragments = |options: &[u8]| {
        let mut own = *header;
        own.version_ihl = 0x40 | u8::try_from((Ip4Header::LENGTH + options.len()) / 4).ok()?;
        own.ttl = header.ttl.saturating_sub(forwarded.into());
        (own.total_length, own.flags_fragment, own.checksum) = (0.into(), 0.into(), 0.into());
        let sum = checksum::of(own.as_bytes()).add_bytes(options);
        Some((own, sum))
    };
    // What the first has, and what all others have.
    let (first, later) = (of_fragments(options)?, of_fragments(&copied)?);
    let mut at = 0;
    while at < payload.len() {
        let ((mut own, sum), options) = if at == 0 { (first, options) } else { (later, &copied[..]) };
        let length = Ip4Header::LENGTH + options.len();
        let room = mtu.checked_sub(length)?;
        // All but the last are whole units of eight bytes.
        let take = if payload.len() - at <= room { payload.len() - at } else { room / 8 * 8 };
        if take == 0 {
            return None;
        }
        let (part, end) = (payload.get(at..at + take)?, at + take);
        // A fragment of a fragment keeps its place, and is the last only if the whole was.
        // A fragment that ends beyond the longest packet would overflow into the flags.
        let offset = u16::try_from((header.fragment_offset() + at) / 8).ok().filter(|offset| *offset <= 0x1fff)?;
        let more = end < payload.len() || header.more_fragments();
        let (total, place) = (u16::try_from(length + take).ok()?, offset | if more { MORE_FRAGMENTS } else { 0 });
        (own.total_length, own.flags_fragment) = (total.into(), place.into());
        own.checksum = sum.add_word(total).add_word(place).checksum().into();
        give([own.as_bytes(), options, part]);
        at = end;
    }
    Some(())
}

/// The options that every fragment carries, filled up to whole words.
fn copied_options(options: &[u8]) -> Vec<u8> {
    let mut copied = vec![];
    for option in Options::new(options).map_while(Result::ok).filter(|option| option.kind & COPIED != 0) {
        copied.extend([option.kind, option.data.len() as u8 + 2]);
        copied.extend(option.data);
    }
    copied.resize(copied.len().next_multiple_of(4), 0);
    copied
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quiver_wire::IpProtocol;

    fn fragments(packet: &[u8], mtu: usize, forwarded: bool) -> Option<Vec<Vec<u8>>> {
        let mut parts = vec![];
        cut(packet, mtu, forwarded, |stretches| parts.push(stretches.concat())).map(|()| parts)
    }

    fn packet(payload: &[u8], options: &[u8]) -> Vec<u8> {
        let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let mut header =
            Ip4Header::new(a, b, IpProtocol::UDP, 64, options.len() + payload.len()).expect("short enough");
        header.version_ihl += options.len() as u8 / 4;
        header.identification = 77.into();
        header.fill_checksum(options);
        [header.as_bytes(), options, payload].concat()
    }

    /// Puts fragments together again as a receiver does.
    fn reassemble(parts: &[Vec<u8>]) -> (Vec<u8>, bool) {
        let (mut payload, mut last) = (vec![], false);
        for part in parts {
            let (header, rest) = Ip4Header::parse(part).expect("a header");
            let (options, data) = header.split(rest).expect("lengths fit");
            assert!(header.checksum_is_right(options) && header.identification.get() == 77 && header.ttl == 63);
            assert_eq!(header.fragment_offset(), payload.len());
            payload.extend(data);
            last = !header.more_fragments();
        }
        (payload, last)
    }

    proptest! {
        #[test]
        fn fragments_make_the_whole_again(length in 1usize..6000, mtu in 68usize..1500, again in 68usize..200) {
            let payload: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let parts = fragments(&packet(&payload, &[]), mtu, true).expect("fits");
            prop_assert!(parts.iter().all(|part| part.len() <= mtu));
            prop_assert_eq!(reassemble(&parts), (payload.clone(), true));
            // A second router with a smaller link cuts the fragments again.
            let parts: Vec<_> = parts.iter().flat_map(|p| fragments(p, again, false).expect("fits")).collect();
            prop_assert_eq!(reassemble(&parts), (payload, true));
        }
    }

    #[test]
    fn options_marked_for_it_are_in_every_fragment() {
        let options = [148, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0];
        let parts = fragments(&packet(&[1; 100], &options), 80, true).expect("fits");
        let lengths: Vec<_> = parts.iter().map(|part| (part[0], part.len())).collect();
        assert_eq!(lengths, [(0x48, 80), (0x46, 76)]);
        assert_eq!(parts[1][20..24], [148, 4, 0, 0]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        assert_eq!(fragments(&packet(&[1; 100], &[]), 27, true), None);
        assert_eq!(fragments(&packet(&[1; 100], &[])[..60], 68, true), None);
        assert_eq!(fragments(&packet(&[], &[]), 68, true), None);
    }
}
