//! How often changes are found, and how often where there are none: over many seeds, with figures.
//!
//! `cargo test -p quiver-verdict --test all power -- --nocapture` prints them.

use crate::noise::normal;
use fastrand::Rng;
use quiver_verdict::bits::{self, Resolution, Run};
use quiver_verdict::steps::{self, Course, Level};

const SEEDS: u64 = 1_000;
const NOISE: f64 = 0.003;

/// Student's distribution with two degrees of freedom: tails so heavy that it has no variance.
fn heavy(random: &mut Rng) -> f64 {
    let uniform = random.f64().clamp(1e-12, 1.0 - 1e-12);
    (2.0 * uniform - 1.0) / (2.0 * uniform * (1.0 - uniform)).sqrt()
}

/// 40 samples around 100, those from the 21st on changed by `step`.
fn series(seed: u64, step: f64, mut noise: impl FnMut(&mut Rng) -> f64) -> Vec<f64> {
    let mut random = Rng::with_seed(seed);
    (0..40).map(|at| 100.0 * (1.0 + if at < 20 { 0.0 } else { step }) * (1.0 + NOISE * noise(&mut random))).collect()
}

/// The courses of as many series as there are seeds.
fn courses(seeds: u64, series: impl Fn(u64) -> Vec<f64>) -> Vec<Course> {
    (0..seeds).map(|seed| steps::find(&series(seed)).expect("a course")).collect()
}

/// The percentage of the courses for which this holds.
fn share(courses: &[Course], holds: impl Fn(&Course) -> bool) -> f64 {
    courses.iter().filter(|course| holds(course)).count() as f64 / courses.len() as f64 * 100.0
}

fn is_drift(course: &Course) -> bool {
    course.pieces.iter().any(|piece| matches!(piece.level, Level::Drift { .. }))
}

fn is_changed(course: &Course) -> bool {
    course.pieces.len() > 1 || is_drift(course)
}

/// Exactly one step, and no more than five samples from where it is.
fn is_placed(course: &Course) -> bool {
    let starts: Vec<_> = course.pieces.iter().map(|piece| piece.samples.start).collect();
    !is_drift(course) && matches!(starts[..], [0, step] if step.abs_diff(20) <= 5)
}

fn with_spike(mut series: Vec<f64>, at: usize) -> Vec<f64> {
    series[at] *= 0.8;
    series
}

#[test]
fn small_steps_are_found_and_false_alarms_are_rare() {
    println!("{SEEDS} series of 40 samples, noise 0.3 %:");
    let alarms = share(&courses(5 * SEEDS, |seed| series(seed, 0.0, normal)), is_changed);
    println!("  no step ({} series): {alarms:.2} % false alarms", 5 * SEEDS);
    assert!(alarms < 1.0, "{alarms}");
    for (step, least) in [(-0.003, 0.0), (-0.004, 0.0), (-0.005, 90.0), (0.005, 90.0), (-0.01, 99.0)] {
        let stepped = |seed| series(seed, step, normal);
        let courses = courses(SEEDS, stepped);
        let (found, placed) = (share(&courses, is_changed), share(&courses, is_placed));
        let by_bits = (0..SEEDS).filter(|seed| {
            let runs: Vec<_> = stepped(*seed).into_iter().map(Run::One).collect();
            bits::classify(&runs, Resolution::default()).expect("groups").len() > 1
        });
        let by_bits = by_bits.count() as f64 / SEEDS as f64 * 100.0;
        let percent = step * 100.0;
        println!("  step of {percent:+.1} %: {found:.1} % found, {placed:.1} % as one step at its place;");
        println!("    jumpavg finds {by_bits:.1} %");
        assert!(found >= least && placed >= least - 5.0 && found >= by_bits, "{step}: {found} {placed} {by_bits}");
    }
}

#[test]
fn one_spike_is_no_change_and_hides_none() {
    let spiked = |step| courses(SEEDS, move |seed| with_spike(series(seed, step, normal), seed as usize % 40));
    let alone = spiked(0.0);
    let alarms = share(&alone, is_changed);
    let named = share(&alone, |course| course.outliers.len() == 1);
    let found = share(&spiked(-0.005), is_changed);
    println!("one spike of -20 %: {alarms:.1} % false alarms, {named:.1} % name it alone;");
    println!("  with a step of -0.5 % beside it: {found:.1} % found");
    assert!(alarms < 1.0 && found >= 90.0 && named > 90.0, "{alarms} {found} {named}");
}

#[test]
fn heavy_tails_make_no_alarms() {
    let alarms = share(&courses(SEEDS, |seed| series(seed, 0.0, heavy)), is_changed);
    let found = share(&courses(SEEDS / 5, |seed| series(seed, -0.01, heavy)), is_changed);
    println!("Student's t with 2 degrees: {alarms:.1} % false alarms; step of -1 %: {found:.1} % found");
    assert!(alarms < 1.0 && found > 90.0, "{alarms} {found}");
}

#[test]
fn a_drift_is_called_one() {
    let drift = |seed, total: f64| {
        let mut samples = series(seed, 0.0, normal);
        samples.iter_mut().zip(0..).for_each(|(sample, at)| *sample *= 1.0 - total * f64::from(at) / 39.0);
        samples
    };
    for (total, least) in [(0.005, 0.0), (0.01, 0.0), (0.02, 80.0), (0.05, 95.0)] {
        let courses = courses(SEEDS / 5, |seed| drift(seed, total));
        let told = share(&courses, is_drift);
        let steps = share(&courses, is_changed) - told;
        println!("a drift of {:.1} %: {told:.1} % told, {steps:.1} % called steps", total * 100.0);
        assert!(told >= least, "{total} {told}");
    }
    let mistaken = share(&courses(SEEDS / 5, |seed| series(seed, -0.02, normal)), is_drift);
    println!("a step of 2 %: {mistaken:.1} % called a drift");
    assert!(mistaken < 1.0, "{mistaken}");
}

/// Where samples depend on each other, false alarms are more than what a course says, and `correlation` is the warning.
#[test]
fn dependence_is_told() {
    for (carried, least) in [(0.0_f64, -0.3), (0.3, 0.0), (0.6, 0.15)] {
        let dependent = |seed| {
            let mut last = 0.0;
            series(seed, 0.0, move |random| {
                last = carried * last + (1.0 - carried * carried).sqrt() * normal(random);
                last
            })
        };
        let courses = courses(SEEDS / 5, dependent);
        let alarms = share(&courses, is_changed);
        let told = share(&courses, |course| course.correlation > 0.15);
        println!("correlation {carried}: {alarms:.1} % false alarms, {told:.1} % told more than 0.15");
        let warned = share(&courses, |course| course.correlation > least);
        assert!(warned > 90.0, "{carried} {warned}");
    }
}

#[test]
fn several_changes_are_found() {
    let bump = |seed| {
        let mut samples = [series(seed, 0.0, normal), series(seed + SEEDS, 0.0, normal)].concat();
        samples[32..47].iter_mut().for_each(|sample| *sample *= 0.99);
        samples
    };
    let is_near = |course: &Course| {
        let starts: Vec<_> = course.pieces.iter().map(|piece| piece.samples.start).collect();
        matches!(starts[..], [0, down, up] if down.abs_diff(32) <= 3 && up.abs_diff(47) <= 3)
    };
    let found = share(&courses(SEEDS / 5, bump), is_near);
    println!("15 of 80 samples 1 % lower: {found:.1} % found, with both ends");
    assert!(found > 85.0, "{found}");
}
