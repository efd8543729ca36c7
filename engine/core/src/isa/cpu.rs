//! Prefetches, and the processor's clock.
#![allow(unsafe_code)]

#[cfg(not(miri))]
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};

/// Asks for the line of `x` to be brought near; a hint, without any other effect.
#[inline(always)]
pub fn prefetch<T>(x: &T) {
    #[cfg(miri)]
    let _ = x;
    #[cfg(not(miri))]
    // SAFETY: a prefetch never faults, and SSE is part of the architecture.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(x).cast())
    };
}

/// Ticks of the time stamp counter, which runs at a constant rate.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(test)]
    if let Some(ticks) = set_clock::ticks() {
        return ticks;
    }
    #[cfg(miri)]
    return 0;
    #[cfg(not(miri))]
    // SAFETY: the instruction exists on every x86-64 CPU and touches no memory.
    unsafe {
        _rdtsc()
    }
}

/// Ticks since `clock`, which becomes now.
#[inline(always)]
pub(crate) fn lap(clock: &mut u64) -> u64 {
    let now = ticks();
    now.wrapping_sub(std::mem::replace(clock, now))
}

/// Marks the branch that calls it as rarely taken: the compiler places that branch's code behind the rest.
#[cold]
#[inline(always)]
pub fn unlikely() {}

/// A time stamp counter that a test sets, for its own thread.
#[cfg(test)]
pub(crate) mod set_clock {
    use std::cell::Cell;

    thread_local! {
        static TICKS: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Sets the counter of this thread to zero and stops it.
    pub fn begin() {
        TICKS.set(Some(0));
    }
    /// Lets so many ticks pass.
    pub fn advance(by: u64) {
        TICKS.set(TICKS.get().map(|ticks| ticks + by));
    }
    /// Ticks since [`begin`].
    pub fn elapsed() -> u64 {
        TICKS.get().unwrap_or(0)
    }
    pub(super) fn ticks() -> Option<u64> {
        TICKS.get()
    }
}
