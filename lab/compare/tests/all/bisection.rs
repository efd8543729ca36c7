//! Bisections of a real repository, whose commits say how fast they are: found, resumed, skipped, refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quiver_compare::bisect::{Bisection, BisectionError, BisectionResult, Commits, Event, Question};
use quiver_compare::gate::Plan;
use quiver_compare::{Builds, CommandError, Git, Script};
use quiver_stop::Stop;
use quiver_verdict::compare::Confidence;
use quiver_verdict::gate::{Better, Gate, Verdict};

const PLAN: Plan =
    Plan { pairs: 10, gate: Gate { better: Better::Higher, smallest: 0.01 }, confidence: Confidence::HIGH, seed: 1 };

fn git(folder: &Path, arguments: &[&str]) {
    let author = ["-c", "user.name=Quiver", "-c", "user.email=quiver@example.com"];
    let mut command = Command::new("git");
    // Not the machine's own settings.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.args(author).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with a commit for each speed; what is no number does not build.
fn repository(folder: &Path, speeds: &[&str]) -> (Git, Vec<String>) {
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    for (number, speed) in speeds.iter().enumerate() {
        fs::write(folder.join("speed"), speed).unwrap();
        fs::write(folder.join("number"), number.to_string()).unwrap();
        git(folder, &["add", "."]);
        git(folder, &["commit", "--quiet", "-m", &format!("room: change {number}")]);
    }
    let repository = Git::new(folder);
    let commits = repository.between(&format!("HEAD~{}", speeds.len() - 1), "main").unwrap();
    (repository, commits)
}

/// Checks out, builds and measures by commands, as the command line does.
struct Scripted {
    git: Git,
    state: PathBuf,
    build: Script,
    measure: Script,
    measured: usize,
    /// Then it fails, as if it were interrupted.
    measured_max: usize,
    /// Whether the user ends it.
    is_to_stop: bool,
    /// Factor by which the machine's speed changes with each measurement.
    cooling: f64,
}

impl Scripted {
    fn new(git: &Git, state: &Path) -> Scripted {
        // Noise of a thousandth that is the same each time: a counter beside the build says which it is.
        let measure = "n=$(cat \"$QUIVER_BUILD/runs\" 2>/dev/null || echo 0); echo $((n + 1)) >\"$QUIVER_BUILD/runs\"; \
            echo measuring; echo $(($(cat \"$QUIVER_BUILD/speed\") * 10000 + n * 7 % 10 * 1000))";
        Scripted {
            git: git.clone(),
            state: state.to_owned(),
            build: Script("test \"$(cat speed)\" -gt 0 && cp speed \"$QUIVER_BUILD/speed\"".into()),
            measure: Script(measure.into()),
            measured: 0,
            measured_max: usize::MAX,
            is_to_stop: false,
            cooling: 1.0,
        }
    }
}

impl Commits for Scripted {
    type Error = CommandError;

    fn is_to_stop(&self) -> bool {
        self.is_to_stop
    }

    fn build(&mut self, commit: &str) -> Result<(), CommandError> {
        let (tree, build) = (self.state.join("tree"), self.state.join(commit));
        self.git.check_out(&tree, commit).unwrap();
        fs::create_dir_all(&build).unwrap();
        self.build.run(&tree, ("QUIVER_BUILD", &build), &Stop::default()).map(drop)
    }

    fn measure(&mut self, commit: &str) -> Result<f64, CommandError> {
        if self.measured == self.measured_max {
            let failing = Script("echo interrupted >&2; exit 1".into());
            return failing.measure(&self.state, ("QUIVER_BUILD", &self.state), &Stop::default());
        }
        self.measured += 1;
        let left = self.cooling.powi(self.measured as i32);
        let (build, stop) = (self.state.join(commit), Stop::default());
        Ok(left * self.measure.measure(&self.state, ("QUIVER_BUILD", &build), &stop)?)
    }
}

fn bisected(
    scripted: &mut Scripted,
    commits: &[String],
) -> (Result<BisectionResult, BisectionError<CommandError>>, Vec<String>) {
    let question = Question { commits: commits.to_vec(), samples: 8, method: vec![scripted.measure.0.clone()] };
    let mut bisection = Bisection::open::<CommandError>(&scripted.state.join("state.json"), question).unwrap();
    let mut events = Vec::new();
    let number = |commit: &str| commits.iter().position(|own| own == commit).unwrap();
    let found = bisection.run(scripted, PLAN, |event| {
        events.push(match event {
            Event::Measures { commit, .. } => format!("measures {}", number(commit)),
            Event::Knows { commit } => format!("knows {}", number(commit)),
            Event::Skips { commit, .. } => format!("skips {}", number(commit)),
            Event::Joins { commit, joined } => {
                format!("{} is {}", number(commit), if joined.is_late { "bad" } else { "good" })
            }
            Event::Confirms { good, bad } => format!("confirms {} {}", number(good), number(bad)),
        });
    });
    (found, events)
}

#[test]
fn the_slower_commit_is_found_and_what_is_known_is_not_measured_again() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // 3 % slower from the fourth on.
    let (git, commits) = repository(folder.path(), &["1000", "1000", "1000", "970", "970", "970", "970", "970"]);
    let mut scripted = Scripted::new(&git, state.path());
    scripted.measured_max = 40;
    let (interrupted, events) = bisected(&mut scripted, &commits);
    assert!(matches!(interrupted, Err(BisectionError::Measure { .. })), "{interrupted:?}");
    assert_eq!(events, ["measures 0", "measures 7", "measures 3"]);
    let mut scripted = Scripted::new(&git, state.path());
    let (found, events) = bisected(&mut scripted, &commits);
    let found = found.unwrap();
    assert_eq!(
        events,
        [
            "knows 0",
            "knows 7",
            "measures 3",
            "3 is bad",
            "measures 1",
            "1 is good",
            "measures 2",
            "2 is good",
            "confirms 2 3"
        ]
    );
    assert_eq!(found.commits, [commits[3].clone()]);
    assert_eq!(found.judgement.verdict, Verdict::Regression, "{}", found.judgement);
    // Three commits by eight, in turns with the good one, and ten pairs.
    assert_eq!(scripted.measured, 3 * 8 * 2 + 20);
    assert!(git.title(&commits[3]).unwrap().ends_with("room: change 3"));
    git.remove(&state.path().join("tree")).unwrap();
    assert!(!state.path().join("tree").exists());
    // What is known belongs to this question.
    let other = Question { commits, samples: 9, method: vec![] };
    let error = Bisection::open::<CommandError>(&state.path().join("state.json"), other).unwrap_err().to_string();
    assert!(error.contains("other commits, or by other commands; delete it"), "{error}");
    fs::write(state.path().join("state.json"), "{").unwrap();
    let question = Question { commits: vec![], samples: 1, method: vec![] };
    let error = Bisection::open::<CommandError>(&state.path().join("state.json"), question).unwrap_err().to_string();
    assert!(error.contains("is no bisection"), "{error}");
}

