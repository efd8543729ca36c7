//! Which blocks of an LPM table are in use.
use crate::epoch::Domain;
use crate::memory::Cells;
use crossbeam_queue::SegQueue;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Gives out block numbers, and takes them back once no reader can be inside.
pub(super) struct Blocks {
    /// Filled by the domain when the grace period is over.
    free: Arc<SegQueue<u32>>,
    domain: Domain,
    /// Blocks given out at least once; 0 is nobody's.
    touched: u32,
    max: u32,
    in_use: u32,
}

/// A block that no word refers to any more.
struct Unlinked {
    block: u32,
    free: Arc<SegQueue<u32>>,
}

impl Drop for Unlinked {
    fn drop(&mut self) {
        self.free.push(self.block);
    }
}

impl Blocks {
    pub(super) fn new(domain: &Domain, max: u32) -> Blocks {
        Blocks { free: Arc::new(SegQueue::new()), domain: domain.clone(), touched: 0, max, in_use: 0 }
    }

    /// A block to fill and link, with unspecified contents; None at the limit.
    pub(super) fn allocate(&mut self, words: &Cells<AtomicU32>) -> io::Result<Option<u32>> {
        let block = match self.free.pop() {
            Some(block) => block,
            None if self.touched < self.max => {
                words.commit((self.touched as usize + 2) * 256)?;
                self.touched += 1;
                self.touched
            }
            None => {
                // Some may be waiting for readers that have passed by now.
                self.domain.reclaim();
                match self.free.pop() {
                    Some(block) => block,
                    None => return Ok(None),
                }
            }
        };
        self.in_use += 1;
        Ok(Some(block))
    }

    /// Takes back a block that no word refers to any more.
    pub(super) fn unlinked(&mut self, block: u32) {
        self.in_use -= 1;
        self.domain.retire(Unlinked { block, free: Arc::clone(&self.free) });
    }

    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    pub(super) fn touched(&self) -> u32 {
        self.touched
    }

    pub(super) fn max(&self) -> u32 {
        self.max
    }
}
