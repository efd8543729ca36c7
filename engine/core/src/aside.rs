//! Packets that a product leaves to the nodes, and what may not overtake them.
//!
//! The nodes send their packets after the product has sent its own. So a packet behind one of its flow that was left to the
//! nodes goes there, too; all others go on. Two flows may be taken for one, never one for two.

use crate::buffer::Pool;
use crate::frame::Frame;
use crate::isa::Mask16;

/// What tells flows apart; see [`Body::flow`](crate::Body::flow).
pub(crate) type FlowOf = fn(&[u8; 64]) -> u32;

/// Flows of which packets were left to the nodes and are not through them yet: a set that may hold more than was put in.
#[derive(Default)]
pub(crate) struct Flows {
    bits: [u64; 4],
    some: bool,
}

impl Flows {
    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        !self.some
    }
    fn put(&mut self, flow: u32) {
        let (word, bit) = place(flow);
        self.bits[word] |= bit;
        self.some = true;
    }
    fn has(&self, flow: u32) -> bool {
        let (word, bit) = place(flow);
        self.bits[word] & bit != 0
    }
    /// Of the packets that are `present`, those that are odd and those that would overtake one of their flow; `window` has
    /// the beginning of each.
    pub fn hold_back<'w>(
        &mut self,
        present: Mask16,
        odd: Mask16,
        window: impl Fn(usize) -> &'w [u8; 64],
        flow: FlowOf,
    ) -> Mask16 {
        let mut held = odd;
        for lane in present {
            let (one, flow) = (Mask16(1 << lane), flow(window(lane)));
            if odd & one != Mask16(0) {
                self.put(flow);
            } else if self.has(flow) {
                held = held | one;
            }
        }
        held
    }
}

fn place(flow: u32) -> (usize, u64) {
    let spread = flow.wrapping_mul(0x9e37_79b1) >> 24;
    (spread as usize >> 6, 1 << (spread & 63))
}

/// What was copied from relays for the nodes, in the order in which it came.
pub(crate) struct Aside {
    pub frame: Box<Frame>,
    pub flows: Flows,
}

impl Frame {
    /// The rows of a group that stay in the frame: odd ones, and what would overtake them.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_back(
        &self,
        (base, back): (usize, u32),
        pool: &Pool,
        (present, odd): (Mask16, Mask16),
        flows: &mut Flows,
        flow: FlowOf,
    ) -> Mask16 {
        let window = |lane| {
            let at = usize::from(self.offset[base + lane]).saturating_sub(back as usize);
            pool.window(self.buffer[base + lane], at)
        };
        flows.hold_back(present, odd, window, flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_behind_one_of_its_flow_is_held_back() {
        let windows: Vec<[u8; 64]> = [1, 2, 3, 2, 1, 2, 3, 1].iter().map(|first| [*first; 64]).collect();
        let flow: FlowOf = |window| window[0].into();
        let mut flows = Flows::default();
        let mut held = |odd: u16| flows.hold_back(Mask16::first(8), Mask16(odd), |lane| &windows[lane], flow).0;
        assert_eq!(held(0), 0);
        assert_eq!(held(0b0000_1000), 0b0010_1000, "flow 2 from the odd one on");
        assert_eq!(held(0b0100_0000), 0b0110_1010, "and in the groups behind it");
        assert_eq!(held(0), 0b0110_1110, "and flow 3");
        assert!(!flows.is_empty() && Flows::default().is_empty());
    }
}
