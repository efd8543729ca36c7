//! Verdicts of a gate on builds measured in turns on a simulated shared machine: over many seeds, with figures.
//!
//! `cargo test -p quiver-verdict --test all comparison -- --nocapture` prints them.

use crate::noise::normal;
use fastrand::Rng;
use quiver_verdict::compare::{Confidence, Side, order, paired, unpaired};
use quiver_verdict::gate::{Better, Gate, Verdict};

const SEEDS: u64 = 2_000;
const GATE: Gate = Gate { better: Better::Higher, smallest: 0.01 };

/// A machine that others use, too.
#[derive(Clone, Copy)]
struct Machine {
    /// Normal noise of each measurement.
    noise: f64,
    /// Normal random walk of the machine's speed from one measurement to the next.
    wander: f64,
    /// The same, always downwards.
    heat: f64,
    /// How often a measurement loses up to a third.
    disturbed: f64,
    /// Noise that takes after that of the measurement before by nine tenths, normal.
    correlated: f64,
    /// A periodic job that is not quite on time: its share of the machine, and its period in measurements.
    rhythm: (f64, f64),
    /// Share taken by another user's builds, which run during six measurements in a row and pause for ten.
    builds: f64,
}

const STILL: Machine =
    Machine { noise: 0.0, wander: 0.0, heat: 0.0, disturbed: 0.0, correlated: 0.0, rhythm: (0.0, 1.0), builds: 0.0 };
const QUIET: Machine = Machine { noise: 0.005, ..STILL };
const SHARED: Machine = Machine { noise: 0.01, wander: 0.005, disturbed: 0.05, ..STILL };
const HEATING: Machine = Machine { heat: 0.002, ..QUIET };
const CORRELATED: Machine = Machine { correlated: 0.05, ..QUIET };
const RHYTHMIC: Machine = Machine { rhythm: (0.05, 4.0), ..QUIET };
const BUILDING: Machine = Machine { builds: 0.2, ..QUIET };

impl Machine {
    /// Pairs (parent, current), where current has `speed` times what parent has, measured in this order.
    fn pairs(self, seed: u64, pairs: usize, speed: f64, order: fn(u64, usize) -> [Side; 2]) -> Vec<(f64, f64)> {
        let mut random = Rng::with_seed(seed);
        let (mut level, mut near) = (1e7, self.correlated * normal(&mut random));
        let (mut phase, mut builds) = (random.f64() * std::f64::consts::TAU, random.bool());
        let mut measure = |side: Side| {
            level *= 1.0 + self.wander * normal(&mut random) - self.heat;
            near = 0.9 * near + (1.0 - 0.81f64).sqrt() * self.correlated * normal(&mut random);
            phase += std::f64::consts::TAU / self.rhythm.1 + 0.05 * normal(&mut random);
            builds = random.f64() < if builds { 5.0 / 6.0 } else { 1.0 / 10.0 };
            let own = if side == Side::Current { speed } else { 1.0 };
            let lost = if random.f64() < self.disturbed { random.f64() / 3.0 } else { 0.0 };
            let taken = self.rhythm.0 * (1.0 + phase.sin()) / 2.0 + if builds { self.builds } else { 0.0 };
            level * own * (1.0 + self.noise * normal(&mut random) + near) * (1.0 - lost) * (1.0 - taken)
        };
        let pair = |number| match order(!seed, number) {
            [Side::Parent, _] => {
                let parent = measure(Side::Parent);
                (parent, measure(Side::Current))
            }
            [Side::Current, _] => {
                let current = measure(Side::Current);
                (measure(Side::Parent), current)
            }
        };
        (0..pairs).map(pair).collect()
    }

    /// Percentages: regression, progression, same, undecided; and how often the interval holds the truth.
    fn verdicts(self, pairs: usize, speed: f64) -> ([f64; 4], f64) {
        let (mut said, mut held) = ([0.0; 4], 0.0);
        for seed in 0..SEEDS {
            let ratio = paired(&self.pairs(seed, pairs, speed, order), Confidence::HIGH).expect("a ratio");
            said[GATE.judge(ratio).verdict as usize] += 100.0 / SEEDS as f64;
            held += f64::from(ratio.low <= speed && speed <= ratio.high) * 100.0 / SEEDS as f64;
        }
        (said, held)
    }
}

