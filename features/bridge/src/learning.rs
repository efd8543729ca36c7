//! The tasks that learn addresses from workers' sightings, and forget those that have aged. Both work in short turns,
//! so that a million stations delay no other task.

use std::time::Duration;

use quiver_control::{Control, Pace, Time};
use quiver_engine::Dataplane;
use quiver_interface::{Events, InterfaceId};

use crate::bridges::Bridges;
use crate::layer2::DomainIndex;
use crate::learn::Sighting;
use crate::macs::{MacEntry, MacEvent, Walk};
use crate::station::{Place, Station};

/// Sightings that are learned together: enough for the entries' memory to be fetched meanwhile.
const TOGETHER: usize = 64;
/// Sightings that are learned before others have their turn.
const TURN: usize = 4096;
/// Interval between age checks of all entries.
const AGEING_PERIOD: Duration = Duration::from_secs(5);
/// Buckets of the table, with up to three entries each, whose ages are checked in one turn.
const AGED_TOGETHER: usize = 512;
/// A resolution of a second is enough for ages in minutes.
const TICK: Duration = Duration::from_secs(1);

/// Starts the tasks.
pub(crate) fn spawn_tasks(control: &Control) {
    control.spawn("l2-learning", Events::listen(control.clone(), learn_some));
    let (start, here) = (control.now(), control.clone());
    control.spawn("l2-clock", async move {
        loop {
            here.sleep(TICK).await;
            set_clock(&here, start);
        }
    });
    let here = control.clone();
    control.spawn("l2-ageing", async move {
        loop {
            here.sleep(AGEING_PERIOD).await;
            set_clock(&here, start);
            let ages = Ages::of(&here.room::<Bridges>());
            let mut from = ages.is_some_limited().then_some(0);
            while let Some(place) = from {
                from = age_some(&here, &ages, place);
                here.yield_now().await;
            }
        }
    });
}

/// Tells workers how many seconds have passed.
fn set_clock(control: &Control, start: Time) {
    control.room::<Bridges>().macs.set_clock(control.now().since(start).as_secs() as u32);
}

/// Learns all sightings up to now.
pub(crate) fn settle(control: &Control) {
    let waiting = control.room::<Bridges>().macs.sightings.len();
    for _ in 0..waiting.div_ceil(TURN) {
        learn_some(control);
    }
}

/// Learns waiting sightings for one short turn. True if there are more.
fn learn_some(control: &Control) -> bool {
    let generations = control.room::<Dataplane>().generations().clone();
    let mut bridges = control.room_mut::<Bridges>();
    let waiting = bridges.macs.sightings.len().min(TURN);
    let mut together = Vec::with_capacity(TOGETHER);
    for first in (0..waiting).step_by(TOGETHER) {
        together.extend(bridges.macs.sightings.waiting().take(TOGETHER.min(waiting - first)));
        together.iter().for_each(|sighting| bridges.macs.prefetch(sighting));
        for Sighting { key, interface, generation } in together.drain(..) {
            // Seen behind another one that had the number before.
            if generations.of(interface) != generation {
                bridges.macs.forgot();
                continue;
            }
            let (station, interface) = (Station::of(key), InterfaceId(interface));
            // Meanwhile the interface may have left the domain, or the domain given up learning.
            let Some(limit) = bridges.learns(interface, station.domain).map(|settings| settings.learn_limit) else {
                bridges.macs.forgot();
                continue;
            };
            bridges.macs.learn(station, Place::learned(interface), limit);
        }
    }
    !bridges.macs.sightings.is_empty()
}

/// The age in seconds at which stations of a domain are forgotten, by the domain's index; zero for never.
struct Ages(Vec<u32>);

impl Ages {
    fn of(bridges: &Bridges) -> Ages {
        let mut ages = vec![];
        for domain in bridges.domains().values() {
            let index = usize::from(domain.index.0);
            ages.resize(ages.len().max(index + 1), 0);
            ages[index] = u32::from(domain.settings.mac_age) * 60;
        }
        Ages(ages)
    }
    fn is_some_limited(&self) -> bool {
        self.0.iter().any(|age| *age > 0)
    }
    fn is_over(&self, entry: &MacEntry) -> bool {
        let age_max = self.0.get(usize::from(entry.station.domain.0)).copied().unwrap_or(0);
        !entry.place.fixed && age_max > 0 && entry.age > age_max
    }
}

