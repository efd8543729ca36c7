//! The head of a record of `pcap dispatch trace`: what is said of a packet that comes to a node, before the packet's own bytes
//! from its current header on. It is the form of VPP's dispatch traces (link type 280), version 1.0:
//!
//! | bytes | what |
//! |---|---|
//! | 2 | the version, 1 and 0 |
//! | 1 | how many texts follow |
//! | 1 | what the packet begins with: 1 Ethernet, 2 IPv4, 3 IPv6 |
//! | 4 | the number of its first buffer, in network order |
//! | | the texts, each with a zero behind it: the node, and three about the buffer |
//!
//! VPP writes what its buffers hold into those three. Of that there is here: flags, where the header begins and how long the packet
//! is; the interfaces, and as `hop` what a lookup chose, or at `drop` the reason. The third text, of what VPP's features put aside, is empty.

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::buffer::Flags;
use quiver_engine::capture::{Arrival, Captured};

const VERSION: [u8; 2] = [1, 0];
/// The node, and what is said of the buffer.
const TEXTS: u8 = 4;

const FLAGS: [(Flags, &str); 6] = [
    (Flags::CHAINED, "chained"),
    (Flags::OFFLOAD, "offload"),
    (Flags::TRACED, "traced"),
    (Flags::LOCAL, "local"),
    (Flags::LINK_GROUP, "link-group"),
    (Flags::METADATA, "metadata"),
];

/// The head.
pub(crate) fn head(control: &Control, copy: &Captured, seen: Arrival) -> Vec<u8> {
    let dataplane = control.room::<Dataplane>();
    let node = dataplane.graph().name(seen.node);
    let named = |interface| crate::interface_name(control, interface);
    let set: Vec<_> = FLAGS.iter().filter(|(flag, _)| seen.flags.has(*flag)).map(|(_, name)| *name).collect();
    let buffer = format!(
        "flags: {}\ncurrent_data: {}, current_length: {}\n",
        if set.is_empty() { "none".to_owned() } else { set.join(" ") },
        seen.offset,
        copy.length
    );
    let packet = format!(
        "sw_if_index[VLIB_RX]: {}, sw_if_index[VLIB_TX]: {}\nfrom {} to {}, hop {}\n",
        copy.interface,
        seen.tx,
        named(copy.interface),
        named(seen.tx),
        seen.hop
    );
    let mut head = vec![VERSION[0], VERSION[1], TEXTS, begins_with(&copy.bytes, copy.length)];
    head.extend(seen.buffer.to_be_bytes());
    for text in [node, &buffer, &packet, ""] {
        head.extend(text.bytes().chain([0]));
    }
    head
}

/// Type of a packet's first header. Nodes do not say, so it is derived from the packet: an IP header whose lengths fit,
/// else an Ethernet frame.
fn begins_with(bytes: &[u8], length: u32) -> u8 {
    const ETHERNET: u8 = 1;
    const IP4: u8 = 2;
    const IP6: u8 = 3;
    let at = |place: usize| bytes.get(place).copied().unwrap_or_default();
    let word = |place| u32::from(u16::from_be_bytes([at(place), at(place + 1)]));
    match at(0) {
        0x45..=0x4f if (20..=length).contains(&word(2)) && length - word(2) < 64 => IP4,
        0x60..=0x6f if length >= 40 && length - 40 >= word(4) && length - 40 - word(4) < 64 => IP6,
        _ => ETHERNET,
    }
}

#[cfg(test)]
mod tests {
    use super::begins_with;

    #[test]
    fn a_packet_says_what_it_begins_with() {
        let padded = |head: &[u8]| [head, &[0; 60][..]].concat();
        let of = |head: &[u8], length| begins_with(&padded(head), length);
        assert_eq!(of(&[0x45, 0, 0, 28], 28), 2);
        assert_eq!(of(&[0x46, 0, 0, 28], 46), 2, "padding of a short frame is behind it");
        assert_eq!(of(&[0x60, 0, 0, 0, 0, 8], 48), 3);
        // Stations whose addresses begin so.
        assert_eq!(of(&[0x46, 0, 0x11, 0x22], 64), 1);
        assert_eq!(of(&[0x62, 0, 0x11, 0x22, 0x33, 0x44], 64), 1);
        assert_eq!((of(&[2, 0, 0, 0], 64), begins_with(&[], 0), begins_with(&[0x60], 1)), (1, 1, 1));
    }
}
