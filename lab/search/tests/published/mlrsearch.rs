//! MLRsearch against FD.io's: for a thousand devices the same trials, one by one, and the same results, bit by bit.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fastrand::Rng;
use libtest_mimic::Failed;
use quiver_oracle::Packages;
use quiver_search::device::Device;
use quiver_search::mlr::{Goal, GoalResult, Mlr};
use quiver_search::{Error, Load, Search, Seconds, Trial, TrialResult};
use serde_json::{Value, json};

const DEVICES: u64 = 1000;

/// Each has a process of Python's.
const THREADS: u64 = 2;

pub fn trials(packages: &Packages) -> Vec<libtest_mimic::Trial> {
    let name = format!("mlrsearch::{DEVICES} devices are asked for the same trials, with the same results");
    vec![packages.test(name, compare)]
}

fn compare(python: &Path) -> Result<(), Failed> {
    let part = |thread: u64| {
        let mut library = Library::start(python);
        (thread..DEVICES).step_by(THREADS as usize).map(|seed| one(&mut library, seed)).collect::<Vec<_>>()
    };
    let searches: Vec<Ended> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || part(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a comparison failed, see above")).collect()
    });
    // That all kinds of endings are among them is part of the proof.
    let count = |ended| searches.iter().filter(|each| **each == ended).count();
    let [found, above, refused] = [Ended::Bounded, Ended::AboveMax, Ended::NoLowerBound].map(count);
    println!("{found} found bounds, {above} passed the largest load, {refused} lost too much at the smallest");
    assert!(found > 500 && above > 20 && refused > 20);
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    Bounded,
    AboveMax,
    NoLowerBound,
}

/// A search and a device that are drawn by a seed, by us and by the library.
fn one(library: &mut Library, seed: u64) -> Ended {
    let mlr = drawn(seed);
    let device = Device::drawn(seed, mlr.min_load, mlr.max_load);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut search = mlr.clone().search().unwrap();
    let result = {
        let mut device = device.clone();
        search.run(|trial| {
            ours.push(trial);
            device.measure(trial)
        })
    };
    let expected = {
        let mut device = device.clone();
        library.search(&mlr, |trial| {
            theirs.push(trial);
            device.measure(trial)
        })
    };
    let differs = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
    let what = || format!("seed {seed}: {mlr:?}\n{device:?}\nours {result:?}\ntheirs {expected:?}");
    assert_eq!(differs, None, "trials differ there: ours {ours:?}\ntheirs {theirs:?}\n{}", what());
    assert_eq!(ours.len(), theirs.len(), "{}", what());
    match (&result, &expected) {
        (Ok(found), Ok(expected)) => {
            let of = |found: &GoalResult| [found.lower, found.upper, found.throughput];
            assert_eq!(&found.iter().map(of).collect::<Vec<_>>(), expected, "{}", what());
            if found.iter().any(|found| found.upper.is_none()) { Ended::AboveMax } else { Ended::Bounded }
        }
        (Err(Error::NoLowerBound { .. }), Err(error)) if error.starts_with("No lower bound") => Ended::NoLowerBound,
        _ => panic!("{}", what()),
    }
}

