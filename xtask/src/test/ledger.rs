//! Cost of a run in CPU seconds by step, crate and test, beside the committed figures.
//!
//! Machines differ, and so does one machine from hour to hour. Kept figures are therefore scaled by what compiling the
//! dependencies took in both runs: crates that change only with Cargo.lock, and so many that the noise of one does not count.
//! Only a run that compiled everything is compared.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use quiver_kept::{cells, quoted};

use crate::times;

/// The row of all crates that are not of this workspace, together.
const REFERENCE: (&str, &str) = ("dependencies", "all");
/// Rows with less than so many CPU seconds are shown and kept, but not judged: clocks are too coarse for them.
const JUDGED: f64 = 10.0;
const JUDGED_KINDS: [&str; 3] = ["step", "crate", "test"];
/// A larger share of the kept figure is a warning. A still larger one fails if it is as many seconds more as are judged at all, but of
/// single tests: workers that poll take what the machine gives them.
const WARNING: f64 = 1.10;
const FAILURE: f64 = 1.25;
/// So many crates and tests are shown, and twice as many kept: their order changes from run to run.
const SHOWN: usize = 10;
/// Set to 1, keeps the figures. `UPDATE` would rewrite golden files and instruction counts, too.
const KEEP: &str = "KEEP_TIMES";
const HEAD: &str = "what,name,cpu_s";

/// Kind (`step`, `crate`, `test`) and name.
type Name = (String, String);

/// Steps that have run, and where times of crates and tests are collected.
pub struct Ledger {
    kept_file: PathBuf,
    kept: BTreeMap<Name, f64>,
    times: PathBuf,
    steps: Vec<Step>,
}

struct Step {
    name: &'static str,
    cpu_s: f64,
    wall_s: f64,
}

