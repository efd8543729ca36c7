//! A case's generator and device, joined, and the trials between them.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use quiver_device::{Measure, Usage};
use quiver_energy::{Meter, Moment};
use quiver_generator::daemon::built;
use quiver_generator::{Generator, Link, Makes, NAME, Outcome, Sending, Setup, Streams, Watch};
use quiver_netns::Namespace;
use quiver_result::{Amount, Counters, Figure, Time, Trial as Record};
use quiver_search::{Load, Seconds, Trial, TrialResult};
use quiver_stop::Stop;
use quiver_suite::Case;
use quiver_suite::field::Keyword;
use tempfile::TempDir;

use crate::cores::Cores;
use crate::devices::Devices;
use crate::limits::{Evidence, sent_rate};
use crate::links::{Links, MTU, links};
use crate::losses::{account, since};
use crate::machine::{self, Quiet};
use crate::terms::{Terms, check};
use crate::{Error, Place};

/// How long the device may take to be connected.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Silence after which missing packets are given up: a device may have to wait for its core.
const SETTLE: Duration = Duration::from_millis(200);
/// A ceiling of fewer packets per second is measured again, twice as long, up to this.
const IMPLAUSIBLE: f64 = 20_000.0;
const LONGEST: Duration = Duration::from_secs(2);
/// A trial during which the cores' round trip became so many times longer or shorter is repeated, so often at most.
const CHANGED: f64 = 2.0;
const REPEATED_MAX: u32 = 2;
/// The figure of documents whose workers share cores.
pub const OVERSUBSCRIBED: &str = "oversubscribed";
/// Routes that are added under load.
const GROWTH: u32 = 1000;

/// Properties of a trial beside its load.
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
    devices: Devices,
    generator: Generator,
    case: &'run Case,
    stop: &'run Stop,
    pub streams: Streams,
    /// Packets per second in each direction that the generator could do by itself.
    pub ceiling: f64,
    pub records: Vec<Record>,
    pub counters_before: Counters,
    meter: Meter,
    cores: Cores,
    /// The first core of the device, if it is one of this machine.
    other: Option<usize>,
    start: Instant,
    // Behind what uses them.
    links: Box<dyn Links + 'run>,
    // Goes last: their sockets are in it.
    _folder: TempDir,
}

impl<'run> Bed<'run> {
    /// Measures the generator's ceiling, starts both, and waits until packets can pass.
    pub fn start(case: &'run Case, place: &'run Place, terms: &Terms, stop: &'run Stop) -> Result<Bed<'run>, Error> {
        let cores = Cores::of(case, place.testbed())?;
        let folder = place.folder()?;
        let places = ["links", "ceiling", "generator", "device"].map(|name| folder.path().join(name));
        places.iter().try_for_each(std::fs::create_dir)?;
        let [links_folder, ceiling_folder, generator_folder, device_folder] = places;
        let links = links(case, place, &links_folder)?;
        let streams = Streams::of(case);
        let generator = |folder: &Path, (links, namespace): ([Link; 2], Option<&Namespace>)| -> Result<_, Error> {
            let (program, folder, control) = (built("quiverd")?, folder.to_owned(), cores.control.clone());
            Ok(Generator::start(&Setup {
                program,
                folder,
                core: cores.generator,
                control,
                namespace,
                makes: Makes::Packets,
                links,
                mtu: MTU,
                stop: stop.clone(),
            })?)
        };
        let mut alone = generator(&ceiling_folder, links.looped())?;
        alone.wait_for_links()?;
        let mut time = Duration::from_secs_f64(terms.lengths.ceiling());
        let mut ceiling = alone.ceiling(&streams, Watch::default(), time)?;
        // On a busy machine others may have had the generator's core all the time.
        while ceiling < IMPLAUSIBLE && time < LONGEST {
            time *= 2;
            ceiling = alone.ceiling(&streams, Watch::default(), time)?;
        }
        drop(alone);
        check(stop)?;

        let devices = || {
            let program = terms.program.clone().or_else(|| place.program(case.device));
            Devices::start(case, &*links, place.hosts(), &cores, &device_folder, program, stop)
        };
        let (mut devices, mut generator) = if links.are_made_by_device() {
            let devices = devices()?;
            (devices, generator(&generator_folder, links.ends())?)
        } else {
            let generator = generator(&generator_folder, links.ends())?;
            (devices()?, generator)
        };
        devices.wait_until_ready(READY_WITHIN)?;
        generator.wait_for_links()?;
        let mut bed = Bed {
            devices,
            generator,
            case,
            stop,
            streams,
            ceiling,
            records: Vec::new(),
            counters_before: Counters::new(),
            meter: match place.hosts().filter(|hosts| hosts.are_away()) {
                Some(hosts) => Meter::away(&hosts.names()[1..].join(" and ")),
                None => Meter::find(Path::new("/sys")),
            },
            other: place.hosts().is_none_or(|hosts| !hosts.are_away()).then(|| cores.devices[0][0]),
            cores,
            start: Instant::now(),
            links,
            _folder: folder,
        };
        // Stations are learned and tables are warm before anything counts.
        let time = Duration::from_secs_f64(terms.lengths.ceiling() / 2.0);
        let sending = Sending::Window { packets: bed.streams.window(), time };
        bed.generator.trial(&bed.streams, sending, Watch::default(), SETTLE)?;
        bed.counters_before = bed.counters()?;
        Ok(bed)
    }

    /// Versions of both, by name.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let own = (NAME.to_owned(), self.generator.version().to_owned());
        self.devices.versions().into_iter().chain([own]).collect()
    }

