//! The table of addresses: control writes it, from configuration and from what workers have seen.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use quiver_control::{Control, ObjectError, Signal, Time};
use quiver_engine::Dataplane;
use quiver_engine::channel::{Inbox, channel};
use quiver_interface::{Events, InterfaceId};
use quiver_table::{ExactError, ExactTable, ExactWriter};
use quiver_wire::MacAddress;

use crate::bridges::Bridges;
use crate::layer2::DomainIndex;
use crate::learn::{News, Sighting};
use crate::station::{Place, Station};

/// Addresses of all domains together.
pub(crate) const STATIONS_MAX: usize = 16 << 20;
/// Sightings on their way; workers repeat what is lost.
const SIGHTINGS_MAX: usize = 4096;
/// How often entries are looked at for their age.
const AGEING_PERIOD: u32 = 5;
/// Changes that wait until clients are told; more of them are lost.
const CHANGES_MAX: usize = 1 << 20;
/// A resolution of a second is enough for ages in minutes.
const TICK: Duration = Duration::from_secs(1);

/// The table, with what is known of it.
pub struct Macs {
    table: ExactWriter,
    clock: Arc<AtomicU32>,
    sightings: Inbox<Sighting>,
    /// Counts what workers may believe to be in the table and is not: so they tell of it again.
    forgotten: Arc<AtomicU32>,
    learned: HashMap<DomainIndex, usize>,
    /// Entries by interface.
    behind: HashMap<InterfaceId, usize>,
    /// Sightings that were not learned because a limit was reached.
    refused: u64,
    /// Addresses that are learned at most, of all domains together.
    pub(crate) learned_max: usize,
    /// What clients have not been told yet; nothing while nobody wants to know.
    pub(crate) changes: Option<Vec<MacChange>>,
    /// Notified when there is something to tell.
    pub(crate) changed: Signal,
}

/// What became of a learned address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacChange {
    /// The address.
    pub mac: MacAddress,
    /// Where it is, or was.
    pub interface: InterfaceId,
    /// What it was that happened.
    pub what: MacEvent,
}

/// What can become of a learned address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// It was seen for the first time.
    Added,
    /// It was not seen for too long.
    Aged,
    /// It was seen elsewhere.
    Moved,
}

/// An entry, for `show`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacEntry {
    /// The address and its domain.
    pub station: Station,
    /// Where it is.
    pub place: Place,
    /// Seconds since it was last seen.
    pub age: u32,
}

impl Macs {
    /// An empty table, and the workers' way to tell what they saw.
    pub(crate) fn new(dataplane: &Dataplane, stations_max: usize) -> Result<(Macs, News), ExactError> {
        let (outbox, sightings) = channel(SIGHTINGS_MAX, dataplane.bell());
        // Addresses come from strangers: whoever knew the seed could choose addresses that share a bucket.
        let table = ExactWriter::new(dataplane.domain(), stations_max, dataplane.settings().secret)?;
        let forgotten = Arc::<AtomicU32>::default();
        let news = News::new(outbox, forgotten.clone());
        let macs = Macs {
            table,
            clock: Arc::default(),
            sightings,
            forgotten,
            learned: HashMap::new(),
            behind: HashMap::new(),
            refused: 0,
            learned_max: usize::MAX,
            changes: None,
            changed: Signal::new(),
        };
        Ok((macs, news))
    }
    pub(crate) fn reader(&self) -> ExactTable {
        self.table.reader()
    }
    /// Seconds, as the workers stamp entries.
    pub(crate) fn clock(&self) -> Arc<AtomicU32> {
        self.clock.clone()
    }
    fn now(&self) -> u32 {
        self.clock.load(Ordering::Relaxed)
    }
    /// All entries.
    fn iter(&self) -> impl Iterator<Item = MacEntry> {
        let now = self.now();
        self.table.iter().map(move |row| MacEntry {
            station: Station::of(row.key),
            place: Place::of(row.value),
            age: now.wrapping_sub(row.last_seen),
        })
    }
    /// All entries, by domain and address.
    pub fn entries(&self) -> Vec<MacEntry> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_by_key(|entry| (entry.station.domain, entry.station.mac));
        entries
    }
    /// How many entries there are, and how many of them were learned.
    pub fn count(&self) -> (usize, usize) {
        (self.table.len(), self.learned.values().sum())
    }
    /// Sightings that were lost on the way, and such that a limit forbade to learn.
    pub fn missed(&self) -> (u64, u64) {
        (self.sightings.lost(), self.refused)
    }
    /// Writes an entry.
    pub(crate) fn put(&mut self, station: Station, place: Place) -> Result<(), ObjectError> {
        let old = self.table.insert(station.key(), place.value(), self.now());
        let old = old.map_err(|error| ObjectError::whole(error.to_string()))?;
        self.count_change(station.domain, old.map(Place::of), Some(place));
        Ok(())
    }
    /// Removes an entry. False if there is none.
    pub(crate) fn remove(&mut self, station: Station) -> bool {
        let old = self.table.remove(station.key()).map(Place::of);
        self.count_change(station.domain, old, None);
        self.forgot();
        old.is_some()
    }
    /// Removes the entries that `unwanted` says yes to; returns how many.
    pub(crate) fn forget(&mut self, unwanted: impl Fn(Station, Place) -> bool) -> usize {
        let rows = self.table.iter().filter(|row| unwanted(Station::of(row.key), Place::of(row.value)));
        let stations: Vec<_> = rows.map(|row| Station::of(row.key)).collect();
        stations.into_iter().filter(|station| self.remove(*station)).count()
    }
    /// The same for entries of one interface, which costs nothing if there are none.
    pub(crate) fn forget_behind(&mut self, interface: InterfaceId, unwanted: impl Fn(Station, Place) -> bool) {
        if self.behind.contains_key(&interface) {
            self.forget(|station, place| place.interface == interface && unwanted(station, place));
        }
    }
    /// What workers have told of is to be told again.
    fn forgot(&self) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }
    fn count_change(&mut self, domain: DomainIndex, old: Option<Place>, new: Option<Place>) {
        if let Some(place) = new {
            *self.behind.entry(place.interface).or_default() += 1;
        }
        if let Some(place) = old
            && let Some(count) = self.behind.get_mut(&place.interface)
        {
            *count -= 1;
            if *count == 0 {
                self.behind.remove(&place.interface);
            }
        }
        let is_learned = |place: Option<Place>| place.is_some_and(|place| !place.fixed);
        let count = self.learned.entry(domain).or_default();
        *count = *count + usize::from(is_learned(new)) - usize::from(is_learned(old)).min(*count);
    }
    fn learn(&mut self, station: Station, place: Place, limit: u32) {
        let old = self.table.get(station.key()).map(|row| Place::of(row.value));
        let learned = self.learned.get(&station.domain).copied().unwrap_or(0);
        let what = match old {
            Some(old) if old.fixed => return,
            None if learned >= limit as usize || self.learned_max < self.count().1.saturating_add(1) => {
                self.refused += 1;
                return;
            }
            None => Some(MacEvent::Added),
            Some(old) if old.interface != place.interface => Some(MacEvent::Moved),
            Some(_) => None,
        };
        match (self.put(station, place), what) {
            (Err(_), _) => self.refused += 1,
            (Ok(()), Some(what)) => self.note(station, place.interface, what),
            (Ok(()), None) => {}
        }
    }
    /// Keeps in mind what clients are to be told.
    fn note(&mut self, station: Station, interface: InterfaceId, what: MacEvent) {
        let Some(changes) = self.changes.as_mut().filter(|changes| changes.len() < CHANGES_MAX) else { return };
        changes.push(MacChange { mac: station.mac, interface, what });
        self.changed.notify();
    }
    /// Forgets what was learned: behind an interface, in a domain, or all.
    pub(crate) fn forget_learned(&mut self, interface: Option<InterfaceId>, domain: Option<DomainIndex>) {
        self.forget(|station, place| {
            !place.fixed
                && interface.is_none_or(|interface| place.interface == interface)
                && domain.is_none_or(|domain| station.domain == domain)
        });
    }
}

