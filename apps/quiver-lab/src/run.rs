//! `quiver lab run`: measures cases, one after the other or in turns, and keeps a document of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use quiver_result::Trial;
use quiver_run::{
    Comparison, Cost, Distance, Error, Lengths, NEAR_NS, Place, Stop, TRIAL_MIN, Terms, compare, costs, groups,
    headline,
};
use quiver_store::default_unsent;
use quiver_suite::Case;
use quiver_suite::field::{Device, Keyword};
use quiver_terminal::{print, say, warning};
use quiver_verdict::compare::{Confidence, Side, order, pairs_needed};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{self, register_conditional_shutdown};

use crate::display::{Display, Results};
use crate::keep::{self, Keep, StoredAt};
use crate::told::{TICKS, cost, told};
use crate::{LabError, estimate, lacking, select, testbed, within};

/// Measures that devices in turns are compared by: the figure of the search, such as a rate, and the ticks of a packet
/// if both devices count them. Ticks mean more than a rate that the generator limits.
const COMPARED: [&str; 2] = ["figure", TICKS];
/// How sure the interval of a ratio is.
const CONFIDENCE: f64 = 0.95;

/// Measure cases: generator, device and search of each; a JSON document of each in a folder or an object store
///
/// With CSIT's goals a case takes from 10 seconds (mrr) to half an hour (soak); --short is for a first look. The time of the whole
/// run is told before it begins; on a terminal a run of an hour or more asks first. Cases that this machine lacks something for
/// are skipped with the reason. Results go to standard output, progress and warnings to standard error. Ctrl-C ends the run after
/// the current trial, keeps the bounds found so far in the document and prints them. The exit status is 0 if all that ran passed
/// and is stored, and something ran.
#[derive(Debug, clap::Args)]
pub struct Run {
    /// Which cases: a tag expression, as of `quiver lab list`
    #[arg(value_name = "EXPR", required = true)]
    expression: Vec<String>,
    /// Suites beside the built-in ones: all files *.yaml of a folder
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// Where: a file that names hosts, ports and cores, of one, two or three nodes; else all is on this machine
    ///
    /// The generator runs on the host without `ssh`, which is this machine; devices run here or behind ssh, on the ports that
    /// links name. These are taken as interfaces of the kernel (AF_PACKET), which takes root, here and there; they must be up,
    /// without addresses, and for long frames have the MTU for them. Of the suites, the cases of drv_veth are run so, by the names
    /// and tags that `quiver lab list --testbed FILE` shows.
    #[arg(long, value_name = "FILE")]
    testbed: Option<PathBuf>,
    /// Where documents go: a folder, s3://BUCKET/PREFIX, or - for a line each on the standard output
    #[arg(long, value_name = "DIR|URL", default_value = "results")]
    results: String,
    /// Where documents are kept that their place does not take
    #[arg(long, value_name = "DIR")]
    unsent: Option<PathBuf>,
    /// The quiverd that cases of Quiver measure, in place of the one that is installed
    #[arg(long, value_name = "FILE")]
    quiverd: Option<PathBuf>,
    /// Trials of 0.1 s, few of them, and wide intervals
    #[arg(long)]
    short: bool,
    /// The same with trials of so many seconds
    #[arg(long, value_name = "SECONDS", conflicts_with = "short", value_parser = lengths)]
    trial: Option<Lengths>,
    /// How many seconds searches for leaks and drift take: four hours by default, or twenty short trials
    #[arg(long, value_name = "SECONDS", value_parser = endurance)]
    endure: Option<f64>,
    /// Measure the devices of what is else the same in turns, so many times each, and compare them
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u16).range(1..))]
    interleave: Option<u16>,
    /// Only so many of the cases, drawn by lot among those that this machine can run
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    draw: Option<u32>,
    /// Seed that decides which cases are drawn, and whose turn comes first; printed when none is given
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Begin a run of hours without asking
    #[arg(long, short)]
    yes: bool,
    /// Print the results as an object in JSON
    #[arg(long)]
    json: bool,
}

