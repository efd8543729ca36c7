//! The objects of a kind by key, some at a time: long work goes through them in short turns, while others change them.

use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::IntoIter;

use super::any::{AnyKind, AnyObject};
use super::running::SOME;

/// Iterates over the objects of a kind. An object that comes or goes meanwhile may be met or not; none is met twice.
pub(crate) struct ByKey {
    kind: Rc<dyn AnyKind>,
    /// Pending objects that are still to come. Each stands in the place of its running part.
    waiting: VecDeque<Rc<dyn AnyObject>>,
    some: IntoIter<Rc<dyn AnyObject>>,
    /// The last object of `some`.
    last: Option<Rc<dyn AnyObject>>,
}

impl ByKey {
    /// The running objects.
    pub fn running(kind: &Rc<dyn AnyKind>) -> ByKey {
        ByKey::with(kind, vec![])
    }

    /// The running objects and these pending ones.
    pub(super) fn with(kind: &Rc<dyn AnyKind>, waiting: Vec<Rc<dyn AnyObject>>) -> ByKey {
        let waiting = if waiting.is_empty() { waiting } else { kind.sorted(waiting) };
        ByKey { kind: kind.clone(), waiting: waiting.into(), some: vec![].into_iter(), last: None }
    }

    /// The next objects; none at the end.
    fn next_some(&mut self) -> Vec<Rc<dyn AnyObject>> {
        let running = self.kind.running_after(self.last.as_deref());
        let waiting: Vec<_> = self.waiting.iter().take(SOME).cloned().collect();
        if waiting.is_empty() {
            return running;
        }
        // Behind either end there may be objects that are not among these.
        let ends = [running.last(), waiting.last().filter(|_| waiting.len() < self.waiting.len())];
        let first_end = self.kind.sorted(ends.into_iter().flatten().cloned().collect()).first().map(|end| end.id());
        // Of objects with one key, `sorted` keeps the last one.
        let mut some = self.kind.sorted(running.into_iter().chain(waiting).collect());
        if let Some(end) = first_end.and_then(|end| some.iter().position(|object| object.id() == end)) {
            some.truncate(end + 1);
        }
        for object in &some {
            if self.waiting.front().is_some_and(|next| Rc::ptr_eq(next, object)) {
                self.waiting.pop_front();
            }
        }
        some
    }
}

impl Iterator for ByKey {
    type Item = Rc<dyn AnyObject>;

    fn next(&mut self) -> Option<Rc<dyn AnyObject>> {
        if self.some.as_slice().is_empty() {
            let some = self.next_some();
            self.last = some.last().cloned().or(self.last.take());
            self.some = some.into_iter();
        }
        self.some.next()
    }
}
