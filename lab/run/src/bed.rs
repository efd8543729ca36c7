//! A case's generator and device, joined, and the trials between them.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use quiver_device::{Device, Job, Port, Usage};
use quiver_energy::{Meter, Moment};
use quiver_generator::cores::allowed;
use quiver_generator::daemon::built;
use quiver_generator::{Generator, Link, Outcome, Sending, Setup, Streams, Watch};
use quiver_result::{Amount, Counters, Time, Trial as Record};
use quiver_search::{Load, Seconds, Trial, TrialResult};
use quiver_suite::Case;
use quiver_suite::field::{self, Driver, Pace, Word};
use tempfile::TempDir;

use crate::machine::{self, Quiet};
use crate::{Error, Lengths};

/// How long the device may take to be connected.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Nothing may come back for so long before what is missing is given up.
const SETTLE: Duration = Duration::from_millis(50);
/// A trial during which the cores' round trip became so many times longer or shorter is repeated, so often at most.
const CHANGED: f64 = 2.0;
const REPEATED_MAX: u32 = 2;
/// The part of the packets that may be unsent before it is the generator that was the limit.
const UNSENT: f64 = 0.001;
/// Routes that are added under load.
const GROWTH: u32 = 1000;

/// Whoever wants the run to end says so here.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// What ends the run after the trial at hand once it is set, by a signal's handler, for example.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// An error once it was asked for.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// What a trial is to be like beside its load.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner {
    /// Latencies are measured.
    pub latency: bool,
    /// The device gets routes meanwhile.
    pub grow: bool,
    /// How long to wait behind it at least.
    pub settle: Option<Duration>,
}

/// Generator and device of a case.
pub(crate) struct Bed<'run> {
    device: Box<dyn Device>,
    generator: Generator,
    case: &'run Case,
    stop: &'run Stop,
    pub streams: Streams,
    /// Packets per second in each direction that the generator could do by itself.
    pub ceiling: f64,
    pub records: Vec<Record>,
    pub counters_before: Counters,
    meter: Meter,
    cores: [usize; 2],
    start: Instant,
    // Goes last: their sockets are in it.
    _folder: TempDir,
}

