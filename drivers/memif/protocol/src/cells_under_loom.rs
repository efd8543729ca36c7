//! The words of a ring under loom, which tries every order of what two ends do to them: the same as those in shared memory,
//! except that they lie in memory of their own, which only clones of a ring share.

use std::sync::Arc;

pub(crate) use loom::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::region::Regions;

#[derive(Clone)]
pub(crate) struct Cells {
    regions: Arc<Regions>,
    words: Arc<Words>,
    log2: u8,
}

struct Words {
    cookie: AtomicU32,
    flags: AtomicU16,
    head: AtomicU16,
    tail: AtomicU16,
    cells: Vec<[AtomicU64; 2]>,
}

impl Cells {
    pub fn at(regions: &Arc<Regions>, _: u16, _: usize, log2: u8) -> Option<Cells> {
        let cells = (0..1 << log2).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        let [flags, head, tail] = [(); 3].map(|()| AtomicU16::new(0));
        let words = Arc::new(Words { cookie: AtomicU32::new(0), flags, head, tail, cells });
        Some(Cells { regions: regions.clone(), words, log2 })
    }
    pub fn log2(&self) -> u8 {
        self.log2
    }
    pub fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }
    pub fn word32(&self) -> &AtomicU32 {
        &self.words.cookie
    }
    pub fn word16<const AT: usize>(&self) -> &AtomicU16 {
        match AT {
            4 => &self.words.flags,
            6 => &self.words.head,
            64 => &self.words.tail,
            _ => panic!("a ring has no word at {AT}"),
        }
    }
    /// There are no lines here.
    pub fn stream(&self, _: u16, _: &[[u64; 2]; 4]) -> bool {
        false
    }
    pub fn claim(&self, _: u16) {}
    pub fn all(&self) -> &[[AtomicU64; 2]] {
        &self.words.cells
    }
    pub fn cell(&self, index: u16) -> &[AtomicU64; 2] {
        &self.words.cells[usize::from(index) & ((1 << self.log2) - 1)]
    }
}
