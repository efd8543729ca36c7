//! Node `dscp-mark`. Enters: IPv4 packets that `ip4-input` found right, at their IP header. Leaves: to the next feature, or
//! dropped as `short` if the header is not in the first buffer.

use crate::rules::Rules;
use quiver_plugin_sdk::{Context, Counters, Frame, Node, Record, arcs};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        Short => drop "short",
    }
}

/// The node; it has no state but the number of its counters.
pub struct DscpMark {
    counters: Counters,
}

impl DscpMark {
    pub fn new(counters: Counters) -> DscpMark {
        DscpMark { counters }
    }
}

impl Node for DscpMark {
    type Published = Rules;

    fn process(&mut self, cx: &mut Context<'_, Rules>, frame: &mut Frame<'_>) {
        for row in 0..frame.len() {
            let (interface, length) = (frame.rx(row), frame.length(row));
            let Some(header) = frame.bytes_mut(row).first_chunk_mut::<20>() else {
                frame.set_next(row, Next::Short);
                continue;
            };
            let destination = u32::from_be_bytes([header[16], header[17], header[18], header[19]]);
            if let Some(rule) = cx.published().and_then(|rules| rules.find(interface, destination)) {
                mark(header, rule.dscp);
                cx.count(self.counters, rule.number, 1, length.into());
            }
        }
    }

    fn describe(record: &Record<'_>) -> String {
        let came_with = record.bytes().get(1).map_or(0, |tos| tos >> 2);
        format!("came with DSCP {came_with}")
    }
}

/// Writes the DSCP, and mends the header's checksum by the difference (RFC 1624, 3, equation 3).
fn mark(header: &mut [u8; 20], dscp: u8) {
    let before = u16::from_be_bytes([header[0], header[1]]);
    // The lower two bits are ECN's (RFC 3168).
    header[1] = dscp << 2 | header[1] & 3;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    [header[10], header[11]] = (!(sum as u16)).to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(header: &[u8; 20]) -> u16 {
        let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn the_checksum_stays_right_whatever_is_marked() {
        for (came, dscp) in [(0u8, 0u8), (0, 46), (0xb9, 0), (0xff, 63), (3, 1)] {
            let mut header = *b"\x45\0\0\x54\x12\x34\x40\0\x40\x01\0\0\x0a\0\0\x01\x0a\0\0\x02";
            header[1] = came;
            let checksum = sum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&checksum);
            mark(&mut header, dscp);
            assert_eq!((sum(&header), header[1]), (0, dscp << 2 | came & 3));
        }
    }
}