impl<'run> Bed<'run> {
    /// Measures the generator's ceiling, starts both, and waits until packets can pass.
    pub fn start(case: &'run Case, lengths: Lengths, stop: &'run Stop) -> Result<Bed<'run>, Error> {
        if case.driver != Driver::Memif {
            let driver = case.driver.word();
            return Err(Error::Lacking(format!("the lab joins nothing by {driver} yet: choose cases of drv_memif")));
        }
        if case.pace != Pace::Own {
            let pace = case.pace.word();
            return Err(Error::Lacking(format!(
                "devices are not told to wait by {pace} yet: choose cases without a pace"
            )));
        }
        let (generator_core, device_cores, control) = cores(case)?;
        let folder = tempfile::Builder::new().prefix("quiver-lab-").tempdir()?;
        let places = ["ceiling", "generator", "device"].map(|name| folder.path().join(name));
        places.iter().try_for_each(std::fs::create_dir)?;
        let [loop_folder, generator_folder, device_folder] = places;
        let streams = Streams::of(case);
        let setup = |place: &std::path::Path, links| -> Result<Setup<'static>, Error> {
            let (program, folder, control) = (built("quiverd")?, place.to_owned(), control.clone());
            Ok(Setup { program, folder, core: generator_core, control, namespace: None, links, mtu: 9000 })
        };
        let socket = loop_folder.join("memif");
        let looped = [Link::Memif { socket: socket.clone(), id: 0 }, Link::MemifSlave { socket, id: 0 }];
        let mut alone = Generator::start(&setup(&loop_folder, looped)?)?;
        alone.wait_for_links()?;
        let time = Duration::from_secs_f64(lengths.ceiling());
        let ceiling = alone.ceiling(&streams, Watch::default(), time)?;
        drop(alone);
        stop.check()?;

        let socket = generator_folder.join("memif");
        let links = [0, 1].map(|id| Link::Memif { socket: socket.clone(), id });
        let mut generator = Generator::start(&setup(&generator_folder, links)?)?;
        let ports = [0, 1].map(|id| Port::Memif { socket: socket.clone(), id });
        let (cpus, device_core) = (device_cores.clone(), device_cores[0]);
        let mut device = quiver_device::start(&Job { case, ports, cpus, folder: &device_folder, program: None })?;
        device.wait_until_ready(READY_WITHIN)?;
        generator.wait_for_links()?;
        let mut bed = Bed {
            device,
            generator,
            case,
            stop,
            streams,
            ceiling,
            records: Vec::new(),
            counters_before: Counters::new(),
            meter: Meter::find(std::path::Path::new("/sys")),
            cores: [generator_core, device_core],
            start: Instant::now(),
            _folder: folder,
        };
        // Stations are learned and tables are warm before anything counts.
        let time = Duration::from_secs_f64(lengths.ceiling() / 2.0);
        let sending = Sending::Window { packets: bed.streams.window(), time };
        bed.generator.trial(&bed.streams, sending, Watch::default(), SETTLE)?;
        bed.counters_before = bed.counters()?;
        Ok(bed)
    }

    /// Versions of both, by name.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let own = (quiver_generator::NAME.to_owned(), self.generator.version().to_owned());
        BTreeMap::from([own, (self.case.device.word().to_owned(), self.device.version())])
    }

    /// What both were told, by name.
    pub fn configuration(&self) -> BTreeMap<String, String> {
        let own = (quiver_generator::NAME.to_owned(), self.generator.configuration());
        BTreeMap::from([own, (self.case.device.word().to_owned(), self.device.configuration().to_owned())])
    }

    /// Counters of both, by name.
    pub fn counters(&mut self) -> Result<Counters, Error> {
        let own = (quiver_generator::NAME.to_owned(), self.generator.drops()?);
        Ok(Counters::from([own, (self.case.device.word().to_owned(), self.device.counters()?)]))
    }

    /// Ends both in good order.
    pub fn end(self) -> Result<(), Error> {
        Ok(self.device.stop()?)
    }

    /// The trial that a search wants. One during which the machine changed is repeated.
    pub fn trial(&mut self, trial: Trial, manner: Manner) -> Result<(TrialResult, Outcome), Error> {
        let rate = (trial.load.pps().round() as u64).max(1);
        let sending = Sending::Paced { rate, packets: trial.packets().max(1) };
        let outcome = self.measure(sending, manner)?;
        let counts = outcome.counts();
        let result = TrialResult {
            intended: outcome.intended.unwrap_or(counts.sent),
            sent: counts.sent,
            received: counts.received,
            sending: Seconds::new(outcome.sending.as_secs_f64())?,
            effective: Seconds::new(outcome.effective.as_secs_f64())?,
        };
        Ok((result, outcome))
    }

    /// A window of packets circles for so long; how many came back in a second, in both directions.
    pub fn circle(&mut self, seconds: f64) -> Result<f64, Error> {
        let sending = Sending::Window { packets: self.streams.window(), time: Duration::from_secs_f64(seconds) };
        Ok(self.measure(sending, Manner::default())?.receive_rate())
    }

    /// Packets per second in each direction, where the case says how many.
    pub fn load(&self) -> Option<f64> {
        self.case.load.map(|load| load.pps(self.case.frame))
    }

    /// The greatest load that is worth a trial.
    pub fn max_load(&self) -> Result<Load, Error> {
        Ok(Load::new(self.ceiling)?)
    }

    fn measure(&mut self, sending: Sending, manner: Manner) -> Result<Outcome, Error> {
        let mut repeated = 0;
        loop {
            self.stop.check()?;
            let (mut record, outcome) = self.once(sending, manner)?;
            let changed = record.core_round_trip.as_ref().is_some_and(|trip| {
                let (before, after) = (trip.before_ns.get(), trip.after_ns.get());
                before.max(after) > CHANGED * before.min(after)
            });
            let again = changed && repeated < REPEATED_MAX && !manner.grow;
            if again {
                record.repeated_because = Some(format!("the cores' round trip changed by more than {CHANGED} times"));
            }
            self.records.push(record);
            if !again {
                return Ok(outcome);
            }
            repeated += 1;
        }
    }

    fn once(&mut self, sending: Sending, manner: Manner) -> Result<(Record, Outcome), Error> {
        let [one, other] = self.cores;
        let quiet = Quiet::now(one, other);
        let begun = Time::try_from(SystemTime::now())?;
        let (usage, losses) = (self.device.usage()?, self.losses()?);
        let reading = self.meter.read(self.moment(&usage));
        let (generator, device, streams) = (&mut self.generator, &mut self.device, &self.streams);
        let watch = Watch { latency: manner.latency, gaps: false };
        let outcome = thread::scope(|scope| {
            let growing = if manner.grow { Some(scope.spawn(move || device.grow(GROWTH))) } else { None };
            let outcome = generator.trial(streams, sending, watch, manner.settle.unwrap_or(SETTLE));
            // A thread that fails panics; then this one does, too.
            let join =
                |growing: thread::ScopedJoinHandle<'_, _>| growing.join().unwrap_or_else(|panic| resume_unwind(panic));
            let grown = growing.map_or(Ok(()), join);
            Ok::<_, Error>((outcome?, grown?).0)
        })?;
        let after = self.device.usage()?;
        let reading = [reading, self.meter.read(self.moment(&after))];
        let spent = after.since(&usage);
        let mut named: BTreeMap<String, u64> = BTreeMap::new();
        let own = outcome.drops.iter().map(|(name, count)| (format!("{} {name}", quiver_generator::NAME), *count));
        named.extend(own);
        let device = self.case.device.word();
        for (name, count) in self.losses()? {
            let more = count.saturating_sub(losses.get(&name).copied().unwrap_or(0));
            if more > 0 {
                named.insert(format!("{device} {name}"), more);
            }
        }
        let unnamed = outcome.lost().saturating_sub(named.values().sum());
        if unnamed > 0 {
            named.insert("unnamed".into(), unnamed);
        }
        let counts = outcome.counts();
        for (name, count) in
            [("duplicated", counts.duplicated), ("reordered", counts.reordered), ("unsent", outcome.unsent())]
        {
            if count > 0 {
                named.insert(name.into(), count);
            }
        }
        let quiet_after = Quiet::now(one, other);
        let amount = |number: f64| Amount::try_from(number);
        let intended = match sending {
            Sending::Paced { rate, packets } => packets as f64 / rate as f64,
            Sending::Flat { time } | Sending::Window { time, .. } => time.as_secs_f64(),
        };
        let record = Record {
            start_time: begun,
            device: device.to_owned(),
            load_pps: amount(match sending {
                Sending::Paced { rate, .. } => rate as f64,
                _ => outcome.receive_rate() / 2.0,
            })?,
            intended_seconds: amount(intended)?,
            effective_seconds: amount(outcome.effective.as_secs_f64())?,
            sent_packets: counts.sent,
            received_packets: counts.received,
            is_limited_by_generator: is_limited(&outcome, &named, self.case.device),
            losses: named,
            repeated_because: None,
            busy: spent.busy.and_then(|busy| busy.per_packet()),
            core_round_trip: machine::round_trips(quiet, quiet_after),
            load_average: quiet_after.load.and_then(|load| amount(load).ok()),
            steal_seconds: quiet_after.steal.zip(quiet.steal).and_then(|(after, before)| amount(after - before).ok()),
            clock_hz: machine::clock(other),
            energy: self.meter.energy(&reading).ok(),
        };
        Ok((record, outcome))
    }

    fn moment(&self, usage: &Usage) -> Moment {
        Moment { at: self.start.elapsed(), cpu: usage.cpu }
    }

    /// What the device says it has dropped, by its own names.
    fn losses(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let device = self.case.device;
        let counters = self.device.counters()?;
        Ok(counters.into_iter().filter(|(name, _)| is_loss(device, name)).collect())
    }
}

