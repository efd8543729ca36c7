//! However a run ends, or its connection: no host keeps anything of it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use libtest_mimic::Failed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::bed::{Bed, Form, documents, line, processes, wait};

/// With CSIT's goals it takes many minutes.
const LONG: &str = "quiver AND l2xcbase AND eth AND 64b AND 1c AND ndrpdr";
const LONG_OF_TESTPMD: &str = "testpmd AND eth AND 64b AND 1c AND ndrpdr";
const LONG_OF_KERNEL: &str = "linux AND ip4base AND eth AND 64b AND ndrpdr";

/// A run in the midst of its trials.
struct Run {
    child: Child,
    folder: TempDir,
}

impl Run {
    fn start(bed: &Bed, case: &str, is_there: impl Fn() -> bool) -> Result<Run, Failed> {
        let folder = tempfile::tempdir()?;
        let results = folder.path().join("results");
        let results = results.to_str().ok_or("a path")?;
        let mut command =
            bed.command(folder.path(), "run", &Form::TWO.ready(), &["--trial", "0.1", "--results", results, case]);
        let said = fs::File::create(folder.path().join("said"))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn()?;
        let run = Run { child, folder };
        wait("the device", is_there)?;
        Ok(run)
    }

    fn of_quiver(bed: &Bed) -> Result<Run, Failed> {
        let is_device = |line: String| line.contains("quiverd") && line.contains("-cli");
        Run::start(bed, LONG, || processes().map(line).any(is_device))
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn end(&mut self) -> Result<bool, Failed> {
        wait("the end of the run", || !matches!(self.child.try_wait(), Ok(None)))?;
        Ok(self.child.wait()?.success())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // It has ended already, but where a test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn interrupted(bed: &Bed) -> Result<(), Failed> {
    let mut run = Run::of_quiver(bed)?;
    kill(Pid::from_raw(run.child.id() as i32), Signal::SIGINT)?;
    assert!(!run.end()?);
    let (documents, said) = (documents(&run.results()), run.said());
    let [document] = &documents[..] else { return Err(said.into()) };
    assert!(!document.passed && document.message.starts_with("interrupted"), "{}", document.message);
    bed.is_clean()
}

pub fn killed(bed: &Bed) -> Result<(), Failed> {
    let mut run = Run::of_quiver(bed)?;
    run.child.kill()?;
    assert!(!run.end()?);
    bed.is_clean()
}

pub fn killed_kernel(bed: &Bed) -> Result<(), Failed> {
    undone(bed, LONG_OF_KERNEL, "198.18.2.2 dev w1")
}

pub fn killed_testpmd(bed: &Bed) -> Result<(), Failed> {
    undone(bed, LONG_OF_TESTPMD, "w1@if")
}

/// Changes of a host for a measurement are undone by a process there.
fn undone(bed: &Bed, case: &str, sign: &str) -> Result<(), Failed> {
    let before = bed.state()?;
    let is_there =
        || bed.state().is_ok_and(|state| state.iter().any(|line| line.contains(sign) && !before.contains(line)));
    let mut run = Run::start(bed, case, is_there)?;
    run.child.kill()?;
    assert!(!run.end()?);
    bed.is_clean()?;
    assert_eq!(bed.state()?, before);
    Ok(())
}

/// The device's own connection, while trials run.
pub fn cut(bed: &Bed) -> Result<(), Failed> {
    let mut run = Run::of_quiver(bed)?;
    let is_device = |line: &str| line.starts_with("ssh ") && line.contains("ExitOnForwardFailure");
    let ssh = processes().find(|id| is_device(&line(*id))).ok_or("the device's connection")?;
    kill(Pid::from_raw(ssh), Signal::SIGKILL)?;
    assert!(!run.end()?);
    let (documents, said) = (documents(&run.results()), run.said());
    let [document] = &documents[..] else { return Err(said.into()) };
    assert!(!document.passed && document.message.contains("dut1: "), "{}", document.message);
    bed.is_clean()
}