    /// Configuration of the devices and the generator, by name.
    pub fn configuration(&self) -> BTreeMap<String, String> {
        let own = (NAME.to_owned(), self.generator.configuration());
        self.devices.configuration().into_iter().chain([own]).collect()
    }

    /// Counters of both, by name.
    pub fn counters(&mut self) -> Result<Counters, Error> {
        let own = (NAME.to_owned(), self.generator.drops()?);
        Ok(self.devices.counters()?.into_iter().chain([own]).collect())
    }

    /// Resources of devices and generator that a leak would grow, by the names of their series.
    pub fn holdings(&mut self) -> Result<Vec<(String, f64)>, Error> {
        let own = self.generator.memory().map(|bytes| ("generator resident memory".to_owned(), bytes));
        Ok(self.devices.holdings()?.into_iter().chain(own).collect())
    }

    /// How many workers have a core, where that is more than one.
    pub fn oversubscription(&self) -> Option<Figure> {
        let Cores { devices, there, .. } = &self.cores;
        let workers = devices[0].len();
        let value = Amount::try_from(workers as f64 / *there as f64).ok().filter(|_| workers > *there)?;
        Some(Figure { name: OVERSUBSCRIBED.into(), value, unit: "workers per core".into() })
    }

    /// Ends both in good order.
    pub fn end(self) -> Result<(), Error> {
        self.devices.stop()
    }

    /// The trial that a search wants. One during which the machine changed is repeated.
    pub fn trial(&mut self, trial: Trial, manner: Manner) -> Result<(TrialResult, Outcome), Error> {
        let sending = Sending::Paced { rate: sent_rate(trial.load), packets: trial.packets().max(1) };
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
            check(self.stop)?;
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
        let one = self.cores.generator;
        let other = self.other.unwrap_or(one);
        let quiet = Quiet::now(one, other);
        let begun = Time::try_from(SystemTime::now())?;
        let (usage, losses, ticks) = (self.devices.usage()?, self.losses()?, self.generator.busy_ticks()?);
        let reading = self.meter.read(self.moment(&usage));
        let (generator, devices, streams) = (&mut self.generator, &mut self.devices, &self.streams);
        let watch = Watch { latency: manner.latency, gaps: false };
        let outcome = thread::scope(|scope| {
            let growing = if manner.grow { Some(scope.spawn(move || devices.grow(GROWTH))) } else { None };
            let outcome = generator.trial(streams, sending, watch, manner.settle.unwrap_or(SETTLE));
            // A thread that fails panics; then this one does, too.
            let join =
                |growing: thread::ScopedJoinHandle<'_, _>| growing.join().unwrap_or_else(|panic| resume_unwind(panic));
            let grown = growing.map_or(Ok(()), join);
            Ok::<_, Error>((outcome?, grown?).0)
        })?;
        let after = self.devices.usage()?;
        let reading = [reading, self.meter.read(self.moment(&after))];
        let spent = after.since(&usage);
        let ticks = self.generator.busy_ticks()?.saturating_sub(ticks);
        let busy = self.busy(ticks, &spent);
        if outcome.lost() > 0 && self.links.are_of_kernel() {
            // Rings of the kernel tell what they lost with the next packet that they have.
            let sending = Sending::Window { packets: 1, time: Duration::from_millis(1) };
            self.generator.trial(&self.streams, sending, Watch::default(), SETTLE)?;
        }
        let mut named = since(&losses, self.losses()?);
        account(&mut named, outcome.lost());
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
            device: self.case.device.word().to_owned(),
            load_pps: amount(match sending {
                Sending::Paced { rate, .. } => rate as f64,
                _ => outcome.receive_rate() / 2.0,
            })?,
            intended_seconds: amount(intended)?,
            effective_seconds: amount(outcome.effective.as_secs_f64())?,
            sent_packets: counts.sent,
            received_packets: counts.received,
            is_limited_by_generator: Evidence {
                outcome: &outcome,
                losses: &named,
                device: self.case.device,
                ceiling: 2.0 * self.ceiling,
                busy,
            }
            .is_limited(),
            losses: named,
            repeated_because: None,
            busy: spent.busy.and_then(|busy| busy.per_packet()),
            core_round_trip: machine::round_trips(quiet, quiet_after),
            load_average: quiet_after.load.and_then(|load| amount(load).ok()),
            steal_seconds: quiet_after.steal.zip(quiet.steal).and_then(|(after, before)| amount(after - before).ok()),
            clock_hz: self.other.and_then(machine::clock),
            energy: self.meter.energy(&reading).ok(),
        };
        Ok((record, outcome))
    }

    /// Ticks for which the generator's worker and each of the device's had packets, where both are known by the same clock.
    fn busy(&self, generator: u64, device: &Usage) -> Option<[f64; 2]> {
        let busy = device.busy.filter(|busy| busy.measure != Measure::CpuTime && self.other.is_some())?;
        let spent = (busy.spent - busy.off_core.unwrap_or(0.0)).max(0.0);
        // Of two devices it is the sum of both.
        let workers: usize = self.cores.devices.iter().map(Vec::len).sum();
        Some([generator as f64, spent / workers.max(1) as f64])
    }

    fn moment(&self, usage: &Usage) -> Moment {
        Moment { at: self.start.elapsed(), cpu: usage.cpu }
    }

    /// Losses up to now of generator, links and devices, by their own names.
    fn losses(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let dropped = self.devices.drops(self.case)?;
        let own = self.generator.drops()?.into_iter().map(|(name, count)| (format!("{NAME} {name}"), count));
        Ok(dropped.into_iter().chain(own).chain(self.links.losses()?).collect())
    }
}
