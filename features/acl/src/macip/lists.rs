//! The MAC-IP lists as workers have them.

use std::sync::Arc;

use quiver_control::LowestFree;
use quiver_engine::{Domain, Paged, Publisher, Snapshot};

use super::rule::{Action, MacipRule, Source};
use crate::lists::ACLS_MAX;

/// A list.
pub struct MacipList(Box<[MacipRule]>);

impl MacipList {
    /// A list of these rules.
    pub fn new(rules: &[MacipRule]) -> MacipList {
        MacipList(rules.into())
    }
    /// The number of the first rule that matches.
    pub fn find(&self, source: &Source) -> Option<usize> {
        self.0.iter().position(|rule| rule.meets(source))
    }
    /// Whether that rule permits. A packet without one is denied.
    pub fn permits(&self, source: &Source) -> bool {
        self.find(source).and_then(|number| self.0.get(number)).is_some_and(|rule| rule.action == Action::Permit)
    }
}

/// Lists of a page: a change of one copies its page.
const PAGE: usize = 64;

/// All lists, by number.
pub type MacipLists = Paged<Option<Arc<MacipList>>, PAGE>;

/// All lists: a room of the control side.
pub struct MacipAcls {
    published: Publisher<MacipLists>,
    free: LowestFree,
}

impl MacipAcls {
    pub(crate) fn new(domain: &Domain) -> MacipAcls {
        MacipAcls { published: Publisher::new(domain, Paged::default()), free: LowestFree::default() }
    }
    /// Snapshot for workers.
    pub fn lists(&self) -> Snapshot<MacipLists> {
        self.published.snapshot()
    }
    /// The same, as it was changed last.
    pub fn current(&self) -> &MacipLists {
        self.published.current()
    }
    /// The lowest number that no list has.
    pub(crate) fn free(&self) -> Option<u32> {
        let is_taken = |id: u32| self.current().get(id as usize).is_some_and(Option::is_some);
        Some(self.free.find(is_taken)).filter(|id| *id < ACLS_MAX)
    }
    pub(crate) fn set(&mut self, id: u32, rules: &[MacipRule]) {
        let list = Arc::new(MacipList::new(rules));
        self.published.edit(|lists| *lists.get_mut(id as usize) = Some(list));
    }
    pub(crate) fn delete(&mut self, id: u32) {
        self.free.release(id);
        self.published.edit(|lists| *lists.get_mut(id as usize) = None);
    }
}
