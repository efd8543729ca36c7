//! The MAC address table: control writes it, from configuration and from workers' sightings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quiver_control::{ObjectError, Signal};
use quiver_engine::Dataplane;
use quiver_engine::channel::{Inbox, channel};
use quiver_interface::InterfaceId;
use quiver_table::hash::Row;
use quiver_table::{ExactError, ExactTable, ExactWriter};
use quiver_wire::MacAddress;

use crate::layer2::DomainIndex;
use crate::learn::{News, Sighting};
use crate::station::{Place, Station};

/// Addresses of all domains together.
pub(crate) const STATIONS_MAX: usize = 16 << 20;
/// Largest number of sightings on their way; workers repeat lost ones. Some milliseconds' worth at five million a
/// second.
const SIGHTINGS_MAX: usize = 32_768;
/// Buckets of the table, with up to three entries each, that are looked at in a step.
const LISTED: usize = 16;
/// Changes that wait until clients are told; more of them are lost.
const CHANGES_MAX: usize = 1 << 20;

/// The table and its bookkeeping.
pub struct Macs {
    table: ExactWriter,
    clock: Arc<AtomicU32>,
    pub(crate) sightings: Inbox<Sighting>,
    /// Raised when entries go that workers may believe to be there, so that they report them again.
    forgotten: Arc<AtomicU32>,
    /// Learned entries, in all and by domain.
    learned: Tally,
    /// Entries by interface.
    behind: Tally,
    /// Sightings that were not learned because a limit was reached.
    refused: u64,
    /// Addresses that are learned at most, of all domains together.
    pub(crate) learned_max: usize,
    /// Changes that clients were not told yet; none while no client wants them.
    pub(crate) changes: Option<Vec<MacChange>>,
    /// Notified when there is something to tell.
    pub(crate) changed: Signal,
}

/// A way through the table, step by step.
pub(crate) struct Walk {
    /// The place to go on from; none at the end.
    next: Option<usize>,
    /// The number of places.
    places: usize,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk { next: Some(0), places: 0 }
    }
}

impl Walk {
    /// The place to go on from in a table with so many; none at the end. A table that grows has all entries in other places.
    fn place(&mut self, places: usize) -> Option<usize> {
        let is_same = std::mem::replace(&mut self.places, places) == places;
        self.next.map(|next| if is_same { next } else { 0 })
    }
}

/// Stations that are found step by step, by domain and address.
#[derive(Default)]
pub(crate) struct Found {
    pub stations: BTreeMap<(DomainIndex, MacAddress), Station>,
    walk: Walk,
}

/// Number of entries, in total and by number.
#[derive(Default)]
struct Tally {
    all: usize,
    by_number: Vec<u32>,
}

impl Tally {
    fn of(&self, number: u32) -> usize {
        self.by_number.get(number as usize).map_or(0, |count| *count as usize)
    }
    fn add(&mut self, number: u32) {
        let number = number as usize;
        if self.by_number.len() <= number {
            self.by_number.resize(number + 1, 0);
        }
        self.by_number[number] += 1;
        self.all += 1;
    }
    fn subtract(&mut self, number: u32) {
        if let Some(count) = self.by_number.get_mut(number as usize).filter(|count| **count > 0) {
            *count -= 1;
            self.all -= 1;
        }
    }
}

/// A change of a learned address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacChange {
    /// The address.
    pub mac: MacAddress,
    /// Where it is, or was.
    pub interface: InterfaceId,
    /// The kind of change.
    pub what: MacEvent,
}

/// Kinds of changes of a learned address.
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

impl MacEntry {
    fn of(row: Row, now: u32) -> MacEntry {
        let age = now.wrapping_sub(row.last_seen);
        MacEntry { station: Station::of(row.key), place: Place::of(row.value), age }
    }
}

