//! The pace of a worker's thread after a turn: poll, nap, or sleep until an interrupt.
//!
//! While little comes, the worker sleeps until something does, and each packet wakes it: nothing is cheaper, or sooner.
//! But waking up costs a thousand times what a packet costs. When a look at the CPU clock shows that it is paid too often,
//! the worker takes naps of fixed length instead, whatever comes meanwhile, and finds a vector at the end of each. If so much
//! comes that a nap would have to be very short, it takes none. It goes back only after the load has halved: hysteresis, so
//! that a steady load has a steady pace.
//!
//! A peer that waits for what we send is another matter: each rest delays the next packets. Where vectors come one soon after
//! the other, the worker waits for the next one awake. And where naps make the load itself much less, and it comes back without
//! them, the worker takes none for a while, and waits awake, too.

use crate::rx::RxMode;
use crate::vector::VECTOR;

/// Empty turns before the worker sleeps.
///
/// PERF: an empty turn costs a system call for each TAP, and on few cores the time is the sender's. TCP from tap to tap on 2
/// cores of a Zen 4 machine under load took 0.65 CPU seconds a gigabyte in the worker with 200 turns, 0.5 with 20 or 2; pings
/// took the same. With 2 it slept ten times as often.
const IDLE_TURNS: u32 = 20;
/// Nanoseconds over which load and cost are judged.
pub(crate) const WINDOW: u64 = 2_000_000;
/// Longest nap in nanoseconds; with the time of a wake-up it is the latency that adaptive mode adds to a packet.
///
/// PERF: on a Firecracker machine a nap costs 20 us of CPU time, and ends 30 us too late, 60 in one of 100 cases. This is the
/// longest one that keeps a packet below 200.
const NAP_MAX: u64 = 120_000;
/// Naps shorter than this are not taken: waking up takes longer.
const NAP_MIN: u64 = 20_000;
/// Packets that a nap may gather: more might find a receive ring full.
const NAP_PACKETS: u64 = 512;
/// Packets, or their bytes' worth, in a turn whose cost is their own, not that of waking up.
const FULL: u64 = 64;
/// Bytes that count like a packet.
const BYTES_EACH: u64 = 2048;
/// Nanoseconds without naps once they have made the load less: the first time, and at most.
const WARY: u64 = 100_000_000;
const WARY_MAX: u64 = 1_000_000_000;
/// Windows of naps that have done no harm.
const STEADY: u32 = 50;
/// A sleep shorter than this cost more than to stay awake would have, and the sender had to wake the worker.
const SHORT: u64 = 50_000;
/// Packets of a turn, on average, that are a vector to wait for.
const VECTORS: u64 = 16;
/// The share of the CPU, as one in so many, above which waking up for each packet is too dear.
const SHARE: u64 = 4;

/// Work of a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Packets received.
    pub packets: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Whether there was anything else to do: letters.
    pub busy: bool,
}

impl Turn {
    /// Whether the turn received nearly all there was. Packets that have come since can wait for the end of the next
    /// nap: a turn for them would be a small vector.
    fn has_all(self) -> bool {
        self.packets < VECTOR && self.bytes < FULL * BYTES_EACH
    }
}

/// Action after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The next turn, at once.
    Turn,
    /// Nothing for so many nanoseconds.
    Nap(u64),
    /// Nothing until packets or letters come, or it is time.
    Sleep,
}

/// Idle behavior of an adaptive worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    /// Sleeps when there is no work.
    Sleep,
    /// Naps after each turn that was not full. Holds the load when the naps began, in packets per window, the length of a
    /// nap in nanoseconds, and the number of windows so far.
    Naps { since: u64, length: u64, windows: u32 },
}

/// The pace of one worker.
#[derive(Debug)]
pub(crate) struct Pace {
    rest: Rest,
    idle: u32,
    /// When the last turn was that brought anything.
    done: u64,
    /// Whether the last sleep was short, and whether turns brought vectors in the last window.
    was_short: bool,
    vectors: bool,
    /// The load before naps that may have made it less.
    before_naps: Option<u64>,
    /// Until when it takes no naps, and for how long the next time that they do harm.
    wary_until: u64,
    wary: u64,
    /// When the window began, and the thread's CPU time then, in nanoseconds.
    window: u64,
    cpu: u64,
    packets: u64,
    weight: u64,
    turns: u64,
}

