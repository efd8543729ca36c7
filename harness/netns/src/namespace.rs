//! A named network namespace.

use std::ffi::OsStr;
use std::fs::File;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread::JoinHandle;
use std::{fs, io, thread};

use nix::sched::{CloneFlags, setns};

use crate::{Error, World, run};

/// A network namespace, known to `ip netns` inside its world; it is removed when this value is dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the namespace, with its loopback interface up.
    pub fn add(_: &World, name: &str) -> Result<Self, Error> {
        run(Command::new("ip").args(["netns", "add", name]))?;
        let namespace = Self { name: name.to_owned() };
        namespace.ip("link set dev lo up")?;
        Ok(namespace)
    }

    /// Makes the namespace without IPv6, whose interfaces send nothing by themselves.
    pub fn add_silent(world: &World, name: &str) -> Result<Self, Error> {
        let namespace = Self::add(world, name)?;
        for of in ["all", "default"] {
            let path = format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6");
            // A kernel without IPv6 has no such file.
            let written = namespace.within(|| if fs::exists(&path)? { fs::write(&path, "1") } else { Ok(()) })?;
            written.map_err(|e| Error::system(format!("write 1 to {path}"), e))?;
        }
        Ok(namespace)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for the namespace.
    pub fn path(&self) -> String {
        format!("/run/netns/{}", self.name)
    }

    /// A command that will run inside.
    ///
    /// `nsenter` rather than `ip netns exec`, because the latter mounts `/sys` anew, which a container may forbid.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path())).arg("--").arg(program);
        command
    }

    /// Runs `ip` inside with the words of `arguments` and returns what it says.
    pub fn ip(&self, arguments: &str) -> Result<String, Error> {
        run(self.command("ip").args(arguments.split_whitespace()))
    }

    /// Runs `task` inside, on a thread of its own; sockets that it opens belong to the namespace for ever.
    pub fn within<T: Send>(&self, task: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let path = self.path();
        thread::scope(|scope| match scope.spawn(|| inside(&path, task)).join() {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Starts a thread that runs `task` inside, and does not wait for it.
    pub fn spawn<T: Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) -> JoinHandle<Result<T, Error>> {
        let path = self.path();
        thread::spawn(move || inside(&path, task))
    }
}

/// Enters a namespace for the rest of this thread's life, and runs `task`.
fn inside<T>(path: &str, task: impl FnOnce() -> T) -> Result<T, Error> {
    let enter = || -> io::Result<()> { Ok(setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?) };
    enter().map_err(|e| Error::system(format!("enter {path}"), e))?;
    Ok(task())
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A failure leaves the namespace to the end of the world.
        let _ = run(Command::new("ip").args(["netns", "del", &self.name]));
    }
}
