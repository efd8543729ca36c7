//! Each search of a suite, on a bed: trials in, an outcome of documents out.

use std::num::NonZeroU64;
use std::time::Duration;

use quiver_energy::Cost;
use quiver_generator::{Direction, Outcome as Sent};
use quiver_result::{
    Amount, BandwidthUnit, Bounds, Figure, Latencies, Latency, Loss, Microseconds, Outcome, Packets, Quantity, Rate,
    RateUnit, SampledRate, Samples, Seconds as InSeconds,
};
use quiver_search::mlr::{Goal, GoalResult};
use quiver_search::{Load, Progress, Search, Step};
use quiver_suite::field;
use serde_json::Value;

use crate::bed::{Bed, Manner};
use crate::endure::{endure, report};
use crate::figure::{amount, figure};
use crate::limits::{are_limited, at, is_bound_limited, mark};
use crate::so_far::{Known, SO_FAR};
use crate::{Error, Lengths};

/// Runs a search to its end. After a failure or an interruption `figures` holds the bounds and rates found until then.
pub(crate) fn seek(
    bed: &mut Bed<'_>,
    search: field::Search,
    lengths: Lengths,
    figures: &mut Vec<Figure>,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    figures.push(figure("generator_ceiling", 2.0 * bed.ceiling, "pps")?);
    let mut known = Known::default();
    let mut seeking = Seeking { bed, lengths, figures, known: &mut known, tell };
    let found = match search {
        field::Search::Mrr => seeking.mrr(),
        field::Search::NdrPdr => seeking.ndrpdr().map(|(ndr, pdr)| Outcome::Ndrpdr {
            ndr,
            pdr,
            latency_forward: None,
            latency_reverse: None,
        }),
        field::Search::Latency => seeking.latency(),
        field::Search::Soak => seeking.soak(),
        field::Search::BackToBack => seeking.bursts(),
        field::Search::Reconf => seeking.reconf(),
        field::Search::ClosedLoop => seeking.closed_loop(),
        field::Search::Power => seeking.power(),
        field::Search::Endurance => seeking.endurance(),
        // One bed is of one number of cores: `speed_up` has several.
        field::Search::SpeedUp => Err(Error::Nothing("a speed-up is of several numbers of cores")),
    };
    if found.is_err() {
        figures.extend(known.figures()?);
    }
    found
}

/// The part of the rate without loss that is endured: a machine that others use has worse moments, too.
const ENDURED: f64 = 0.9;

struct Seeking<'seek, 'run> {
    bed: &'seek mut Bed<'run>,
    lengths: Lengths,
    figures: &'seek mut Vec<Figure>,
    known: &'seek mut Known,
    tell: &'seek mut dyn FnMut(&Progress),
}

impl Seeking<'_, '_> {
    /// Drives a search: `manner` decides how its next trial is done, `see` gets the result.
    fn drive<S: Search>(
        &mut self,
        search: &mut S,
        manner: impl Fn(&S, &quiver_search::Trial) -> Manner,
        mut see: impl FnMut(Sent),
    ) -> Result<S::Outcome, Error> {
        loop {
            match search.next()? {
                Step::Done(outcome) => return Ok(outcome),
                Step::Trial(trial) => {
                    let manner = manner(search, &trial);
                    let (result, sent) = self.bed.trial(trial, manner)?;
                    search.record(result)?;
                    see(sent);
                    let progress = search.progress();
                    self.known.learn(&progress);
                    (self.tell)(&progress);
                }
            }
        }
    }

    fn mrr(&mut self) -> Result<Outcome, Error> {
        let mut search = self.lengths.mrr(self.bed.max_load()?)?.search()?;
        let done = self.drive(&mut search, |_, _| Manner::default(), |_| {});
        let values: Vec<f64> = search.rates().values.iter().map(|rate| rate.pps()).collect();
        if done.is_err() {
            for value in values {
                self.figures.push(figure("receive_rate", value, "pps")?);
            }
        }
        let rates = done?.values.iter().map(|rate| amount(rate.pps())).collect::<Result<Vec<_>, _>>()?;
        let bits = |rate: &Amount| amount(self.bed.streams.bits_per_second(rate.get()));
        let bandwidth = rates.iter().map(bits).collect::<Result<Vec<_>, _>>()?;
        let none = Error::Nothing("no trial was done");
        let receive_rate = SampledRate {
            rate: Samples::of(rates, RateUnit::Pps).ok_or(none)?,
            bandwidth: Samples::of(bandwidth, BandwidthUnit::Unit),
        };
        mark(self.figures, [are_limited(&self.bed.records)])?;
        Ok(Outcome::Mrr { receive_rate })
    }

    /// The bounds of each goal by MLRsearch.
    fn goals(&mut self, goals: Vec<Goal>) -> Result<Vec<GoalResult>, Error> {
        let mut search = self.lengths.mlr(goals, self.bed.max_load()?)?.search()?;
        self.drive(&mut search, |_, _| Manner::default(), |_| {})
    }

