//! Tenants: the context and the service chains of their sessions, and their timeouts.

use std::collections::{BTreeMap, BTreeSet};

use quiver_control::{LowestFree, Object, Record};
use quiver_engine::{Counter, Counters, Dataplane, Paged, Publisher, Snapshot, Traffic};
use quiver_session_events::Reason;

use crate::metrics::{self, Metrics};
use crate::pressure::Watermarks;
use crate::record::Direction;
use crate::service::{CREATE, Chain};
use crate::slow_path::{SlowPath, SlowPaths};
use crate::timeouts::{CLOSED, CLOSED_SECONDS, NOW, NOW_SECONDS, TIMEOUTS_MAX, Timeouts};

/// Tenants there can be: a record has 16 bits for the slot of its tenant.
pub const TENANTS_MAX: u32 = 1 << 16;

/// Timeout of a tenant's sessions.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct TenantTimeout {
    /// Name of the timeout, such as tcp-established; `show sfdp timeouts` lists them.
    pub name: String,
    /// Seconds without packets after which sessions end.
    pub seconds: u32,
}

quiver_control::reference! {
    /// The number of a tenant.
    pub struct TenantId(u32) in "session-tenants";
}

quiver_control::choice! {
    /// When a tenant's sessions are stored.
    pub enum EntryMode {
        /// With their first packet, whatever the chain does with it, as in VPP.
        SessionFirst = "session-first",
        /// Once the services that judge have let the first packet pass; of a dropped one nothing is stored.
        PolicyFirst = "policy-first",
    } as "entry-mode", "session-first or policy-first";
}

quiver_control::choice! {
    /// Checks of TCP segments.
    pub enum TcpChecks {
        /// By flags and the numbers of FINs, as in VPP.
        Compatible = "compatible",
        /// By windows and RFC 5961 as well.
        Strict = "strict",
    } as "tcp-checks", "compatible or strict";
}

/// Tenant: sessions with a context of their own, so that addresses may be the same as those of other tenants, and the services that
/// process their packets.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "session-tenants")]
pub struct Tenant {
    /// Number of the tenant.
    #[key]
    pub id: u32,
    /// Context of the sessions. Tenants with one context share their sessions. Default: the tenant's number.
    pub context: Option<u32>,
    /// Services that process packets from initiators, in the order of their names here. Without services packets are dropped.
    #[default(vec![])]
    pub forward: Vec<String>,
    /// Services that process packets from responders.
    #[default(vec![])]
    pub reverse: Vec<String>,
    /// Timeouts other than the defaults.
    #[default(vec![])]
    pub timeouts: Vec<TenantTimeout>,
    /// Sessions that the tenant may have at a time. Default: as many as the table has room for.
    pub sessions_max: Option<u32>,
    /// Nodes to which packets go that belong to no session, instead of being dropped, and ICMP errors about packets of sessions, instead of
    /// where the chain ends.
    #[default(vec![])]
    pub slow_path: Vec<SlowPath>,
    /// Sessions that a source address may have begun at a time, of this tenant. Default: any number.
    pub source_sessions_max: Option<u32>,
    /// Whether a session is stored with its first packet, or once the tenant's services let that packet pass. Tenants of VPP's API and
    /// commands begin as session-first.
    #[default(EntryMode::PolicyFirst)]
    pub entry: EntryMode,
    /// Whether segments of TCP outside of their connection's windows are dropped, and resets end connections by their exact number only.
    #[default(TcpChecks::Compatible)]
    pub tcp: TcpChecks,
    /// Share of the table's sessions, in percent, from which on timeouts shrink: those of sessions without an answer first. Tenants of
    /// VPP's API and commands begin with 0 for both shares: timeouts never shrink.
    #[default(60)]
    pub adaptive_start: u32,
    /// Share at which nothing would be left of timeouts.
    #[default(120)]
    pub adaptive_end: u32,
    /// Sessions without an answer that the tenant may have until its SYNs are answered by cookies; 0: all SYNs are. Then a session begins
    /// once the client has returned the cookie. Default: SYNs are never answered by cookies.
    pub syn_cookies: Option<u32>,
    /// Maximum segment size that answers with cookies announce, from 536 to 8960: what the servers of the tenant can receive.
    #[default(1440)]
    pub syn_cookies_mss: u16,
}

