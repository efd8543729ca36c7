//! Work aside from control, by few threads at a time. Files that clients name have threads of their own, so that a disk that does not
//! answer blocks neither other work nor what control writes.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::LocalFuture;
use quiver_control::cli::Scripts;
use quiver_control::files::{FileError, Helper, Reach, SCRIPT_MAX};
use tokio::sync::Semaphore;

/// Amount of work at a time; other work waits.
const AT_A_TIME: usize = 4;

/// Threads for files that clients name, or for other work.
#[derive(Clone)]
pub struct Outside(Arc<Semaphore>);

impl Default for Outside {
    fn default() -> Outside {
        Outside(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

impl Outside {
    /// Does something with a file, on a thread of its own. If the future is dropped before there is a thread, it is not done.
    pub fn work<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
    ) -> LocalFuture<Result<T, FileError>> {
        let (outside, path) = (self.clone(), path.to_owned());
        Box::pin(async move {
            let worked = outside.run(work).await;
            worked.unwrap_or_else(|error| Err(FileError::refused(&path, error)))
        })
    }

    async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let place = self.0.acquire_owned().await.map_err(io::Error::other)?;
        // A thread that hangs keeps its place, even after the client that asked has left.
        let working = tokio::task::spawn_blocking(move || (work(), place).0);
        working.await.map_err(io::Error::other)
    }
}

impl Helper for Outside {
    fn help(&self, work: Box<dyn FnOnce() + Send>) -> LocalFuture<()> {
        let outside = self.clone();
        Box::pin(async move {
            if let Err(error) = outside.run(work).await {
                tracing::error!("a helper thread failed: {error}");
            }
        })
    }
}

/// The scripts of `exec` are files of this machine.
#[derive(Default)]
pub struct ScriptFiles(pub Outside);

impl Scripts for ScriptFiles {
    fn read(&self, reach: Reach, path: &Path) -> LocalFuture<Result<String, FileError>> {
        let file = path.to_owned();
        self.0.work(path, move || reach.read_text(&file, SCRIPT_MAX))
    }
}

/// Scripts that share their threads with others.
pub fn scripts(outside: &Outside) -> Rc<dyn Scripts> {
    Rc::new(ScriptFiles(outside.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    #[tokio::test]
    async fn scripts_without_an_end_are_refused_and_those_of_fifos_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [long, fifo, script] = ["long", "fifo", "script"].map(|name| folder.path().join(name));
        File::create(&long).unwrap().set_len(1 << 40).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::write(&script, "echo a").unwrap();
        let scripts = ScriptFiles::default();
        let read = async |path: &Path| scripts.read(Reach::default(), path).await;
        assert!(matches!(read(&long).await, Err(FileError::TooLong { limit: SCRIPT_MAX, .. })));
        assert!(matches!(read(Path::new("/dev/zero")).await, Err(FileError::NotRegular { .. })));
        // As many as there are threads, and more.
        for _ in 0..2 * AT_A_TIME {
            assert!(matches!(read(&fifo).await, Err(FileError::NotRegular { .. })));
        }
        assert_eq!(read(&script).await.unwrap(), "echo a");
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_hang_hold_few_threads_and_none_of_what_control_writes_itself() {
        let outside = Outside::default();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let hang = || {
            let held = held.clone();
            outside.work(Path::new("x"), move || Ok(held.lock().unwrap().recv().is_ok()))
        };
        let all: Vec<_> = (0..600).map(|_| tokio::time::timeout(Duration::from_secs(10), hang())).collect();
        let tasks = tokio::task::LocalSet::new();
        for waiting in all {
            tasks.spawn_local(waiting);
        }
        let own = crate::state::aside(|| Ok(7));
        assert_eq!(tasks.run_until(own).await.unwrap(), 7);
        drop(release);
    }
}
