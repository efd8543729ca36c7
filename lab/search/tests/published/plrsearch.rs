//! The shapes of PLRsearch against their definitions, computed by mpmath with hundreds of digits.

use std::fmt::Write;
use std::path::Path;

use fastrand::Rng;
use libtest_mimic::{Failed, Trial};
use quiver_oracle::Packages;
use quiver_search::plr::{Curve, Shape};

pub fn trials(packages: &Packages) -> Vec<Trial> {
    vec![
        packages.test("plrsearch::losses are those of the definitions", losses),
        packages.test("plrsearch::critical loads are those of the definitions", critical_loads),
    ]
}

const LOADS: (f64, f64) = (9001.0, 1e8);

/// A curve as the prior draws them, far from any load that is tried and near to it, and such a load.
fn drawn(rng: &mut Rng) -> (Curve, f64) {
    let (min, max) = LOADS;
    let shape = if rng.bool() { Shape::Stretch } else { Shape::Erf };
    let rate = match rng.u32(..4) {
        0 => 1.0 + rng.f64() * min,
        1 => max * 10f64.powf(rng.f64() * 4.0),
        _ => min * (max / min).powf(rng.f64()),
    };
    let spread = rate.powf(rng.f64());
    let load = match rng.bool() {
        true => min * (max / min).powf(rng.f64()),
        // Where it matters.
        false => (rate + spread * (rng.f64() * 20.0 - 15.0)).clamp(min, max),
    };
    (Curve { shape, rate, spread }, load)
}

/// The largest difference to what the script answers, relative where numbers are above 1.
fn compare(python: &Path, input: &str, ours: &[f64]) -> Result<(), Failed> {
    let answers = quiver_oracle::answer(python, &Path::new(crate::TESTS).join("plrsearch.py"), input)?;
    let theirs: Vec<f64> = answers.lines().map(str::parse).collect::<Result<_, _>>()?;
    assert_eq!(ours.len(), theirs.len());
    for ((ours, theirs), line) in ours.iter().zip(&theirs).zip(input.lines()) {
        let difference = (ours - theirs).abs() / theirs.abs().max(1.0);
        assert!(difference < 1e-9, "{line}: {ours} is not {theirs}");
    }
    Ok(())
}

fn losses(python: &Path) -> Result<(), Failed> {
    let (mut rng, mut input, mut ours) = (Rng::with_seed(1), String::new(), Vec::new());
    for _ in 0..4000 {
        let (curve, load) = drawn(&mut rng);
        let Curve { shape, rate, spread } = curve;
        writeln!(input, r#"["{shape:?}", "{load:e}", "{rate:e}", "{spread:e}", null, null, null]"#)?;
        ours.push(curve.ln_loss(load));
    }
    compare(python, &input, &ours)
}

fn critical_loads(python: &Path) -> Result<(), Failed> {
    let (mut rng, mut input, mut ours) = (Rng::with_seed(2), String::new(), Vec::new());
    let (min, max) = LOADS;
    for _ in 0..200 {
        let (Curve { shape, rate, spread }, _) = drawn(&mut rng);
        let loss_ratio = 10f64.powf(-1.0 - rng.f64() * 7.0);
        writeln!(input, r#"["{shape:?}", null, "{rate:e}", "{spread:e}", "{min:e}", "{max:e}", "{loss_ratio:e}"]"#)?;
        ours.push(Curve { shape, rate, spread }.critical_load(min, max, loss_ratio));
    }
    compare(python, &input, &ours)
}