/// One to four goals, with the loads to search.
fn drawn(seed: u64) -> Mlr {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let second = |seconds| Seconds::new(seconds).unwrap();
    let known = [Goal::ndr(), Goal::pdr(), Goal::rfc2544(), Goal::tst009()];
    let goals = match rng.u32(..4) {
        0 => known[..2].to_vec(),
        1 => known.to_vec(),
        _ => {
            let count = 1 + rng.usize(..4);
            let goal = |at| {
                let initial = [0.1, 0.5, 1.0][rng.usize(..3)];
                let trial = initial * [1.0, 2.0, 30.0][rng.usize(..3)];
                let preceding_targets = rng.u32(..5);
                let sum = if preceding_targets == 0 { initial } else { trial * [1.0, 2.0, 7.7, 21.0][rng.usize(..4)] };
                Goal {
                    name: format!("goal {at}"),
                    // Apart from each other, as the library refuses equal goals.
                    loss_ratio: [0.0, 1e-6, 0.005, 0.1][rng.usize(..4)] + f64::from(at) * 1e-7,
                    exceed_ratio: [0.0, 0.25, 0.5, 0.9][rng.usize(..4)],
                    relative_width: [0.001, 0.005, 0.01, 0.05, 0.6][rng.usize(..5)],
                    initial_trial: second(initial),
                    final_trial: second(trial.min(sum)),
                    duration_sum: second(sum),
                    preceding_targets,
                    expansion: 2 + rng.u32(..3),
                    fail_fast: rng.u32(..4) > 0,
                }
            };
            (0..count as u32).map(goal).collect()
        }
    };
    let min = 10f64.powf(rng.f64() * 4.0 + 1.0);
    let max = min * 10f64.powf(rng.f64() * 4.0 + 0.1);
    let warm_up = second([0.0, 1.0][rng.usize(..2)]);
    let [min_load, max_load] = [min, max].map(|load| Load::new(load).unwrap());
    Mlr { goals, min_load, max_load, warm_up, limit: None }
}

/// Lower bound, upper bound and conditional throughput of each goal, or what the library complains of.
type Answer = Result<Vec<[Option<Load>; 3]>, String>;

struct Library {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Library {
    fn start(python: &Path) -> Library {
        let mut command = Command::new(python);
        command.arg(Path::new(crate::TESTS).join("mlrsearch.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Library { process, to, from }
    }

    fn say(&mut self, line: &Value) {
        writeln!(self.to, "{line}").unwrap();
    }

    fn hear(&mut self) -> Vec<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("tests/mlrsearch.py says {line:?}: {error}"))
    }

    fn search(&mut self, mlr: &Mlr, mut measure: impl FnMut(Trial) -> TrialResult) -> Answer {
        let goals: Vec<_> = mlr.goals.iter().map(fields).collect();
        let [min_load, max_load] = [mlr.min_load, mlr.max_load].map(|load| exact(load.pps()));
        let warm_up = exact(mlr.warm_up.seconds());
        self.say(&json!({"goals": goals, "min_load": min_load, "max_load": max_load, "warm_up": warm_up}));
        loop {
            let line = self.hear();
            match line[0].as_str() {
                Some("trial") => {
                    let [seconds, pps] = [&line[1], &line[2]].map(|value| number(value).unwrap());
                    let (load, duration) = (Load::new(pps).unwrap(), Seconds::new(seconds).unwrap());
                    let result = measure(Trial { load, duration });
                    let effective = exact(result.effective.seconds());
                    self.say(&json!([result.intended, result.sent, result.received, effective]));
                }
                Some("found") => {
                    let load = |value: &Value| number(value).map(|pps| Load::new(pps).unwrap());
                    return Ok(line[1..].iter().map(|goal| [0, 1, 2].map(|at| load(&goal[at]))).collect());
                }
                _ => return Err(line[1].as_str().unwrap_or_default().to_owned()),
            }
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn fields(goal: &Goal) -> Value {
    json!({
        "loss_ratio": exact(goal.loss_ratio),
        "exceed_ratio": exact(goal.exceed_ratio),
        "relative_width": exact(goal.relative_width),
        "initial_trial_duration": exact(goal.initial_trial.seconds()),
        "final_trial_duration": exact(goal.final_trial.seconds()),
        "duration_sum": exact(goal.duration_sum.seconds()),
        "preceding_targets": goal.preceding_targets,
        "expansion_coefficient": goal.expansion,
        "fail_fast": goal.fail_fast,
    })
}

/// The shortest decimals that are read as the same float, by Python as well. As a number of JSON it might be rounded.
fn exact(float: f64) -> String {
    format!("{float:e}")
}

fn number(value: &Value) -> Option<f64> {
    value.as_str()?.parse().ok()
}
