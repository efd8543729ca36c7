//! What all frames of a flow have in common, whatever else is odd about them: no options, fragments or tags make a difference.

use quiver_wire::EtherType;

/// Bytes of a tag.
const TAG: usize = 4;

/// The addresses of IP behind up to three tags, or those of the frame.
pub(crate) fn of(window: &[u8; 64]) -> u32 {
    let mut at = 12;
    while at < 12 + 3 * TAG && ethertype(window, at).is_vlan() {
        at += TAG;
    }
    let header = at + 2;
    let addresses = match ethertype(window, at) {
        EtherType::IP4 => header + 12..header + 20,
        // As much of the receiver's as the window has for certain.
        EtherType::IP6 => header + 8..header + 32,
        _ => 0..12,
    };
    let words = window.get(addresses).unwrap_or_default().chunks_exact(4);
    words.fold(0u32, |flow, word| match word.first_chunk() {
        Some(word) => (flow ^ u32::from_be_bytes(*word)).wrapping_mul(0x85eb_ca6b).rotate_left(15),
        None => flow,
    })
}

fn ethertype(window: &[u8; 64], at: usize) -> EtherType {
    let bytes = window.get(at..at + 2).and_then(|bytes| bytes.first_chunk().copied());
    EtherType::new(u16::from_be_bytes(bytes.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::of;

    fn frame(tags: usize, ethertype: [u8; 2], rest: &[u8]) -> [u8; 64] {
        let front = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &[0x81, 0, 0, 7].repeat(tags), &ethertype].concat();
        let mut window = [0; 64];
        window.iter_mut().zip(front.iter().chain(rest)).for_each(|(to, from)| *to = *from);
        window
    }
    fn ip4(id: u8, last: u8) -> Vec<u8> {
        vec![0x45, 0, id, id, id, id, id, id, 64, 17, id, id, 10, 0, 0, 1, 10, 0, 0, last, id, id, id, id]
    }

    #[test]
    fn frames_of_a_flow_have_it_in_common() {
        for tags in 0..4 {
            let of_ip4 = |id, last| of(&frame(tags, [8, 0], &ip4(id, last)));
            assert_eq!(of_ip4(1, 9), of_ip4(2, 9));
            assert_eq!(of_ip4(1, 9), of(&frame(0, [8, 0], &ip4(1, 9))));
            assert_ne!(of_ip4(1, 9), of_ip4(1, 8));
            let ip6 = |rest: u8, from: u8| [&[0x60, rest, rest, rest, rest, rest, 17, rest][..], &[from; 32]].concat();
            let of_ip6 = |rest, from| of(&frame(tags, [0x86, 0xdd], &ip6(rest, from)));
            assert_eq!(of_ip6(1, 9), of_ip6(2, 9));
            assert_ne!(of_ip6(1, 9), of_ip6(1, 8));
        }
        assert_eq!(of(&frame(0, [8, 6], &[1; 46])), of(&frame(0, [8, 6], &[2; 46])));
        assert_eq!(of(&frame(4, [8, 0], &ip4(1, 9))), of(&frame(5, [8, 0], &ip4(2, 8))), "too many tags");
    }
}
