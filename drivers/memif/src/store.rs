//! Which kind of stores pays: through our caches, with lines claimed ahead or not, or past them.
//!
//! A line that the peer has read on another core must be fetched back before it can be written through the caches, which
//! costs 15 to 90 ticks; past them it costs 7 to 20, and claimed ahead most of the wait is gone, but each claim is an
//! instruction more, for which some processors take long. On one core it is the other way round. What is true changes with
//! where the system puts the two, so it is measured over and over: some batches each way, then many the better way. Of a
//! way's batches the cheapest counts: others may have been interrupted, and one that was would outweigh all the rest.

use quiver_engine::isa::ticks;
use quiver_memif_protocol::Store;

/// The ways in the order in which they are tried, and to which part of the best before it each has to come down: a gain
/// that a batch's noise hides is none, and past the caches the reader pays more.
const WAYS: [(Store, f64); 3] = [(Store::Plain, 1.0), (Store::Claimed, 0.95), (Store::Streaming, 0.8)];
/// Batches that are measured each way.
const TRIED: u32 = 16;
/// Batches that go the better way until it is measured again.
const USED: u32 = 2000;
/// Packets of a batch that tells anything.
const LEAST: usize = 8;
/// Cost of a line before the first measurement.
const UNTRIED: [f64; WAYS.len()] = [f64::INFINITY; WAYS.len()];

/// Chooses by what batches cost.
pub(crate) struct Chooser {
    /// The way that is tried, by its number; none while the chosen one is used.
    tried: Option<usize>,
    left: u32,
    /// Ticks for a line in the cheapest batch of each way.
    least: [f64; WAYS.len()],
    /// The current choice.
    chosen: Store,
    started: u64,
}

impl Chooser {
    pub fn new() -> Chooser {
        Chooser { tried: Some(0), left: TRIED, least: UNTRIED, chosen: WAYS[0].0, started: 0 }
    }
    /// Returns the method of writing the batch that begins now.
    #[inline]
    pub fn begin(&mut self) -> Store {
        // PERF: to read the counter twice costs a small batch more than what it says is worth.
        let Some((store, _)) = self.tried.and_then(|way| WAYS.get(way)) else { return self.chosen };
        self.started = ticks();
        *store
    }
    /// The choice after the last measurement.
    pub fn chosen(&self) -> Store {
        self.chosen
    }
    /// The batch is published: so many packets of so many lines in all.
    #[inline]
    pub fn end(&mut self, packets: usize, lines: u64) {
        if packets < LEAST {
            return;
        }
        if self.tried.is_some() {
            self.note(ticks().wrapping_sub(self.started), lines);
        }
        self.count();
    }
    fn note(&mut self, took: u64, lines: u64) {
        if let Some(least) = self.tried.and_then(|way| self.least.get_mut(way)) {
            *least = least.min(took as f64 / lines.max(1) as f64);
        }
    }
    /// A batch is through.
    fn count(&mut self) {
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        self.tried = match self.tried {
            Some(way) => Some(way + 1).filter(|next| *next < WAYS.len()),
            None => Some(0),
        };
        self.left = TRIED;
        if self.tried.is_none() {
            (self.chosen, self.left) = (best(&self.least), USED);
            self.least = UNTRIED;
        }
    }
}

/// The way that pays, by what a line costs each way.
fn best(least: &[f64; WAYS.len()]) -> Store {
    let (mut best, mut store) = (f64::INFINITY, WAYS[0].0);
    for ((way, part), cost) in WAYS.iter().zip(least) {
        if *cost < part * best {
            (best, store) = (*cost, *way);
        }
    }
    store
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice for these ticks per line of each way.
    fn choice(chooser: &mut Chooser, costs: [u64; 3]) -> Store {
        while chooser.tried.is_none() {
            chooser.count();
        }
        while let Some(way) = chooser.tried {
            assert_eq!(chooser.begin(), WAYS[way].0);
            chooser.note(256 * costs[way], 256);
            chooser.count();
        }
        chooser.begin()
    }

    #[test]
    fn it_follows_what_pays() {
        let mut chooser = Chooser::new();
        for (costs, chosen) in [
            ([25, 25, 7], Store::Streaming),
            ([4, 5, 7], Store::Plain),
            ([10, 10, 9], Store::Plain),
            ([25, 12, 10], Store::Claimed),
            ([25, 12, 9], Store::Streaming),
            ([100, 96, 90], Store::Plain),
        ] {
            assert_eq!(choice(&mut chooser, costs), chosen, "{costs:?}");
        }
    }

    #[test]
    fn a_batch_that_was_interrupted_tells_nothing() {
        let mut chooser = Chooser::new();
        chooser.note(1_000_000, 256);
        chooser.count();
        assert_eq!(choice(&mut chooser, [4, 5, 7]), Store::Plain);
        while chooser.tried != Some(2) {
            chooser.note(25 * 256, 256);
            chooser.count();
        }
        chooser.note(1_000_000, 256);
        chooser.count();
        assert_eq!(choice(&mut chooser, [25, 25, 7]), Store::Streaming);
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
