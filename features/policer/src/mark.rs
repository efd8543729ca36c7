//! A packet's DSCP (RFC 2474, 3).

use quiver_wire::checksum::update16;

/// Where IPv4's header has its checksum.
const CHECKSUM: usize = 10;

/// Sets the DSCP of an IP packet; the ECN field (RFC 3168) stays. Other packets are unchanged.
pub fn mark(packet: &mut [u8], dscp: u8) {
    let Some(word) = packet.first_chunk_mut::<2>() else { return };
    let old = u16::from_be_bytes(*word);
    let new = match old >> 12 {
        4 => old & !0x00fc | u16::from(dscp & 0x3f) << 2,
        // The class lies between the version and the flow label.
        6 => old & !0x0fc0 | u16::from(dscp & 0x3f) << 6,
        _ => return,
    };
    *word = new.to_be_bytes();
    if old >> 12 == 4
        && let Some(checksum) = packet.get_mut(CHECKSUM..).and_then(<[u8]>::first_chunk_mut::<2>)
    {
        *checksum = update16(u16::from_be_bytes(*checksum), old, new).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::checksum::of;

    #[test]
    fn both_families_are_marked_and_congestion_stays() {
        let mut ip4 = [0x45, 3, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = of(&ip4).checksum();
        ip4[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        mark(&mut ip4, 46);
        assert_eq!((ip4[0], ip4[1]), (0x45, 46 << 2 | 3));
        assert!(of(&ip4).is_right());
        let mut ip6 = [0x60, 0x3f, 0xff, 0xff, 0, 8, 17, 64];
        mark(&mut ip6, 46);
        assert_eq!(ip6[..4], [0x6b, 0xbf, 0xff, 0xff]);
        for other in [&mut [][..], &mut [0x45], &mut [0x45, 0, 0], &mut [0x10, 0x20, 0x30]] {
            mark(other, 63);
        }
    }
}
