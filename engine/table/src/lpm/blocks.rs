//! Which blocks of an LPM table are in use, and which memory is theirs.
use crate::epoch::Domain;
use crate::memory::Cells;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Gives out block numbers, and takes them back once no reader can be inside.
pub(super) struct Blocks {
    pool: Arc<Pool>,
    domain: Domain,
    in_use: u32,
}

/// The numbers with their memory, which readers of the table hold, too. The lock is between the writer and whoever
/// reclaims the domain, which in a daemon is one thread.
struct Pool {
    words: Arc<Cells<AtomicU32>>,
    pages: Mutex<Pages>,
}

/// The pages of memory that blocks lie in.
struct Pages {
    /// Blocks of a page.
    blocks: u32,
    /// The last block that may be given out.
    max: u32,
    /// Free blocks of each page that ever had one in use.
    free: Vec<Vec<u32>>,
    /// Pages with free blocks. The first is taken, so that the last ones become empty.
    with_free: BTreeSet<u32>,
    /// Pages with blocks in use, or with memory although they have none.
    real: u32,
    /// The page that became empty last. It keeps its memory until another does, so that a route that comes and goes
    /// does not cost a page each time.
    idle: Option<u32>,
}

/// A block that no word refers to any more.
struct Unlinked {
    block: u32,
    pool: Arc<Pool>,
}

impl Drop for Unlinked {
    fn drop(&mut self) {
        if let Some(empty) = self.pool.pages().put_back(self.block) {
            self.pool.words.discard(empty as usize);
        }
    }
}

impl Pool {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// A free block of a page that has memory, or had.
    fn take(&mut self) -> Option<u32> {
        let page = *self.with_free.first()?;
        let blocks = self.removable(page);
        let free = &mut self.free[page as usize];
        let (all, block) = (free.len() as u32 == blocks, free.pop()?);
        if free.is_empty() {
            self.with_free.remove(&page);
        }
        if all {
            self.real += u32::from(self.idle != Some(page));
            self.idle = self.idle.filter(|idle| *idle != page);
        }
        Some(block)
    }

    /// Adds the next page. Block 0 is never given out.
    fn add(&mut self) {
        let page = self.free.len() as u32;
        let first = page * self.blocks;
        // The last is taken first, so this is the order of addresses.
        self.free.push((first.max(1)..self.end(page)).rev().collect());
        self.with_free.insert(page);
    }

    /// Takes a block back; returns a page whose memory nobody needs any more.
    fn put_back(&mut self, block: u32) -> Option<u32> {
        let page = block / self.blocks;
        self.free[page as usize].push(block);
        self.with_free.insert(page);
        if (self.free[page as usize].len() as u32) < self.removable(page) {
            return None;
        }
        let unneeded = self.idle.replace(page)?;
        self.real -= 1;
        Some(unneeded)
    }

    /// The number behind the page's last block.
    fn end(&self, page: u32) -> u32 {
        ((page + 1) * self.blocks).min(self.max + 1)
    }

    /// How many blocks must be free for the page to be needed no more. The first one always is, for block 0 is there.
    fn removable(&self, page: u32) -> u32 {
        if page == 0 { u32::MAX } else { self.end(page) - page * self.blocks }
    }
}

impl Blocks {
    pub(super) fn new(domain: &Domain, words: &Arc<Cells<AtomicU32>>, max: u32) -> Blocks {
        let blocks = (words.page() / 256) as u32;
        let pages = Pages { blocks, max, free: vec![], with_free: BTreeSet::new(), real: 1, idle: None };
        let pool = Pool { words: Arc::clone(words), pages: Mutex::new(pages) };
        Blocks { pool: Arc::new(pool), domain: domain.clone(), in_use: 0 }
    }

    /// A block to fill and link, with unspecified contents; None at the limit.
    pub(super) fn allocate(&mut self) -> io::Result<Option<u32>> {
        let mut block = self.take()?;
        if block.is_none() {
            // Some may be waiting for readers that have passed by now.
            self.domain.reclaim();
            block = self.take()?;
        }
        self.in_use += u32::from(block.is_some());
        Ok(block)
    }

    /// A free block, of a new page if need be.
    fn take(&self) -> io::Result<Option<u32>> {
        let mut pages = self.pool.pages();
        let next = pages.free.len() as u32;
        if pages.with_free.is_empty() && next * pages.blocks <= pages.max {
            self.pool.words.commit(pages.end(next) as usize * 256)?;
            pages.add();
        }
        Ok(pages.take())
    }

    /// Takes back a block that no word refers to any more.
    pub(super) fn unlinked(&mut self, block: u32) {
        self.in_use -= 1;
        self.domain.retire(Unlinked { block, pool: Arc::clone(&self.pool) });
    }

    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    pub(super) fn max(&self) -> u32 {
        self.pool.pages().max
    }

    /// Bytes of the pages that are real.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pool.pages().real as usize * self.pool.words.page_bytes()
    }
}
