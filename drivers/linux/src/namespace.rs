//! Network namespaces: found by name or path, and entered by a thread of its own.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};
use quiver_control::files::open_namespace;

use crate::{Capability, LinuxError};

/// A network namespace: the daemon's own, or another one.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: Option<File>,
    /// Where it was found; none of the daemon's own.
    path: Option<PathBuf>,
}

impl Namespace {
    /// The namespace of this name, as `ip netns` has it, or of this path; the daemon's own without one.
    pub fn find(name: Option<&str>) -> Result<Namespace, LinuxError> {
        let Some(name) = name else {
            return Ok(Namespace { name: "the daemon's own namespace".into(), file: None, path: None });
        };
        let path = if name.contains('/') { name.to_owned() } else { format!("/run/netns/{name}") };
        match open_namespace(Path::new(&path)) {
            Ok(file) => {
                Ok(Namespace { name: format!("namespace {name}"), file: Some(file), path: Some(PathBuf::from(path)) })
            }
            Err(error) if error.is_missing() => Err(LinuxError::NoNamespace(name.to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name still refers to this namespace. A namespace without its name exists as long as it is open.
    pub fn is_named(&self) -> bool {
        let (Some(file), Some(path)) = (&self.file, &self.path) else { return true };
        let place = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let same = |now: Metadata| file.metadata().is_ok_and(|own| place(own) == place(now));
        std::fs::metadata(path).is_ok_and(same)
    }

    /// Runs `task` inside. What it opens belongs to the namespace for ever; the calling thread stays where it is.
    pub fn within<T: Send>(&self, task: impl FnOnce() -> T + Send) -> Result<T, LinuxError> {
        let inside = || {
            if let Some(file) = &self.file {
                setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| {
                    LinuxError::of_right(format!("enter {}", self.name), error, Capability::SysAdmin)
                })?;
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

    /// Opening a FIFO like a file would wait for its other end, and block control.
    #[test]
    fn a_file_that_is_no_namespace_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let [fifo, file] = ["fifo", "file"].map(|name| folder.path().join(name));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("made");
        std::fs::write(&file, "").expect("written");
        let told = |path: &Path| Namespace::find(path.to_str()).expect_err("it is none").to_string();
        assert_eq!(told(&fifo), format!("{} is a FIFO, not a regular file; name a regular file", fifo.display()));
        assert!(told(&file).contains("is no namespace"), "{}", told(&file));
        assert!(Namespace::find(Some("/proc/self/ns/net")).is_ok());
    }

    #[test]
    fn the_own_namespace_needs_no_rights() {
        assert_eq!(Namespace::find(None).expect("it is there").within(|| 7).expect("we are in it"), 7);
    }
}
