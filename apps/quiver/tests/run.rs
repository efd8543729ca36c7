//! `quiver lab run`, as users call it: short runs with a real generator and real devices. Nothing here judges time.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quiver_result::{Document, Store};
use serde_json::Value;

/// What takes long to configure, or to search, even in short runs.
const QUICK: &str =
    "drv_memif AND 1c AND (mrr OR ndrpdr OR closedloop OR latency OR reconf) NOT fib_2m OR fib_1m OR fib_200k";

fn command(results: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.args(["lab", "run", "--json", "--trial", "0.02", "--results"]).arg(results);
    command
}

fn summary(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn documents(folder: &Path) -> Vec<Document> {
    Store::new(folder).read().map(|found| found.expect("a valid document").document).collect()
}

/// Whether two threads can have a core each: the generator's and the device's.
fn has_cores() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        println!("left out: a generator and a device need 2 cores, {cores} here");
    }
    cores >= 2
}

/// Draws cases of a device, and looks at what became of every packet.
fn draw(device: &str, number: usize) {
    let given = std::env::var("QUIVER_LAB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| fastrand::u64(..));
    println!("QUIVER_LAB_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let expression = format!("{device} AND {QUICK}");
    let (number, seed) = (number.to_string(), seed.to_string());
    let output = command(folder.path()).args(["--draw", &number, "--seed", &seed, &expression]).output().unwrap();
    let (summary, said) = (summary(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    let documents = documents(folder.path());
    assert_eq!(
        (summary["cases"].as_array().map(Vec::len), documents.len().to_string()),
        (Some(documents.len()), number)
    );
    for document in documents {
        let extension = document.quiver.as_ref().expect("what the lab adds");
        assert!(!extension.trials.is_empty() || !document.passed, "{said}");
        for trial in &extension.trials {
            // Closed windows and paced streams alike: what is not back is named.
            assert!(!trial.losses.contains_key("unnamed"), "{}: {trial:?}\n{said}", document.test_id);
        }
        // On a busy machine no load may be good enough; but everything runs, and everybody answers.
        let is_too_slow = document.message.contains("loses more than the goal allows")
            || document.message.contains("must be below line_rate")
            || document.message.contains("no load was good enough")
            || document.message.contains("no load is without loss");
        assert!(document.passed || is_too_slow, "{}: {}\n{said}", document.test_id, document.message);
    }
}

#[test]
fn cases_of_quiver_lose_nothing_unnamed() {
    if has_cores() {
        draw("quiver", 16);
    }
}

#[test]
fn cases_of_testpmd_lose_nothing_unnamed() {
    const PROGRAM: &str = "dpdk-testpmd";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&folders).any(|folder| folder.join(PROGRAM).is_file()) {
        true if has_cores() => draw("testpmd", 4),
        true => {}
        false => println!("left out: there is no {PROGRAM}; Debian's dpdk-dev has it"),
    }
}

#[test]
fn a_case_that_is_interrupted_leaves_a_valid_document_and_nothing_else() {
    if !has_cores() {
        return;
    }
    let (folder, sockets) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.args(["lab", "run", "--results"]).arg(folder.path()).env("TMPDIR", sockets.path());
    // With CSIT's goals: it would take a while.
    command.arg("quiver AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND soak");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let id = Pid::from_raw(child.id() as i32);
    let started =
        || std::fs::read_dir(sockets.path()).unwrap().flatten().any(|run| run.path().join("device/cli").exists());
    wait(&started);
    kill(id, Signal::SIGINT).unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("interrupted"), "{said}");
    assert_eq!(std::fs::read_dir(sockets.path()).unwrap().count(), 0, "{said}");
    let documents = documents(folder.path());
    let [document] = &documents[..] else { panic!("{said}") };
    assert!(!document.passed && document.message.starts_with("interrupted"), "{document:?}");
}

fn wait(until: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_cannot_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        command(folder.path()).arg("vpp AND 64b AND l2xcbase AND mrr AND 4c AND drv_memif AND eth").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let lacks = said.contains("no program vpp") || said.contains("cores needed");
    assert!(!output.status.success() && lacks && said.contains("0 measured"), "{said}");
    assert!(summary(&output)["skipped"].as_array().is_some_and(|skipped| !skipped.is_empty()));
    for wrong in [&["--trial", "0", "64b"][..], &["--trial", "x", "64b"], &["--seed", "1", "64b"], &["64b and"]] {
        assert!(!command(folder.path()).args(wrong).output().unwrap().status.success(), "{wrong:?}");
    }
}
