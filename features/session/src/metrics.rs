//! Metrics of tenants: counters in the statistics segment, which systems that gather metrics read with the tenant's number as a label.
//!
//! Known sessions' packets cost nothing here: sessions are counted when they begin, end or change their state, and denials as they come.

use std::sync::Arc;

use quiver_engine::stats::{Description, Names, Naming, Segment};
use quiver_engine::{Counter, Counters, Row};
use quiver_session_events::Reason;

use crate::record::State;

/// Counters of tenants are below this name, as VPP has it.
const COUNTERS: &str = "/sfdp/per_tenant_counters";
/// Numbers of tenants, by slot.
const TENANTS: &str = "/sfdp/tenants/names";

/// Slots that clients see. PERF: the segment has room for these; tenants in later slots are counted, and clients do not see it.
pub(crate) const SHOWN_MAX: u32 = 1 << 12;

/// Counters of a tenant that [`TenantCounters`](crate::tenant::TenantCounters) has, with names and help texts of their metrics.
const DESCRIBED: [(&str, &str, &str); 4] = [
    ("created", "sessions_created", "Sessions that have begun."),
    ("removed", "sessions_removed", "Sessions that have ended."),
    ("evicted", "sessions_evicted", "Sessions that have ended because the table was full."),
    ("incoming", "sessions_incoming", "{} that came to sessions of a tenant or began one."),
];

/// The name of a counter of tenants.
pub(crate) fn name(counter: &str) -> String {
    format!("{COUNTERS}/{counter}")
}

/// Counters of SYN cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// It was sent.
    Sent = 0,
    /// It was returned, and a connection begins.
    Valid = 1,
    /// A segment without a session has none, or one that is too old.
    Invalid = 2,
}

