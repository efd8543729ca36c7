//! The figures of a document that can be compared.

use std::fmt;

use quiver_result::{Busy, Document, LIMITED, Outcome};
use quiver_verdict::gate::Better;
use quiver_verdict::median;

/// A figure of a document, and its unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// The average rate that comes back.
    Mrr,
    /// The rate without loss.
    Ndr,
    /// The rate with 0.5 % loss.
    Pdr,
    /// The critical rate of a soak test, less its deviation.
    CriticalRate,
    /// How long all packets would have been lost while the configuration changed.
    BlockedTime,
    /// Bits a second between applications.
    Bandwidth,
    /// The median of the trials' busy ticks (or seconds) a packet, by how they are known.
    Busy(&'static str),
    /// A figure of Quiver's own, by its name and unit.
    Figure(String, String),
}

impl Measure {
    /// Which way is better. Figures are rates and the like, unless their unit is a cost or a time.
    pub fn better(&self) -> Better {
        match self {
            Measure::BlockedTime | Measure::Busy(_) => Better::Lower,
            Measure::Figure(_, unit) => match unit.as_str() {
                "s" | "ms" | "us" | "ns" | "J" => Better::Lower,
                _ if unit.contains("/packet") || unit.contains("/Mpacket") || unit.contains("per") => Better::Lower,
                _ => Better::Higher,
            },
            _ => Better::Higher,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Mrr => out.write_str("MRR, pps"),
            Measure::Ndr => out.write_str("NDR, pps"),
            Measure::Pdr => out.write_str("PDR, pps"),
            Measure::CriticalRate => out.write_str("critical rate, pps"),
            Measure::BlockedTime => out.write_str("blocked time, s"),
            Measure::Bandwidth => out.write_str("bandwidth, bps"),
            Measure::Busy(known) => out.write_str(known),
            Measure::Figure(name, unit) => write!(out, "{name}, {unit}"),
        }
    }
}

/// All that a document measured. A failed test measured nothing.
pub fn measures(document: &Document) -> Vec<(Measure, f64)> {
    let mut all = Vec::new();
    if !document.passed {
        return all;
    }
    match &document.result {
        Outcome::Unknown {} => {}
        Outcome::Mrr { receive_rate } => all.push((Measure::Mrr, receive_rate.rate.avg.get())),
        Outcome::Ndrpdr { ndr, pdr, .. } => {
            all.push((Measure::Ndr, ndr.lower.rate.value.get()));
            all.push((Measure::Pdr, pdr.lower.rate.value.get()));
        }
        Outcome::Soak { critical_rate } => all.push((Measure::CriticalRate, critical_rate.lower.rate.value.get())),
        Outcome::Reconf { loss, .. } => all.push((Measure::BlockedTime, loss.time.value.get())),
        Outcome::Hoststack { bandwidth, .. } => all.push((Measure::Bandwidth, bandwidth.value.get())),
    }
    let Some(extension) = &document.quiver else { return all };
    let busy = extension.trials.iter().filter(|trial| trial.repeated_because.is_none());
    let busy: Vec<(&str, f64)> = busy.filter_map(|trial| trial.busy.as_ref().map(named)).collect();
    // Where peers took turns in one document, whose it is cannot be told.
    if let Some((known, _)) = busy.first()
        && busy.iter().all(|(other, _)| other == known)
    {
        let middle = median(busy.iter().map(|(_, value)| *value).collect());
        all.extend(middle.map(|middle| (Measure::Busy(known), middle)));
    }
    // What a document has several times are the parts of another figure; and of the generator it says nothing of the device.
    let figures = &extension.figures;
    let counts = |name: &str| figures.iter().filter(|figure| figure.name == name).count();
    let is_of_generator = |name: &str| name == LIMITED || name.starts_with("generator_");
    let of_device = figures.iter().filter(|figure| counts(&figure.name) == 1 && !is_of_generator(&figure.name));
    all.extend(of_device.map(|figure| (Measure::Figure(figure.name.clone(), figure.unit.clone()), figure.value.get())));
    all
}

/// The unit of a busy figure, and its amount: only figures of the same unit are compared.
fn named(busy: &Busy) -> (&'static str, f64) {
    let name = match busy {
        Busy::ThreadTicks { .. } => "thread ticks a packet",
        Busy::NodeClocks { .. } => "node clocks a packet",
        Busy::CoreCycles { .. } => "core cycles a packet",
        Busy::CpuTime { .. } => "CPU time a packet, ns",
    };
    (name, busy.amount().get())
}