impl Ledger {
    /// Reads what is kept, and empties the file of times.
    pub fn open(kept_file: &Path, times: PathBuf) -> Result<Ledger, String> {
        let kept = match std::fs::read_to_string(kept_file) {
            Ok(text) => read(&text).map_err(|problem| format!("{}: {problem}", kept_file.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(format!("{}: {error}", kept_file.display())),
        };
        std::fs::write(&times, "").map_err(|error| format!("{}: {error}", times.display()))?;
        Ok(Ledger { kept_file: kept_file.into(), kept, times, steps: vec![] })
    }

    /// The file that compilers and tests append their times to.
    pub fn times(&self) -> &Path {
        &self.times
    }

    /// Runs a step, and says whether it passed.
    pub fn step(&mut self, name: &'static str, run: impl FnOnce() -> bool) -> bool {
        println!("\n== {name}");
        let (start, before) = (Instant::now(), times::of_children().unwrap_or_default());
        let is_passed = run();
        let cpu_s = times::of_children().unwrap_or_default() - before;
        self.steps.push(Step { name, cpu_s, wall_s: start.elapsed().as_secs_f64() });
        if !is_passed {
            eprintln!("\n{name}: failed");
        }
        is_passed
    }

    /// Prints the table. Says whether nothing is too slow; with `KEEP_TIMES=1`, keeps the figures of a whole run instead.
    pub fn close(self, is_whole: bool) -> Result<bool, String> {
        let text =
            std::fs::read_to_string(&self.times).map_err(|error| format!("{}: {error}", self.times.display()))?;
        let mut rows = times::sums(&text);
        let compiled = text.lines().filter(|line| line.starts_with("crate\t")).count() as f64;
        rows.extend(self.steps.iter().map(|step| (name("step", step.name), step.cpu_s)));
        rows.insert(name("compilations", "all"), compiled);
        rows.insert(name(REFERENCE.0, REFERENCE.1), of_dependencies(&rows));
        let scale = if is_whole { self.scale(&rows) } else { Err("this is no whole run".into()) };
        println!("\n{}", self.table(&rows, scale.as_ref().ok().copied()));
        if is_whole && std::env::var_os(KEEP).is_some_and(|value| value == "1") {
            std::fs::write(&self.kept_file, written(&rows))
                .map_err(|error| format!("{}: {error}", self.kept_file.display()))?;
            println!("kept in {}", self.kept_file.display());
            return Ok(true);
        }
        let scale = match scale {
            Ok(scale) => scale,
            Err(reason) => {
                println!("Not compared with the kept figures: {reason}.");
                return Ok(true);
            }
        };
        let (warnings, failures) = self.judge(&rows, scale);
        warnings.iter().for_each(|line| println!("warning: {line}"));
        failures.iter().for_each(|line| {
            eprintln!("too slow: {line}; make it cheaper, or keep the figure by `KEEP_TIMES=1 make test` on a clean clone and say why")
        });
        Ok(failures.is_empty())
    }

    /// By what kept figures are multiplied, or why they cannot be compared.
    fn scale(&self, rows: &BTreeMap<Name, f64>) -> Result<f64, String> {
        let both = |kind: &str, key: &str| Some((*rows.get(&name(kind, key))?, *self.kept.get(&name(kind, key))?));
        let Some((compiled, before)) = both("compilations", "all") else {
            return Err(format!("{} has none", self.kept_file.display()));
        };
        if compiled < 0.95 * before {
            return Err(format!("this run compiled {compiled:.0} crates of {before:.0}; a clean clone compiles all"));
        }
        match both(REFERENCE.0, REFERENCE.1) {
            Some((now, before)) if before > 0.0 && now > 0.0 => Ok(now / before),
            _ => Err(format!("{} does not say what the dependencies took", self.kept_file.display())),
        }
    }

    /// Sentences for what is slower than the kept figure by more than a tenth, and by more than a quarter.
    fn judge(&self, rows: &BTreeMap<Name, f64>, scale: f64) -> (Vec<String>, Vec<String>) {
        let (mut warnings, mut failures) = (vec![], vec![]);
        for ((kind, name), now) in rows.iter().filter(|((kind, _), _)| JUDGED_KINDS.contains(&&**kind)) {
            let Some(before) = self.kept.get(&(kind.clone(), name.clone())) else { continue };
            let expected = before * scale;
            if now.max(expected) < JUDGED || *now <= WARNING * expected {
                continue;
            }
            let line =
                format!("{kind} {name}: {now:.1} CPU s, kept {expected:.1} ({:+.0} %)", 100.0 * (now / expected - 1.0));
            let fails = kind != "test" && *now > FAILURE * expected && now - expected > JUDGED;
            if fails { &mut failures } else { &mut warnings }.push(line);
        }
        (warnings, failures)
    }

    fn table(&self, rows: &BTreeMap<Name, f64>, scale: Option<f64>) -> String {
        let mut text = String::new();
        let row = |text: &mut String, kind: &str, key: &str, cpu: f64, wall: Option<f64>| {
            let kept = scale.and_then(|scale| Some(scale * self.kept.get(&name(kind, key))?));
            let (kept, change) = match kept {
                Some(kept) if kept > 0.0 => (format!("{kept:.1}"), format!("{:+.0} %", 100.0 * (cpu / kept - 1.0))),
                _ => Default::default(),
            };
            let wall = wall.map(|wall| format!("{wall:.0}")).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{cpu:>8.1} {kept:>8} {change:>7} {wall:>7}  {key}");
        };
        let _ = writeln!(text, "{:>8} {:>8} {:>7} {:>7}  step", "CPU s", "kept", "change", "wall s");
        for step in &self.steps {
            row(&mut text, "step", step.name, step.cpu_s, Some(step.wall_s));
        }
        let (cpu, wall) = self.steps.iter().fold((0.0, 0.0), |sum, step| (sum.0 + step.cpu_s, sum.1 + step.wall_s));
        let kept: f64 = self.kept.iter().filter(|((kind, _), _)| kind == "step").map(|(_, cpu)| cpu).sum();
        let kept = scale.map(|scale| format!("{:.1}", scale * kept)).unwrap_or_default();
        let _ = writeln!(text, "{cpu:>8.1} {kept:>8} {:>7} {wall:>7.0}  all", "");
        for (title, kind, is_of_others) in
            [("crates", "crate", Some(false)), ("dependencies", "crate", Some(true)), ("tests", "test", None)]
        {
            let _ = writeln!(text, "{:>8} {:>8} {:>7} {:>7}  slowest {title}", "CPU s", "kept", "change", "");
            let all = slowest(rows, kind, usize::MAX).into_iter();
            let wanted = all.filter(|(key, _)| is_of_others.is_none_or(|of_others| of_others != is_ours(key)));
            for (key, cpu) in wanted.take(SHOWN) {
                row(&mut text, kind, key, cpu, None);
            }
        }
        text
    }
}

fn name(kind: &str, name: &str) -> Name {
    (kind.to_owned(), name.to_owned())
}

/// Whether a crate is one of this workspace.
fn is_ours(name: &str) -> bool {
    name.starts_with("quiver") || name == "xtask"
}

/// The rows of a kind with the most CPU seconds.
fn slowest<'r>(rows: &'r BTreeMap<Name, f64>, kind: &str, most: usize) -> Vec<(&'r str, f64)> {
    let of_kind = rows.iter().filter(|((its, _), _)| its == kind);
    let mut found: Vec<_> = of_kind.map(|((_, name), cpu)| (name.as_str(), *cpu)).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(most);
    found
}

/// CPU seconds of all crates that are not of this workspace.
fn of_dependencies(rows: &BTreeMap<Name, f64>) -> f64 {
    rows.iter().filter(|((kind, name), _)| kind == "crate" && !is_ours(name)).map(|(_, cpu)| cpu).sum()
}

/// The file of a run: all steps, the slowest crates and tests, and the reference.
fn written(rows: &BTreeMap<Name, f64>) -> String {
    let mut text = format!("{HEAD}\n");
    for kind in ["compilations", REFERENCE.0].into_iter().chain(JUDGED_KINDS) {
        for (name, cpu) in slowest(rows, kind, if kind == "step" { usize::MAX } else { 2 * SHOWN }) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{kind},{},{cpu:.1}", quoted(name));
        }
    }
    text
}

