//! Values that workers have put away.

use crossbeam_queue::SegQueue;
use std::sync::Arc;

/// Values that workers have put away. Control drops them, since freeing memory and closing files is no work for a
/// worker.
#[derive(Clone, Default)]
pub(super) struct Attic(Arc<SegQueue<Box<dyn Send>>>);

impl Attic {
    /// Puts a value away.
    pub fn store(&self, thing: impl Send + 'static) {
        self.0.push(Box::new(thing));
    }
    /// Drops all values; returns how many these were.
    pub fn clear(&self) -> usize {
        std::iter::from_fn(|| self.0.pop()).count()
    }
}