impl Pace {
    /// Sleeps at first. Times are in nanoseconds.
    pub fn new(now: u64, cpu: u64) -> Pace {
        Pace {
            rest: Rest::Sleep,
            idle: 0,
            done: now,
            was_short: false,
            vectors: false,
            before_naps: None,
            wary_until: 0,
            wary: WARY,
            window: now,
            cpu,
            packets: 0,
            weight: 0,
            turns: 0,
        }
    }
    /// Notes a sleep that has ended.
    pub fn slept(&mut self, length: u64) {
        self.was_short = length < SHORT;
    }
    /// Whether the next packets are worth waiting for.
    fn is_patient(&self, now: u64) -> bool {
        self.was_short && (self.vectors || now < self.wary_until) && now.saturating_sub(self.done) < SHORT
    }
    /// The action after a turn; `mode` is the most eager one of the worker's queues. `cpu` reads the thread's CPU
    /// clock, which costs a system call; it is called once in a window.
    pub fn after(&mut self, turn: Turn, mode: RxMode, now: u64, cpu: impl FnOnce() -> u64) -> Step {
        let weight = (turn.packets as u64).max(turn.bytes / BYTES_EACH);
        if turn.packets > 0 {
            self.packets += turn.packets as u64;
            self.weight += weight;
            self.turns += 1;
        }
        if now.saturating_sub(self.window) >= WINDOW {
            self.judge(now, cpu());
        }
        let idle = turn.packets == 0 && !turn.busy;
        self.idle = if idle { self.idle + 1 } else { 0 };
        if !idle {
            self.done = now;
        }
        match (mode, self.rest) {
            (RxMode::Polling, _) => Step::Turn,
            (RxMode::Interrupt, _) if idle => Step::Sleep,
            (RxMode::Interrupt, _) => Step::Turn,
            (RxMode::Adaptive, Rest::Naps { length, .. }) if turn.has_all() && !turn.busy && length >= NAP_MIN => {
                Step::Nap(length)
            }
            (RxMode::Adaptive, Rest::Sleep) if self.idle > IDLE_TURNS && !self.is_patient(now) => {
                // One empty turn after waking is enough to sleep again: the bell rang for somebody else.
                self.idle = IDLE_TURNS / 2;
                Step::Sleep
            }
            (RxMode::Adaptive, _) => Step::Turn,
        }
    }
    /// Decides at the end of a window how the next one's rests are taken.
    fn judge(&mut self, now: u64, cpu: u64) {
        let (elapsed, used) = (now - self.window, cpu.saturating_sub(self.cpu));
        // By windows of the nominal length, since a sleep makes one longer.
        let load = (u128::from(self.packets) * u128::from(WINDOW) / u128::from(elapsed)) as u64;
        let small = self.weight < FULL / 4 * self.turns;
        self.vectors = self.turns > 0 && self.packets >= VECTORS * self.turns;
        // A nap that finds less than half a packet costs more than waking up for each, whatever made one window dear.
        let gathers = 2 * NAP_MAX * load >= WINDOW;
        // It was naps if the load is back without them; else it is another load.
        let before = self.before_naps.take();
        if before.is_some_and(|before| 2 * load >= before) {
            (self.wary_until, self.wary) = (now + self.wary, (2 * self.wary).min(WARY_MAX));
            self.was_short = true;
        }
        self.rest = match self.rest {
            Rest::Sleep if small && gathers && used > elapsed / SHARE && now >= self.wary_until => {
                Rest::Naps { since: load, length: length(load), windows: 0 }
            }
            Rest::Naps { since, windows, .. } if load >= since.div_ceil(2).max(1) => {
                if windows > STEADY {
                    self.wary = WARY;
                }
                Rest::Naps { since, length: length(load), windows: windows.saturating_add(1) }
            }
            Rest::Naps { since, windows, .. } => {
                self.before_naps = (windows == 0 && load < since / 4).then_some(since);
                Rest::Sleep
            }
            Rest::Sleep => Rest::Sleep,
        };
        (self.window, self.cpu, self.packets, self.weight, self.turns) = (now, cpu, 0, 0, 0);
    }
}

