//! Work that would hold up the control thread: helpers of the host do it. Files have a helper of their own, since a disk may never answer.

use std::future::Future;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::FileError;
use crate::control::Control;
use crate::time::LocalFuture;

/// Longest time to read a file: a network disk may never answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does work aside from control.
pub trait Helper {
    /// Does it on a thread of its own, few at a time. If the future is dropped before there is a thread, the work is not done.
    fn help(&self, work: Box<dyn FnOnce() + Send>) -> LocalFuture<()>;
}

/// Helpers for long work, and for files.
#[derive(Clone)]
struct Helpers {
    work: Rc<dyn Helper>,
    files: Rc<dyn Helper>,
}

impl Control {
    /// Waits for a file that is read aside from control; an error if that takes too long.
    pub async fn read_in_time<T>(&self, path: &Path, reading: impl Future<Output = T>) -> Result<T, FileError> {
        self.timeout(PATIENCE, reading).await.ok_or_else(|| FileError::Slow { path: path.into() })
    }

    /// Has long work done by one helper, and files read by another. Without helpers, as in tests and simulations, it is done at once.
    pub fn help_by(&self, work: Rc<dyn Helper>, files: Rc<dyn Helper>) {
        self.insert_room(Helpers { work, files });
    }

    /// The result of work that takes long and waits for nothing, done by a helper. An error if it did not come to its end.
    pub fn by_helper<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> LocalFuture<io::Result<T>> {
        self.helped(|helpers| helpers.work, work)
    }

    /// The same for work that reads a file, which may never end.
    pub fn read_by_helper<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> LocalFuture<io::Result<T>> {
        self.helped(|helpers| helpers.files, work)
    }

    fn helped<T: Send + 'static>(
        &self,
        which: impl FnOnce(Helpers) -> Rc<dyn Helper>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> LocalFuture<io::Result<T>> {
        if !self.has_room::<Helpers>() {
            return Box::pin(async move { Ok(work()) });
        }
        let helper = which(self.room::<Helpers>().clone());
        Box::pin(async move {
            let result = Arc::new(Mutex::new(None));
            let place = result.clone();
            let set = move || {
                let done = work();
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            };
            helper.help(Box::new(set)).await;
            let done = result.lock().unwrap_or_else(PoisonError::into_inner).take();
            done.ok_or_else(|| io::Error::other("this failed inside quiverd, whose log says why"))
        })
    }
}
