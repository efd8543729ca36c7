//! Which kind of stores pays: through our caches, or past them.
//!
//! A line that the peer has read on another core must be fetched back before it can be written through the caches, which
//! costs 15 to 90 ticks; past them it costs 7 to 20. On one core it is the other way round. What is true changes with
//! where the system puts the two, so it is measured over and over: some batches each way, then many the better way. Of a
//! way's batches the cheapest counts: others may have been interrupted, and one that was would outweigh all the rest.

use quiver_engine::isa::ticks;
use quiver_memif_protocol::Store;

/// Batches that are measured each way.
const TRIED: u32 = 16;
/// Batches that go the better way until it is measured again.
const USED: u32 = 2000;
/// Packets of a batch that tells anything.
const LEAST: usize = 8;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    Plain,
    Streaming,
    Chosen,
}

/// Chooses by what batches cost.
pub(crate) struct Chooser {
    phase: Phase,
    left: u32,
    /// Ticks for a line in this phase's cheapest batch.
    least: f64,
    /// The same, of the batches that went through the caches.
    plain: f64,
    /// What was chosen last.
    chosen: Store,
    started: u64,
}

impl Chooser {
    pub fn new() -> Chooser {
        let (phase, chosen) = (Phase::Plain, Store::Plain);
        Chooser { phase, left: TRIED, least: f64::INFINITY, plain: 0.0, chosen, started: 0 }
    }
    /// How the batch that begins now is to be stored.
    #[inline]
    pub fn begin(&mut self) -> Store {
        let store = match self.phase {
            Phase::Plain => Store::Plain,
            Phase::Streaming => Store::Streaming,
            // PERF: to read the counter twice costs a small batch more than what it says is worth.
            Phase::Chosen => return self.chosen,
        };
        self.started = ticks();
        store
    }
    /// What was chosen when it was measured last.
    pub fn chosen(&self) -> Store {
        self.chosen
    }
    /// The batch is published: so many packets of so many lines in all.
    #[inline]
    pub fn end(&mut self, packets: usize, lines: u64) {
        if packets < LEAST {
            return;
        }
        if self.phase != Phase::Chosen {
            self.note(ticks().wrapping_sub(self.started), lines);
        }
        self.count();
    }
    fn note(&mut self, took: u64, lines: u64) {
        self.least = self.least.min(took as f64 / lines.max(1) as f64);
    }
    /// A batch is through.
    fn count(&mut self) {
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        let each = std::mem::replace(&mut self.least, f64::INFINITY);
        (self.phase, self.left) = match self.phase {
            Phase::Plain => {
                self.plain = each;
                (Phase::Streaming, TRIED)
            }
            Phase::Streaming => {
                // Past the caches the reader pays more, so we want to see a gain.
                self.chosen = if each < 0.8 * self.plain { Store::Streaming } else { Store::Plain };
                (Phase::Chosen, USED)
            }
            Phase::Chosen => (Phase::Plain, TRIED),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen when a line costs so many ticks either way.
    fn choice(chooser: &mut Chooser, plain: u64, streaming: u64) -> Store {
        while chooser.phase == Phase::Chosen {
            chooser.count();
        }
        while chooser.phase != Phase::Chosen {
            let each = if chooser.begin() == Store::Plain { plain } else { streaming };
            chooser.note(256 * each, 256);
            chooser.count();
        }
        chooser.begin()
    }

    #[test]
    fn it_follows_what_pays() {
        let mut chooser = Chooser::new();
        for (plain, streaming, chosen) in [(25, 7, Store::Streaming), (4, 7, Store::Plain), (10, 9, Store::Plain)] {
            assert_eq!(choice(&mut chooser, plain, streaming), chosen);
        }
    }

    #[test]
    fn a_batch_that_was_interrupted_tells_nothing() {
        let mut chooser = Chooser::new();
        chooser.note(1_000_000, 256);
        chooser.count();
        assert_eq!(choice(&mut chooser, 4, 7), Store::Plain);
        while chooser.phase != Phase::Streaming {
            chooser.note(25 * 256, 256);
            chooser.count();
        }
        chooser.note(1_000_000, 256);
        chooser.count();
        assert_eq!(choice(&mut chooser, 25, 7), Store::Streaming);
    }

    #[test]
    fn small_batches_tell_nothing() {
        let mut chooser = Chooser::new();
        for _ in 0..1000 {
            assert_eq!(chooser.begin(), Store::Plain);
            chooser.end(LEAST - 1, 1);
        }
    }
}
