//! All policers, with the numbers by which clients know them.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_control::{Change, Control, LowestFree, ObjectError, behind, one_by_one};
use quiver_engine::{Counters, Dataplane, Publisher, Seed, Traffic};

use crate::config::Policer;
use crate::meter::{Color, Meter, Meters, Police};

/// Policers whose counters clients see at most.
const SHOWN_MAX: u32 = 1 << 16;

/// All policers.
pub struct Policers {
    numbers: BTreeMap<String, u32>,
    names: BTreeMap<u32, String>,
    free: LowestFree,
    meters: Publisher<Meters>,
    counters: [Counters; 3],
}

pub(crate) fn register(control: &Control) {
    let room = {
        let dataplane = control.room::<Dataplane>();
        let counters = Color::ALL
            .map(|(_, name)| Counters::shown(dataplane.statistics(), &format!("/net/policer/{name}"), SHOWN_MAX));
        let (numbers, names, free) = Default::default();
        Policers { numbers, names, free, meters: Publisher::new(dataplane.domain(), vec![]), counters }
    };
    control.insert_room(room);
}

impl Policers {
    /// Makes the policing state of workers' nodes.
    pub fn police(&self) -> impl Fn(Seed) -> Police + Clone + 'static {
        let (meters, counters) = (self.meters.snapshot(), self.counters.clone());
        move |seed| Police::new(meters.clone(), &counters, seed)
    }
    /// The number of a policer.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }
    /// The name of the policer with a number.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }
    /// Numbers and names, by number, one by one.
    pub fn walk(control: &Control) -> impl Iterator<Item = (u32, String)> + use<> {
        let control = control.clone();
        one_by_one(move |last| {
            let policers = control.room::<Policers>();
            behind(&policers.names, last).map(|(number, name)| (*number, (*number, name.clone())))
        })
    }
    /// Packets and bytes by color.
    pub fn seen(&self, number: u32) -> [Traffic; 3] {
        [0, 1, 2].map(|color: usize| self.counters[color].sum(number))
    }
    /// Fills the buckets of a policer; false if there is none of this number.
    pub fn fill(&self, number: u32) -> bool {
        let meter = self.meters.current().get(number as usize).and_then(Option::as_ref);
        meter.inspect(|meter| meter.fill()).is_some()
    }
    fn set(&mut self, name: &str, meter: Option<Meter>) {
        let known = self.number(name);
        let number = known.unwrap_or_else(|| self.free.find(|number| self.names.contains_key(&number)));
        if known.is_none() {
            for counters in &self.counters {
                counters.grow(number + 1);
                counters.clear(number);
            }
        }
        match meter {
            Some(_) => {
                self.numbers.insert(name.to_owned(), number);
                self.names.insert(number, name.to_owned());
            }
            None => {
                self.numbers.remove(name);
                self.names.remove(&number);
                self.free.release(number);
            }
        }
        self.meters.update(|meters| {
            let mut meters = meters.clone();
            meters.resize(meters.len().max(number as usize + 1), None);
            meters[number as usize] = meter.map(Arc::new);
            meters
        });
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, Policer>) -> Result<(), ObjectError> {
    let (policer, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    control.room_mut::<Policers>().set(&policer.name, is_wanted.then(|| Meter::new(policer)));
    Ok(())
}