/// Forgets learned addresses, with those that are on their way, in turns.
pub(crate) async fn flush(control: &Control, interface: Option<InterfaceId>, domain: Option<DomainIndex>) {
    settle(control);
    let (mut pace, mut walk) = (Pace::in_turns(control), Walk::default());
    while control.room_mut::<Bridges>().macs.forget_learned(&mut walk, interface, domain) {
        pace.step().await;
    }
}

/// Forgets aged addresses in a part of the table. Returns the place to continue at, if there is more.
fn age_some(control: &Control, ages: &Ages, from: usize) -> Option<usize> {
    let mut bridges = control.room_mut::<Bridges>();
    let (gone, next) = bridges.macs.sweep(from, AGED_TOGETHER, |entry| ages.is_over(entry));
    for MacEntry { station, place, .. } in gone {
        bridges.macs.note(station, place.interface, MacEvent::Aged);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macs::Macs;
    use crate::objects::BridgeDomain;
    use quiver_engine::Settings;
    use quiver_testkit::executor::Executor;

    const STATIONS: u64 = 1_000_000;

    /// The work of a turn is bounded by a number of addresses, not by time: other tasks run in between.
    #[test]
    fn a_million_stations_are_learned_and_forgotten_in_short_turns() {
        let executor = Executor::new(1);
        let control = executor.control();
        control.insert_room(Dataplane::new(Settings { buffers: 100, ..Settings::default() }).expect("a data plane"));
        quiver_interface::register(&control).expect("new");
        quiver_ethernet::register(&control).expect("new");
        crate::register(&control).expect("new");
        let domain = BridgeDomain { mac_age: 1, learn_limit: u32::MAX, ..BridgeDomain::new(1) };
        control.put(domain).expect("new");
        let loopback = crate::loopback::Loopback::new("loop0".to_owned());
        control.put(loopback).expect("new");
        let interface = control.room::<quiver_interface::Interfaces>().id_of("loop0").expect("created");
        let mode = crate::bridges::Mode::Member { domain: 1, group: 0, bvi: true, unknown: false };
        crate::bridges::set_mode(&control, interface, Some(mode)).expect("it can join");
        // What workers tell control comes from here.
        let (macs, mut news) = Macs::new(&control.room::<Dataplane>(), 2 << 20).expect("memory");
        control.room_mut::<Bridges>().macs = macs;
        let generation = control.room::<Dataplane>().generations().of(interface.0);
        let count = || control.room::<Bridges>().macs.count().1;

        let sighting = |n: u64| Sighting { key: (0x0200_0000_0000 + n) << 16 | 1, interface: interface.0, generation };
        for n in 0..STATIONS {
            news.tell(sighting(n), 0);
            if n % 20_000 == 19_999 {
                let before = count();
                let more = learn_some(&control);
                assert_eq!((count() - before, more), (TURN, true));
                settle(&control);
                control.room::<Dataplane>().reclaim();
            }
        }
        assert_eq!((count(), control.room::<Bridges>().macs.missed()), (STATIONS as usize, (0, 0)));

        // A minute later each is too old; half of them speak once more.
        executor.run_for(Duration::from_secs(59));
        for n in (0..STATIONS).step_by(2) {
            news.tell(sighting(n), 59);
            if n % 20_000 == 0 {
                settle(&control);
            }
        }
        settle(&control);
        executor.advance_to(executor.time() + Duration::from_secs(10));
        let (mut turns, mut before) = (0, count());
        while executor.step() {
            let now = count();
            assert!(before - now <= AGED_TOGETHER * 3, "{} in one turn", before - now);
            turns += usize::from(before > now);
            before = now;
        }
        assert_eq!(count(), STATIONS as usize / 2);
        assert!(turns >= 300, "{turns} turns");
    }
}