/// The length of a nap in which so many packets of a window come as it may gather.
fn length(load: u64) -> u64 {
    (NAP_PACKETS * WINDOW / load.max(1)).min(NAP_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker to which so many packets a second come, until `end`; returns naps, sleeps, turns, and the CPU time that
    /// they took if a turn costs 1 microsecond and 30 ns for each packet, and waking up 20.
    fn live(pace: &mut Pace, clock: &mut (u64, u64), rate: u64, mode: RxMode, end: u64) -> [u64; 4] {
        let ((mut now, mut cpu), mut seen, before) = (*clock, clock.0 * rate / 1_000_000_000, clock.1);
        let [mut naps, mut sleeps, mut turns] = [0; 3];
        while now < end {
            let packets = (now * rate / 1_000_000_000 - seen).min(256);
            seen += packets;
            let cost = 1000 + 30 * packets;
            (now, cpu, turns) = (now + cost, cpu + cost, turns + 1);
            let turn = Turn { packets: packets as usize, bytes: packets * 64, busy: false };
            match pace.after(turn, mode, now, || cpu) {
                Step::Turn => {}
                Step::Nap(length) => (now, cpu, naps) = (now + length + 20_000, cpu + 20_000, naps + 1),
                Step::Sleep => {
                    let (next, since) = (((seen + 1) * 1_000_000_000).checked_div(rate).unwrap_or(end), now);
                    (now, cpu, sleeps) = (now.max(next) + 20_000, cpu + 20_000, sleeps + 1);
                    pace.slept(now - since);
                }
            }
        }
        *clock = (now, cpu);
        [naps, sleeps, turns, cpu - before]
    }
    const SECONDS: u64 = 1_000_000_000;

    #[test]
    fn nothing_to_do_costs_nothing() {
        let [naps, sleeps, ..] = live(&mut Pace::new(0, 0), &mut (0, 0), 0, RxMode::Adaptive, SECONDS);
        assert_eq!((naps, sleeps), (0, 1));
    }

    #[test]
    fn few_packets_wake_the_worker_one_by_one() {
        let [naps, sleeps, _, cpu] = live(&mut Pace::new(0, 0), &mut (0, 0), 1000, RxMode::Adaptive, SECONDS);
        assert!(naps == 0 && sleeps > 990, "{naps} naps, {sleeps} sleeps");
        assert!(cpu < SECONDS / 20, "{cpu}");
    }

    #[test]
    fn one_dear_window_of_few_packets_is_no_reason_for_naps() {
        let mut pace = Pace::new(0, 0);
        for (window, share) in [(1, 2), (2, 20), (3, 20)] {
            let now = window * WINDOW;
            let turn = Turn { packets: 2, bytes: 128, busy: false };
            assert_eq!(pace.after(turn, RxMode::Adaptive, now, || now / share), Step::Turn, "{window}");
        }
    }

    #[test]
    fn many_packets_gather_in_naps() {
        for rate in [50_000, 300_000, 1_000_000, 4_000_000] {
            let [naps, sleeps, turns, cpu] = live(&mut Pace::new(0, 0), &mut (0, 0), rate, RxMode::Adaptive, SECONDS);
            assert!(naps > 5800 && sleeps < 200, "{rate}: {naps} naps, {sleeps} sleeps");
            assert!(cpu < SECONDS * 22 / 100 + rate * 40, "{rate}: {cpu} in {turns} turns");
        }
    }

    #[test]
    fn a_load_that_fills_vectors_is_polled() {
        let (mut pace, mut clock) = (Pace::new(0, 0), (0, 0));
        live(&mut pace, &mut clock, 31_000_000, RxMode::Adaptive, SECONDS / 10);
        let [naps, sleeps, ..] = live(&mut pace, &mut clock, 31_000_000, RxMode::Adaptive, SECONDS / 5);
        assert_eq!((naps, sleeps), (0, 0));
    }

    #[test]
    fn naps_end_only_after_the_load_has_halved() {
        let (mut pace, mut clock) = (Pace::new(0, 0), (0, 0));
        live(&mut pace, &mut clock, 100_000, RxMode::Adaptive, SECONDS);
        let [naps, sleeps, ..] = live(&mut pace, &mut clock, 60_000, RxMode::Adaptive, 2 * SECONDS);
        assert!(naps > 5800 && sleeps == 0, "{naps} naps, {sleeps} sleeps");
        let [naps, sleeps, ..] = live(&mut pace, &mut clock, 5000, RxMode::Adaptive, 3 * SECONDS);
        assert!(naps < 50 && sleeps > 4900, "{naps} naps, {sleeps} sleeps");
    }

    /// A peer sends a vector when it has had the last one for so long; returns vectors and sleeps of a second.
    fn in_turns(pace: &mut Pace, start: u64, after: u64, packets: usize) -> [u64; 2] {
        let (mut now, mut due, [mut vectors, mut sleeps]) = (start, start, [0; 2]);
        while now < start + SECONDS {
            let is_here = now >= due;
            let packets = if is_here { packets } else { 0 };
            now += 100 + 30 * packets as u64;
            if is_here {
                (due, vectors) = (now + after, vectors + 1);
            }
            let turn = Turn { packets, bytes: packets as u64 * 64, busy: false };
            match pace.after(turn, RxMode::Adaptive, now, || now / 2) {
                Step::Turn => {}
                Step::Nap(length) => now += length + 20_000,
                Step::Sleep => {
                    let since = now;
                    (now, sleeps) = (now.max(due) + 20_000, sleeps + 1);
                    pace.slept(now - since);
                }
            }
        }
        [vectors, sleeps]
    }

    #[test]
    fn a_vector_that_comes_soon_is_waited_for_awake() {
        let mut pace = Pace::new(0, 0);
        let [vectors, sleeps] = in_turns(&mut pace, 0, 10_000, 200);
        assert!(vectors > 60_000 && sleeps < 200, "{vectors} vectors, {sleeps} sleeps");
        let [vectors, sleeps] = in_turns(&mut pace, SECONDS, 200_000, 200);
        assert!(sleeps + 2 > vectors, "{vectors} vectors, {sleeps} sleeps: it is not worth while");
    }

    #[test]
    fn naps_that_a_peer_waits_for_are_soon_given_up() {
        let mut pace = Pace::new(0, 0);
        let [vectors, sleeps] = in_turns(&mut pace, 0, 5_000, 4);
        assert!(vectors > 150_000 && sleeps < 2000, "{vectors} vectors, {sleeps} sleeps");
        // Then many come that nobody waits for.
        let mut clock = (SECONDS, SECONDS / 2);
        live(&mut pace, &mut clock, 300_000, RxMode::Adaptive, 2 * SECONDS + SECONDS / 2);
        let [naps, ..] = live(&mut pace, &mut clock, 300_000, RxMode::Adaptive, 3 * SECONDS);
        assert!(naps > 2900, "{naps}");
    }

    #[test]
    fn polling_never_rests_and_interrupts_never_nap() {
        let [naps, sleeps, ..] = live(&mut Pace::new(0, 0), &mut (0, 0), 300_000, RxMode::Polling, SECONDS / 10);
        assert_eq!((naps, sleeps), (0, 0));
        let [naps, sleeps, turns, _] = live(&mut Pace::new(0, 0), &mut (0, 0), 20_000, RxMode::Interrupt, SECONDS);
        assert!(naps == 0 && sleeps > 19_000 && turns < 3 * sleeps, "{naps} naps, {sleeps} sleeps, {turns} turns");
    }

    #[test]
    fn long_packets_are_not_taken_for_a_dear_wake_up() {
        let (mut pace, mut now, mut cpu) = (Pace::new(0, 0), 0, 0);
        for _ in 0..10_000 {
            (now, cpu) = (now + 30_000, cpu + 25_000);
            let step = pace.after(Turn { packets: 2, bytes: 128 << 10, busy: false }, RxMode::Adaptive, now, || cpu);
            assert_eq!(step, Step::Turn);
        }
    }
}
