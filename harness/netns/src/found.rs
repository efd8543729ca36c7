//! Finding worlds that were kept, from outside, to connect to them or to stop them.

use std::ffi::CStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Error;

/// A kept world.
///
/// Nothing records it but the process itself: its name, and that it counts itself as process 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptWorld {
    id: i32,
}

impl KeptWorld {
    /// All worlds of this user that were kept under `name`.
    pub fn all(name: &CStr) -> Vec<Self> {
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|&id| is_first_process(id, name)).map(|id| Self { id }).collect()
    }

    /// A path of the world, as it is reached from outside; `path` starts with a slash.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.id))
    }

    /// The first process, as this process counts.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// A command that will run inside, in one of the world's network namespaces.
    pub fn command(&self, namespace: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let user = |id: &str| fs::read_link(format!("/proc/{id}/ns/user")).ok();
        // Entering the user namespace where one already is fails.
        if user("self") != user(&self.id.to_string()) {
            command.args(["--user", "--preserve-credentials"]);
        }
        command
            .args(["--mount", "--pid", "--target", &self.id.to_string()])
            .arg(format!("--net=/proc/{}/root/run/netns/{namespace}", self.id))
            .arg("--")
            .arg(program);
        command
    }

    /// Ends the world and waits until its processes are gone.
    pub fn stop(&self) -> Result<(), Error> {
        kill(Pid::from_raw(self.id), Signal::SIGKILL)
            .map_err(|e| Error::system(format!("stop process {}", self.id), e))?;
        let limit = Instant::now() + Duration::from_secs(10);
        // The first process of a world ends only after all others, but its new parent may not have waited for it yet.
        while fs::exists(format!("/proc/{}/exe", self.id)).unwrap_or(false) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

fn is_first_process(id: i32, name: &CStr) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) else { return false };
    let field = |label: &str| status.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default().trim();
    let user = field("Uid:").split_whitespace().next().and_then(|id| id.parse().ok());
    // An ended process is still listed until its parent waits for it.
    let is_alive = !field("State:").starts_with(['Z', 'X']);
    is_alive
        && field("Name:").as_bytes() == name.to_bytes()
        && field("NSpid:").split_whitespace().skip(1).last() == Some("1")
        && user == Some(nix::unistd::geteuid().as_raw())
}