#[test]
fn equal_builds_are_not_told_apart_and_slower_ones_are_found() {
    println!("{SEEDS} seeds, 1 % matters, 99 % confidence:");
    println!("  regression, progression, same, undecided; truth in the interval");
    let machines = [
        ("quiet", QUIET, 20, 99.0),
        ("shared", SHARED, 20, 80.0),
        ("shared", SHARED, 40, 99.0),
        ("heating", HEATING, 20, 99.0),
        ("correlated", CORRELATED, 20, 60.0),
        ("correlated", CORRELATED, 40, 95.0),
        ("rhythmic", RHYTHMIC, 20, 60.0),
        ("rhythmic", RHYTHMIC, 40, 90.0),
        ("building", BUILDING, 20, 70.0),
        ("building", BUILDING, 40, 95.0),
    ];
    for (name, machine, pairs, least) in machines {
        for speed in [1.0, 0.99, 0.97, 1.03] {
            let ([regression, progression, same, undecided], held) = machine.verdicts(pairs, speed);
            let percent = (speed - 1.0) * 100.0;
            println!(
                "  {name}, {pairs} pairs, {percent:+.0} %: \
                {regression:.2} {progression:.2} {same:.2} {undecided:.2}; {held:.2}"
            );
            assert!(held > 98.4, "{name} {speed}: {held}");
            match speed {
                1.0 => assert!(regression + progression < 1.5, "{name}: false alarms {regression} {progression}"),
                0.97 => assert!(regression >= least && progression == 0.0, "{name}: {regression} found"),
                1.03 => assert!(progression >= least && regression == 0.0, "{name}: {progression} found"),
                _ => assert!(progression == 0.0, "{name}: {progression}"),
            }
        }
    }
}

/// Verdicts on equal builds with a fixed order and with the coin, on machines whose rhythm fits the order.
#[test]
fn a_coin_is_not_deceived() {
    const ABOUT: [[Side; 2]; 2] = [[Side::Parent, Side::Current], [Side::Current, Side::Parent]];
    let same = |_, _| ABOUT[0];
    let about = |_, pair: usize| ABOUT[pair % 2];
    for (name, machine) in [("heating", HEATING), ("rhythm of four", RHYTHMIC), ("correlated", CORRELATED)] {
        let told = |order: fn(u64, usize) -> [Side; 2]| {
            let is_told = |seed: &u64| {
                let ratio = paired(&machine.pairs(*seed, 40, 1.0, order), Confidence::HIGH).expect("a ratio");
                ratio.low > 1.0 || ratio.high < 1.0
            };
            (0..SEEDS).filter(is_told).count() as f64 * 100.0 / SEEDS as f64
        };
        let (fixed, turned, tossed) = (told(same), told(about), told(order));
        println!("{name}, equal builds told apart: A B A B {fixed:.2} %, A B B A {turned:.2} %, tossed {tossed:.2} %");
        assert!(tossed < 1.6, "{name}: {tossed}");
        assert!(name != "heating" || fixed > 10.0, "{name}: {fixed}");
        assert!(name != "rhythm of four" || turned > 50.0, "{name}: {turned}");
    }
}

/// Measured one side after the other, drift of the machine is in the ratio; measured in turns, it is not.
#[test]
fn turns_are_worth_it() {
    let (mut paired_told, mut unpaired_told) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let pairs = SHARED.pairs(seed, 20, 1.0, order);
        let ratio = paired(&pairs, Confidence::HIGH).expect("a ratio");
        paired_told += f64::from(ratio.low > 1.0 || ratio.high < 1.0) * 100.0 / SEEDS as f64;
        let all: Vec<_> = pairs.iter().flat_map(|(parent, current)| [*parent, *current]).collect();
        let ratio = unpaired(&all[..20], &all[20..], Confidence::HIGH).expect("a ratio");
        unpaired_told += f64::from(ratio.low > 1.0 || ratio.high < 1.0) * 100.0 / SEEDS as f64;
    }
    println!(
        "equal builds on a shared machine told apart: in turns {paired_told:.2} %, one after the other {unpaired_told:.2} %"
    );
    assert!(paired_told < 1.5 && unpaired_told > 20.0, "{paired_told} {unpaired_told}");
}

#[test]
fn unpaired_intervals_hold_the_truth() {
    let mut held = 0.0;
    for seed in 0..SEEDS {
        let (parent, current): (Vec<_>, Vec<_>) = QUIET.pairs(seed, 15, 0.97, order).into_iter().unzip();
        let ratio = unpaired(&parent, &current[..12], Confidence::HIGH).expect("a ratio");
        held += f64::from(ratio.low <= 0.97 && 0.97 <= ratio.high) * 100.0 / SEEDS as f64;
        assert_eq!(GATE.judge(ratio).verdict, Verdict::Regression, "{seed}");
    }
    println!("15 and 12 unpaired measurements: the truth is in {held:.2} % of the intervals");
    assert!(held > 98.5, "{held}");
}
