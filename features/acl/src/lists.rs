//! The lists as workers have them, and the counters of their rules.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use quiver_control::LowestFree;
use quiver_engine::stats::{Entry, Segment};
use quiver_engine::{Counters, Dataplane, Paged, Publisher, Snapshot, Traffic};

use crate::lanes::List;
use crate::rule::{Fields, Rule, any_reflects};

/// A list with the counters of its rules.
pub struct Known {
    /// The list.
    pub list: List,
    /// Matched packets and bytes by rule, `/acl/N/matches`. None if the statistics segment is full.
    matches: Option<Counters>,
}

impl Known {
    /// The first rule that matches a packet, and its number.
    pub fn first(&self, fields: &Fields) -> Option<(usize, &Rule)> {
        let number = self.list.find(fields)?;
        Some((number, self.list.rules.get(number)?))
    }
    /// Counts a packet for a rule.
    pub(crate) fn count(&self, worker: usize, rule: usize, bytes: u32) {
        if let Some(row) = self.matches.as_ref().and_then(|matches| matches.at(worker)) {
            row.add(rule as u32, 1, bytes.into());
        }
    }
    /// Packets and bytes that matched a rule.
    pub(crate) fn matched(&self, rule: usize) -> Traffic {
        self.matches.as_ref().map(|matches| matches.sum(rule as u32)).unwrap_or_default()
    }
}

/// Lists there can be.
pub const ACLS_MAX: u32 = 1 << 16;

/// Lists of a page: a change of one copies its page.
const PAGE: usize = 64;

/// All lists, by number.
#[derive(Clone, Default)]
pub struct Lists {
    by_number: Paged<Option<Arc<Known>>, PAGE>,
    /// Whether interfaces count matches by rule.
    pub(crate) are_counted: bool,
    /// Whether some interface lets packets of sessions pass; by interface, whether it does.
    pub(crate) reflects_any: bool,
    reflecting: Paged<bool>,
}

impl Lists {
    /// The list of a number.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&List> {
        Some(&self.known(number)?.list)
    }
    /// Whether an interface lets packets of sessions pass, whatever its lists say.
    #[inline(always)]
    pub(crate) fn reflects(&self, interface: u32) -> bool {
        self.reflecting.get(interface as usize).is_some_and(|reflects| *reflects)
    }
    /// Whether a list has a rule that begins sessions.
    pub(crate) fn has_reflecting(&self, number: u32) -> bool {
        self.get(number).is_some_and(|list| any_reflects(&list.rules))
    }
    /// The same with its counters.
    #[inline(always)]
    pub fn known(&self, number: u32) -> Option<&Known> {
        self.by_number.get(number as usize)?.as_deref()
    }
}

/// All lists: a room of the control side.
pub struct Acls {
    published: Publisher<Lists>,
    segment: Segment,
    /// The entries of counters in the segment, by list.
    entries: HashMap<u32, Entry>,
    free: LowestFree,
    /// Interfaces that let packets of sessions pass.
    reflecting: HashSet<u32>,
}

impl Acls {
    pub(crate) fn new(dataplane: &Dataplane) -> Acls {
        let (published, segment) =
            (Publisher::new(dataplane.domain(), Lists::default()), dataplane.statistics().clone());
        let (entries, free, reflecting) = Default::default();
        Acls { published, segment, entries, free, reflecting }
    }
    /// Snapshot for workers.
    pub fn lists(&self) -> Snapshot<Lists> {
        self.published.snapshot()
    }
    /// The same, as it was changed last.
    pub fn current(&self) -> &Lists {
        self.published.current()
    }
    /// The lowest number that no list has.
    pub(crate) fn free(&self) -> Option<u32> {
        Some(self.free.find(|id| self.current().get(id).is_some())).filter(|id| *id < ACLS_MAX)
    }
    /// Adds or replaces a list, whose counts begin at zero.
    pub(crate) fn set(&mut self, id: u32, rules: &[Rule]) {
        self.withdraw(id);
        let lent = Counters::lend(&self.segment, &format!("/acl/{id}/matches"), rules.len() as u32);
        let matches = lent.map(|(matches, entry)| {
            self.entries.insert(id, entry);
            matches
        });
        let known = Arc::new(Known { list: List::new(rules), matches });
        self.published.edit(|lists| *lists.by_number.get_mut(id as usize) = Some(known));
    }
    /// Deletes a list.
    pub(crate) fn delete(&mut self, id: u32) {
        self.withdraw(id);
        self.free.release(id);
        self.published.edit(|lists| *lists.by_number.get_mut(id as usize) = None);
    }
    fn withdraw(&mut self, id: u32) {
        if let Some(entry) = self.entries.remove(&id) {
            self.segment.edit().withdraw(entry);
        }
    }
    /// Has an interface let packets of sessions pass, or not.
    pub(crate) fn reflect(&mut self, interface: u32, reflects: bool) {
        let has_changed = if reflects { self.reflecting.insert(interface) } else { self.reflecting.remove(&interface) };
        let reflects_any = !self.reflecting.is_empty();
        if has_changed {
            self.published.edit(|lists| {
                *lists.reflecting.get_mut(interface as usize) = reflects;
                lists.reflects_any = reflects_any;
            });
        }
    }
    /// Has interfaces count matches by rule, or not.
    pub(crate) fn count(&mut self, are_counted: bool) {
        self.published.edit(|lists| lists.are_counted = are_counted);
    }
}
