//! Groups, bits and trends are those of the published package, jumpavg 0.4.2, on random series.

use std::path::Path;

use libtest_mimic::{Arguments, Failed};
use quiver_oracle::Packages;
use quiver_verdict::bisect;
use quiver_verdict::bits::{self, Resolution, Run};
use serde_json::{Value, json};

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requirements.txt");
const SERIES: u64 = 1_000;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "jumpavg", REQUIREMENTS);
    let trials = vec![
        packages.test("groups, bits and trends are jumpavg's", same_groups),
        packages.test("what a bisection joins takes jumpavg's bits", same_bits_of_three),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A random series, and the settings it is classified with; `None` is the default.
struct Series {
    runs: Vec<Run>,
    unit: Option<f64>,
    bits: Option<f64>,
}

impl Series {
    fn random(random: &mut fastrand::Rng) -> Series {
        let scale = 10f64.powf(random.f64() * 8.0 - 1.0);
        let noise = *random.choice(&[0.0, 1e-4, 0.003, 0.02, 0.3]).unwrap_or(&0.0);
        let steps = random.f64() * 0.2;
        let spikes = if random.u8(..4) == 0 { 0.05 } else { 0.0 };
        let longest = *random.choice(&[1, 1, 2, 10]).unwrap_or(&1);
        let mut level = scale;
        let runs = (0..random.usize(1..=60)).map(|_| {
            if random.f64() < steps {
                level *= 1.0 + (random.f64() - 0.5) * 0.1;
            }
            let size = random.usize(1..=longest);
            let mut sample = || {
                let spike = if random.f64() < spikes { random.f64() } else { 1.0 };
                level * (1.0 + noise * (random.f64() + random.f64() + random.f64() - 1.5)) * spike
            };
            let samples = (0..size).map(|_| sample()).collect::<Vec<_>>();
            if longest == 1 || (samples.len() == 1 && random.bool()) {
                Run::One(samples[0])
            } else {
                Run::Many(samples)
            }
        });
        let runs = runs.collect();
        let (mut unit, mut bits) = (None, None);
        match random.u8(..4) {
            0 => unit = Some(scale * 10f64.powf(random.f64() * -5.0)),
            1 => bits = Some(random.f64() * 20.0 + 1.0),
            _ => {}
        }
        Series { runs, unit, bits }
    }

    fn resolution(&self) -> Resolution {
        match (self.unit, self.bits) {
            (Some(unit), _) => Resolution::Unit(unit),
            (None, Some(bits)) => Resolution::SignificantBits(bits),
            (None, None) => Resolution::default(),
        }
    }

    fn json(&self) -> Value {
        let run = |run: &Run| match run {
            Run::One(sample) => json!(sample),
            Run::Many(samples) => json!(samples),
        };
        json!({"runs": self.runs.iter().map(run).collect::<Vec<_>>(), "unit": self.unit, "sbps": self.bits})
    }
}

fn same_groups(python: &Path) -> Result<(), Failed> {
    let series = (0..SERIES).map(|seed| Series::random(&mut fastrand::Rng::with_seed(seed)));
    let mut series: Vec<_> = series.collect();
    // What random series hardly ever are: equal groups apart, ties, and equal averages of different deviation.
    let one = |samples: &[f64]| samples.iter().copied().map(Run::One).collect::<Vec<_>>();
    let many = |runs: &[&[f64]]| runs.iter().map(|run| Run::Many(run.to_vec())).collect::<Vec<_>>();
    let odd = [
        one(&[0.1; 50]),
        one(&[[10.0; 8], [9.5; 8], [10.0; 8]].concat()),
        one(&[1.0, 2.0]),
        one(&[-5.0, 3.0, -5.0, 3.0]),
        one(&[&[100.0; 20][..], &[80.0], &[100.0; 20]].concat()),
        many(&[&[0.1; 3], &[0.1; 3], &[0.1; 3]]),
        many(&[&[10.0; 30], &[1.0, 19.0, 1.0, 19.0, 1.0, 19.0, 1.0, 19.0], &[10.0; 30]]),
        many(&[&[0.3, 0.1, 0.2]]),
    ];
    series.extend(odd.map(|runs| Series { runs, unit: None, bits: None }));
    let input: String = series.iter().map(|series| format!("{}\n", series.json())).collect();
    let answers = answers(python, &input)?;
    assert_eq!(answers.len(), series.len());
    let (mut groups_in_all, mut several) = (0, 0);
    for (number, (series, answer)) in series.iter().zip(&answers).enumerate() {
        let groups = bits::classify(&series.runs, series.resolution())?;
        let told = answer["groups"].as_array().ok_or("no groups")?;
        let context = || format!("series {number}: {}\nthis: {groups:?}\njumpavg: {told:?}", series.json());
        assert_eq!(groups.len(), told.len(), "{}", context());
        let is_close = |value: f64, told: &Value| {
            let told = told.as_f64().unwrap_or(f64::NAN);
            (value - told).abs() <= 1e-9 * told.abs().max(1.0)
        };
        for (group, told) in groups.iter().zip(told) {
            assert_eq!(told["runs"], group.runs.len(), "{}", context());
            assert_eq!(told["samples"], group.moments.size, "{}", context());
            assert_eq!(told["trend"], group.trend.name(), "{}", context());
            assert!(is_close(group.moments.average, &told["average"]), "{}", context());
            assert!(is_close(group.moments.deviation, &told["deviation"]), "{}", context());
            assert!((group.bits - told["bits"].as_f64().unwrap_or(f64::NAN)).abs() <= 1e-9, "{}", context());
        }
        assert!(is_close(bits::bits(&groups), &answer["bits"]), "{}", context());
        groups_in_all += groups.len();
        several += usize::from(groups.len() > 1);
    }
    println!("{} series, {several} of them with change points, {groups_in_all} groups: as jumpavg's", series.len());
    Ok(())
}

/// The package's answer to each line.
fn answers(python: &Path, input: &str) -> Result<Vec<Value>, Failed> {
    let answers = quiver_oracle::answer(python, &Path::new(TESTS).join("classify.py"), input)?;
    Ok(answers.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn same_bits_of_three(python: &Path) -> Result<(), Failed> {
    let lists = (0..200).map(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        [0; 3].map(|_| {
            let (level, noise) = (1e6 * (9.0 + random.f64()), 1e6 * random.f64());
            (0..random.usize(1..=12)).map(|_| level + noise * random.f64()).collect::<Vec<_>>()
        })
    });
    let lists: Vec<_> = lists.collect();
    let line = |[early, middle, late]: &[Vec<f64>; 3]| {
        format!("{}\n", json!({"early": early, "middle": middle, "late": late, "unit": 1.0}))
    };
    let answers = answers(python, &lists.iter().map(line).collect::<String>())?;
    assert_eq!(answers.len(), lists.len());
    for ([early, middle, late], answer) in lists.iter().zip(&answers) {
        let joined = bisect::join(early, middle, late, Resolution::Unit(1.0))?;
        for (bits, told) in
            [joined.early_bits, joined.late_bits, joined.double_bits].iter().zip(answer.as_array().ok_or("no bits")?)
        {
            assert!((bits - told.as_f64().unwrap_or(f64::NAN)).abs() < 1e-9, "{joined:?} {answer}");
        }
    }
    Ok(())
}
