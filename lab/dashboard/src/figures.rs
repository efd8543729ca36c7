//! The figures of a document that the pages show.

use std::num::NonZeroU64;

use quiver_compare::{Measure, measures};
use quiver_energy::Cost;
use quiver_result::{Bounds, Document, Latencies, Outcome, Rate, RateUnit};
use quiver_verdict::gate::Better;
use quiver_verdict::median;

use crate::histogram::Delays;

/// Parts of PDR at which delays are shown.
const LOADS: [u32; 3] = [10, 50, 90];

/// Percentiles of delays that are shown.
pub const PERCENTILES: [u32; 3] = [50, 90, 99];

/// Views and menus group figures by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Packets, connections, requests or bits a second.
    Throughput,
    /// Bits a second on the line.
    Bandwidth,
    /// Delays of packets.
    Latency,
    /// Energy, or CPU time in its place, of a million packets.
    Energy,
    /// Busy ticks or time of a packet.
    Cost,
    /// Figures that have no type in CSIT's model.
    Other,
    /// Upper bounds and deviations, which belong to another figure.
    Bound,
}

impl Group {
    /// Name of the group in the data files.
    pub fn name(self) -> &'static str {
        match self {
            Group::Throughput => "throughput",
            Group::Bandwidth => "bandwidth",
            Group::Latency => "latency",
            Group::Energy => "energy",
            Group::Cost => "cost",
            Group::Other => "other",
            Group::Bound => "bound",
        }
    }
}

/// A figure: name, unit and direction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Figure {
    /// Where it belongs.
    pub group: Group,
    /// `NDR`, `P99 at 50 % PDR forward`.
    pub name: String,
    /// `pps`, `us`.
    pub unit: String,
    /// Whether less is better.
    pub is_cost: bool,
}

impl Figure {
    fn new(group: Group, name: impl Into<String>, unit: &str, is_cost: bool) -> Figure {
        Figure { group, name: name.into(), unit: unit.into(), is_cost }
    }

    /// Name and unit, as `quiver lab compare` has them: `NDR, pps`.
    pub fn title(&self) -> String {
        format!("{}, {}", self.name, self.unit)
    }

    /// How the figure follows the clock: `rate` grows with it, `time` shrinks, `none` does neither.
    pub fn scale(&self) -> &'static str {
        match (self.group, self.unit.as_str()) {
            (_, "pps" | "cps" | "rps" | "bps") => "rate",
            (_, "s" | "ms" | "us" | "ns") => "time",
            _ => "none",
        }
    }
}

/// All figures of a document, those that `quiver lab compare` compares first. A failed test has none.
pub fn figures(document: &Document) -> Vec<(Figure, f64)> {
    let unit = unit(&document.result);
    let mut all: Vec<(Figure, f64)> =
        measures(document).into_iter().map(|(measure, value)| (compared(&measure, unit), value)).collect();
    if document.passed {
        bandwidth_and_bounds(&document.result, unit, &mut all);
        delays(&document.result, &mut all);
        all.extend(energy(document));
    }
    all
}

/// The figure that a measure of a comparison is.
fn compared(measure: &Measure, unit: &str) -> Figure {
    let title = measure.to_string();
    let (name, own) = title.rsplit_once(", ").unwrap_or((&title, "ticks"));
    let (group, unit) = match measure {
        Measure::Mrr | Measure::Ndr | Measure::Pdr | Measure::CriticalRate => (Group::Throughput, unit),
        Measure::Bandwidth => (Group::Bandwidth, own),
        Measure::Busy(_) => (Group::Cost, own),
        Measure::BlockedTime | Measure::Figure(..) => (Group::Other, own),
    };
    Figure::new(group, name, unit, measure.better() == Better::Lower)
}

/// The unit of a document's rates.
fn unit(outcome: &Outcome) -> &'static str {
    let unit = match outcome {
        Outcome::Mrr { receive_rate } => receive_rate.rate.unit,
        Outcome::Ndrpdr { ndr, .. } => ndr.lower.rate.unit,
        Outcome::Soak { critical_rate } => critical_rate.lower.rate.unit,
        _ => RateUnit::Pps,
    };
    unit.word()
}

fn bandwidth_and_bounds(outcome: &Outcome, unit: &str, all: &mut Vec<(Figure, f64)>) {
    let bandwidth = |name: &str| Figure::new(Group::Bandwidth, format!("{name} bandwidth"), "bps", false);
    let mut bounds = |name: &str, of: &Bounds| {
        let bits = |rate: &Rate| rate.bandwidth.map(|bits| bits.value.get());
        all.extend(bits(&of.lower).map(|bits| (bandwidth(name), bits)));
        let upper = of.upper.as_ref().map(|rate| rate.rate.value.get());
        all.extend(upper.map(|value| (Figure::new(Group::Bound, format!("{name} upper bound"), unit, false), value)));
    };
    match outcome {
        Outcome::Mrr { receive_rate } => {
            let deviation = Figure::new(Group::Bound, "MRR deviation", unit, true);
            all.push((deviation, receive_rate.rate.stdev.get()));
            all.extend(receive_rate.bandwidth.iter().map(|bits| (bandwidth("MRR"), bits.avg.get())));
        }
        Outcome::Ndrpdr { ndr, pdr, .. } => {
            bounds("NDR", ndr);
            bounds("PDR", pdr);
        }
        Outcome::Soak { critical_rate } => bounds("critical rate", critical_rate),
        Outcome::Unknown {} | Outcome::Reconf { .. } | Outcome::Hoststack { .. } => {}
    }
}

fn delays(outcome: &Outcome, all: &mut Vec<(Figure, f64)>) {
    let Outcome::Ndrpdr { latency_forward, latency_reverse, .. } = outcome else { return };
    for (direction, latencies) in [("forward", latency_forward), ("reverse", latency_reverse)] {
        let Some(latencies) = latencies else { continue };
        for load in LOADS {
            let Some(delays) = Delays::of(at(latencies, load)) else { continue };
            for percentile in PERCENTILES {
                let name = format!("P{percentile} at {load} % PDR {direction}");
                let figure = Figure::new(Group::Latency, name, "us", true);
                all.push((figure, delays.percentile(f64::from(percentile))));
            }
        }
    }
}

/// Delays at a part of PDR, in percent.
fn at(latencies: &Latencies, load: u32) -> &quiver_result::Latency {
    match load {
        10 => &latencies.pdr_10,
        50 => &latencies.pdr_50,
        90 => &latencies.pdr_90,
        _ => &latencies.pdr_0,
    }
}

/// The median of the trials' energy for a million packets, if all of them have the same kind.
fn energy(document: &Document) -> Option<(Figure, f64)> {
    let trials = document.quiver.as_ref()?.trials.iter().filter(|trial| trial.repeated_because.is_none());
    let costs: Vec<Cost> = trials
        .filter_map(|trial| Some(trial.energy.as_ref()?.per_million(NonZeroU64::new(trial.received_packets)?)))
        .collect();
    let of = |name: &str, unit: &str, part: fn(&Cost) -> Option<f64>| {
        let costs: Option<Vec<f64>> = costs.iter().map(part).collect();
        median(costs?).map(|cost| (Figure::new(Group::Energy, name, unit, true), cost))
    };
    let joules = |cost: &Cost| if let Cost::Joules(joules) = cost { Some(*joules) } else { None };
    let seconds = |cost: &Cost| if let Cost::CpuSeconds(seconds) = cost { Some(*seconds) } else { None };
    of("energy of a million packets", "J", joules).or_else(|| of("CPU time of a million packets", "s", seconds))
}