pub fn lengths(text: &str) -> Result<Lengths, String> {
    let seconds = text.trim_end_matches('s').parse().ok().and_then(Lengths::of_trials);
    seconds.ok_or_else(|| format!("must be a number of seconds from {TRIAL_MIN} to 1000"))
}

fn endurance(text: &str) -> Result<f64, String> {
    let seconds = text.trim_end_matches('s').parse().ok().filter(|seconds| (TRIAL_MIN..=1e7).contains(seconds));
    seconds.ok_or_else(|| format!("must be a number of seconds from {TRIAL_MIN} to 10000000"))
}

/// Results of all cases.
#[derive(Default)]
struct Summary {
    ran: Vec<Value>,
    failed: usize,
    skipped: BTreeMap<String, usize>,
    ratios: Vec<Value>,
    costs: Vec<Value>,
    /// Documents that are not where they should be.
    unsent: usize,
    is_interrupted: bool,
}

/// Its status is an answer, so errors are shown here.
pub fn status(asked: &Run, json: bool) -> ExitCode {
    run(asked, json).unwrap_or_else(|error| {
        crate::show_error(&error);
        ExitCode::FAILURE
    })
}

fn run(asked: &Run, json: bool) -> Result<ExitCode, LabError> {
    within::end_with_parent().map_err(keep::KeepError::System)?;
    let unsent = asked.unsent.clone().unwrap_or_else(default_unsent);
    let testbed = asked.testbed.as_deref().map(testbed::read).transpose()?;
    let (mut cases, _) = select(&asked.expression, asked.suites.as_deref(), testbed.as_ref())?;
    let lengths =
        asked.trial.unwrap_or(if asked.short { Lengths::SHORT } else { Lengths::CSIT }).enduring(asked.endure);
    let time = |cases: &[Case]| estimate::total(cases, lengths, asked.interleave.unwrap_or(1));
    // The process that the user started asks: those inside of it have no terminal.
    if !asked.yes && !keep::is_inside() && estimate::can_ask() {
        let can_run: Vec<Case> =
            cases.iter().filter(|case| lacking(case, testbed.as_ref()).is_empty()).copied().collect();
        // Which cases are drawn is not known yet: they take as long as others.
        let drawn = asked.draw.map_or(can_run.len(), |number| can_run.len().min(number as usize));
        let time = time(&can_run).mul_f64(drawn as f64 / can_run.len().max(1) as f64);
        if !estimate::is_wanted(drawn, time, estimate::ask) {
            say("nothing is measured; --short takes less time, --yes does not ask");
            return Ok(ExitCode::FAILURE);
        }
    }
    if let Some(status) = keep::outside(&asked.results, &unsent)? {
        return Ok(status);
    }
    let stop = Stop::default();
    // Hosts are reached while a place is entered. A handler is no thread, which the world could not be made with.
    end_by_signals(&stop)?;
    let place = match (&testbed, &asked.testbed) {
        (Some(testbed), Some(path)) => Place::enter_testbed(testbed.clone(), &stop)
            .map_err(|error| LabError::Hosts { path: path.clone(), error: Box::new(error) })?,
        _ => Place::enter().map_err(LabError::Place)?,
    };
    if place.is_lost(Path::new(&asked.results)) {
        return Err(LabError::Lost { path: asked.results.clone(), files: place.files() });
    }
    let mut summary = Summary::default();
    cases.retain(|case| {
        let lacks = lacking(case, testbed.as_ref());
        lacks.iter().for_each(|lack| *summary.skipped.entry(lack.to_string()).or_default() += 1);
        lacks.is_empty()
    });
    if !cases.is_empty() {
        warn_of_debug_builds(asked.quiverd.as_deref());
    }
    for (why, cases) in &summary.skipped {
        say(format_args!("skipped {cases}: {why}"));
    }
    let seed = asked.seed.unwrap_or_else(|| fastrand::u64(..));
    if let Some(number) = asked.draw {
        say(format_args!("{number} of {} cases, drawn by --seed {seed}", cases.len()));
        fastrand::Rng::with_seed(seed).shuffle(&mut cases);
        cases.truncate(number as usize);
    }
    if !cases.is_empty() {
        say(estimate::told(cases.len(), time(&cases)));
    }
    let json = json || asked.json;
    let results = if json || asked.results == keep::LINES { Results::Said } else { Results::Printed };
    let runner = Runner {
        place,
        quiverd: asked.quiverd.clone(),
        stop,
        keep: Keep::open(&asked.results, &unsent)?,
        terms: lengths.into(),
    };
    match asked.interleave {
        None => {
            let display = Display::new(cases.len(), results);
            for case in &cases {
                runner.case(case, &display, &mut summary);
                if summary.is_interrupted {
                    break;
                }
            }
            display.end();
        }
        Some(times) => runner.turns(&groups(&cases), times.into(), seed, results, &mut summary),
    }
    Ok(summary.tell(json))
}