/// Reads such a file.
fn read(text: &str) -> Result<BTreeMap<Name, f64>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!(
            "the first line is not `{HEAD}`; take the file off and keep it anew by `KEEP_TIMES=1 make test`"
        ));
    }
    let row = |(number, line): (usize, &str)| {
        let cells = cells(line);
        let found = match &cells[..] {
            [kind, name, cpu] => cpu.parse().ok().map(|cpu: f64| ((kind.clone(), name.clone()), cpu)),
            _ => None,
        };
        found.ok_or_else(|| format!("line {number}: `{line}` is not `{HEAD}`"))
    };
    (2..).zip(lines).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(&str, &str, f64)]) -> BTreeMap<Name, f64> {
        pairs.iter().map(|(kind, key, cpu)| (name(kind, key), *cpu)).collect()
    }

    fn ledger(kept: &[(&str, &str, f64)]) -> Ledger {
        Ledger { kept_file: "bench/build.csv".into(), kept: rows(kept), times: PathBuf::new(), steps: vec![] }
    }

    const KEPT: [(&str, &str, f64); 6] = [
        ("compilations", "all", 100.0),
        (REFERENCE.0, REFERENCE.1, 10.0),
        ("crate", "slow", 40.0),
        ("step", "tests, all", 100.0),
        ("test", "polls", 15.0),
        ("test", "small", 1.0),
    ];

    #[test]
    fn figures_are_scaled_by_the_dependencies() {
        let twice = rows(&[
            ("compilations", "all", 99.0),
            (REFERENCE.0, REFERENCE.1, 20.0),
            ("crate", "slow", 87.0),
            ("step", "tests, all", 221.0),
            ("test", "polls", 39.0),
            ("test", "small", 9.0),
        ]);
        let ledger = ledger(&KEPT);
        assert_eq!(ledger.scale(&twice), Ok(2.0));
        let (warnings, failures) = ledger.judge(&twice, 2.0);
        let of_test = "test polls: 39.0 CPU s, kept 30.0 (+30 %)";
        assert_eq!(warnings, ["step tests, all: 221.0 CPU s, kept 200.0 (+10 %)", of_test]);
        assert!(failures.is_empty(), "{failures:?}");
        let (_, failures) = ledger.judge(&twice, 1.6);
        assert_eq!(failures.len(), 2, "{failures:?}");
    }

    #[test]
    fn a_run_that_compiled_less_is_not_compared() {
        let ledger = ledger(&KEPT);
        let warm = rows(&[("compilations", "all", 94.0), (REFERENCE.0, REFERENCE.1, 10.0)]);
        assert!(ledger.scale(&warm).is_err_and(|reason| reason.starts_with("this run compiled 94 crates of 100")));
        assert!(ledger.scale(&rows(&[])).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let rows = rows(&KEPT);
        assert_eq!(read(&written(&rows)).as_ref(), Ok(&rows));
        assert!(read("a,b\n").is_err());
        let wrong = format!("{HEAD}\nstep,x\n");
        assert_eq!(read(&wrong).unwrap_err(), format!("line 2: `step,x` is not `{HEAD}`"));
    }

    #[test]
    fn crates_of_ours_and_of_others_are_shown_apart() {
        let mut rows = rows(&[("crate", "quiver-a", 7.0), ("crate", "tokio", 9.0), ("test", "quiver-a::t", 1.0)]);
        rows.extend((0..SHOWN).map(|i| (name("crate", &format!("quiver-b{i}")), 8.0)));
        let table = ledger(&[]).table(&rows, None);
        let [ours, others, tests] = ["slowest crates", "slowest dependencies", "slowest tests"].map(|title| {
            let (_, part) = table.split_once(title).expect("a part of the table");
            part.lines()
                .skip(1)
                .take_while(|line| !line.contains("slowest"))
                .filter_map(|line| line.split_whitespace().last())
                .collect::<Vec<_>>()
        });
        assert_eq!((ours.len(), ours.contains(&"quiver-a")), (SHOWN, false), "the slowest of ours: {ours:?}");
        assert_eq!((others, tests), (vec!["tokio"], vec!["quiver-a::t"]));
    }

    #[test]
    fn the_reference_is_what_all_dependencies_took() {
        let rows =
            rows(&[("crate", "syn", 0.5), ("crate", "quiver-a", 9.0), ("crate", "tokio", 2.0), ("test", "t", 7.0)]);
        assert_eq!(of_dependencies(&rows), 2.5);
    }
}
