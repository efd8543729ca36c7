//! Generations of interfaces' numbers.

use crate::vector::INTERFACES_MAX;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Interfaces whose generations lie together.
const PAGE: usize = 4096;

/// The number of such pages.
const PAGES: usize = INTERFACES_MAX as usize / PAGE;

/// Generation of each interface number, raised when it is given away or taken back. A message or state that outlives a
/// turn and names an interface carries the generation along, and is void when it has changed.
#[derive(Clone)]
pub struct Generations(Arc<[OnceLock<Box<[AtomicU32; PAGE]>>; PAGES]>);

impl Generations {
    pub(crate) fn new() -> Generations {
        Generations(Arc::new([const { OnceLock::new() }; PAGES]))
    }
    /// The number has another user from now on, or none.
    pub(crate) fn change(&self, interface: u32) {
        if let Some(page) = self.0.get(interface as usize / PAGE) {
            let page = page.get_or_init(|| Box::new([const { AtomicU32::new(0) }; PAGE]));
            page[interface as usize % PAGE].fetch_add(1, Ordering::Relaxed);
        }
    }
    /// The generation of an interface's number; 0 if no interface has had it.
    #[inline(always)]
    pub fn of(&self, interface: u32) -> u32 {
        // Letters and rings order this: a packet is received after its interface was attached, and the number has another
        // user only after every worker has let go of the one before.
        let page = self.0.get(interface as usize / PAGE).and_then(OnceLock::get);
        page.map_or(0, |page| page[interface as usize % PAGE].load(Ordering::Relaxed))
    }
}
