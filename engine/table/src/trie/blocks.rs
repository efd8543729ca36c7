//! Which blocks of an LPM table's memory are in use, and by which nodes.
//!
//! Nodes have few sizes. A page of memory has nodes of one size; when the last of them has gone, it may have others.
use crate::epoch::Domain;
use crate::memory::{Cell, Cells};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why there is no block.
pub enum Refused {
    /// The limit is reached.
    Full,
    /// The system gives no more memory.
    Memory(io::Error),
}

/// Gives out nodes, by the number of their first block, and takes them back once no reader can be inside.
pub struct Blocks<T: Cell> {
    pool: Arc<Pool<T>>,
    domain: Domain,
    in_use: u32,
}

/// Block numbers with their memory, which readers of the table hold, too. The lock is between the writer and the thread
/// that reclaims the domain; in a daemon both are the control thread.
struct Pool<T: Cell> {
    cells: Arc<Cells<T>>,
    /// Cells of a block.
    block_cells: usize,
    pages: Mutex<Pages>,
}

/// The pages of memory that blocks lie in.
struct Pages {
    /// Blocks of a page.
    blocks: u32,
    /// The last block that may be given out.
    max: u32,
    /// Blocks of a node of each size.
    sizes: &'static [u32],
    /// Each page that ever had a node.
    pages: Vec<Page>,
    /// For each size, its pages that have room. The first is taken, so that the last ones become empty.
    with_room: Vec<BTreeSet<u32>>,
    /// Pages that have no nodes and no memory, and so no size.
    blank: BTreeSet<u32>,
    /// The page that became empty last. It keeps its memory until another does, so that a route that comes and goes
    /// does not cost a page each time.
    idle: Option<u32>,
}

#[derive(Default)]
struct Page {
    /// Which of the sizes its nodes have.
    size: usize,
    /// Nodes in use. Block 0 counts as one, so its page keeps its memory.
    used: u32,
    /// Nodes that were ever given out; those behind them follow in the order of addresses.
    begun: u32,
    /// Nodes that came back, by their first block.
    free: Vec<u32>,
}

/// A node that no word refers to any more.
struct Unlinked<T: Cell> {
    block: u32,
    pool: Arc<Pool<T>>,
}

impl<T: Cell> Drop for Unlinked<T> {
    fn drop(&mut self) {
        if let Some(empty) = self.pool.pages().put_back(self.block) {
            self.pool.cells.discard(empty as usize);
        }
    }
}

impl<T: Cell> Pool<T> {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// A free node of a page that has room for more of its size.
    fn take(&mut self, size: usize) -> Option<u32> {
        let number = *self.with_room[size].first()?;
        let room = self.room(number, size);
        let page = &mut self.pages[number as usize];
        let block = page.free.pop().unwrap_or_else(|| {
            page.begun += 1;
            number * self.blocks + (page.begun - 1) * self.sizes[size]
        });
        page.used += 1;
        if page.used == room {
            self.with_room[size].remove(&number);
        }
        self.idle = self.idle.filter(|idle| *idle != number);
        Some(block)
    }

    /// A page that may have nodes of this size from now on: one without memory, the next, or the idle one.
    fn choose(&self, size: usize) -> Option<u32> {
        let blank = self.blank.iter().copied().find(|page| self.room(*page, size) > 0);
        let next = Some(self.pages.len() as u32).filter(|page| self.room(*page, size) > u32::from(*page == 0));
        blank.or(next).or(self.idle.filter(|page| self.room(*page, size) > 0))
    }

    /// Gives a page, whose memory is there, to nodes of this size.
    fn assign(&mut self, number: u32, size: usize) {
        // Block 0 is never given out.
        let used = u32::from(number == 0);
        let page = Page { size, used, begun: used, free: vec![] };
        match self.pages.get_mut(number as usize) {
            Some(old) => {
                self.with_room[old.size].remove(&number);
                *old = page;
            }
            None => self.pages.push(page),
        }
        self.blank.remove(&number);
        self.with_room[size].insert(number);
    }