/// Says so if the generator, or the quiverd that is measured, is too slow for figures to mean anything.
pub fn warn_of_debug_builds(measured: Option<&Path>) {
    let generator = quiver_daemon::built("quiverd").ok();
    for (what, program) in [("the generator", generator.as_deref()), ("the quiverd to measure", measured)] {
        // One that is not there, or does not start, is told of by the case that wants it.
        let Some(program) = program.filter(|program| quiver_daemon::is_debug_build(program).unwrap_or(false)) else {
            continue;
        };
        warning(format_args!(
            "{what} ({}) is a debug build, about ten times slower: no figure of this run means anything; build it with \
             `cargo build --release`",
            program.display()
        ));
    }
}

/// From here on signals end the run in good order. The second one ends it at once.
///
/// A handler, not a mask: the processes that are started would inherit that.
pub fn end_by_signals(stop: &Stop) -> Result<(), LabError> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let register = register_conditional_shutdown(signal, 128 + signal, stop.flag());
        register.and_then(|_| flag::register(signal, stop.flag())).map_err(LabError::Signals)?;
    }
    Ok(())
}

/// Result of one run of a case.
#[derive(Clone, Default)]
struct Found {
    compared: [Option<f64>; COMPARED.len()],
    trials: Vec<Trial>,
}

struct Runner {
    place: Place,
    quiverd: Option<PathBuf>,
    stop: Stop,
    keep: Keep,
    terms: Terms,
}

impl Runner {
    /// Runs a case, keeps its document, and tells the numbers that it is compared by; and its trials.
    fn case(&self, case: &Case, display: &Display, summary: &mut Summary) -> Found {
        let name = case.name();
        display.begin(&name);
        let is_quiver = case.device == Device::Quiver;
        let terms = Terms { program: self.quiverd.clone().filter(|_| is_quiver), ..self.terms.clone() };
        let document =
            match quiver_run::run(case, &self.place, &terms, &self.stop, &mut |progress| display.show(&name, progress))
            {
                Ok(document) => document,
                Err(Error::Interrupted) => {
                    summary.is_interrupted = true;
                    return Found::default();
                }
                Err(error) => {
                    display.say(&format!("{name}: skipped: {error}"));
                    *summary.skipped.entry(error.to_string()).or_default() += 1;
                    return Found::default();
                }
            };
        let place = match self.keep.write(&document) {
            StoredAt::There { place } => Some(place),
            StoredAt::Not { why, here } => {
                display.say(&format!("{name}: not stored: {why}"));
                summary.unsent += 1;
                here
            }
        };
        display.advance();
        let headline = headline(&document);
        display.result(&format!("{name}: {}", told(&document)));
        summary.failed += usize::from(!document.passed);
        summary.is_interrupted |= document.message == Error::Interrupted.to_string();
        summary.ran.push(json!({
            "case": name, "device": case.device.word(), "passed": document.passed, "message": document.message,
            "figure": headline.map(|(name, value, unit)| json!({"name": name, "value": value, "unit": unit})),
            "document": place,
        }));
        let ticks = cost(&document).filter(|(_, unit)| *unit == TICKS).map(|(cost, _)| cost);
        Found {
            compared: [headline.map(|(_, value, _)| value), ticks],
            trials: document.quiver.map(|own| own.trials).unwrap_or_default(),
        }
    }

