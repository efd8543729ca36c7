//! Which pages of a table's root have words that routes set.
use crate::address::Address;
use crate::memory::Cells;
use std::sync::atomic::AtomicU32;

/// Counts the routes in each page of the root, and gives back pages without any: all their words are zero then. Readers
/// may go on reading them, for they find zero before and after.
pub(crate) struct RootPages {
    routes: Box<[u32]>,
    /// Number of leading bits of an address that select the page.
    bits: u8,
    page_bytes: usize,
    /// Pages with routes, or with memory although they have none.
    real: usize,
    /// The page that became empty last. It keeps its memory until another does, so that a route that comes and goes
    /// does not cost a page each time.
    idle: Option<usize>,
}

impl RootPages {
    pub(crate) fn new(root: &Cells<AtomicU32>, root_bits: u8) -> RootPages {
        let pages = (1 << root_bits) / root.page();
        let bits = pages.ilog2() as u8;
        RootPages { routes: vec![0; pages].into(), bits, page_bytes: root.page_bytes(), real: 0, idle: None }
    }

    /// The pages with words of a prefix. The default route has none.
    fn of<A: Address>(&self, prefix: A, length: u8) -> std::ops::Range<usize> {
        let (first, last) = prefix.range(length);
        if length == 0 { 0..0 } else { first.leading(self.bits)..last.leading(self.bits) + 1 }
    }

    /// Notes a new route.
    pub(crate) fn enter<A: Address>(&mut self, prefix: A, length: u8) {
        for page in self.of(prefix, length) {
            self.routes[page] += 1;
            if self.routes[page] == 1 {
                let was_idle = self.idle == Some(page);
                self.real += usize::from(!was_idle);
                self.idle = self.idle.filter(|_| !was_idle);
            }
        }
    }

    /// Notes that a route has gone, and its words with it.
    pub(crate) fn leave<A: Address>(&mut self, root: &Cells<AtomicU32>, prefix: A, length: u8) {
        for page in self.of(prefix, length) {
            self.routes[page] -= 1;
            if self.routes[page] == 0
                && let Some(unneeded) = self.idle.replace(page)
            {
                self.real -= 1;
                root.discard(unneeded);
            }
        }
    }

    /// Notes that words of a page were changed for an address, and are as they were.
    pub(crate) fn untouched<A: Address>(&mut self, root: &Cells<AtomicU32>, address: A) {
        for page in self.of(address, A::BITS).filter(|page| self.routes[*page] == 0 && self.idle != Some(*page)) {
            root.discard(page);
        }
    }

    /// Bytes of the pages that are real.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.real * self.page_bytes
    }
}
