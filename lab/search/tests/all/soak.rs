//! PLRsearch on simulated devices whose critical load is known.

use fastrand::Rng;
use quiver_search::plr::{Curve, Estimate, Plr, Shape};
use quiver_search::{Load, Progress, Search, Seconds, Step, Trial, TrialResult};

const LOSS_RATIO: f64 = 1e-7;

fn load(pps: f64) -> Load {
    Load::new(pps).unwrap()
}

/// Shorter than a real one.
fn short() -> Plr {
    Plr { duration: Seconds::new(100.0).unwrap(), ..Plr::csit(load(2e7)) }
}

/// A device that loses packets at random: on average as many as the curve says.
struct Device {
    curve: Curve,
    rng: Rng,
}

impl Device {
    fn drawn(seed: u64) -> Device {
        let mut rng = Rng::with_seed(seed ^ 0xde71ce);
        let shape = if rng.bool() { Shape::Stretch } else { Shape::Erf };
        let rate = 1e6 * 18f64.powf(rng.f64());
        let spread = rate * 10f64.powf(-1.0 - 3.0 * rng.f64());
        Device { curve: Curve { shape, rate, spread }, rng }
    }

    fn critical_load(&self) -> f64 {
        self.curve.critical_load(9001.0, 2e7, LOSS_RATIO)
    }

    fn measure(&mut self, trial: Trial) -> TrialResult {
        let mean = (self.curve.ln_loss(trial.load.pps()).exp()) * trial.duration.seconds();
        let lost = (poisson(mean, &mut self.rng) as u64).min(trial.packets());
        TrialResult::ideal(trial, trial.packets() - lost)
    }
}

/// A number of a Poisson distribution; of a normal one where they are the same.
fn poisson(mean: f64, rng: &mut Rng) -> f64 {
    if mean > 500.0 {
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        return (mean + mean.sqrt() * normal).round().max(0.0);
    }
    let (mut count, mut product) = (0.0, rng.f64());
    while product > (-mean).exp() {
        count += 1.0;
        product *= rng.f64();
    }
    count
}

fn found(plr: Plr, seed: u64) -> (Estimate, f64) {
    let mut device = Device::drawn(seed);
    let estimate = plr.search().unwrap().run(|trial| device.measure(trial)).unwrap();
    (estimate, device.critical_load())
}

#[test]
fn the_truth_is_within_two_deviations() {
    let seeds = |thread: u64| (thread..100).step_by(2).map(|seed| found(short(), seed)).collect::<Vec<_>>();
    let searches: Vec<_> = std::thread::scope(|scope| {
        let threads = [0, 1].map(|thread| scope.spawn(move || seeds(thread)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let distance = |(estimate, truth): &(Estimate, f64)| (truth - estimate.average.pps()).abs();
    let is_within = |search: &&(Estimate, f64)| distance(search) <= 2.0 * search.0.deviation.pps();
    let within = searches.iter().filter(is_within).count();
    // It is no proof if everything is within two deviations.
    let mut relative: Vec<_> = searches.iter().map(|(estimate, truth)| estimate.deviation.pps() / truth).collect();
    relative.sort_by(f64::total_cmp);
    println!("{within} of 100 within 2 deviations, whose median is {:.3} % of the load", relative[50] * 100.0);
    assert!(within >= 90, "{within}: {searches:?}");
    assert!(relative[50] < 0.003, "{}", relative[50]);
}

/// The progress is an interval that narrows, and a remaining time that shrinks.
#[test]
fn it_may_be_left_at_any_time() {
    let (mut device, mut search) = (Device::drawn(7), short().search().unwrap());
    let mut shown = vec![search.progress()];
    while let Step::Trial(trial) = search.next().unwrap() {
        assert_eq!(search.next().unwrap(), Step::Trial(trial), "asked twice, it is the same");
        search.record(device.measure(trial)).unwrap();
        shown.push(search.progress());
    }
    let width = |progress: &Progress| progress.bounds[0].upper.unwrap().pps() - progress.bounds[0].lower.unwrap().pps();
    assert!(shown[0].bounds[0].upper.is_none() && width(&shown[shown.len() - 1]) < width(&shown[5]) / 2.0);
    assert!(shown.is_sorted_by(|one, other| one.remaining > other.remaining));
    assert_eq!(shown[shown.len() - 1].remaining, Some(Seconds::default()));
}

/// Devices that no curve describes have an estimate as well: dead ones, perfect ones, those that answer at random.
#[test]
fn no_device_breaks_it() {
    let mut rng = Rng::with_seed(1);
    let search = |received: &mut dyn FnMut(Trial) -> u64| {
        let estimate = short().search().unwrap().run(|trial| TrialResult::ideal(trial, received(trial))).unwrap();
        (estimate.average.pps(), estimate.deviation.pps())
    };
    let (dead, _) = search(&mut |_| 0);
    assert!(dead < 10_000.0, "{dead}");
    let (perfect, _) = search(&mut |trial| trial.packets());
    assert!(perfect > 1.9e7, "{perfect}");
    let (hard, deviation) = search(&mut |trial| trial.packets().min((1e7 * trial.duration.seconds()) as u64));
    assert!((hard - 1e7).abs() < 2.0 * deviation + 1e4, "{hard} {deviation}");
    let (random, deviation) = search(&mut |trial| rng.u64(..=2 * trial.packets()));
    assert!(random.is_finite() && deviation.is_finite(), "{random} {deviation}");
}

#[test]
fn settings_are_refused_by_name() {
    let refused = |plr: Plr| plr.search().unwrap_err().to_string();
    assert_eq!(refused(Plr { loss_ratio: 0.0, ..short() }), "PLRsearch: loss_ratio is 0, must be above 0 and below 1");
    assert_eq!(refused(Plr::csit(load(9001.0))), "PLRsearch: max_load is 9001, must be above min_load");
}
