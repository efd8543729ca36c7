//! Timeouts under pressure: while the table is fuller than a tenant's watermark says, timeouts of its sessions are shorter.
//!
//! As in OpenBSD's pf they shrink linearly from the lower watermark to the upper one, where nothing is left of them. Those of sessions
//! without an answer begin at the lower watermark, others halfway.

use crate::timeouts::{CLOSED, EMBRYONIC, NOW};

/// Watermarks of a tenant, in percent of the sessions that the table may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// From here on, timeouts shrink.
    pub start: u32,
    /// Nothing is left of timeouts here. No more than `start`: they never shrink.
    pub end: u32,
}

/// Shares of timeouts that pressure leaves to a tenant's sessions, in parts of [`WHOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    embryonic: u32,
    others: u32,
}

/// All of a timeout.
const WHOLE: u32 = 1 << 16;

impl Watermarks {
    /// Whether timeouts never shrink.
    #[inline(always)]
    pub(crate) fn are_off(self) -> bool {
        self.end <= self.start
    }
    /// Shares of timeouts that are left while there are so many sessions, of the number there may be.
    pub(crate) fn left(self, sessions: usize, most: usize) -> Left {
        if self.are_off() {
            return Left::ALL;
        }
        let (start, end) = (u64::from(self.start), u64::from(self.end));
        // In halves of a percent, so that the middle is a whole number.
        let share = sessions as u64 * 200;
        let part = |start: u64| {
            let (start, end) = (start * most as u64, end * 2 * most as u64);
            let left = end.saturating_sub(share).min(end - start);
            (u128::from(left) * u128::from(WHOLE) / u128::from((end - start).max(1))) as u32
        };
        Left { embryonic: part(start * 2), others: part(start + end) }
    }
}

impl Left {
    /// No pressure.
    pub const ALL: Left = Left { embryonic: WHOLE, others: WHOLE };

    /// The ticks that are left of a timeout with this number.
    #[inline(always)]
    pub fn of(self, timeout: u8, ticks: u32) -> u32 {
        let part = match timeout {
            EMBRYONIC => self.embryonic,
            // They are short, and belong to no tenant.
            CLOSED | NOW => WHOLE,
            _ => self.others,
        };
        (u64::from(ticks) * u64::from(part) / u64::from(WHOLE)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeouts::TCP_ESTABLISHED;

    #[test]
    fn timeouts_shrink_linearly_and_those_of_unanswered_sessions_first() {
        let watermarks = Watermarks { start: 60, end: 120 };
        let left = |sessions| {
            let left = watermarks.left(sessions, 1000);
            [EMBRYONIC, TCP_ESTABLISHED, NOW, CLOSED].map(|timeout| left.of(timeout, 6000))
        };
        assert_eq!(left(0), [6000; 4]);
        assert_eq!(left(600), [6000; 4]);
        assert_eq!(left(750), [4500, 6000, 6000, 6000]);
        assert_eq!(left(900), [3000, 6000, 6000, 6000]);
        assert_eq!(left(1050), [1500, 3000, 6000, 6000]);
        assert_eq!(left(1200), [0, 0, 6000, 6000]);
        assert_eq!(left(5000), [0, 0, 6000, 6000]);
    }

    #[test]
    fn without_watermarks_and_at_any_number_of_sessions_timeouts_are_in_range() {
        assert_eq!(Watermarks::default().left(usize::MAX / 400, 1), Left::ALL);
        for (start, end) in [(0, 1), (99, 100), (0, 1000), (100, 100)] {
            for most in [1, 3, 1 << 24] {
                for sessions in [0, 1, most / 2, most, most + most / 64] {
                    let left = Watermarks { start, end }.left(sessions, most);
                    assert!(left.of(EMBRYONIC, u32::MAX) <= left.of(TCP_ESTABLISHED, u32::MAX), "{start} {end}");
                }
            }
        }
    }
}