impl Tenant {
    /// A tenant as VPP's clients expect it.
    pub(crate) fn of_vpp(id: u32, context: Option<u32>) -> Tenant {
        Tenant { context, entry: EntryMode::SessionFirst, adaptive_start: 0, adaptive_end: 0, ..Tenant::new(id) }
    }
    /// The context.
    pub fn context(&self) -> u32 {
        self.context.unwrap_or(self.id)
    }
    /// Services of a direction.
    pub fn services(&self, direction: Direction) -> &[String] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
    /// The same, to be changed.
    pub fn services_mut(&mut self, direction: Direction) -> &mut Vec<String> {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
    /// Values of all timeouts, by number.
    pub fn timeouts(&self, known: &Timeouts) -> [u32; TIMEOUTS_MAX] {
        let mut values = [0; TIMEOUTS_MAX];
        values.iter_mut().zip(known.all()).for_each(|(value, timeout)| *value = timeout.seconds);
        for own in &self.timeouts {
            if let Some(number) = known.number(&own.name) {
                values[number] = own.seconds;
            }
        }
        values
    }
    /// Sets a timeout by its name.
    pub fn set_timeout(&mut self, name: &str, seconds: u32) {
        match self.timeouts.iter_mut().find(|own| own.name == name) {
            Some(own) => own.seconds = seconds,
            None => self.timeouts.push(TenantTimeout { name: name.to_owned(), seconds }),
        }
    }
}

/// When and how SYNs of a tenant are answered by cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieRules {
    /// Sessions without an answer from which on they are.
    pub watermark: u32,
    /// Maximum segment size that the answers announce.
    pub mss: u16,
}

/// Bits of a [`TenantRow::revision`].
pub(crate) const REVISION: u32 = u32::MAX >> 1;

/// A tenant, as workers read it. Slots without a tenant have no services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantRow {
    /// Whether the slot has a tenant.
    pub is_there: bool,
    /// Number of the tenant.
    pub id: u32,
    /// Context of the sessions.
    pub context: u32,
    /// Sessions that it may have; 0: as many as the table has room for.
    pub sessions_max: u32,
    /// Sessions that a source may have begun; 0: any number.
    pub source_sessions_max: u32,
    /// Whether segments of TCP are checked by windows.
    pub is_strict: bool,
    /// Shares of the table at which timeouts shrink.
    pub watermarks: Watermarks,
    /// Changes with `judges`, and from tenant to tenant of a slot.
    pub revision: u32,
    /// Services that a packet without a session passes before one begins; empty if sessions come first.
    pub judges: Chain,
    /// Chains by direction.
    pub chains: [Chain; 2],
    /// Values of timeouts in seconds, by number.
    pub timeouts: [u32; TIMEOUTS_MAX],
    /// Seconds of connections that have been closed or reset, or whose first packet was no SYN. None: as short as in VPP's SFDP.
    pub closing: Option<u32>,
    /// Services of packets that belong to no session, and of ICMP errors.
    pub slow_paths: SlowPaths,
    /// When SYNs are answered by cookies; None: never.
    pub cookies: Option<CookieRules>,
}

/// The revision behind another one.
pub(crate) fn next_revision(revision: u32) -> u32 {
    revision.wrapping_add(1) & REVISION
}

impl TenantRow {
    /// Seconds of a timeout.
    pub(crate) fn seconds(&self, number: u8) -> u32 {
        match (number, self.closing) {
            (CLOSED | NOW, Some(closing)) => closing,
            (CLOSED, None) => CLOSED_SECONDS,
            (NOW, None) => NOW_SECONDS,
            (number, _) => self.timeouts[usize::from(number) % TIMEOUTS_MAX],
        }
    }
    /// When its sessions are stored.
    pub(crate) fn entry(&self) -> EntryMode {
        if self.judges.is_empty() { EntryMode::SessionFirst } else { EntryMode::PolicyFirst }
    }
    /// Whether a service judges a packet without a session before one begins.
    pub(crate) fn is_judged_first(&self) -> bool {
        !self.judges.is_empty() && self.judges.service(0) != CREATE
    }
}

