//! Golden scenarios: text files of what is done to a daemon and what must follow. The format is in testkit's README.
//!
//! A scenario is run on every instruction set that this machine has; those that it
//! lacks are reported as ignored. All runs must have the results that the file states, and count the same packets on the
//! same arcs. `UPDATE=1` writes what the first run resulted in into the file.

mod script;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use libtest_mimic::{Failed, Trial};
use quiver_engine::{Dataplane, Injected, Level};

use crate::daemon::{Daemon, DaemonError, Rooms, Setup};
use crate::levels::{self, levels};
use crate::packet::Packet;
use crate::trials;
pub use script::ScriptError;
use script::{Action, Script, Step};

/// The `main` of a room's golden test: runs every `tests/**/*.scenario` of the crate at `root`.
pub fn main(root: &str, rooms: Rooms) -> ExitCode {
    trials::run([trials(root, rooms)])
}

/// A trial for each `tests/**/*.scenario` of the crate at `root`. One fails if there are none.
pub fn trials(root: &str, rooms: Rooms) -> Vec<Trial> {
    trials_called("", root, rooms)
}

/// The same, with names that begin so.
pub fn trials_called(beginning: &str, root: &str, rooms: Rooms) -> Vec<Trial> {
    let files = match scenarios_below(&Path::new(root).join("tests")) {
        Ok(files) if files.is_empty() => Err("there are no *.scenario files in tests/".to_owned()),
        files => files.map_err(|error| format!("{root}/tests: {error}")),
    };
    let files = match files {
        Ok(files) => files,
        Err(error) => return vec![Trial::test("scenarios", || Err(error.into()))],
    };
    let mut trials = vec![];
    for file in files {
        let name = format!("{beginning}{}", file.strip_prefix(root).unwrap_or(&file).display());
        let absent = levels().into_iter().filter(|(_, level)| level.is_none());
        trials.extend(absent.map(|(level, _)| levels::missing(&name, level)));
        trials.push(Trial::test(name, move || check(&file, rooms)));
    }
    trials
}

