//! Fuzz targets of this room: what the kernel writes into a frame. How to run: fuzz/README.md.

use quiver_af_packet::frame::{Received, read};
use zerocopy::IntoBytes;

/// Any bytes are read as their fields say, or are told as truncated.
#[test]
fn frames() {
    bolero::check!().for_each(|bytes: &[u8]| agree(bytes));
}

/// Like `frames`, with small fields that often fit together: six bytes are the fields, the rest is the frame.
#[test]
fn small_frames() {
    bolero::check!().with_max_len(160).for_each(|bytes: &[u8]| {
        let [status, length, captured, mac, tag, protocol, rest @ ..] = bytes else { return };
        let mut frame = vec![0; HEADER];
        frame[0] = *status;
        frame[4] = *length;
        frame[8] = *captured;
        frame[12] = *mac;
        frame[24] = *tag;
        frame[27] = *protocol;
        frame.extend_from_slice(rest);
        agree(&frame);
    });
}

/// Bytes of the kernel's header, and of virtio's in front of the packet.
const HEADER: usize = size_of::<libc::tpacket2_hdr>();
const VIRTIO: usize = 10;

/// A second opinion on a frame, by the places of linux/if_packet.h.
fn agree(frame: &[u8]) {
    let received = read(frame);
    if frame.len() < HEADER {
        return assert_eq!(received, Received::Truncated);
    }
    let word = |at: usize| u32::from_ne_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let half = |at: usize| u16::from_ne_bytes([frame[at], frame[at + 1]]);
    let (status, length, captured, mac) = (word(0), word(4), word(8) as usize, usize::from(half(12)));
    let ethertype = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { half(26) } else { 0x8100 };
    let tag = [ethertype.to_be_bytes(), half(24).to_be_bytes()].concat();
    let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(&tag[..]);
    let is_apart = status & libc::TP_STATUS_COPY != 0;
    match received {
        Received::Apart(told) => assert_eq!((is_apart, told.as_ref().map(|tag| &tag[..])), (true, tag)),
        Received::Whole { bytes, offload, tag: told } => {
            assert_eq!((is_apart, told.as_ref().map(|tag| &tag[..])), (false, tag));
            assert!(captured >= 14 && captured >= length as usize);
            assert_eq!(bytes, &frame[mac..mac + captured]);
            assert_eq!(offload.as_bytes(), &frame[mac - VIRTIO..mac]);
        }
        Received::Truncated => {
            let is_part = captured < 14 || captured < length as usize;
            assert!(!is_apart && (is_part || mac < VIRTIO || mac + captured > frame.len()));
        }
    }
}