/// A machine that loses 0.2 % each measurement, a fifth in all: each commit by itself would be slower than those before.
#[test]
fn a_machine_that_gets_slower_is_no_commit() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "1000", "1000", "1000", "1000", "970"]);
    let mut scripted = Scripted { cooling: 0.998, ..Scripted::new(&git, state.path()) };
    let (found, events) = bisected(&mut scripted, &commits);
    let found = found.unwrap();
    assert_eq!(found.commits, [commits[5].clone()], "{events:?}");
    assert!((found.judgement.ratio.estimate - 0.97).abs() < 0.005, "{}", found.judgement);
    git.remove(&state.path().join("tree")).unwrap();
}

#[test]
fn commits_that_do_not_build_are_skipped_and_named() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "1000", "broken", "970", "970"]);
    let (found, events) = bisected(&mut Scripted::new(&git, state.path()), &commits);
    assert!(events.contains(&"skips 2".to_owned()), "{events:?}");
    assert_eq!(found.unwrap().commits, commits[2..4]);
    git.remove(&state.path().join("tree")).unwrap();
}

#[test]
fn who_ends_a_build_says_nothing_of_its_commit() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "broken", "970"]);
    let mut scripted = Scripted { is_to_stop: true, ..Scripted::new(&git, state.path()) };
    scripted.build.0.insert_str(0, "test \"$(cat speed)\" != 1000 || exit 9; ");
    let (found, events) = bisected(&mut scripted, &commits);
    assert!(matches!(found, Err(BisectionError::Measure { ref commit, .. }) if *commit == commits[0]), "{found:?}");
    assert_eq!(events, ["measures 0"]);
    assert!(!state.path().join("state.json").exists());
    git.remove(&state.path().join("tree")).unwrap();
}

