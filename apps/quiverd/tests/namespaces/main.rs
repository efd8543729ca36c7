//! A quiverd in a world of its own, where it may make interfaces of Linux.

mod descriptors;
#[path = "../quiverd/mod.rs"]
mod quiverd;

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use libtest_mimic::Failed;
use quiver_netns::{World, enter};
use quiver_testkit::trials::{self, Trial};
use quiverd::Daemon;
use serde_json::json;

const EVERYDAYS: &[Trial<World>] = &[("everyday_commands_work_or_say_what_is_missing", everyday)];

fn main() -> ExitCode {
    trials::main(enter(), &[EVERYDAYS, descriptors::TRIALS].concat())
}

/// The commands, and what comes of each.
const EVERYDAY: &str = include_str!("everyday.txt");

/// Expected outcome of a command.
enum Outcome {
    /// It works, and its answer has these words.
    Works(&'static str),
    /// It is refused by the name of this feature.
    Missing(&'static str),
}

fn commands() -> impl Iterator<Item = (&'static str, Outcome)> {
    let lines = EVERYDAY.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| match (line.split_once("  => "), line.split_once("  !! ")) {
        (Some((command, words)), _) => (command, Outcome::Works(words)),
        (None, Some((command, feature))) => (command, Outcome::Missing(feature)),
        (None, None) => (line, Outcome::Works("")),
    })
}

/// The daemon's answer to a command: text, or the reason of its refusal.
fn answer(daemon: &Daemon, line: &str) -> Result<String, String> {
    let answer = daemon.ask(&json!({"command": {"line": line}}));
    match answer["error"]["what"].as_str() {
        Some(what) => Err(what.to_owned()),
        None => Ok(answer["done"]["text"].as_str().unwrap_or_default().to_owned()),
    }
}

fn start(folder: &Path) -> Daemon {
    let mut command = quiverd::command();
    let socket = folder.join("s");
    command.arg("--socket").arg(&socket).arg("--runtime-dir").arg(folder).args(["--no-state", "--buffers", "4096"]);
    Daemon::start(command.current_dir(folder).stderr(Stdio::null()), socket)
}

fn everyday(_: &World) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("setup.cli"), "comment nothing but a comment\n")?;
    let daemon = start(folder.path());
    for port in ["pg0", "pg1"] {
        answer(&daemon, &format!("create packet-generator interface {port}"))?;
    }
    let (mut works, mut missing, mut wrong) = (0, 0, vec![]);
    for (command, outcome) in commands() {
        match (answer(&daemon, command), outcome) {
            (Ok(text), Outcome::Works(words)) if text.contains(words) => works += 1,
            (Ok(text), Outcome::Works(words)) => wrong.push(format!("{command}: no `{words}` in this: {text}")),
            (Ok(text), Outcome::Missing(_)) => wrong.push(format!("{command}: it works: {text}")),
            (Err(told), Outcome::Missing(feature)) if told.starts_with(&format!("Quiver has no {feature} yet")) => {
                missing += 1;
            }
            (Err(told), _) => wrong.push(format!("{command}: {told}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(works > 100 && missing > 20, "{works} work, of {missing} the feature is missing");
    daemon.stop();
    Ok(())
}
