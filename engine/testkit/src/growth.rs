//! Whether work grows with its input as it should: twice as much takes twice as long.
//!
//! Judged by CPU time of the thread against itself, so neither the machine nor what else it does matters.

use rustix::thread::ClockId;
use rustix::time::clock_gettime;

/// CPU time in nanoseconds that no work of a test is too slow for, however it grows.
const SHORT: u64 = 100_000_000;
/// Twice as much work takes 2 times as long if it is linear, some more with a logarithm or a cache that is too small, and
/// 4 times if it is quadratic.
const RATIO: u64 = 3;
/// Measurements, of which one disturbed by others' use of caches and cores is not to decide.
const TRIES: usize = 4;

/// Does `work` of `size` and of twice that.
///
/// # Panics
/// If the larger work takes much more than twice the CPU time of the smaller one, again and again.
pub fn assert_linear(name: &str, size: usize, mut work: impl FnMut(usize)) {
    if let Err((half, whole)) = judge(size, |size| cpu_time_of(|| work(size))) {
        panic!("{name}: {size} took {} ms, twice as much {} ms", half / 1_000_000, whole / 1_000_000);
    }
}

/// Whether what `measure` says of twice the size is what it should be beside what it says of the size; both if it is not.
fn judge(size: usize, mut measure: impl FnMut(usize) -> u64) -> Result<(), (u64, u64)> {
    let (mut half, mut whole) = (u64::MAX, u64::MAX);
    for _ in 0..TRIES {
        whole = whole.min(measure(2 * size));
        if whole < SHORT {
            return Ok(());
        }
        half = half.min(measure(size));
        if whole < RATIO * half {
            return Ok(());
        }
    }
    Err((half, whole))
}

/// Nanoseconds of this thread's CPU time.
fn cpu_time_of(work: impl FnOnce()) -> u64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let start = now();
    work();
    now() - start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_much_may_take_twice_as_long_but_not_four_times() {
        let ms = |size: usize| size as u64 * 1_000_000;
        assert_eq!(judge(100, ms), Ok(()));
        assert_eq!(judge(100, |size| ms(size) * u64::from(size.ilog2())), Ok(()));
        assert_eq!(judge(100, |size| ms(size * size)), Err((ms(10_000), ms(40_000))));
        assert_eq!(judge(1, |size| ms(size * size)), Ok(()), "it is short");
        let mut disturbed = [9, 2, 1, 1].into_iter();
        assert_eq!(judge(100, |size| ms(size) * disturbed.next().expect("not so often")), Ok(()));
    }
}
