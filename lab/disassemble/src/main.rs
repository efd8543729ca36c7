//! `cargo xtask disassemble`: looks into the release build of the daemon whether the hot functions are what their source
//! promises: one loop without calls, at the full width of each instruction set. Nothing else would tell: a missing
//! `inline(always)` costs three times the ticks, and no test fails.

mod binary;
mod flow;
mod kernel;
mod tester;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use binary::Binary;
use kernel::LEVELS;
use quiver_engine::{Dataplane, NodeSpec, Settings};
use quiver_kept::{Counts, KeptCounts, Outcome};
use quiver_testkit::executor::Executor;

/// Functions that loops may call, each with the reason.
const COLD: &str = include_str!("../cold-calls.txt");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match *arguments {
        ["check", program, kept, compiler] => tester()
            .and_then(|()| daemon(Path::new(program)))
            .and_then(|loops| settle(Path::new(kept), compiler, loops)),
        _ => {
            Err("usage: quiver-disassemble check PROGRAM KEPT COMPILER; the task builds the daemon and gives all that"
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask disassemble: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the check finds what is broken, and only that.
fn tester() -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = Binary::read(&own).map_err(|error| error.to_string())?;
    let listed = cold()?;
    for (spec, expected) in tester::cases() {
        let (name, kernel) = named(&spec)?;
        for level in LEVELS {
            let (_, problems) = kernel::check(&binary, kernel, level, &listed);
            let found = match expected {
                None => problems.is_empty(),
                Some(expected) => problems.keys().any(|problem| problem.contains(expected)),
            };
            if !found {
                let expected = expected.unwrap_or("no problem");
                return Err(format!(
                    "the check itself fails: of {name} at {} it is to find `{expected}`, but finds {problems:?}",
                    level.name
                ));
            }
        }
    }
    let (_, problems) = kernel::check(&binary, "NoSuchKernel", LEVELS[0], &BTreeSet::new());
    match problems.is_empty() {
        true => Err("the check itself fails: it does not miss a function that is missing".into()),
        false => Ok(()),
    }
}

fn named(spec: &NodeSpec) -> Result<(&'static str, &'static str), String> {
    spec.kernel().map(|kernel| (spec.name(), kernel)).ok_or_else(|| format!("{} is no stage", spec.name()))
}

/// Checks every stage that the daemon registers, at every level; returns how long their loops are.
fn daemon(file: &Path) -> Result<Counts, String> {
    let binary = Binary::read(file).map_err(|error| error.to_string())?;
    let listed = cold()?;
    let (mut unused, mut failed) = (listed.clone(), false);
    let kernels = registered()?;
    let mut loops = Counts::new();
    println!(
        "{:<28} {:<9} {:>6} {:>12} {:>11} {:>9}  cold calls",
        "kernel", "level", "bytes", "instructions", "full width", "narrower"
    );
    for (name, kernel) in &kernels {
        for level in LEVELS {
            let (facts, problems) = kernel::check(&binary, kernel, level, &listed);
            unused.retain(|name| !facts.cold.contains(*name));
            let cold: Vec<_> = facts.cold.iter().map(String::as_str).collect();
            loops.insert(vec![name.clone(), level.name.into()], facts.instructions as f64);
            let (instructions, full, narrow) = (facts.instructions, facts.full, facts.narrow);
            println!(
                "{name:<28} {:<9} {:>6} {instructions:>12} {full:>11} {narrow:>9}  {}",
                level.name,
                facts.bytes,
                cold.join(", ")
            );
            for (problem, at) in problems {
                eprintln!("{name} ({}): {problem}, at {at:#x}", level.name);
                failed = true;
            }
        }
    }
    for name in unused {
        eprintln!("cold-calls.txt: no loop calls {name}; take it off");
        failed = true;
    }
    println!("{} kernels at {} levels", kernels.len(), LEVELS.len());
    if failed { Err("not every hot function is what it should be".into()) } else { Ok(loops) }
}

/// Compares the loops' instructions with those that were kept, or keeps them.
fn settle(file: &Path, compiler: &str, loops: Counts) -> Result<(), String> {
    let kept = KeptCounts::read(file, &["kernel", "level"], "instructions", "cargo xtask disassemble");
    let outcome = kept.and_then(|kept| kept.settle(compiler, loops, quiver_kept::update_is_asked()));
    match outcome.map_err(|error| error.to_string())? {
        Outcome::Same(count) => println!("{count} loops, each within 2 % of its row's instructions"),
        Outcome::Skipped(sentence) => println!("{sentence}"),
        Outcome::Written(count) => println!("{}: {count} rows of rustc {compiler}", file.display()),
        Outcome::Changed(problems) => return Err(format!("instructions in loops\n{}", problems.join("\n"))),
    }
    Ok(())
}

/// The names and loops of all stages.
fn registered() -> Result<Vec<(String, &'static str)>, String> {
    let control = Executor::new(1).control();
    let dataplane = Dataplane::new(Settings::default()).map_err(|error| error.to_string())?;
    control.insert_room(dataplane);
    quiverd::features::register(&control).map_err(|error| error.to_string())?;
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let nodes = graph.nodes().filter_map(|id| Some((graph.name(id).to_owned(), graph.kernel(id)?)));
    let all: Vec<_> = nodes.collect();
    if all.is_empty() { Err("the daemon registers no stage".into()) } else { Ok(all) }
}

/// Reads the list of functions that may be called: a name, two spaces or more, and the reason.
fn cold() -> Result<BTreeSet<&'static str>, String> {
    let lines = COLD.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once("  ") {
            Some((name, reason)) if !reason.trim().is_empty() => Ok(name),
            _ => Err(format!("cold-calls.txt: `{line}` gives no reason")),
        })
        .collect()
}