/// Counters by the slot of a tenant.
#[derive(Clone)]
pub struct TenantCounters {
    /// Sessions that have begun.
    pub created: Counters<Counter>,
    /// Sessions that have ended.
    pub removed: Counters<Counter>,
    /// Those of them that gave way to new ones, as the table was full.
    pub evicted: Counters<Counter>,
    /// Packets that came to sessions of the tenant or began one, and their bytes from the IP header on.
    pub incoming: Counters,
    /// Sessions by state, and denials by reason.
    pub(crate) metrics: Metrics,
}

impl TenantCounters {
    fn new(dataplane: &Dataplane) -> TenantCounters {
        let segment = dataplane.statistics();
        let shown = |counter: &str| Counters::shown(segment, &metrics::name(counter), metrics::SHOWN_MAX);
        TenantCounters {
            created: shown("created"),
            removed: shown("removed"),
            evicted: shown("evicted"),
            incoming: Counters::shown(segment, &metrics::name("incoming"), metrics::SHOWN_MAX),
            metrics: Metrics::new(segment),
        }
    }
    /// Sessions of the tenant in a slot, roughly while workers change them.
    pub(crate) fn live(&self, slot: u16) -> u64 {
        self.created.sum(slot.into()).saturating_sub(self.removed.sum(slot.into()))
    }
    /// Begins to count in a slot, from zero on.
    fn begin(&self, slot: u16) {
        let slot = u32::from(slot);
        for counters in [&self.created, &self.removed, &self.evicted] {
            counters.grow(slot + 1);
            counters.clear(slot);
        }
        self.incoming.grow(slot + 1);
        self.incoming.clear(slot);
        self.metrics.begin(slot as u16);
    }
}

/// Counts of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantCounts {
    /// Sessions that have begun.
    pub created: u64,
    /// Sessions that have ended.
    pub removed: u64,
    /// Those of them that gave way to new ones.
    pub evicted: u64,
    /// Packets of its sessions.
    pub incoming: Traffic,
    /// Sessions that there are, by the number of their state.
    pub live: [u64; 3],
    /// Packets that began no session, by reason.
    pub denied: Vec<(Reason, u64)>,
    /// SYN cookies that were sent, that came back, and segments without a valid one.
    pub cookies: [u64; 3],
}

/// All tenants: a room of the control side.
pub struct Tenants {
    counters: TenantCounters,
    shown: metrics::Shown,
    rows: Publisher<Paged<TenantRow>>,
    slots: BTreeMap<u32, u16>,
    /// Lower watermarks of tenants whose timeouts shrink, and how many have each.
    starts: BTreeMap<u32, u32>,
    /// Slots of tenants, and those whose sessions are being ended.
    taken: BTreeSet<u16>,
    free: LowestFree,
}

