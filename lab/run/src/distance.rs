//! Cost of a packet with the cores of generator and device near to each other, and far apart. A median over both means
//! nothing, and a ratio of two turns may compare one with the other.

use quiver_result::{Busy, Trial};
use quiver_suite::Case;
use quiver_verdict::median;

use crate::Peer;

/// How far the cores of generator and device are apart. A virtual machine's may be moved between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// A word goes from core to core and back within [`NEAR_NS`].
    Near,
    /// It takes longer.
    Far,
}

/// The longest round trip between near cores, in nanoseconds: some 400 ticks of a clock of 2.5 GHz.
pub const NEAR_NS: f64 = 160.0;

impl Distance {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Distance::Near => "near",
            Distance::Far => "far",
        }
    }

    /// The distance in a trial; none if it is unknown, or changed during the trial.
    fn of(trial: &Trial) -> Option<Distance> {
        let trip = trial.core_round_trip.as_ref()?;
        let [before, after] = [trip.before_ns, trip.after_ns]
            .map(|trip| if trip.get() <= NEAR_NS { Distance::Near } else { Distance::Far });
        (before == after).then_some(before)
    }
}

/// Cost of a packet for a device at one distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The distance.
    pub distance: Distance,
    /// The device.
    pub peer: Peer,
    /// The median of its trials, in ticks a packet.
    pub ticks: f64,
    /// How many these were.
    pub trials: usize,
}

/// Cost of a packet for each device of a group, by distance, from its trials in the order of the group. Devices that
/// count no ticks are left out.
pub fn costs(group: &[Case], trials: &[Vec<Trial>]) -> Vec<Cost> {
    let at = |distance| {
        group.iter().zip(trials).filter_map(move |(case, trials)| {
            let counts =
                trials.iter().filter(|trial| trial.repeated_because.is_none() && Distance::of(trial) == Some(distance));
            let ticks = counts.filter_map(|trial| match trial.busy.as_ref()? {
                Busy::CpuTime { .. } => None,
                busy => Some(busy.amount().get()),
            });
            let ticks: Vec<f64> = ticks.collect();
            let trials = ticks.len();
            Some(Cost { distance, peer: Peer::of(case), ticks: median(ticks)?, trials })
        })
    };
    [Distance::Near, Distance::Far].into_iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use quiver_result::{Amount, RoundTrip};

    use super::*;

    #[test]
    fn costs_are_medians_of_trials_whose_cores_stayed_at_one_distance() {
        let suite = "suites: [{function: l2xc, driver: memif, device: [quiver, vpp], frame: 64, search: mrr}]";
        let groups = crate::groups(&quiver_suite::read([("test.yaml", suite)]).expect("a suite"));
        let amount = |value| Amount::try_from(value).expect("an amount");
        let trial = |ticks: f64, before: f64, after: f64| Trial {
            busy: Some(Busy::ThreadTicks { ticks_per_packet: amount(ticks) }),
            core_round_trip: Some(RoundTrip { before_ns: amount(before), after_ns: amount(after) }),
            ..crate::limits::tests::trial(1.0, false, false)
        };
        let quiver = vec![
            trial(50.0, 60.0, 61.0),
            trial(70.0, 160.0, 60.0),
            trial(65.0, 60.0, 60.0),
            trial(90.0, 60.0, 300.0),
            trial(99.0, 300.0, 280.0),
        ];
        let vpp = vec![
            trial(80.0, 60.0, 60.0),
            trial(90.0, 60.0, 60.0),
            Trial { core_round_trip: None, ..trial(1.0, 1.0, 1.0) },
        ];
        let found = costs(&groups[0], &[quiver, vpp]);
        let told: Vec<_> =
            found.iter().map(|cost| (cost.distance.word(), cost.peer.word(), cost.ticks, cost.trials)).collect();
        assert_eq!(told, [("near", "quiver", 65.0, 3), ("near", "vpp", 85.0, 2), ("far", "quiver", 99.0, 1)]);
    }
}