    /// Takes a node back; returns a page whose memory is not used any more.
    fn put_back(&mut self, block: u32) -> Option<u32> {
        let number = block / self.blocks;
        let page = &mut self.pages[number as usize];
        page.free.push(block);
        page.used -= 1;
        self.with_room[page.size].insert(number);
        let kept = u32::from(number == 0);
        if page.used > kept {
            return None;
        }
        (page.begun, page.free) = (kept, vec![]);
        if number == 0 {
            return None;
        }
        let unneeded = self.idle.replace(number)?;
        self.with_room[self.pages[unneeded as usize].size].remove(&unneeded);
        self.blank.insert(unneeded);
        Some(unneeded)
    }

    /// The number behind the page's last block.
    fn end(&self, page: u32) -> u32 {
        ((page + 1) * self.blocks).min(self.max + 1)
    }

    /// Number of nodes of a size that fit into a page. No page extends beyond the last block.
    fn room(&self, page: u32, size: usize) -> u32 {
        self.end(page).saturating_sub(page * self.blocks) / self.sizes[size]
    }

    /// Pages with memory: all but the blank ones, and the first from the beginning.
    fn real(&self) -> usize {
        self.pages.len().max(1) - self.blank.len()
    }
}

impl<T: Cell> Blocks<T> {
    /// For nodes of these sizes, in blocks of so many cells; `max` is the last block.
    pub(crate) fn new(
        domain: &Domain,
        cells: &Arc<Cells<T>>,
        block_cells: usize,
        sizes: &'static [u32],
        max: u32,
    ) -> Blocks<T> {
        let pages = Pages {
            blocks: (cells.page() / block_cells) as u32,
            max,
            sizes,
            pages: vec![],
            with_room: sizes.iter().map(|_| BTreeSet::new()).collect(),
            blank: BTreeSet::new(),
            idle: None,
        };
        let pool = Pool { cells: Arc::clone(cells), block_cells, pages: Mutex::new(pages) };
        Blocks { pool: Arc::new(pool), domain: domain.clone(), in_use: 0 }
    }

    /// The first block of a node to fill and link, with unspecified contents. `size` is an index of the sizes.
    pub(crate) fn allocate(&mut self, size: usize) -> Result<u32, Refused> {
        let mut block = self.take(size).map_err(Refused::Memory)?;
        if block.is_none() {
            // Some may be waiting for readers that have passed by now.
            self.domain.reclaim();
            block = self.take(size).map_err(Refused::Memory)?;
        }
        let block = block.ok_or(Refused::Full)?;
        self.in_use += self.pool.pages().sizes[size];
        Ok(block)
    }

    /// A free node, of another page if need be.
    fn take(&self, size: usize) -> io::Result<Option<u32>> {
        let mut pages = self.pool.pages();
        if pages.with_room[size].is_empty()
            && let Some(page) = pages.choose(size)
        {
            self.pool.cells.commit(pages.end(page) as usize * self.pool.block_cells)?;
            pages.assign(page, size);
        }
        Ok(pages.take(size))
    }

    /// Takes back a node that no word refers to any more.
    pub(crate) fn unlinked(&mut self, block: u32) {
        let size = {
            let pages = self.pool.pages();
            pages.sizes[pages.pages[(block / pages.blocks) as usize].size]
        };
        self.in_use -= size;
        self.domain.retire(Unlinked { block, pool: Arc::clone(&self.pool) });
    }

    /// Blocks of linked nodes.
    pub(crate) fn in_use(&self) -> u32 {
        self.in_use
    }

    pub(crate) fn max(&self) -> u32 {
        self.pool.pages().max
    }

    /// Bytes of the pages that are real, and of the lists of what came back to them.
    pub(crate) fn memory_bytes(&self) -> usize {
        let pages = self.pool.pages();
        let lists: usize = pages.pages.iter().map(|page| page.free.capacity() * size_of::<u32>()).sum();
        pages.real() * self.pool.cells.page_bytes() + lists
    }
}
