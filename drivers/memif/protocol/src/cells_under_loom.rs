//! The words of a ring under loom, which tries every order of what two ends do to them: the same as those in shared memory,
//! except that they lie in memory of their own, which only clones of a ring share.

use std::sync::Arc;

pub(crate) use loom::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::region::{GROUP, Regions};

pub(crate) struct Cell(pub [AtomicU64; 2]);
impl Cell {
    pub fn set_second_word(&self, word: u32) {
        let first = self.0[0].load(Ordering::Relaxed) as u32;
        self.0[0].store(u64::from(first) | u64::from(word) << 32, Ordering::Relaxed);
    }
    pub fn third_word(&self) -> u32 {
        self.0[1].load(Ordering::Relaxed) as u32
    }
}
pub(crate) fn columns(cells: &[Cell; GROUP]) -> [[u32; GROUP]; 3] {
    let halves = cells.each_ref().map(|cell| cell.0.each_ref().map(|half| half.load(Ordering::Relaxed)));
    [halves.map(|half| half[0] as u32), halves.map(|half| (half[0] >> 32) as u32), halves.map(|half| half[1] as u32)]
}

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
    cells: Vec<Cell>,
}

impl Cells {
    pub fn at(regions: &Arc<Regions>, _: u16, _: usize, log2: u8) -> Option<Cells> {
        let cells = (0..1 << log2).map(|_| Cell([AtomicU64::new(0), AtomicU64::new(0)])).collect();
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
    pub fn all(&self) -> &[Cell] {
        &self.words.cells
    }
    pub fn cell(&self, index: u16) -> &Cell {
        &self.words.cells[usize::from(index) & ((1 << self.log2) - 1)]
    }
}