    fn ndrpdr(&mut self) -> Result<(Bounds, Bounds), Error> {
        let found = self.goals(vec![Goal::ndr(), Goal::pdr()])?;
        let [ndr, pdr] = &found[..] else { return Err(Error::Nothing("the search told no bounds")) };
        mark(self.figures, found.iter().map(|found| is_bound_limited(found, &self.bed.records)))?;
        Ok((self.bounds(ndr.lower, ndr.upper)?, self.bounds(pdr.lower, pdr.upper)?))
    }

    /// The load without loss.
    fn ndr(&mut self) -> Result<Load, Error> {
        let found = self.goals(vec![Goal::ndr()])?;
        let found = found.first().ok_or(Error::Nothing("the search told no bounds"))?;
        let lower = found.lower.ok_or(Error::Nothing("no load is without loss"))?;
        mark(self.figures, [is_bound_limited(found, &self.bed.records)])?;
        Ok(lower)
    }

    fn latency(&mut self) -> Result<Outcome, Error> {
        let (ndr, pdr) = self.ndrpdr()?;
        // Loads are of one direction, results of both.
        let load = Load::new(pdr.lower.rate.value.get() / 2.0)?;
        let mut search = self.lengths.latency(load)?.search()?;
        let mut points = Vec::new();
        let manner = Manner { latency: true, ..Manner::default() };
        let parts = self.drive(&mut search, |_, _| manner, |sent| points.push(sent.directions))?;
        let delays = |side: usize| {
            let at = |part: f64| {
                let index = parts.iter().position(|point| point.part == part)?;
                points.get(index).and_then(|point: &[Direction; 2]| delay(point[side].latency.as_ref()?))
            };
            Some(Box::new(Latencies { pdr_0: at(0.0)?, pdr_10: at(0.1)?, pdr_50: at(0.5)?, pdr_90: at(0.9)? }))
        };
        for (point, directions) in parts.iter().zip(&points) {
            for (direction, name) in directions.iter().zip(["forward", "reverse"]) {
                let Some(of) = &direction.latency else { continue };
                for field in ["min", "p50", "p90", "p99", "p99.9", "max", "pdv"] {
                    let name = format!("latency_{name}_pdr_{:.0}_{}", point.part * 100.0, field.replace('.', "_"));
                    self.figures.push(figure(&name, of[field].as_f64().unwrap_or(0.0), "ns")?);
                }
            }
        }
        Ok(Outcome::Ndrpdr { ndr, pdr, latency_forward: delays(0), latency_reverse: delays(1) })
    }

    fn soak(&mut self) -> Result<Outcome, Error> {
        let mut search = self.lengths.plr(self.bed.max_load()?)?.search()?;
        let found = self.drive(&mut search, |_, _| Manner::default(), |_| {})?;
        mark(self.figures, [are_limited(&self.bed.records)])?;
        let (average, deviation) = (found.average.pps(), found.deviation.pps());
        let lower = Load::new((average - deviation).max(0.0))?;
        let critical_rate = self.bounds(Some(lower), Some(Load::new(average + deviation)?))?;
        Ok(Outcome::Soak { critical_rate })
    }

    fn bursts(&mut self) -> Result<Outcome, Error> {
        let throughput = self.ndr()?;
        self.figures.push(figure("ndr_lower", 2.0 * throughput.pps(), "pps")?);
        let burst = self.lengths.burst(self.bed.max_load()?, throughput);
        let lengths = self.lengths;
        let mut search = burst.search()?;
        let manner = |search: &quiver_search::burst::BurstSearch, trial: &quiver_search::Trial| {
            let settle = lengths.settling(search.settling(trial)).seconds();
            Manner { settle: Some(Duration::from_secs_f64(settle)), ..Manner::default() }
        };
        let done = self.drive(&mut search, manner, |_| {});
        if done.is_err()
            && let Some(frames) = search.bursts().average()
        {
            self.figures.push(figure(&format!("burst_frames_{SO_FAR}"), frames, "frames")?);
        }
        let bursts = done?;
        // The longest burst passed at the generator's ceiling.
        mark(self.figures, [bursts.is_cut_off()])?;
        let told = [
            ("burst_frames", bursts.average(), "frames"),
            ("burst_deviation", bursts.deviation(), "frames"),
            ("buffer_time_implied", bursts.implied_buffer_time().map(quiver_search::Seconds::seconds), "s"),
            ("buffer_time_corrected", bursts.corrected_buffer_time().map(quiver_search::Seconds::seconds), "s"),
            ("burst_is_cut_off", Some(f64::from(u8::from(bursts.is_cut_off()))), "boolean"),
        ];
        for (name, value, unit) in told {
            if let Some(value) = value {
                self.figures.push(figure(name, value, unit)?);
            }
        }
        Ok(Outcome::Unknown {})
    }

