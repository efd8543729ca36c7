//! The lists as workers have them, and the counters of their rules.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use quiver_control::LowestFree;
use quiver_engine::stats::{Entry, Segment};
use quiver_engine::{Counters, Dataplane, Paged, Publisher, Snapshot, Traffic};

use crate::lanes::List;
use crate::rule::Fields;
use crate::rules::Rules;

/// Lists there can be.
pub const ACLS_MAX: u32 = 1 << 16;

/// Bits of a revision of a tenant's lists. A session without packets would have to live through 2^20 changes to meet its revision again.
pub(crate) const REVISION_BITS: u32 = 20;

/// Lists of a page: a change of one copies its page.
const PAGE: usize = 64;

/// All lists, by number.
#[derive(Clone, Default)]
pub struct Lists {
    by_number: Paged<Option<Arc<List>>, PAGE>,
    /// Matched packets and bytes by rule, `/acl/N/matches`. None where the statistics segment was full.
    matches: Paged<Option<Counters>, PAGE>,
    /// Whether interfaces count matches by rule.
    pub(crate) are_counted: bool,
    /// Whether some interface lets packets of sessions pass; by interface, whether it does.
    pub(crate) reflects_any: bool,
    reflecting: Paged<bool>,
    /// Lists of session tenants, by their slot.
    by_tenant: Paged<Option<TenantLists>>,
}

/// Lists of a session tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantLists {
    /// Their numbers, in order of evaluation.
    pub lists: Arc<[u32]>,
    /// Changes with these, and with the rules of any of them.
    pub revision: u32,
    /// Whether a changed list is asked again about live sessions.
    pub rechecks: bool,
}

impl Lists {
    /// The list of a number.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&List> {
        self.by_number.get(number as usize)?.as_deref()
    }
    /// Whether an interface lets packets of sessions pass, whatever its lists say.
    #[inline(always)]
    pub(crate) fn reflects(&self, interface: u32) -> bool {
        self.reflecting.get(interface as usize).is_some_and(|reflects| *reflects)
    }
    /// The first rule of some lists that matches a packet, as the configuration names it, and whether it permits. None if no rule matches.
    pub(crate) fn deciding(&self, lists: &[u32], fields: Option<&Fields>) -> Option<(String, bool)> {
        lists.iter().find_map(|list| {
            let (number, rule) = self.get(*list)?.first(fields?)?;
            Some((format!("acls {list}, rules[{number}]"), rule.action.permits()))
        })
    }
    /// The lists of the session tenant in a slot.
    #[inline(always)]
    pub(crate) fn of_tenant(&self, slot: u16) -> Option<&TenantLists> {
        self.by_tenant.get(slot.into())?.as_ref()
    }
    /// Gives the lists of a session tenant the next revision.
    fn revise(&mut self, slot: u16, revision: u32) {
        if let Some(of) = self.by_tenant.get_mut(slot.into()) {
            of.revision = revision;
        }
    }
    /// Whether a list has a rule that begins sessions.
    pub(crate) fn has_reflecting(&self, number: u32) -> bool {
        self.get(number).is_some_and(List::reflects)
    }
    fn matches(&self, number: u32) -> Option<&Counters> {
        self.matches.get(number as usize)?.as_ref()
    }
    /// Counts a packet for a rule of a list.
    pub(crate) fn count(&self, worker: usize, (list, rule): (u32, usize), bytes: u32) {
        if let Some(row) = self.matches(list).and_then(|matches| matches.at(worker)) {
            row.add(rule as u32, 1, bytes.into());
        }
    }
    /// Packets and bytes that matched a rule of a list.
    pub(crate) fn matched(&self, list: u32, rule: usize) -> Traffic {
        self.matches(list).map(|matches| matches.sum(rule as u32)).unwrap_or_default()
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
    /// The interfaces that have a list, by list.
    users: HashMap<u32, BTreeSet<u32>>,
    /// The slots of session tenants that have a list, by list.
    tenants: HashMap<u32, BTreeSet<u16>>,
    /// Revision of the lists of session tenants that changed last.
    revision: u32,
}

impl Acls {
    pub(crate) fn new(dataplane: &Dataplane) -> Acls {
        let (published, segment) =
            (Publisher::new(dataplane.domain(), Lists::default()), dataplane.statistics().clone());
        let (entries, free, reflecting, users, tenants) = Default::default();
        Acls { published, segment, entries, free, reflecting, users, tenants, revision: 0 }
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
    pub(crate) fn set(&mut self, id: u32, rules: &Rules) {
        let list = rules.list();
        self.withdraw(id);
        let lent = Counters::lend(&self.segment, &format!("/acl/{id}/matches"), rules.len() as u32);
        let matches = lent.map(|(matches, entry)| {
            self.entries.insert(id, entry);
            matches
        });
        self.publish(id, Some(list), matches);
    }
    /// Deletes a list.
    pub(crate) fn delete(&mut self, id: u32) {
        self.withdraw(id);
        self.free.release(id);
        self.publish(id, None, None);
    }
    /// A list and the revision of tenants that have it change at once: so no session keeps a verdict of the old rules by the new revision.
    fn publish(&mut self, id: u32, list: Option<Arc<List>>, matches: Option<Counters>) {
        let tenants = self.tenants.get(&id).cloned().unwrap_or_default();
        let revision = if tenants.is_empty() { self.revision } else { self.next_revision() };
        self.published.edit(|lists| {
            *lists.by_number.get_mut(id as usize) = list;
            *lists.matches.get_mut(id as usize) = matches;
            tenants.into_iter().for_each(|slot| lists.revise(slot, revision));
        });
    }
    /// Another revision of the lists of tenants.
    fn next_revision(&mut self) -> u32 {
        self.revision = self.revision.wrapping_add(1) & ((1 << REVISION_BITS) - 1);
        self.revision
    }
    /// Sets the lists of the session tenant in a slot, or takes them away.
    pub(crate) fn set_tenant(&mut self, slot: u16, of: Option<TenantLists>) {
        let before = self.current().of_tenant(slot).map(|of| of.lists.clone());
        for list in before.iter().flat_map(|lists| lists.iter()) {
            if let Some(tenants) = self.tenants.get_mut(list) {
                tenants.remove(&slot);
                if tenants.is_empty() {
                    self.tenants.remove(list);
                }
            }
        }
        for list in of.iter().flat_map(|of| of.lists.iter()) {
            self.tenants.entry(*list).or_default().insert(slot);
        }
        let revision = self.next_revision();
        self.published
            .edit(|lists| *lists.by_tenant.get_mut(slot.into()) = of.map(|of| TenantLists { revision, ..of }));
    }
    /// Notes that an interface has these lists, in place of others.
    pub(crate) fn note_lists(
        &mut self,
        interface: u32,
        old: impl Iterator<Item = u32>,
        new: impl Iterator<Item = u32>,
    ) {
        for list in old {
            if let Some(users) = self.users.get_mut(&list) {
                users.remove(&interface);
                if users.is_empty() {
                    self.users.remove(&list);
                }
            }
        }
        for list in new {
            self.users.entry(list).or_default().insert(interface);
        }
    }
    /// The interfaces that have a list.
    pub(crate) fn users(&self, list: u32) -> impl Iterator<Item = u32> {
        self.users.get(&list).into_iter().flatten().copied()
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