#[test]
fn only_trees_that_were_made_here_are_touched() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "970"]);
    let tree = state.path().join("tree");
    let make = |build: &str| {
        Builds::new(git.clone(), Script(build.into()), state.path(), Stop::default()).make(&commits[0]).map(drop)
    };
    // A folder of the user's, and then a repository of theirs.
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("precious"), "").unwrap();
    make("true").unwrap_err();
    assert!(tree.join("precious").exists());
    let said = git.remove(&tree).unwrap_err().to_string();
    assert!(tree.join("precious").exists() && said.ends_with("name another folder, or move it away"), "{said}");
    repository(&tree, &["1", "2"]);
    fs::write(tree.join("speed"), "not committed").unwrap();
    let said = make("true").unwrap_err().to_string();
    assert!(said.contains("is no tree of this repository") && git.remove(&tree).is_err(), "{said}");
    assert_eq!(fs::read_to_string(tree.join("speed")).unwrap(), "not committed");
    fs::remove_dir_all(&tree).unwrap();
    // One that another command has made is used, and stays; one's own goes.
    git.check_out(&tree, &commits[1]).unwrap();
    make("false").unwrap_err();
    assert!(tree.join("speed").exists());
    git.remove(&tree).unwrap();
    make("test \"$(cat speed)\" = 1000").unwrap();
    assert!(!tree.exists());
}

#[test]
fn what_cannot_be_bisected_is_refused() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "1000", "1000"]);
    // Too few pairs, which is known before anything is built.
    let question = Question { commits: commits.clone(), samples: 8, method: vec![] };
    let mut bisection = Bisection::open::<CommandError>(&state.path().join("state.json"), question).unwrap();
    let said = bisection.run(&mut Scripted::new(&git, state.path()), Plan { pairs: 2, ..PLAN }, |event| {
        panic!("{event:?}");
    });
    assert!(said.unwrap_err().to_string().contains("8 are the least"));
    let (found, events) = bisected(&mut Scripted::new(&git, state.path()), &commits);
    let error = found.unwrap_err();
    assert!(matches!(&error, BisectionError::NotApart(_)), "{error}");
    assert_eq!(events, ["measures 0", "measures 2"]);
    git.remove(&state.path().join("tree")).unwrap();
    for (good, bad) in [("main", "main~1"), ("main", "main")] {
        let error = git.between(good, bad).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{good} is not before {bad}")), "{error}");
    }
    assert!(git.between("nowhere", "main").unwrap_err().to_string().contains("there is no such commit"));
    assert!(git.between("--all", "main").is_err());
    // A broken end is named.
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (git, commits) = repository(folder.path(), &["1000", "970", "broken"]);
    let (found, _) = bisected(&mut Scripted::new(&git, state.path()), &commits);
    assert!(matches!(found, Err(BisectionError::End { ref commit, .. }) if *commit == commits[2]), "{found:?}");
    git.remove(&state.path().join("tree")).unwrap();
}

#[test]
fn measures_say_a_number() {
    let stop = Stop::default();
    let measure =
        |script: &str| Script(script.into()).measure(Path::new("/"), ("QUIVER_BUILD", Path::new("/tmp")), &stop);
    assert_eq!(measure("echo some words; echo 1.5e7; echo").unwrap(), 1.5e7);
    for (script, said) in [
        ("echo 3 Mpps", "`echo 3 Mpps` says '3 Mpps' last: the last line must be a number above zero"),
        ("true", "`true` says '' last"),
        ("echo 0", "says '0' last"),
        ("echo NaN", "says 'NaN' last"),
        ("echo why >&2; exit 3", "ended with exit status: 3: why"),
    ] {
        let error = measure(script).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