/// All scenario files below a folder, sorted.
pub fn scenarios_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(scenarios_below(&entry.path())?);
        } else if entry.path().extension().is_some_and(|extension| extension == "scenario") {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// The drop reasons that a scenario reaches: (node, reason). Its own test sees to it that it really does.
pub fn reached(text: &str) -> BTreeSet<(String, String)> {
    let drop = |line: &str| {
        let mut words = line.strip_prefix("drop ")?.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    text.lines().filter_map(drop).collect()
}

/// Runs one file in every way and compares, or with `UPDATE=1` rewrites it first.
fn check(file: &Path, rooms: Rooms) -> Result<(), Failed> {
    let told = |error: io::Error| format!("{}: {error}", file.display());
    let mut text = fs::read_to_string(file).map_err(told)?;
    if std::env::var_os("UPDATE").is_some_and(|value| value != "0") {
        let (updated, _) = run(&text, rooms, Level::best()).map_err(|error| error.to_string())?;
        if updated != text {
            fs::write(file, &updated).map_err(told)?;
            text = updated;
        }
    }
    Ok(compare(&text, &file.display().to_string(), rooms)?)
}

/// Runs a scenario at every level. The error is a readable difference.
pub fn compare(text: &str, name: &str, rooms: Rooms) -> Result<(), String> {
    let mut first_counts = None;
    for (way, level) in levels::here() {
        let (result, counts) = run(text, rooms, level).map_err(|error| format!("{name} ({way}): {error}"))?;
        if let Some(difference) = self::difference(text, &result) {
            return Err(format!("{name} ({way})\n{difference}UPDATE=1 writes what happened into the file\n"));
        }
        let first_counts = first_counts.get_or_insert_with(|| counts.clone());
        if let Some(difference) = self::difference(first_counts, &counts) {
            return Err(format!("{name} ({way}): packets by node and arc, first run and this one\n{difference}"));
        }
    }
    Ok(())
}

/// A scenario whose step fails in a way that no scenario can expect.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The text cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The daemon cannot go on.
    #[error("line {line}: {source}")]
    Daemon {
        /// The line of the step.
        line: usize,
        /// Why.
        source: DaemonError,
    },
}

/// Runs a scenario once. Returns it with the results that it had, and all packets by node and arc as lines.
pub fn run(text: &str, rooms: Rooms, level: Level) -> Result<(String, String), RunError> {
    let script = Script::read(text)?;
    let setup = Setup { level, ..script.setup };
    let at = |line| move |source| RunError::Daemon { line, source };
    let mut daemon = Daemon::new(rooms, setup).map_err(at(1))?;
    let mut result = String::new();
    for step in &script.steps {
        step.write_actions(&mut result);
        let before = daemon.drops();
        let mut lines = act(&mut daemon, step).map_err(at(step.line))?;
        for (interface, packet) in daemon.sent() {
            lines.push(format!("out {interface} {}", Packet::dissect(&packet)));
        }
        for ((node, reason), count) in daemon.drops() {
            let new = count - before.get(&(node, reason)).unwrap_or(&0);
            if new > 0 {
                lines.push(format!("drop {node} {reason} {new}"));
            }
        }
        lines.iter().for_each(|line| result.extend([line, "\n"]));
    }
    result.push_str(&script.tail);
    let mut counts = String::new();
    for ((node, arc), count) in daemon.counts() {
        // Writing to a string cannot fail.
        let _ = writeln!(counts, "{node} {arc} {count}");
    }
    daemon.finish().map_err(at(text.lines().count()))?;
    Ok((result, counts))
}

/// Does what a step says; returns what it answers.
fn act(daemon: &mut Daemon, step: &Step) -> Result<Vec<String>, DaemonError> {
    let mut lines = Vec::new();
    match &step.action {
        Action::Command(line) => match daemon.run(line) {
            Ok(reply) => lines.extend(reply.text.lines().map(|line| format!("| {line}").trim_end().to_owned())),
            Err(error) => lines.extend(error.to_string().lines().map(|line| format!("! {line}"))),
        },
        Action::Receive(packets) => {
            for (interface, packet) in packets {
                if let Err(error) = daemon.send(interface, packet) {
                    lines.push(format!("! {error}"));
                }
            }
        }
        Action::Advance(duration) => daemon.advance(*duration)?,
        Action::Stall(duration) => daemon.stall(*duration),
        Action::Inject { node, hop, packet } => {
            let dataplane = daemon.control().room::<Dataplane>();
            match dataplane.graph().find(node) {
                Ok(at) => dataplane.inject(0, at, Injected { bytes: packet.clone(), hop: *hop, ..Injected::default() }),
                Err(error) => lines.push(format!("! {error}")),
            }
        }
        Action::Count(node) => {
            let counts = daemon.counts();
            let of_node = counts.iter().filter(|((name, _), _)| name == node);
            lines.extend(of_node.map(|((_, arc), count)| format!("= {arc} {count}")));
        }
    }
    daemon.settle()?;
    Ok(lines)
}

/// Where two texts differ, with the line numbers of the first; nothing if they are equal.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let mut text = String::new();
    let (mut i, mut j) = (0, 0);
    let mut shown = None;
    while i < expected.len() || j < found.len() {
        if expected.get(i) == found.get(j) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        // The nearest place where both go on alike.
        let (more, less) = meeting(&expected[i..], &found[j..]);
        let action = (0..i).rev().find(|line| !script::is_result(expected[*line]) && !expected[*line].is_empty());
        if let Some(line) = action.filter(|line| shown != Some(*line)) {
            let _ = writeln!(text, "{:5}   {}", line + 1, expected[line]);
            shown = action;
        }
        for (line, expected) in expected.iter().enumerate().skip(i).take(more) {
            let _ = writeln!(text, "{:5} - {expected}", line + 1);
        }
        for found in &found[j..j + less] {
            let _ = writeln!(text, "      + {found}");
        }
        (i, j) = (i + more, j + less);
    }
    if text.is_empty() {
        text.push_str("only the end of the last line differs\n");
    }
    Some(text)
}

/// Smallest numbers of lines to skip in `a` and in `b` so that the next lines are equal.
fn meeting(a: &[&str], b: &[&str]) -> (usize, usize) {
    for sum in 1..a.len() + b.len() {
        for i in sum.saturating_sub(b.len())..=sum.min(a.len()) {
            if i < a.len() && sum - i < b.len() && a[i] == b[sum - i] {
                return (i, sum - i);
            }
        }
    }
    (a.len(), b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_step_and_the_lines() {
        let expected = "cli a\n| one\n| two\n\nin x y\nout x z\n";
        let found = "cli a\n| one\n| three\n\nin x y\nout x z\ndrop n r 1\n";
        let shown = difference(expected, found).expect("they differ");
        assert_eq!(shown, "    1   cli a\n    3 - | two\n      + | three\n    5   in x y\n      + drop n r 1\n");
        assert_eq!(difference(expected, expected), None);
    }

    #[test]
    fn reached_reasons_are_those_of_drop_lines() {
        let found = reached("# drop a b 1\ndrop ip4-input bad-checksum 2\ncli drop x y\n");
        assert_eq!(found, [("ip4-input".to_owned(), "bad-checksum".to_owned())].into());
    }
}