    /// Runs the devices of each group in turns, and compares them.
    fn turns(&self, groups: &[Vec<Case>], times: usize, seed: u64, results: Results, summary: &mut Summary) {
        say(format_args!("who comes first is tossed by --seed {seed}"));
        let confidence = Confidence::new(CONFIDENCE).unwrap_or(Confidence::HIGH);
        if times < pairs_needed(confidence) {
            say(format_args!("an interval of {CONFIDENCE} needs {} turns or more", pairs_needed(confidence)));
        }
        let display = Display::new(groups.iter().map(Vec::len).sum::<usize>() * times, results);
        for group in groups {
            let mut rounds = Vec::new();
            let mut trials = vec![Vec::new(); group.len()];
            for round in 0..times {
                let mut found = vec![[None; COMPARED.len()]; group.len()];
                let mut places: Vec<usize> = (0..group.len()).collect();
                if order(seed, round)[0] == Side::Current {
                    places.reverse();
                }
                for place in places {
                    let of_case = self.case(&group[place], &display, summary);
                    found[place] = of_case.compared;
                    trials[place].extend(of_case.trials);
                    if summary.is_interrupted {
                        display.end();
                        return;
                    }
                }
                rounds.push(found);
            }
            let columns = COMPARED.iter().enumerate().flat_map(|(at, what)| {
                let column = |round: &Vec<[Option<f64>; COMPARED.len()]>| round.iter().map(|found| found[at]).collect();
                let rounds: Vec<Vec<Option<f64>>> = rounds.iter().map(column).collect();
                let comparisons = compare(group, &rounds, confidence).into_iter();
                let known = comparisons.filter(|comparison| *what != TICKS || comparison.ratio.is_ok());
                known.map(move |comparison| (*what, comparison))
            });
            for (what, Comparison { peer, with, ratio }) in columns {
                let (name, peer, with) = (group[0].name(), peer.word(), with.word());
                let (text, value) = match ratio {
                    Ok(ratio) => {
                        let high = ratio.high.is_finite().then_some(ratio.high);
                        let high_text = high.map_or("any".into(), |high| format!("{high:.3}"));
                        let text = format!("{:.3} ({:.3} to {high_text})", ratio.estimate, ratio.low);
                        (text, json!({"estimate": ratio.estimate, "low": ratio.low, "high": high}))
                    }
                    Err(error) => (error.to_string(), Value::from(error.to_string())),
                };
                display.result(&format!("{name}: {what}, {peer} by {with}: {text}"));
                summary.ratios.push(json!({
                    "case": name, "of": what, "device": peer, "with": with, "ratio": value, "confidence": CONFIDENCE, "turns": times,
                }));
            }
            for Cost { distance, peer, ticks, trials } in costs(group, &trials) {
                let (name, peer) = (group[0].name(), peer.word());
                let limit = if distance == Distance::Near { "up to" } else { "more than" };
                let word = distance.word();
                display.result(&format!(
                    "{name}: {peer}, {word} cores (a round trip of {limit} {NEAR_NS} ns): {ticks:.0} {TICKS} a packet, median of {trials} trials"
                ));
                summary.costs.push(json!({
                    "case": name, "device": peer, "cores": word, "ticks_per_packet": ticks, "trials": trials,
                }));
            }
        }
        display.end();
    }
}

impl Summary {
    fn tell(self, json: bool) -> ExitCode {
        let Summary { ran, failed, skipped, ratios, costs, unsent, is_interrupted } = self;
        if json {
            let skipped: Vec<_> = skipped.iter().map(|(why, cases)| json!({"why": why, "cases": cases})).collect();
            let all = json!({"cases": ran, "skipped": skipped, "ratios": ratios, "costs": costs, "unsent": unsent, "interrupted": is_interrupted});
            print(format_args!("{all:#}"));
        }
        let end = if is_interrupted { "; interrupted" } else { "" };
        let not_stored = if unsent > 0 { format!(", {unsent} not stored") } else { String::new() };
        say(format_args!("{} measured, {failed} failed{not_stored}{end}", ran.len()));
        match failed + unsent == 0 && !ran.is_empty() && !is_interrupted {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}
