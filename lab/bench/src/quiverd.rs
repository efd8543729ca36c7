//! The quiverd that is measured: the program itself, as users start it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quiver_control::protocol::Response;
use quiver_stop::Stop;
use tempfile::TempDir;

/// Time limit for an answer of quiverd.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// The same for its start, which may read a million routes.
const START_WITHIN: Duration = Duration::from_secs(3600);
/// The name of the worker's thread.
const WORKER: &str = "quiver-0";

/// A running quiverd; killed when this value is dropped.
pub struct Quiverd {
    child: Child,
    folder: TempDir,
}

/// CPU time used by quiverd since its start, or between two moments.
pub struct Usage {
    /// The moment on a clock that starts with the first use, or the time between.
    pub time: Duration,
    /// CPU time of the worker's thread.
    pub worker: Duration,
    /// CPU time of all other threads.
    pub others: Duration,
    pub naps: u64,
    pub sleeps: u64,
}

impl Usage {
    pub fn since(self, before: &Usage) -> Usage {
        Usage {
            time: self.time - before.time,
            worker: self.worker - before.worker,
            others: self.others - before.others,
            naps: self.naps - before.naps,
            sleeps: self.sleeps - before.sleeps,
        }
    }
}

impl Quiverd {
    /// Starts one with a worker; `commands` says what it runs first, told where files of this run may lie.
    pub fn start(commands: impl FnOnce(&Path) -> String) -> Result<Quiverd, String> {
        let with_commands = |folder: &Path| {
            let configuration = folder.join("configuration");
            fs::write(&configuration, commands(folder)).map_err(|error| error.to_string())?;
            Ok(vec!["--exec".into(), configuration.into()])
        };
        Quiverd::start_with(with_commands)
    }
    /// Starts one with a worker and further options, which `options` gives, told where files of this run may lie.
    pub fn start_with(options: impl FnOnce(&Path) -> Result<Vec<OsString>, String>) -> Result<Quiverd, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("quiverd");
        let folder = TempDir::with_prefix("quiver-bench-").map_err(|error| error.to_string())?;
        let mut command = Command::new(&program);
        command.arg("--socket").arg(folder.path().join("cli")).args(options(folder.path())?);
        command.arg("--api-socket").arg(folder.path().join("api"));
        command.args(["--workers", "1"]).env("RUST_LOG", "error").stdin(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let mut quiverd = Quiverd { child, folder };
        let start = Instant::now();
        while let Err(error) = quiverd.ask("show version") {
            if let Ok(Some(status)) = quiverd.child.try_wait() {
                return Err(format!("quiverd ended with {status}"));
            }
            if start.elapsed() > START_WITHIN {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(quiverd)
    }
    /// Where files of this run may lie.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
    /// Its socket of VPP's API.
    pub fn api(&self) -> PathBuf {
        self.folder().join("api")
    }
    /// CPU time used so far.
    pub fn usage(&self) -> Result<Usage, String> {
        let threads = self.ask("show threads")?;
        let counted = |column: &str| threads[0][column].as_u64().ok_or(format!("`show threads` has no {column}"));
        let (naps, sleeps) = (counted("naps")?, counted("sleeps")?);
        let (mut worker, mut others) = (Duration::ZERO, Duration::ZERO);
        let tasks = format!("/proc/{}/task", self.child.id());
        for task in fs::read_dir(&tasks).map_err(|error| format!("{tasks}: {error}"))?.flatten() {
            let read = |file: &str| {
                let path = task.path().join(file);
                fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
            };
            // The first word is the thread's CPU time in nanoseconds.
            let used = read("schedstat")?.split(' ').next().and_then(|word| word.parse().ok());
            let used = Duration::from_nanos(used.ok_or("the kernel does not count CPU time in schedstat")?);
            if read("comm")?.trim() == WORKER { worker += used } else { others += used }
        }
        let time = Duration::from_nanos(quiver_engine::thread::monotonic());
        Ok(Usage { time, worker, others, naps, sleeps })
    }
    /// Asks a command, and returns its answer as JSON.
    pub fn ask(&self, line: &str) -> Result<serde_json::Value, String> {
        let answer = quiver_daemon::ask(&self.folder().join("cli"), line, Stop::default().wait(READY_WITHIN));
        match answer.map_err(|error| format!("quiverd does not answer: {error}"))? {
            Response::Done(answer) => Ok(answer.json),
            other => Err(format!("`{line}`: {other:?}")),
        }
    }
}

impl Drop for Quiverd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