/// The cores of generator and device, and where control threads run: on none of those that is measured, if there are others,
/// else beside the generator.
fn cores(case: &Case) -> Result<(usize, Vec<usize>, Vec<usize>), Error> {
    let all = allowed();
    let wanted = usize::from(case.cores);
    let Some((generator, rest)) = all.split_first().filter(|(_, rest)| rest.len() >= wanted && wanted > 0) else {
        let lacking = format!("{} cores needed, {} may be used", wanted + 1, all.len());
        return Err(Error::Lacking(lacking));
    };
    let device = rest[rest.len() - wanted..].to_vec();
    let free = rest[..rest.len() - wanted].to_vec();
    Ok((*generator, device, if free.is_empty() { vec![*generator] } else { free }))
}

/// Whether a device's counter is of packets that were dropped, and not contained in another one.
fn is_loss(device: field::Device, name: &str) -> bool {
    match device {
        // Interfaces' drops are the sum of what nodes give the reasons of.
        field::Device::Quiver => ![" rx", " tx", " drops"].iter().any(|end| name.ends_with(end)),
        field::Device::Testpmd => name.ends_with("-dropped"),
        field::Device::Linux => name.ends_with("dropped") || name.ends_with("errors"),
        field::Device::Vpp => ["drop", "error", "no free", "miss"].iter().any(|part| name.contains(part)),
    }
}

/// Whether the generator, and not the device, was the limit: it did not send what it should, or did not take in time what the
/// device sent.
fn is_limited(outcome: &Outcome, losses: &BTreeMap<String, u64>, device: field::Device) -> bool {
    let unsent = outcome.unsent() as f64 > UNSENT * outcome.intended.unwrap_or(0) as f64;
    let full = match device {
        field::Device::Quiver => losses.contains_key("quiver interface-output tx-full"),
        field::Device::Testpmd => losses.keys().any(|name| name.ends_with("TX-dropped")),
        field::Device::Linux | field::Device::Vpp => false,
    };
    unsent || full
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_told_from_what_passed_and_from_sums() {
        let names = |device, names: &[&str]| names.iter().filter(|name| is_loss(device, name)).count();
        let quiver =
            ["memif1/0 rx", "memif1/0 tx", "memif1/0 drops", "interface-output tx-full", "memif-input no-buffer"];
        assert_eq!(names(field::Device::Quiver, &quiver), 2);
        assert_eq!(names(field::Device::Testpmd, &["port 0 RX-packets", "port 0 RX-dropped", "port 0 RX-total"]), 1);
        assert_eq!(names(field::Device::Linux, &["in rx packets", "in rx dropped", "softnet dropped"]), 2);
    }
}
