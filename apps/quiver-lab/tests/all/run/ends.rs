//! However a run ends, or a device in it: documents are valid, and nothing else is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Time for whatever is waited for on a busy machine.
const WITHIN: Duration = Duration::from_secs(120);

/// With CSIT's goals it takes many minutes.
const LONG: &str = "quiver AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND soak";

/// A case by interfaces of the kernel.
const VETH: &str = "quiver AND l2xcbase AND drv_veth AND eth AND 64b AND 1c AND mrr";

/// A run that has begun.
struct Run {
    child: Child,
    /// Its standard error, and its standard output.
    said: std::path::PathBuf,
    printed: std::path::PathBuf,
    /// The device's process, and the folder of the run.
    device: (Pid, String),
}

impl Run {
    /// Starts one, and waits until its device is there.
    fn start(folder: &Path, arguments: &[&str]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
        command.args(["run", "--results"]).arg(folder.join("results")).args(arguments);
        Run::begin(folder, command)
    }

    fn begin(folder: &Path, mut command: Command) -> Run {
        let (said, printed) = (folder.join("said"), folder.join("printed"));
        command.stdin(Stdio::null()).stdout(fs::File::create(&printed).unwrap());
        command.stderr(fs::File::create(&said).unwrap());
        let child = command.spawn().unwrap();
        let mut device = None;
        wait("the device", || {
            device = processes().find_map(|id| device_of(child.id(), id));
            device.is_some()
        });
        Run { child, said, printed, device: device.expect("it was waited for") }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    fn printed(&self) -> String {
        fs::read_to_string(&self.printed).unwrap()
    }

    /// Waits until it has ended and nothing of it is left; whether it says that all is well.
    fn end(&mut self) -> bool {
        let child = &mut self.child;
        wait("the end of the run", || child.try_wait().unwrap().is_some());
        let folder = &self.device.1;
        wait("the end of its processes", || !processes().any(|id| line(id).contains(folder)));
        // As it may see it, or in a world's memory, which went with the world.
        assert!(!Path::new(folder).exists(), "{folder}");
        self.child.wait().unwrap().success()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // It has ended already, but where a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The command line of a process, its arguments separated by spaces.
fn line(id: u32) -> String {
    let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// The folder of a run, if a process is its device.
fn device_of(run: u32, id: u32) -> Option<(Pid, String)> {
    let line = line(id);
    let socket = line.split(' ').find(|word| word.ends_with("/device/cli"))?;
    let parent = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    // The run is in a world, whose first process is between, or not; and `gate` has started it, or the test.
    let is_descended = std::iter::successors(parent(id), |id| parent(*id)).take(3).any(|id| id == run);
    let is_ours = line.contains("quiverd") && is_descended;
    is_ours.then(|| (Pid::from_raw(id as i32), socket.trim_end_matches("/device/cli").to_owned()))
}

fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < WITHIN, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_case_that_is_interrupted_leaves_a_valid_document_and_nothing_else() {
    let Some(_cores) = super::cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::start(folder.path(), &[LONG]);
    kill(Pid::from_raw(run.child.id() as i32), Signal::SIGINT).unwrap();
    assert!(!run.end());
    let said = run.said();
    assert!(said.contains("interrupted"), "{said}");
    let documents = super::documents(&folder.path().join("results"));
    let [document] = &documents[..] else { panic!("{said}") };
    assert!(!document.passed && document.message.starts_with("interrupted"), "{document:?}");
}

/// In the midst of a search that has bounds: they are in the document, and in the result on standard output.
#[test]
fn an_interrupted_search_keeps_and_prints_its_bounds() {
    let Some(_cores) = super::cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let case = "quiver AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND ndrpdr";
    let mut run = Run::start(folder.path(), &["--trial", "0.7", case]);
    // Each goal has one as soon as it is told.
    wait("bounds", || run.said().contains("NDR ") || run.child.try_wait().unwrap().is_some());
    kill(Pid::from_raw(run.child.id() as i32), Signal::SIGINT).unwrap();
    assert!(!run.end());
    let (said, printed) = (run.said(), run.printed());
    assert!(said.contains("1 case to measure, about "), "{said}");
    assert!(printed.contains("-ndrpdr: interrupted; so far NDR ") && printed.contains(", PDR "), "{printed}, {said}");
    assert!(printed.lines().count() == 1 && !said.contains("so far"), "{printed}, {said}");
    let documents = super::documents(&folder.path().join("results"));
    let [document] = &documents[..] else { panic!("{said}") };
    assert!(!document.passed && document.message.starts_with("interrupted"), "{document:?}");
    let figures = &document.quiver.as_ref().unwrap().figures;
    for goal in ["ndr_", "pdr_"] {
        let bounds = figures.iter().filter(|figure| figure.name.starts_with(goal));
        assert!(bounds.clone().any(|figure| figure.name.ends_with("_so_far") && figure.unit == "pps"), "{figures:?}");
    }
}

/// A minute is what a start may take.
#[test]
fn a_device_that_hangs_in_its_start_does_not_keep_a_run_that_is_interrupted() {
    let Some(_cores) = super::cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (script, began) = (folder.path().join("dpdk-testpmd"), folder.path().join("began"));
    fs::write(&script, format!("#!/bin/sh\ntouch {}\nexec sleep 1000\n", began.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    let case = "testpmd AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND mrr";
    command.args(["run", "--short", "--results"]).arg(folder.path().join("results")).arg(case);
    let mut child =
        command.stdin(Stdio::null()).stderr(fs::File::create(folder.path().join("said")).unwrap()).spawn().unwrap();
    wait("the device", || began.exists() || child.try_wait().unwrap().is_some());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let set = Instant::now();
    wait("the end of the run", || child.try_wait().unwrap().is_some());
    let said = fs::read_to_string(folder.path().join("said")).unwrap();
    // What is left to do takes a moment, too, on a busy machine.
    assert!(set.elapsed() < Duration::from_secs(20), "{:?}: {said}", set.elapsed());
    assert!(!child.wait().unwrap().success() && said.contains("; interrupted"), "{said}");
    let documents = super::documents(&folder.path().join("results"));
    let [document] = &documents[..] else { panic!("{said}") };
    assert!(!document.passed && document.message.starts_with("interrupted"), "{document:?}");
    assert!(!processes().any(|id| line(id).contains(&*script.to_string_lossy())), "{said}");
}

/// It cannot do anything about that itself; its world ends with it.
#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let Some(_cores) = super::cores() else { return };
    if let quiver_netns::Rights::None(remedy) = quiver_netns::rights() {
        println!("left out: no world without network namespaces: {remedy}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::start(folder.path(), &[LONG]);
    run.child.kill().unwrap();
    assert!(!run.end());
}

/// `gate` of a build with itself, by a case that takes interfaces of the kernel.
fn gate(folder: &Path, arguments: &[&str]) -> Command {
    let quiverd = Path::new(env!("CARGO_BIN_EXE_quiver-lab")).with_file_name("quiverd");
    for build in ["a", "b"] {
        fs::create_dir(folder.join(build)).unwrap();
        std::os::unix::fs::symlink(&quiverd, folder.join(build).join("quiverd")).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.current_dir(folder).args(["gate", "a", "b"]).args(arguments);
    command
}

fn has_worlds() -> bool {
    if let quiver_netns::Rights::None(remedy) = quiver_netns::rights() {
        println!("left out: no world without network namespaces: {remedy}");
        return false;
    }
    true
}

/// It is outside of the worlds of its runs, of which the first lasts until the test ends it.
#[test]
fn a_gate_that_is_killed_leaves_nothing() {
    let Some(_cores) = super::cores().filter(|_| has_worlds()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::begin(folder.path(), gate(folder.path(), &["--trial", "100", VETH]));
    run.child.kill().unwrap();
    assert!(!run.end());
}

#[test]
fn builds_are_measured_by_veth_in_worlds() {
    let Some(_cores) = super::cores().filter(|_| has_worlds()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let few = ["--trial", "0.02", "--pairs", "3", "--confidence", "70", "--seed", "1", VETH];
    let output = gate(folder.path(), &few).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Three pairs are enough for one number, and too few for all that the case has, which is known after the first.
    assert!(output.status.code() == Some(2) && said.contains("pairs say nothing at this confidence"), "{said}");
    assert!(said.contains("pair 1 of 3: ") && said.contains(" M | "), "{said}");
}

/// In the midst of its trials, which the display tells of: the first takes longer than it is silent.
#[test]
fn a_device_that_dies_ends_its_case_and_no_other() {
    let Some(_cores) = super::cores() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = "quiver AND l2xcbase AND drv_memif AND eth AND 64b AND 1c AND (ndrpdr OR mrr)";
    let mut run = Run::start(folder.path(), &["--trial", "1.2", cases]);
    wait("a sign of progress", || run.said().contains(" to go") || run.child.try_wait().unwrap().is_some());
    assert!(run.said().contains(" to go"), "{}", run.said());
    kill(run.device.0, Signal::SIGKILL).unwrap();
    assert!(!run.end());
    let said = run.said();
    let progress = said.lines().find(|line| line.contains(" to go")).expect("it was waited for");
    for part in [" trial", ", NDR ", ", PDR ", " Mpps each way, about "] {
        assert!(progress.contains(part), "{part}: {progress}");
    }
    let mut documents = super::documents(&folder.path().join("results"));
    documents.sort_by_key(|document| document.passed);
    let [died, other] = &documents[..] else { panic!("{said}") };
    assert!(!died.passed && died.message.contains("quiver has ended (signal: 9"), "{}", died.message);
    assert!(!died.quiver.as_ref().unwrap().trials.is_empty(), "{said}");
    assert!(other.passed && died.test_id.ends_with("-ndrpdr") && other.test_id.ends_with("-mrr"), "{said}");
}