/// Starts the tasks that learn and age.
pub(crate) fn spawn_tasks(control: &Control) {
    control.spawn("l2-learning", Events::listen(control.clone(), learn_some));
    let here = control.clone();
    control.spawn("l2-ageing", async move {
        let start = here.now();
        loop {
            here.sleep(TICK).await;
            tick(&here, start);
        }
    });
}

/// Learns what workers have seen until now.
pub(crate) fn settle(control: &Control) {
    learn_some(control);
}

/// Learns what is waiting now. True if there is more by then.
fn learn_some(control: &Control) -> bool {
    let generations = control.room::<Dataplane>().generations().clone();
    let mut bridges = control.room_mut::<Bridges>();
    for _ in 0..bridges.macs.sightings.len() {
        let Some(Sighting { key, interface, generation }) = bridges.macs.sightings.receive() else { break };
        // Seen behind another one that had the number before.
        if generations.of(interface) != generation {
            bridges.macs.forgot();
            continue;
        }
        let (station, interface) = (Station::of(key), quiver_interface::InterfaceId(interface));
        // Meanwhile the interface may have left the domain, or the domain given up learning.
        let Some(limit) = bridges.learns(interface, station.domain).map(|settings| settings.learn_limit) else {
            bridges.macs.forgot();
            continue;
        };
        bridges.macs.learn(station, Place::learned(interface), limit);
    }
    !bridges.macs.sightings.is_empty()
}

fn tick(control: &Control, start: Time) {
    let mut bridges = control.room_mut::<Bridges>();
    let now = control.now().since(start).as_secs() as u32;
    bridges.macs.clock.store(now, Ordering::Relaxed);
    if !now.is_multiple_of(AGEING_PERIOD) {
        return;
    }
    let domains = bridges.domains().values();
    let ages = domains.map(|domain| (domain.index, u32::from(domain.settings.mac_age) * 60));
    let ages: HashMap<_, _> = ages.filter(|(_, age)| *age > 0).collect();
    if ages.is_empty() {
        return;
    }
    let stale = |entry: &MacEntry| {
        !entry.place.fixed && ages.get(&entry.station.domain).is_some_and(|age_max| entry.age > *age_max)
    };
    let stale: Vec<_> = bridges.macs.iter().filter(stale).collect();
    for MacEntry { station, place, .. } in stale {
        bridges.macs.remove(station);
        bridges.macs.note(station, place.interface, MacEvent::Aged);
    }
}
