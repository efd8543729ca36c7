//! Network namespaces: found by name or path, and entered by a thread of its own.

use std::fs::File;
use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::thread;

use nix::sched::{CloneFlags, setns};

use crate::LinuxError;

/// A network namespace: the daemon's own, or another one.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: Option<File>,
}

impl Namespace {
    /// The namespace of this name, as `ip netns` has it, or of this path; the daemon's own without one.
    pub fn find(name: Option<&str>) -> Result<Namespace, LinuxError> {
        let Some(name) = name else {
            return Ok(Namespace { name: "the daemon's own namespace".into(), file: None });
        };
        let path = if name.contains('/') { name.to_owned() } else { format!("/run/netns/{name}") };
        match File::open(&path) {
            Ok(file) => Ok(Namespace { name: format!("namespace {name}"), file: Some(file) }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(LinuxError::NoNamespace(name.to_owned())),
            Err(error) => Err(LinuxError::refused(format!("open {path}"), error)),
        }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `task` inside. What it opens belongs to the namespace for ever; the calling thread stays where it is.
    pub fn within<T: Send>(&self, task: impl FnOnce() -> T + Send) -> Result<T, LinuxError> {
        let inside = || {
            if let Some(file) = &self.file {
                setns(file, CloneFlags::CLONE_NEWNET)
                    .map_err(|error| LinuxError::refused(format!("enter {}", self.name), error))?;
            }
            Ok(task())
        };
        thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_namespace_is_named_with_the_remedy() {
        let error = Namespace::find(Some("nowhere")).expect_err("there is none");
        assert_eq!(error.to_string(), "there is no network namespace nowhere");
        assert!(error.remedy().contains("ip netns add nowhere"));
    }

    #[test]
    fn the_own_namespace_needs_no_rights() {
        assert_eq!(Namespace::find(None).expect("it is there").within(|| 7).expect("we are in it"), 7);
    }
}