impl Tenants {
    pub(crate) fn new(dataplane: &Dataplane) -> Tenants {
        let (slots, starts, taken, free) = Default::default();
        let rows = Publisher::new(dataplane.domain(), Paged::default());
        let (counters, shown) = (TenantCounters::new(dataplane), metrics::Shown::new(dataplane.statistics()));
        Tenants { counters, shown, rows, slots, starts, taken, free }
    }
    /// Counters of all tenants.
    pub(crate) fn counters(&self) -> &TenantCounters {
        &self.counters
    }
    /// Counts of the tenant in a slot since it was added.
    pub fn counts(&self, slot: u16) -> TenantCounts {
        let TenantCounters { created, removed, evicted, incoming, metrics } = &self.counters;
        let (live, denied) = (metrics.live(slot), metrics.denied(slot));
        let (cookies, slot) = (metrics.cookies(slot), slot.into());
        let [created, removed, evicted] = [created, removed, evicted].map(|counters| counters.sum(slot));
        TenantCounts { created, removed, evicted, incoming: incoming.sum(slot), live, denied, cookies }
    }
    /// Rows for workers, by slot.
    pub fn snapshot(&self) -> Snapshot<Paged<TenantRow>> {
        self.rows.snapshot()
    }
    /// The same, as they were published last.
    pub(crate) fn rows(&self) -> Paged<TenantRow> {
        self.rows.current().clone()
    }
    /// The slot of a tenant.
    pub fn slot(&self, id: u32) -> Option<u16> {
        self.slots.get(&id).copied()
    }
    /// Numbers of tenants, by slot.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let slots = self.taken.last().map_or(0, |last| usize::from(*last) + 1);
        (0..slots).map(|slot| self.rows.current().get(slot).map_or(0, |row| row.id)).collect()
    }
    /// The row of a slot.
    pub fn row(&self, slot: u16) -> TenantRow {
        self.rows.current().get(usize::from(slot)).copied().unwrap_or_default()
    }
    /// Numbers and slots of all tenants behind the last one that was listed.
    pub fn behind(&self, last: Option<&u32>) -> Option<(u32, u16)> {
        quiver_control::behind(&self.slots, last).map(|(id, slot)| (*id, *slot))
    }
    /// Whether a tenant limits the sessions of its sources.
    pub(crate) fn limit_sources(&self) -> bool {
        self.slots.values().any(|slot| self.row(*slot).source_sessions_max > 0)
    }
    /// Whether a tenant's checks of TCP are strict.
    pub(crate) fn are_strict(&self) -> bool {
        self.slots.values().any(|slot| self.row(*slot).is_strict)
    }
    /// Whether SYNs of a tenant may be answered by cookies.
    pub(crate) fn have_cookies(&self) -> bool {
        self.slots.values().any(|slot| self.row(*slot).cookies.is_some())
    }
    /// The lowest share of the table, in percent, at which timeouts of a tenant shrink; None if none do.
    pub(crate) fn adaptive_from(&self) -> Option<u32> {
        self.starts.first_key_value().map(|(start, _)| *start)
    }
    /// Sets the row of a slot.
    pub(crate) fn set(&mut self, slot: u16, row: TenantRow) {
        let before = self.row(slot).watermarks;
        if !row.watermarks.are_off() {
            *self.starts.entry(row.watermarks.start).or_default() += 1;
        }
        if let Some(tenants) = self.starts.get_mut(&before.start).filter(|_| !before.are_off()) {
            *tenants -= 1;
            if *tenants == 0 {
                self.starts.remove(&before.start);
            }
        }
        let mut rows = self.rows.current().clone();
        *rows.get_mut(usize::from(slot)) = row;
        self.rows.publish(rows);
    }
    /// A slot for a new tenant; None if all are taken.
    pub(crate) fn new_slot(&mut self, id: u32) -> Option<u16> {
        let slot = self.free.find(|slot| u16::try_from(slot).is_ok_and(|slot| self.taken.contains(&slot)));
        let slot = u16::try_from(slot).ok()?;
        self.taken.insert(slot);
        self.slots.insert(id, slot);
        self.counters.begin(slot);
        self.shown.set(slot, Some(id));
        Some(slot)
    }
    /// A slot for sessions of a room that have no tenant among the objects; None if all are taken. Such slots are the highest ones: clients
    /// expect that their first tenant has slot 0.
    pub fn add_own(&mut self, row: TenantRow) -> Option<u16> {
        let slot = (0..=u16::MAX).rev().find(|slot| !self.taken.contains(slot))?;
        self.taken.insert(slot);
        self.set(slot, row);
        Some(slot)
    }
    /// Changes such a slot. Sessions have new timeouts from the next time on that they are looked at.
    pub fn set_own(&mut self, slot: u16, row: TenantRow) {
        self.set(slot, row);
    }
    /// Takes a tenant away; returns its slot, which stays taken until its sessions have ended.
    pub(crate) fn remove(&mut self, id: u32) -> Option<u16> {
        let slot = self.slots.remove(&id)?;
        self.shown.set(slot, None);
        self.set(slot, TenantRow { revision: next_revision(self.row(slot).revision), ..TenantRow::default() });
        Some(slot)
    }
    /// The sessions of a slot have ended: another tenant may have it.
    pub(crate) fn ended(&mut self, slot: u16) {
        self.taken.remove(&slot);
        self.free.release(slot.into());
    }
}