impl Cookie {
    /// Names, by number.
    pub const NAMES: [&'static str; 3] = ["sent", "valid", "invalid"];
}

/// Sessions by state, denials by reason, and SYN cookies, by the slot of a tenant.
#[derive(Clone)]
pub(crate) struct Metrics {
    live: [Counters<Counter>; 3],
    cookies: [Counters<Counter>; 3],
    /// By the number of the reason; None of reasons that are no denial's.
    denied: Vec<Option<Counters<Counter>>>,
}

impl Metrics {
    /// The counters, and descriptions of all counters of tenants.
    pub(crate) fn new(segment: &Segment) -> Metrics {
        let naming = |last| Naming { label: "tenant", names: TENANTS, last };
        for (counter, metric, help) in DESCRIBED {
            segment.describe(&name(counter), Description::by_name(help, naming(None)).metric(metric));
        }
        let counters = |kind: &str, last: &str, description: Description| {
            let name = name(&format!("{kind}/{last}"));
            let counters = Counters::shown(segment, &name, SHOWN_MAX);
            segment.describe(&name, description);
            counters
        };
        let live = State::ALL.map(|state| {
            let description = Description::by_name("Sessions that there are.", naming(Some("state")));
            counters("live", state.name(), description.gauge().metric("sessions"))
        });
        let cookies = Cookie::NAMES.map(|name| {
            let help = "SYN cookies that were sent, and segments that returned one, or none.";
            let description = Description::by_name(help, naming(Some("result"))).metric("sessions_syn_cookies");
            counters("syn-cookies", name, description)
        });
        let of_reason = |reason: Reason| {
            let help = "Packets that were dropped because they would have begun a session.";
            let description = Description::by_name(help, naming(Some("reason"))).metric("sessions_denied");
            let name = reason.name().filter(|_| reason.is_denial())?;
            Some(counters("denied", name, description))
        };
        Metrics { live, cookies, denied: Reason::ALL.map(of_reason).into() }
    }
    fn all(&self) -> impl Iterator<Item = &Counters<Counter>> {
        self.live.iter().chain(&self.cookies).chain(self.denied.iter().flatten())
    }
    /// Begins to count in a slot, from zero on.
    pub(crate) fn begin(&self, slot: u16) {
        for counters in self.all() {
            counters.grow(u32::from(slot) + 1);
            counters.clear(slot.into());
        }
    }
    /// Sessions of a slot by state, roughly while workers change them.
    pub(crate) fn live(&self, slot: u16) -> [u64; 3] {
        State::ALL.map(|state| self.live_in(slot, state))
    }
    /// Sessions of a slot in a state, roughly while workers change them.
    pub(crate) fn live_in(&self, slot: u16, state: State) -> u64 {
        // A session of a worker may change its state between two of these sums.
        (self.live[state as usize].sum(slot.into()) as i64).max(0) as u64
    }
    /// Cookies of a slot, by the number of what became of them.
    pub(crate) fn cookies(&self, slot: u16) -> [u64; 3] {
        self.cookies.each_ref().map(|counters| counters.sum(slot.into()))
    }
    /// Denials of a slot by reason: those that there were.
    pub(crate) fn denied(&self, slot: u16) -> Vec<(Reason, u64)> {
        let of = |(reason, counters): (Reason, &Option<Counters<Counter>>)| {
            Some((reason, counters.as_ref()?.sum(slot.into()))).filter(|(_, count)| *count > 0)
        };
        Reason::ALL.into_iter().zip(&self.denied).filter_map(of).collect()
    }
    /// The counters that a worker writes.
    pub(crate) fn of(&self, worker: usize) -> Own {
        let live = self.live.each_ref().map(|counters| counters.row(worker));
        let denied = self.denied.iter().map(|counters| Some(counters.as_ref()?.row(worker))).collect();
        let cookies = self.cookies.each_ref().map(|counters| counters.row(worker));
        Own { live, denied, cookies }
    }
}

/// The counters of a worker.
pub(crate) struct Own {
    live: [Arc<Row<Counter>>; 3],
    denied: Box<[Option<Arc<Row<Counter>>>]>,
    cookies: [Arc<Row<Counter>>; 3],
}

impl Own {
    fn add(&self, slot: u16, state: State) {
        self.live[state as usize].add(slot.into(), 1);
    }
    fn take(&self, slot: u16, state: State) {
        // Counters wrap: of a worker, no more sessions leave a state than have entered it.
        self.live[state as usize].add(slot.into(), u64::MAX);
    }
    /// A session of the tenant in a slot has begun, as an embryonic one.
    pub(crate) fn begun(&self, slot: u16) {
        self.add(slot, State::Embryonic);
    }
    /// A session has gone from one state to another.
    pub(crate) fn changed(&self, slot: u16, (before, now): (State, State)) {
        self.take(slot, before);
        self.add(slot, now);
    }
    /// A session has ended in a state.
    pub(crate) fn ended(&self, slot: u16, state: State) {
        self.take(slot, state);
    }
    /// A cookie was sent, or comes back, or none does.
    pub(crate) fn cookie(&self, slot: u16, cookie: Cookie) {
        self.cookies[cookie as usize].add(slot.into(), 1);
    }
    /// A packet has begun no session.
    pub(crate) fn denied(&self, slot: u16, reason: Reason) {
        if let Some(Some(row)) = self.denied.get(reason as usize) {
            row.add(slot.into(), 1);
        }
    }
}

/// Numbers of tenants in the segment, by slot.
pub(crate) struct Shown {
    segment: Segment,
    names: Names,
}

impl Shown {
    pub(crate) fn new(segment: &Segment) -> Shown {
        let names = segment.edit().names(TENANTS);
        Shown { segment: segment.clone(), names }
    }
    /// Shows the counters of a slot as those of a tenant, or no longer.
    pub(crate) fn set(&self, slot: u16, tenant: Option<u32>) {
        if u32::from(slot) < SHOWN_MAX {
            let tenant = tenant.map(|tenant| tenant.to_string());
            self.segment.edit().set_name(&self.names, slot.into(), tenant.as_deref());
        }
    }
}