impl Macs {
    /// An empty table, and the workers' way to report sightings.
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
            learned: Tally::default(),
            behind: Tally::default(),
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
    /// Prefetches the lines that learning an address will touch.
    pub(crate) fn prefetch(&self, sighting: &Sighting) {
        self.table.prefetch(sighting.key);
    }
    /// Says how many seconds have passed.
    pub(crate) fn set_clock(&self, now: u32) {
        self.clock.store(now, Ordering::Relaxed);
    }
    fn now(&self) -> u32 {
        self.clock.load(Ordering::Relaxed)
    }
    /// Finds stations of some more buckets of the table. False when all have been found.
    pub(crate) fn find_more(&self, found: &mut Found) -> bool {
        let Some(from) = found.walk.place(self.table.places()) else { return false };
        let (rows, next) = self.table.some(from, LISTED);
        found.stations.extend(rows.into_iter().map(|row| Station::of(row.key)).map(|of| ((of.domain, of.mac), of)));
        found.walk.next = next;
        true
    }
    /// The entry of a station.
    pub(crate) fn get(&self, station: Station) -> Option<MacEntry> {
        self.table.get(station.key()).map(|row| MacEntry::of(row, self.now()))
    }
    /// Number of entries, and of learned ones among them.
    pub fn count(&self) -> (usize, usize) {
        (self.table.len(), self.learned.all)
    }
    /// Sightings that were lost on the way to control, and sightings that a learn limit refused.
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
    /// Where a station is.
    pub(crate) fn place(&self, station: Station) -> Option<Place> {
        self.table.get(station.key()).map(|row| Place::of(row.value))
    }
    /// Removes an entry. False if there is none.
    pub(crate) fn remove(&mut self, station: Station) -> bool {
        let old = self.table.remove(station.key()).map(Place::of);
        self.count_change(station.domain, old, None);
        self.forgot();
        old.is_some()
    }
    /// Removes an entry unless it is configured. False if there is none.
    pub(crate) fn remove_learned(&mut self, station: Station) -> bool {
        self.place(station).is_some_and(|place| !place.fixed) && self.remove(station)
    }
    /// Removes the entries that `unwanted` says yes to; returns how many.
    pub(crate) fn forget(&mut self, unwanted: impl Fn(Station, Place) -> bool) -> usize {
        let (gone, _) = self.sweep(0, usize::MAX, |entry| unwanted(entry.station, entry.place));
        gone.len()
    }
    /// The same in so many buckets of the table from a place on; returns what went, and the place to go on from.
    pub(crate) fn sweep(
        &mut self,
        from: usize,
        buckets: usize,
        unwanted: impl Fn(&MacEntry) -> bool,
    ) -> (Vec<MacEntry>, Option<usize>) {
        let (now, mut gone) = (self.now(), vec![]);
        let next = self.table.sweep(from, buckets, |row| {
            let entry = MacEntry::of(row, now);
            let goes = unwanted(&entry);
            gone.extend(goes.then_some(entry));
            !goes
        });
        for entry in &gone {
            self.count_change(entry.station.domain, Some(entry.place), None);
        }
        if !gone.is_empty() {
            self.forgot();
        }
        (gone, next)
    }
    /// The same for entries of one interface, which costs nothing if there are none.
    pub(crate) fn forget_behind(&mut self, interface: InterfaceId, unwanted: impl Fn(Station, Place) -> bool) {
        if self.behind.of(interface.0) > 0 {
            self.forget(|station, place| place.interface == interface && unwanted(station, place));
        }
    }
    /// Makes workers report addresses again that they have reported already.
    pub(crate) fn forgot(&self) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }
    fn count_change(&mut self, domain: DomainIndex, old: Option<Place>, new: Option<Place>) {
        if let Some(place) = new {
            self.behind.add(place.interface.0);
            if !place.fixed {
                self.learned.add(domain.0.into());
            }
        }
        if let Some(place) = old {
            self.behind.subtract(place.interface.0);
            if !place.fixed {
                self.learned.subtract(domain.0.into());
            }
        }
    }
    pub(crate) fn learn(&mut self, station: Station, place: Place, limit: u32) {
        let old = self.table.get(station.key()).map(|row| Place::of(row.value));
        let learned = self.learned.of(station.domain.0.into());
        let what = match old {
            Some(old) if old.fixed => return,
            None if learned >= limit as usize || self.learned_max <= self.learned.all => {
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
    /// Keeps a change for clients' events.
    pub(crate) fn note(&mut self, station: Station, interface: InterfaceId, what: MacEvent) {
        let Some(changes) = self.changes.as_mut().filter(|changes| changes.len() < CHANGES_MAX) else { return };
        changes.push(MacChange { mac: station.mac, interface, what });
        self.changed.notify();
    }
    /// Forgets learned addresses: behind an interface, in a domain, or all.
    /// That happens in some more buckets of the table. False when it has happened in all.
    pub(crate) fn forget_learned(
        &mut self,
        walk: &mut Walk,
        interface: Option<InterfaceId>,
        domain: Option<DomainIndex>,
    ) -> bool {
        let Some(from) = walk.place(self.table.places()) else { return false };
        let is_unwanted = |MacEntry { station, place, .. }: &MacEntry| {
            !place.fixed
                && interface.is_none_or(|interface| place.interface == interface)
                && domain.is_none_or(|domain| station.domain == domain)
        };
        walk.next = self.sweep(from, LISTED, is_unwanted).1;
        true
    }
}
