//! Documents, taken apart into series.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use quiver_compare::{Across, Name};
use quiver_result::{Document, Outcome, Time};
use quiver_verdict::median;

use crate::columns::Interner;
use crate::figures::{Figure, Group, figures};
use crate::series::{Row, Series};
use crate::trend::Trend;

/// All series, and the words that they refer to by number.
#[derive(Debug, Default)]
pub struct Collection {
    /// By test, device and machine once [`Collection::finish`] has been called.
    pub series: Vec<Series>,
    places: HashMap<Name, usize>,
    /// Versions of devices, the oldest first.
    pub revisions: Interner<String>,
    /// Machines, and devices.
    pub machines: Interner<String>,
    /// Kinds of devices.
    pub devices: Interner<String>,
    /// Hosts of a document.
    pub hosts: Interner<String>,
    /// Tags of tests.
    pub tags: Interner<String>,
    /// Figures.
    pub figures: Interner<Figure>,
}

impl Collection {
    /// Takes a document, which lies at `place`.
    pub fn add(&mut self, document: &Document, place: (u32, u32)) {
        let name = Name::of(document, Across::default());
        let at = *self.places.entry(name.clone()).or_insert(self.series.len());
        if at == self.series.len() {
            self.series.push(Series::new(name));
        }
        let samples = match &document.result {
            Outcome::Mrr { receive_rate } => receive_rate.rate.values.iter().map(|value| value.get()).collect(),
            _ => Vec::new(),
        };
        let values = figures(document).iter().map(|(figure, value)| (self.figures.number(figure), *value)).collect();
        let row = Row {
            time: microseconds(document.start_time),
            revision: self.revisions.number(&document.dut_version),
            hosts: self.hosts.number(&document.hosts.join(", ")),
            message: (!document.passed).then(|| document.message.clone()),
            seconds: document.duration.get(),
            samples,
            document: place,
            values,
            clock: clock(document),
        };
        let tags = document.tags.iter().map(|tag| self.tags.number(tag)).collect();
        let series = &mut self.series[at];
        if series.rows.iter().all(|other| other.time <= row.time) {
            series.kind = format!("{:?}", document.test_type).to_lowercase();
            series.tags = tags;
        }
        series.rows.push(row);
    }

    /// Puts everything in order, and finds the course of each series on all cores.
    pub fn finish(&mut self) {
        for series in &mut self.series {
            series.rows.sort_by_key(|row| row.time);
        }
        self.series.sort_by(|one, other| one.name.cmp(&other.name));
        self.sort_revisions();
        for series in &self.series {
            self.devices.number(&series.name.device.clone().unwrap_or_default());
            self.machines.number(&series.name.machine.clone().unwrap_or_default());
        }
        let (figures, next) = (self.figures.all(), AtomicUsize::new(0));
        let all: Vec<Mutex<Series>> = mem::take(&mut self.series).into_iter().map(Mutex::new).collect();
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(series) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut series = series.lock().unwrap_or_else(PoisonError::into_inner);
                        series.trends = trends(&series, figures);
                    }
                });
            }
        });
        self.series =
            all.into_iter().map(|series| series.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
    }

    /// Numbers versions in the order in which they were measured first, whatever the order of the documents was.
    fn sort_revisions(&mut self) {
        let mut first = vec![i64::MAX; self.revisions.all().len()];
        for row in self.series.iter().flat_map(|series| &series.rows) {
            let first = &mut first[row.revision as usize];
            *first = row.time.min(*first);
        }
        let before = mem::take(&mut self.revisions);
        let mut order: Vec<usize> = (0..first.len()).collect();
        order.sort_by_key(|at| first[*at]);
        order.iter().for_each(|at| {
            self.revisions.number(&before.all()[*at]);
        });
        for row in self.series.iter_mut().flat_map(|series| &mut series.rows) {
            row.revision = self.revisions.number(&before.all()[row.revision as usize]);
        }
    }
}

fn trends(series: &Series, figures: &[Figure]) -> Vec<(u32, Trend)> {
    let mut all = Vec::new();
    for number in series.figures() {
        let figure = &figures[number as usize];
        if figure.group == Group::Bound {
            continue;
        }
        let (_, samples) = series.samples(number);
        all.extend(Trend::of(&samples, figure.is_cost).ok().map(|trend| (number, trend)));
    }
    all
}

/// Microseconds since 1970.
pub fn microseconds(time: Time) -> i64 {
    let since = Time::unix(Duration::ZERO).ok().and_then(|start| time.since(start)).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The device's clock in Hz: as its trials measured it, else the time-stamp counter's.
fn clock(document: &Document) -> Option<f64> {
    let extension = document.quiver.as_ref()?;
    let measured = extension.trials.iter().filter_map(|trial| trial.clock_hz).map(|clock| clock.get());
    median(measured.collect()).or(extension.machine.tsc_hz.map(|clock| clock.get())).filter(|clock| *clock > 0.0)
}
