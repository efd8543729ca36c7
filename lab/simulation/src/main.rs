//! `cargo xtask simulate`: many seeds with a progress bar, or one seed with everything that happens.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quiver_simulation::{Bug, Failure, Settings, run};

#[derive(Parser)]
#[command(bin_name = "cargo xtask simulate")]
struct Simulate {
    /// How many seeds to run
    #[arg(long, default_value_t = 1000, value_name = "N")]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    from: u64,
    /// One seed only: prints every event
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Steps of each before everything comes to rest
    #[arg(long, default_value_t = Settings::default().steps, value_name = "N")]
    steps: u64,
    /// Plant a bug, to see it found
    #[arg(long, value_enum)]
    bug: Option<PlantedBug>,
    /// Go on after a failure, and count
    #[arg(long)]
    keep_going: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlantedBug {
    /// Reclamation waits for nobody
    SkippedGracePeriod,
    /// A buffer is freed twice when a transmit queue is full
    DoubleFree,
}

fn main() -> ExitCode {
    let arguments = Simulate::parse();
    let bug = arguments.bug.map(|bug| match bug {
        PlantedBug::SkippedGracePeriod => Bug::SkippedGracePeriod,
        PlantedBug::DoubleFree => Bug::DoubleFree,
    });
    let settings = Settings { steps: arguments.steps, bug, print: arguments.seed.is_some() };
    let failed = match arguments.seed {
        Some(seed) => one(seed, settings),
        None => many(&arguments, settings),
    };
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs one seed. Its events have been printed when it fails.
fn one(seed: u64, settings: Settings) -> bool {
    match run(seed, settings) {
        Ok(report) => println!("seed {seed} passes: {report:?}"),
        Err(Failure { step, what, .. }) => {
            println!("seed {seed}, step {step}: {what}");
            return true;
        }
    }
    false
}

fn many(arguments: &Simulate, settings: Settings) -> bool {
    let bar = ProgressBar::new(arguments.seeds);
    let style = "{bar:30} {pos}/{len} seeds, {per_sec}, {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let (mut failures, mut drops) = (0, BTreeMap::<_, u64>::new());
    let mut sums = [0; 6];
    for seed in arguments.from..arguments.from + arguments.seeds {
        match run(seed, settings) {
            Ok(report) => {
                let counts =
                    [report.steps, report.taken, report.left, report.answered, report.refused, report.preempted];
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                report.drops.into_iter().for_each(|(name, count)| *drops.entry(name).or_default() += count);
            }
            Err(failure) if arguments.keep_going => {
                failures += 1;
                bar.suspend(|| println!("seed {}, step {}: {}", failure.seed, failure.step, failure.what));
            }
            Err(failure) => {
                bar.abandon();
                println!("{failure}");
                return true;
            }
        }
        bar.set_message(format!("{failures} failed"));
        bar.inc(1);
    }
    bar.finish();
    let [steps, taken, left, answered, refused, preempted] = sums;
    println!(
        "{steps} steps, {preempted} preemptions, {taken} packets in, {left} out, {answered} requests, {refused} refused"
    );
    println!(
        "drops: {}",
        drops.iter().map(|((node, reason), n)| format!("{node} {reason} {n}")).collect::<Vec<_>>().join(", ")
    );
    failures > 0
}