    fn reconf(&mut self) -> Result<Outcome, Error> {
        let load = self.ndr()?;
        let mut search = self.lengths.reconf(load)?.search()?;
        let manner = |search: &quiver_search::reconf::ReconfSearch, _: &quiver_search::Trial| Manner {
            grow: search.change().is_some(),
            ..Manner::default()
        };
        let found = self.drive(&mut search, manner, |_| {})?;
        let worst = found.changes.iter().max_by_key(|blocked| blocked.lost).copied();
        let worst = worst.ok_or(Error::Nothing("no change was made"))?;
        if let Some(blocked) = found.calm {
            self.figures.push(figure("lost_without_a_change", blocked.lost as f64, "packets")?);
        }
        for blocked in &found.changes {
            self.figures.push(figure("lost_by_a_change", blocked.lost as f64, "packets")?);
        }
        Ok(Outcome::Reconf {
            aggregate_rate: self.rate(2.0 * load.pps())?,
            loss: Loss {
                packet: Quantity { value: amount(worst.lost as f64)?, unit: Packets::Unit },
                time: Quantity { value: amount(worst.time.seconds())?, unit: InSeconds::Unit },
            },
        })
    }

    fn closed_loop(&mut self) -> Result<Outcome, Error> {
        let (seconds, trials) = self.lengths.closed_loop();
        let mut rates = Vec::new();
        for trial in 1..=trials {
            let rate = self.bed.circle(seconds)?;
            self.figures.push(figure("closed_loop_rate", rate, "pps")?);
            rates.push(rate);
            let spent = quiver_search::Seconds::new(seconds * f64::from(trial))?;
            let remaining = Some(quiver_search::Seconds::new(seconds * f64::from(trials - trial))?);
            (self.tell)(&Progress { trials: trial.into(), spent, remaining, bounds: Vec::new() });
        }
        let average = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        self.figures.push(figure("closed_loop_pps", average, "pps")?);
        mark(self.figures, [are_limited(&self.bed.records)])?;
        Ok(Outcome::Unknown {})
    }

    /// Cost of a fixed load, held for a while.
    fn power(&mut self) -> Result<Outcome, Error> {
        let load = Load::new(self.bed.load().ok_or(Error::Nothing("the case has no load"))?)?;
        let trial = quiver_search::Trial { load, duration: quiver_search::Seconds::new(self.lengths.power())? };
        let (result, sent) = self.bed.trial(trial, Manner::default())?;
        self.figures.push(figure("carried", result.receive_rate().pps(), "pps")?);
        mark(self.figures, [are_limited(&self.bed.records)])?;
        let packets = NonZeroU64::new(sent.counts().received).ok_or(Error::Nothing("no packet came back"))?;
        let energy = self.bed.records.last().and_then(|record| record.energy.as_ref());
        let (name, value, unit) = match energy.map(|energy| energy.per_million(packets)) {
            Some(Cost::Joules(joules)) => ("energy_per_million_packets", joules, "J"),
            Some(Cost::CpuSeconds(seconds)) => ("cpu_seconds_per_million_packets", seconds, "s"),
            None => return Err(Error::Nothing("the device's CPU time cannot be read")),
        };
        self.figures.push(figure(name, value, unit)?);
        Ok(Outcome::Unknown {})
    }

    /// The case's load, or most of what passes without loss, for a long time.
    fn endurance(&mut self) -> Result<Outcome, Error> {
        let load = match self.bed.load() {
            Some(pps) => pps,
            None => self.ndr()?.pps() * ENDURED,
        };
        self.figures.push(figure("endured_load", 2.0 * load, "pps")?);
        let load = Load::new(load)?;
        let mut search = self.lengths.endurance(load)?.search()?;
        let done = endure(&mut search, self.bed, self.tell);
        // Of hours that end too early, too, what is known is kept.
        report(&search.endured(), &self.bed.records, self.figures)?;
        mark(self.figures, [are_limited(at(&self.bed.records, load))])?;
        done.map(|()| Outcome::Unknown {})
    }

    /// Bounds of both directions together.
    fn bounds(&self, lower: Option<Load>, upper: Option<Load>) -> Result<Bounds, Error> {
        let both = |load: Load| self.rate(2.0 * load.pps());
        let lower = lower.ok_or(Error::Nothing("no load was good enough"))?;
        Ok(Bounds { lower: both(lower)?, upper: upper.map(both).transpose()? })
    }

    fn rate(&self, packets: f64) -> Result<Rate, Error> {
        let bits = amount(self.bed.streams.bits_per_second(packets))?;
        Ok(Rate {
            rate: Quantity { value: amount(packets)?, unit: RateUnit::Pps },
            bandwidth: Some(Quantity { value: bits, unit: BandwidthUnit::Unit }),
        })
    }
}

/// Delays for documents, in whole microseconds. None if no packet came back.
fn delay(of: &Value) -> Option<Latency> {
    let micros = |field: &str| Some((of[field].as_f64()? / 1000.0).round() as u64);
    of["packets"].as_u64().filter(|packets| *packets > 0)?;
    let max = NonZeroU64::new(micros("max")?.max(1))?;
    let hdrh = of["hdrh"].as_str()?.to_owned();
    Some(Latency { min: micros("min")?, avg: micros("mean")?, max, hdrh, unit: Microseconds::Unit })
}
