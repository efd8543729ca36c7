//! The listener of an interface (RFC 3810, 6): it reports changes at once and once more, and answers queries after a
//! random delay.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::time::Duration;

use quiver_control::Time;

use crate::message::{Question, Record, RecordKind};

/// Number of reports of a change (Robustness Variable of RFC 3810, 9.1).
const ROBUSTNESS: u8 = 2;
/// Longest interval between the reports of a change (RFC 3810, 9.11).
const AGAIN_WITHIN: Duration = Duration::from_secs(1);
/// Time after a query for which an MLDv1 router is assumed to be present (RFC 3810, 9.12): twice the query interval
/// plus the response interval.
const FIRST_VERSION: Duration = Duration::from_secs(2 * 125 + 10);
/// Largest number of queried sources per group. A query for more is answered for the whole group.
const SOURCES_MAX: usize = 64;

/// A change that is being reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    listens: bool,
    left: u8,
}

/// An answer that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    at: Time,
    /// The senders that were asked for; none stands for all.
    sources: BTreeSet<Ipv6Addr>,
}

/// Reports to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingReports {
    /// Records for routers of the second version.
    Records(Vec<Record>),
    /// MLDv1 messages to routers of the first version: groups, with a report or a done message.
    Groups(Vec<(Ipv6Addr, bool)>),
}

/// An interface that listens.
#[derive(Clone, Debug, Default)]
pub struct Listener {
    groups: BTreeSet<Ipv6Addr>,
    changes: BTreeMap<Ipv6Addr, Change>,
    change_at: Option<Time>,
    /// Answers by the queried group; none is a general query.
    answers: BTreeMap<Option<Ipv6Addr>, Answer>,
    first_version_until: Option<Time>,
    draws: u64,
    /// Whether something was told without an address.
    pub(crate) unnamed: bool,
}

impl Listener {
    /// The groups that the link was told of, or is being told of.
    pub fn groups(&self) -> &BTreeSet<Ipv6Addr> {
        &self.groups
    }
    /// Whether a router of the first version is on the link.
    pub fn is_first_version(&self, now: Time) -> bool {
        self.first_version_until.is_some_and(|until| until > now)
    }
    /// Listens to these groups from now on, and says so.
    pub fn set_groups(&mut self, groups: BTreeSet<Ipv6Addr>, now: Time) {
        let change = |listens| Change { listens, left: ROBUSTNESS };
        let come = groups.difference(&self.groups).map(|group| (*group, change(true)));
        let gone = self.groups.difference(&groups).map(|group| (*group, change(false)));
        let changes: Vec<_> = come.chain(gone).collect();
        if !changes.is_empty() {
            self.changes.extend(changes);
            self.change_at = Some(now);
        }
        self.groups = groups;
    }
    /// Says again to which groups it listens, as if it had just begun.
    pub(crate) fn repeat(&mut self, now: Time) {
        self.unnamed = false;
        let change = Change { listens: true, left: ROBUSTNESS };
        self.changes.extend(self.groups.iter().map(|group| (*group, change)));
        self.change_at = (!self.changes.is_empty()).then_some(now);
    }
    /// Hears a question; `seed` is the interface's own.
    pub fn hear(&mut self, question: Question, now: Time, seed: u64) {
        if question.is_first_version {
            self.first_version_until = Some(now + FIRST_VERSION);
        }
        if question.group.is_some_and(|group| !self.groups.contains(&group)) {
            return;
        }
        let at = now + self.draw(seed, question.within);
        // RFC 3810, 6.2: an answer about all groups that goes before says it already.
        if self.answers.get(&None).is_some_and(|all| all.at <= at) {
            return;
        }
        let asked = BTreeSet::from_iter(question.sources);
        let waiting = self.answers.get(&question.group);
        let mut sources = match waiting {
            Some(waiting) if waiting.sources.is_empty() || asked.is_empty() => BTreeSet::new(),
            Some(waiting) => waiting.sources.union(&asked).copied().collect(),
            None => asked,
        };
        if sources.len() > SOURCES_MAX {
            sources.clear();
        }
        let at = waiting.map_or(at, |waiting| waiting.at.min(at));
        self.answers.insert(question.group, Answer { at, sources });
    }
    /// When something is to be told next.
    pub fn due(&self) -> Option<Time> {
        self.answers.values().map(|answer| answer.at).chain(self.change_at).min()
    }
    /// Reports that are due.
    pub fn tell(&mut self, now: Time, seed: u64) -> Vec<PendingReports> {
        let mut told = vec![];
        if self.change_at.is_some_and(|at| at <= now) {
            told.push(self.tell_changes(now));
            self.changes.retain(|_, change| change.left > 0);
            self.change_at = (!self.changes.is_empty()).then(|| now + self.draw(seed, AGAIN_WITHIN));
        }
        let due: Vec<_> = self.answers.iter().filter(|(_, answer)| answer.at <= now).map(|(key, _)| *key).collect();
        for key in due {
            let Some(answer) = self.answers.remove(&key) else { continue };
            told.push(self.answer(key, answer.sources, now));
        }
        told
    }
    fn tell_changes(&mut self, now: Time) -> PendingReports {
        let is_first_version = self.is_first_version(now);
        for change in self.changes.values_mut() {
            // RFC 2710, 4: that nobody listens any more is said once.
            let times = if is_first_version && !change.listens { change.left } else { 1 };
            change.left = change.left.saturating_sub(times);
        }
        let all = self.changes.iter();
        match is_first_version {
            true => PendingReports::Groups(all.map(|(group, change)| (*group, change.listens)).collect()),
            false => {
                let kind = |listens| if listens { RecordKind::ToExclude } else { RecordKind::ToInclude };
                PendingReports::Records(all.map(|(group, change)| Record::new(kind(change.listens), *group)).collect())
            }
        }
    }
    fn answer(&self, group: Option<Ipv6Addr>, sources: BTreeSet<Ipv6Addr>, now: Time) -> PendingReports {
        let groups = self.groups.iter().copied().filter(|own| group.is_none_or(|group| group == *own));
        if self.is_first_version(now) {
            return PendingReports::Groups(groups.map(|group| (group, true)).collect());
        }
        // RFC 3810, 6.3: of senders that were asked for, it listens to each.
        let kind = if sources.is_empty() { RecordKind::Exclude } else { RecordKind::Include };
        let sources = Vec::from_iter(sources);
        PendingReports::Records(groups.map(|group| Record { kind, group, sources: sources.clone() }).collect())
    }
    /// Some time up to a longest one. It need not be secret, but another one than that of a neighbour with another `seed`.
    fn draw(&mut self, seed: u64, longest: Duration) -> Duration {
        self.draws += 1;
        // SplitMix64.
        let mut x = seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        longest.mul_f64((x ^ x >> 31) as f64 / u64::MAX as f64)
    }
}
