//! The clocks of a worker's thread.

use crate::isa::ticks;
use rustix::thread::ClockId;

pub(super) const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of the system's monotonic clock: the engine's clock outside of simulations.
pub fn monotonic() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds of CPU time of this thread.
pub fn cpu_time() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// A clock of finer resolution than the engine's, which is read once in a turn: for latencies. It is the same on all
/// workers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FineClock {
    /// Nanoseconds of 2^32 ticks of the time stamp counter; zero if the engine's clock is all there is.
    nanoseconds: u64,
}

impl FineClock {
    /// Ticks of the time stamp counter, as nanoseconds.
    pub fn of_ticks() -> FineClock {
        FineClock { nanoseconds: (tick_length() * f64::from(2_u32.pow(31)) * 2.0) as u64 }
    }
    /// The clock as a number, for a place that workers share.
    pub fn to_bits(self) -> u64 {
        self.nanoseconds
    }
    /// The clock of such a number.
    pub fn from_bits(nanoseconds: u64) -> FineClock {
        FineClock { nanoseconds }
    }
    /// A moment in nanoseconds. Only differences between moments have a meaning; `now` is that of the engine's clock.
    #[inline]
    pub fn read(self, now: u64) -> u64 {
        match self.nanoseconds {
            0 => now,
            scale => ((u128::from(ticks()) * u128::from(scale)) >> 32) as u64,
        }
    }
}

/// Nanoseconds of one tick, measured once against the monotonic clock.
pub fn tick_length() -> f64 {
    static LENGTH: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *LENGTH.get_or_init(|| {
        let (ticks, time) = both_clocks();
        while monotonic() - time < 2_000_000 {
            std::hint::spin_loop();
        }
        let (ticks_after, time_after) = both_clocks();
        (time_after - time) as f64 / ticks_after.wrapping_sub(ticks).max(1) as f64
    })
}

/// Ticks and the monotonic clock at the same moment: of several readings the one during which least time passed, since
/// the system may take the processor away between two clocks.
fn both_clocks() -> (u64, u64) {
    let reading = || {
        let (before, ticks, after) = (monotonic(), ticks(), monotonic());
        (after - before, ticks, before + (after - before) / 2)
    };
    let closest = (0..8).map(|_| reading()).min().unwrap_or_else(reading);
    (closest.1, closest.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "no ticks pass under Miri")]
    fn the_fine_clock_stands_still_in_simulations_and_runs_with_the_systems_otherwise() {
        assert_eq!(FineClock::default().read(17), 17);
        let clock = FineClock::from_bits(FineClock::of_ticks().to_bits());
        // However long the system takes away between two readings, those inside lie within those outside.
        let outside = monotonic();
        let begin = clock.read(0);
        std::thread::sleep(std::time::Duration::from_millis(5));
        let end = clock.read(0);
        let outside = monotonic() - outside;
        assert!((4_900_000..=outside + outside / 50).contains(&(end - begin)), "{} of {outside}", end - begin);
    }
}
