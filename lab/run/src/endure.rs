//! Endurance: the same load again and again, with samples of the resources of device and generator.

use quiver_result::{Busy, Figure, Trial};
use quiver_search::endurance::{Direction, Drift, EnduranceSearch, Endured, RECEIVED};
use quiver_search::{Progress, Search, Step};

use crate::Error;
use crate::bed::{Bed, Manner};
use crate::figure::figure;

/// Name of the series of the cost of a packet.
const COST: &str = "device busy per packet";

/// All trials, with a sample of each series behind every one.
pub(crate) fn endure(
    search: &mut EnduranceSearch,
    bed: &mut Bed<'_>,
    tell: &mut dyn FnMut(&Progress),
) -> Result<(), Error> {
    while let Step::Trial(trial) = search.next()? {
        let (result, _) = bed.trial(trial, Manner::default())?;
        search.record(result)?;
        let at = search.progress().spent;
        for (name, value) in bed.holdings()? {
            search.sample(&name, at, value);
        }
        if let Some(cost) = bed.records.last().and_then(|record| record.busy.as_ref()).map(quiver_result::Busy::amount)
        {
            search.sample(COST, at, cost.get());
        }
        tell(&search.progress());
    }
    Ok(())
}

/// Adds figures of each series: its median, its change per minute, and whether the change is a drift.
///
/// `trials` tell the unit of a packet's cost.
pub(crate) fn report(endured: &Endured, trials: &[Trial], figures: &mut Vec<Figure>) -> Result<(), Error> {
    let cost = trials.iter().find_map(|trial| trial.busy.as_ref()).map_or("", |busy| match busy {
        Busy::CpuTime { .. } => "ns/packet",
        Busy::ThreadTicks { .. } | Busy::NodeClocks { .. } | Busy::CoreCycles { .. } => "ticks/packet",
    });
    figures.push(figure("endured_trials", endured.trials as f64, "trials")?);
    figures.push(figure("endured_lost", endured.lost as f64, "packets")?);
    for Drift { name, median, per_hour, direction, .. } in &endured.drifts {
        let unit = if name == COST { cost } else { unit(name) };
        let word = name.replace(' ', "_");
        figures.push(figure(&word, *median, unit)?);
        let way = if *per_hour < 0.0 { "fall" } else { "rise" };
        figures.push(figure(&format!("{word}_{way}"), per_hour.abs() / 60.0, &format!("{unit}/min"))?);
        let drifts = f64::from(u8::from(*direction != Direction::Steady));
        figures.push(figure(&format!("{word}_drifts"), drifts, "boolean")?);
    }
    Ok(())
}

fn unit(series: &str) -> &'static str {
    match series {
        RECEIVED => "pps",
        _ if series.ends_with("buffers") => "buffers",
        _ => "B",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::trial;

    #[test]
    fn a_leak_is_told_by_the_minute() {
        let drift = |name: &str, per_hour, direction| Drift {
            name: name.into(),
            samples: 60,
            median: 1e8,
            per_hour,
            chance: 1e-9,
            direction,
        };
        let drifts = vec![
            drift("device heap", 6e6, Direction::Rising),
            drift(RECEIVED, -60.0, Direction::Steady),
            drift(COST, 60.0, Direction::Steady),
        ];
        let mut figures = Vec::new();
        let ticks_per_packet = quiver_result::Amount::from(90);
        let trial = Trial { busy: Some(Busy::ThreadTicks { ticks_per_packet }), ..trial(1e6, false, false) };
        report(&Endured { trials: 60, lost: 3, drifts }, &[trial], &mut figures).expect("figures");
        let told: Vec<_> =
            figures.iter().map(|figure| (figure.name.as_str(), figure.value.get(), figure.unit.as_str())).collect();
        assert_eq!(
            told,
            [
                ("endured_trials", 60.0, "trials"),
                ("endured_lost", 3.0, "packets"),
                ("device_heap", 1e8, "B"),
                ("device_heap_rise", 1e5, "B/min"),
                ("device_heap_drifts", 1.0, "boolean"),
                ("packets_received_per_second", 1e8, "pps"),
                ("packets_received_per_second_fall", 1.0, "pps/min"),
                ("packets_received_per_second_drifts", 0.0, "boolean"),
                ("device_busy_per_packet", 1e8, "ticks/packet"),
                ("device_busy_per_packet_rise", 1.0, "ticks/packet/min"),
                ("device_busy_per_packet_drifts", 0.0, "boolean"),
            ]
        );
    }
}
