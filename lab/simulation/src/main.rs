//! `cargo xtask simulate`: many seeds with a progress bar, or one seed with everything that happens.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use quiver_simulation::{Bug, Failure, Report, Settings, Tunneled, memif, run};

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
    bug: Option<Bug>,
    /// Go on after a failure, and count
    #[arg(long)]
    keep_going: bool,
}

fn main() -> ExitCode {
    let arguments = Simulate::parse();
    let settings = Settings { steps: arguments.steps, bug: arguments.bug, print: arguments.seed.is_some() };
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
    let memif = memif::run(seed);
    println!("{memif:?}");
    memif.is_err()
}

/// The daemon's run and that of memif's protocol.
fn both(seed: u64, settings: Settings) -> Result<(Report, memif::Report), Failure> {
    let memif = memif::run(seed).map_err(|what| Failure { seed, step: 0, what, events: vec![], settings })?;
    Ok((run(seed, settings)?, memif))
}

fn many(arguments: &Simulate, settings: Settings) -> bool {
    let bar = ProgressBar::new(arguments.seeds);
    let style = "{bar:30} {pos}/{len} seeds, {per_sec}, {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let (mut failures, mut drops) = (0, BTreeMap::<_, u64>::new());
    let (mut sums, mut memif) = ([0; 12], memif::Report::default());
    let mut tunneled = Tunneled::default();
    for seed in arguments.from..arguments.from + arguments.seeds {
        match both(seed, settings) {
            Ok((report, of_memif)) => {
                memif += of_memif;
                let counts = [
                    report.steps,
                    report.preempted,
                    report.naps,
                    report.taken,
                    report.handed_over,
                    report.left,
                    report.answered,
                    report.refused,
                    report.configurations,
                    report.left6,
                    report.cut,
                    report.judged,
                ];
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                tunneled += report.tunneled;
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
    let [steps, preempted, naps, taken, handed_over, left, answered, refused, configurations, left6, cut, judged] =
        sums;
    println!("{steps} steps, {preempted} preemptions, {naps} naps");
    println!(
        "{taken} packets in, {handed_over} handed from worker to worker, {left} out, {left6} of them of IPv6, {cut} in fragments, \
         {judged} while it was known where they might go"
    );
    let Tunneled { into, routed, deep, out_of } = tunneled;
    println!(
        "tunnels: {into} packets into them, {routed} of them routed, {deep} into more than one, {out_of} out of them"
    );
    println!("{answered} requests, {refused} refused, {configurations} configurations");
    println!("memif: {memif:?}");
    println!(
        "drops: {}",
        drops.iter().map(|((node, reason), n)| format!("{node} {reason} {n}")).collect::<Vec<_>>().join(", ")
    );
    failures > 0
}
