//! Cost of a cache line that one core writes and another one reads. Carrying a packet between two processes by copying
//! reads one such line and writes another, so it costs at least both.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use quiver_engine::Level;
use quiver_engine::isa::{Isa, Kernel, ticks};
use quiver_memif_protocol::Store;
use quiver_memif_protocol::region::{GROUP, LINE, Region, View};

use super::{CORES, Row, WINDOWS, pin, round_trip, row};

/// Lines in a ring, and bytes from one to the next: those of packet buffers, so that none comes with its neighbour.
const SLOTS: usize = 1024;
const STRIDE: usize = 35 * LINE;
/// Lines that are passed at once.
const BATCH: usize = 128;
/// Lines are fetched or claimed so many before they are copied.
const AHEAD: usize = 2 * GROUP;
/// Batches in a window.
const BATCHES: u64 = 2000;

/// A count of batches, in a line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Passed(AtomicU64);
impl Passed {
    fn pass(&self, batch: u64) {
        self.0.store(batch + 1, Ordering::Release);
    }
    fn wait_for(&self, batch: u64) {
        while self.0.load(Ordering::Acquire) <= batch {
            spin_loop();
        }
    }
}

/// The rows of a line that is read and of one that is written, each of them the other core's before.
pub fn run(level: Level) -> Result<[Row; 2], String> {
    let region = || Region::create("quiver-bench", SLOTS * STRIDE).map_err(|error| error.to_string());
    let ((there, _file), (back, _other_file)) = (region()?, region()?);
    let (sent, returned) = (Passed::default(), Passed::default());
    pin(CORES[0]);
    let before = round_trip();
    let (mut read, mut written) = (vec![], vec![]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(CORES[1]);
            for batch in 0..BATCHES * (WINDOWS as u64 + 1) {
                sent.wait_for(batch);
                level.run(Copied { ring: there.view(), batch, way: Way::Out });
                level.run(Copied { ring: back.view(), batch, way: Way::In });
                returned.pass(batch);
            }
        });
        for window in 0..=WINDOWS as u64 {
            let (mut reading, mut writing) = (0, 0);
            for batch in window * BATCHES..(window + 1) * BATCHES {
                let start = ticks();
                level.run(Copied { ring: there.view(), batch, way: Way::In });
                // What is stored is not yet the cache's.
                fence(Ordering::SeqCst);
                writing += ticks().wrapping_sub(start);
                sent.pass(batch);
                returned.wait_for(batch);
                let start = ticks();
                level.run(Copied { ring: back.view(), batch, way: Way::Out });
                reading += ticks().wrapping_sub(start);
            }
            // The first one is unseen: pages are new to it.
            if window > 0 {
                let each = |ticks: u64| ticks as f64 / (BATCHES * BATCH as u64) as f64;
                read.push(each(reading));
                written.push(each(writing));
            }
        }
    });
    let trips = Some((before, round_trip()));
    let row = |way: &str, windows| row("two threads, lines alone".to_owned(), LINE, way.to_owned(), windows, trips);
    Ok([row("read", read), row("written", written)])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

/// A batch of lines, copied out of a ring or into it.
struct Copied<'r> {
    ring: View<'r>,
    batch: u64,
    way: Way,
}
impl Kernel for Copied<'_> {
    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Copied { ring, batch, way } = self;
        let first = batch as usize % (SLOTS / BATCH) * BATCH;
        let offset = |i: usize| (first + i) % SLOTS * STRIDE;
        let mut copy = [batch as u8; LINE];
        for from in (0..BATCH).step_by(GROUP) {
            for i in from + AHEAD..from + AHEAD + GROUP {
                // Behind the batch are lines that have not been passed.
                if i < BATCH {
                    if way == Way::Out { ring.prefetch(offset(i)) } else { ring.claim(offset(i)) }
                }
            }
            let mut offsets = [0; GROUP];
            for (i, to) in offsets.iter_mut().enumerate() {
                *to = offset(from + i) as u32;
            }
            if way == Way::Out
                && let Some(sources) = ring.sources(&offsets, 1)
            {
                for i in 0..GROUP {
                    sources.read_first(i, &mut copy);
                    black_box(&copy);
                }
            } else if let Some(destinations) = ring.destinations(&offsets, 1, Store::Claimed) {
                for i in 0..GROUP {
                    destinations.write_first(i, &copy);
                }
            }
        }
    }
}
