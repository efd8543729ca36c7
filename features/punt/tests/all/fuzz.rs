//! Fuzz targets of this room: the datagrams of programs. How to run: fuzz/README.md.

use quiver_punt::program::{DATAGRAM_MAX, DESCRIPTOR, Next, wanted};

/// Any datagram is a packet with a way to go, whose headers say as many bytes as there are, or is refused.
#[test]
fn datagrams() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok((next, interface)) = wanted(bytes, bytes.len()) else { return };
        assert!((DESCRIPTOR + 14..=DATAGRAM_MAX).contains(&bytes.len()));
        assert_eq!(bytes[..4], interface.to_ne_bytes());
        let (action, packet) = (u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]), &bytes[DESCRIPTOR..]);
        let said = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
        match next {
            Next::Output => assert_eq!(action, 0),
            Next::Ip4 => {
                assert_eq!((action, packet[0] >> 4, said(2)), (1, 4, packet.len()));
                assert!((20..=packet.len()).contains(&(usize::from(packet[0] & 15) * 4)));
            }
            Next::Ip6 => assert_eq!((action, packet[0] >> 4, said(4) + 40), (2, 6, packet.len())),
            refused => panic!("{refused:?} is no way to go"),
        }
        // Whatever stands behind the headers does not matter, but how much does.
        assert_eq!(wanted(&bytes[..bytes.len().min(DESCRIPTOR + 40)], bytes.len()), Ok((next, interface)));
        if next != Next::Output {
            assert_eq!(wanted(bytes, bytes.len() + 1), Err(Next::BadHeader));
        }
    });
}
