//! `quiver lab run`, as users call it: short runs with a real generator and real devices. Nothing here judges time.

mod ends;
mod question;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use quiver_netns::{Rights, rights};
use quiver_result::{Document, Store};
use serde_json::Value;

/// Cases that are quick to configure and to search in short runs.
const QUICK: &str = "1c AND (mrr OR ndrpdr OR closedloop OR latency) NOT fib_2m OR fib_1m OR fib_200k OR drv_pg";
/// Routes are added under load.
const RECONF: &str = "1c AND drv_memif AND reconf";
/// Tags take a module that not every kernel has.
const KERNEL: &str = "eth AND (mrr OR ndrpdr)";

fn command(results: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.args(["run", "--json", "--trial", "0.02", "--results"]).arg(results);
    command
}

fn summary(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn documents(folder: &Path) -> Vec<Document> {
    Store::new(folder).read().expect("a folder").map(|found| found.expect("a valid document").document).collect()
}

/// Two cores, where there are two: one for the generator, and one for the device. One test has them at a time.
pub fn cores() -> Option<MutexGuard<'static, ()>> {
    static CORES: Mutex<()> = Mutex::new(());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        println!("left out: a generator and a device need 2 cores, {cores} here");
        return None;
    }
    // What another test panicked of is no reason not to run this one.
    Some(CORES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn short_cases_of_one_configuration_share_processes() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let expression =
        "quiver AND drv_memif AND eth AND 64b AND 1c AND (l2xcbase OR l2bdbase) AND (mrr OR closedloop) NOT zerocopy";
    let output = command(folder.path()).arg(expression).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let documents = documents(folder.path());
    let earlier = |document: &Document| {
        let figures = &document.quiver.as_ref().expect("ours").figures;
        figures.iter().find(|figure| figure.name == "earlier_cases").map_or(0, |figure| figure.value.get() as usize)
    };
    for name in ["l2xcbase", "l2bdbase"] {
        let its = documents.iter().filter(|document| document.test_name_long.contains(name));
        let mut all: Vec<usize> = its.map(earlier).collect();
        all.sort_unstable();
        assert!(all.len() > 2 && all.iter().copied().eq(0..all.len()), "{name}: {all:?}");
    }
}

