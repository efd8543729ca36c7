//! Numbers by which workers know groups and count packets; one is given again when no worker can meet it any more.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use quiver_engine::{Counters, Domain};

/// Numbers from a first one on.
pub(crate) struct Numbers {
    next: u32,
    free: Vec<u32>,
    released: (Sender<u32>, Receiver<u32>),
}

/// Gives a number back when the last worker has let go of it.
struct Release(u32, Sender<u32>);
impl Drop for Release {
    fn drop(&mut self) {
        // With those gone who give the numbers, these need no owner.
        let _ = self.1.send(self.0);
    }
}

impl Numbers {
    /// Numbers from this one on.
    pub fn from(first: u32) -> Numbers {
        Numbers { next: first, free: vec![], released: channel() }
    }
    /// Takes a free number.
    pub fn take(&mut self) -> u32 {
        self.free.extend(self.released.1.try_iter());
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
    /// Ends the use of one.
    pub fn release(&mut self, domain: &Domain, number: u32) {
        domain.retire(Release(number, self.released.0.clone()));
    }
}

/// Counters of routes, which all families share: clients know a route's by its number.
#[derive(Clone)]
pub(crate) struct Counted {
    numbers: Rc<RefCell<Numbers>>,
    counters: Counters,
    serials: Rc<Cell<u64>>,
}

impl Counted {
    /// None is taken.
    pub fn new(counters: Counters) -> Counted {
        Counted { numbers: Rc::new(RefCell::new(Numbers::from(0))), counters, serials: Rc::default() }
    }
    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// A counter for a route, at zero.
    pub fn take(&self) -> u32 {
        let number = self.numbers.borrow_mut().take();
        self.counters.grow(number + 1);
        self.counters.clear(number);
        number
    }
    /// Ends the use of one.
    pub fn release(&self, domain: &Domain, number: u32) {
        self.numbers.borrow_mut().release(domain, number);
    }
    /// A number that no route ever had.
    pub fn serial(&self) -> u64 {
        self.serials.set(self.serials.get() + 1);
        self.serials.get()
    }
}