/// Draws cases of a device, and looks at what became of every packet.
fn draw(device: &str, which: &str, number: usize) {
    let given = std::env::var("QUIVER_LAB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| fastrand::u64(..));
    println!("QUIVER_LAB_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let expression = format!("{device} AND {which}");
    let (number, seed) = (number.to_string(), seed.to_string());
    let output = command(folder.path()).args(["--draw", &number, "--seed", &seed, &expression]).output().unwrap();
    let (summary, said) = (summary(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    let documents = documents(folder.path());
    assert_eq!(
        (summary["cases"].as_array().map(Vec::len), documents.len().to_string()),
        (Some(documents.len()), number)
    );
    // The tests' own quiverd is as they are.
    assert_eq!(said.starts_with("warning: the generator ("), cfg!(debug_assertions), "{said}");
    for document in documents {
        assert_eq!(document.tg_version.ends_with(" (debug build)"), cfg!(debug_assertions), "{}", document.tg_version);
        let extension = document.quiver.as_ref().expect("what the lab adds");
        assert!(!extension.trials.is_empty() || !document.passed, "{said}");
        for trial in &extension.trials {
            // Closed windows and paced streams alike: what is not back is named.
            assert!(!trial.losses.contains_key("unnamed"), "{}: {trial:?}\n{said}", document.test_id);
            let count = |name: &str| trial.losses.get(name).copied().unwrap_or(0);
            let others: u64 = ["duplicated", "reordered", "unsent"].into_iter().map(count).sum();
            let lost = trial.losses.values().sum::<u64>() - others - 2 * count("counted-twice");
            let missing = trial.sent_packets.saturating_sub(trial.received_packets);
            assert_eq!(lost, missing, "{}: {trial:?}\n{said}", document.test_id);
        }
        // On a busy machine no load may be good enough; but everything runs, and everybody answers.
        let is_too_slow = document.message.contains("loses more than the goal allows")
            || document.message.contains("must be below line_rate")
            || document.message.contains("must be above min_load")
            || document.message.contains("no load was good enough")
            || document.message.contains("no load is without loss");
        assert!(document.passed || is_too_slow, "{}: {}\n{said}", document.test_id, document.message);
    }
}

#[test]
fn cases_of_quiver_lose_nothing_unnamed() {
    let Some(_cores) = cores() else { return };
    draw("quiver", &format!("(drv_memif OR drv_veth) AND {QUICK}"), 12);
    draw("quiver", RECONF, 1);
}

#[test]
fn cases_of_testpmd_lose_nothing_unnamed() {
    const PROGRAM: &str = "dpdk-testpmd";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&folders).any(|folder| folder.join(PROGRAM).is_file()) {
        println!("left out: there is no {PROGRAM}; Debian's dpdk-dev has it");
        return;
    }
    let Some(_cores) = cores() else { return };
    draw("testpmd", &format!("drv_memif AND {QUICK}"), 4);
}

/// The bridge and the router, by veth and TAP.
#[test]
fn cases_of_the_kernel_lose_nothing_unnamed() {
    let Some(_cores) = cores() else { return };
    if let Rights::None(remedy) = rights() {
        println!("left out: no network namespaces: {remedy}");
        return;
    }
    draw("linux", KERNEL, 3);
}

/// A few seconds of the same load: every series has its figures, whatever they are on this machine.
#[test]
fn endurance_tells_leaks_and_drift() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let case = "quiver AND l2xcbase AND eth AND drv_memif AND 64b AND 1c AND endurance";
    let output = command(folder.path()).args(["--endure", "2", case]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let documents = documents(folder.path());
    let [document] = &documents[..] else { panic!("{said}") };
    if !document.passed {
        // On a busy machine no load may be without loss.
        assert!(
            document.message.contains("no load is without loss") || document.message.contains("MLRsearch"),
            "{said}"
        );
        return;
    }
    assert!(said.contains("endured, ") && said.contains(" packets lost, "), "{said}");
    let extension = document.quiver.as_ref().unwrap();
    let names: Vec<&str> = extension.figures.iter().map(|figure| figure.name.as_str()).collect();
    for series in [
        "device_resident_memory",
        "device_heap",
        "device_buffers",
        "device_busy_per_packet",
        "generator_resident_memory",
        "packets_received_per_second",
    ] {
        let ways = ["rise", "fall"].map(|way| format!("{series}_{way}"));
        assert!(names.contains(&series) && names.contains(&&*format!("{series}_drifts")), "{series}: {names:?}");
        assert_eq!(ways.iter().filter(|way| names.contains(&way.as_str())).count(), 1, "{series}: {names:?}");
    }
    let value = |name: &str| extension.figures.iter().find(|figure| figure.name == name).unwrap().value.get();
    assert!(value("endured_trials") > 0.0 && value("device_resident_memory") > 1e6, "{said}");
}

/// Two commits with the same quiverd: built, measured in turns, kept, and judged, whatever the verdict on this machine is.
#[test]
fn commits_are_built_and_measured_in_turns() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").current_dir(folder.path());
        command.args(["-c", "user.name=Quiver", "-c", "user.email=quiver@example.com"]);
        assert!(command.args(arguments).status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    for number in ["1", "2"] {
        std::fs::write(folder.path().join("number"), number).unwrap();
        git(&["add", "number"]);
        git(&["commit", "--quiet", "-m", number]);
    }
    let quiverd = Path::new(env!("CARGO_BIN_EXE_quiver-lab")).with_file_name("quiverd");
    let build = format!("ln -s {} $QUIVER_BUILD/quiverd && cp number $QUIVER_BUILD/", quiverd.display());
    let gate = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
        command.current_dir(folder.path()).args(["gate", "--json", "--trial", "0.02", "--pairs", "3"]);
        let output = command.args(["--build", &build]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output, said)
    };
    let case = "quiver AND l2xcbase AND eth AND drv_memif AND 64b AND 1c AND closedloop NOT w*";
    let (output, said) = gate(&["main~1", "main", case, "--keep", "kept", "--confidence", "50"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let rows = found["rows"].as_array().expect("rows");
    let measures: Vec<_> = rows.iter().map(|row| row["measure"].as_str().unwrap_or_default()).collect();
    assert_eq!(measures, ["thread ticks a packet", "closed_loop_pps, pps"], "{found:#}");
    assert!(
        rows.iter().all(|row| row["in_turns"] == true && row["documents"] == serde_json::json!([3, 3])),
        "{found:#}"
    );
    assert!(said.contains("building ") && said.contains("pair 3 of 3: "), "{said}");
    let regresses = rows.iter().any(|row| row["judgement"]["verdict"] == "regression");
    let passes =
        rows.iter().all(|row| ["same", "progression"].contains(&row["judgement"]["verdict"].as_str().unwrap()));
    assert_eq!(
        output.status.code(),
        Some(if regresses {
            1
        } else if passes {
            0
        } else {
            2
        }),
        "{found:#}"
    );
    assert_eq!(documents(&folder.path().join("kept")).len(), 6);
    let builds = std::fs::read_dir(folder.path().join("quiver-gate/builds")).unwrap().flatten();
    assert_eq!(builds.filter(|entry| entry.path().join("number").is_file()).count(), 2);
    // A verdict that cannot be had is not waited for.
    for (arguments, why) in [
        (&["main~1", "main", case][..], "are the least"),
        (&["main~1", "main", "vpp AND 64b"], "no case of Quiver that this machine can run"),
        (&["main~1", "nowhere", case], "nowhere: no folder, and no commit"),
    ] {
        let (output, said) = gate(arguments);
        assert!(output.status.code() == Some(2) && said.contains(why), "{arguments:?}: {said}");
    }
}

/// Without `--json`, results are on standard output alone: a pipe has them without progress.
#[test]
fn results_are_printed_and_progress_is_said() {
    let Some(_cores) = cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let case = "quiver AND l2xcbase AND eth AND drv_memif AND 64b AND 1c AND (mrr OR latency)";
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    let output = command.args(["run", "--trial", "0.05", case, "--results"]).arg(folder.path()).output().unwrap();
    let [printed, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let names: Vec<_> = documents(folder.path()).into_iter().map(|document| document.test_name_long).collect();
    let results: Vec<_> = printed.lines().filter(|line| !line.starts_with("  ")).collect();
    assert_eq!((results.len(), names.len()), (2, 2), "{printed}, {said}");
    assert!(names.iter().all(|name| results.iter().any(|line| line.starts_with(name.as_str()))), "{printed}, {said}");
    assert!(results.iter().any(|line| line.contains("-mrr: MRR ")), "{printed}");
    if let Some(latency) = results.iter().find(|line| line.contains("-latency: NDR ")) {
        assert!(latency.contains("pps, PDR "), "{latency}");
        for percentile in ["latency at 50 % of PDR, forward: p50 ", ", p90 ", ", p99 ", ", p99.9 ", ", max "] {
            assert!(printed.contains(percentile), "{percentile}: {printed}");
        }
    }
    assert!(said.contains("2 cases to measure, about ") && said.contains("2 measured, "), "{said}");
    assert!(!printed.contains("to measure") && !printed.contains(" ..."), "{printed}");
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
    for wrong in [
        &["--trial", "0", "64b"][..],
        &["--trial", "1e-9", "64b"],
        &["--endure", "0", "64b"],
        &["--draw", "0", "64b"],
        &["--trial", "x", "64b"],
        &["--seed", "x", "64b"],
        &["64b and"],
    ] {
        assert!(!command(folder.path()).args(wrong).output().unwrap().status.success(), "{wrong:?}");
    }
}

/// The figure of each pair of devices is compared; ticks only where both count them, which the kernel does not.
#[test]
fn devices_take_turns_and_are_compared() {
    let Some(_cores) = cores() else { return };
    if let Rights::None(remedy) = rights() {
        println!("left out: no network namespaces: {remedy}");
        return;
    }
    let (folder, suites) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let suite =
        "suites:\n  - function: l2bd\n    device: [quiver, linux]\n    driver: veth\n    frame: 256\n    search: mrr\n";
    std::fs::write(suites.path().join("turns.yaml"), suite).unwrap();
    let arguments = ["--interleave", "2", "--seed", "1", "256b AND l2bdbase AND drv_veth AND mrr", "--suites"];
    let output = command(folder.path()).args(arguments).arg(suites.path()).output().unwrap();
    let (summary, said) = (summary(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(summary["cases"].as_array().map(Vec::len), Some(4), "{said}");
    let ratios = summary["ratios"].as_array().expect("ratios");
    let told: Vec<_> = ratios.iter().map(|ratio| [&ratio["of"], &ratio["device"], &ratio["with"]]).collect();
    assert_eq!(told, [["figure", "quiver", "linux"]], "{said}");
    // What a packet costs is told by distance of the cores, of whom counts ticks; trials within which it changed are of neither.
    let costs = summary["costs"].as_array().expect("costs");
    let told: u64 = costs.iter().filter_map(|cost| cost["trials"].as_u64()).sum();
    let trials = documents(folder.path()).into_iter().filter_map(|document| document.quiver).flat_map(|own| own.trials);
    let counts = trials.filter(|trial| {
        let trip = trial.core_round_trip.as_ref();
        let stayed = trip.is_some_and(|trip| (trip.before_ns.get() <= 160.0) == (trip.after_ns.get() <= 160.0));
        trial.device == "quiver" && trial.repeated_because.is_none() && trial.busy.is_some() && stayed
    });
    assert_eq!(told, counts.count() as u64, "{said}");
    assert!(costs.iter().all(|cost| cost["device"] == "quiver"), "{said}");
}
