//! Work on files that would hold up the control thread: a helper of the host does it.

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

struct Helpers(Rc<dyn Helper>);

impl Control {
    /// Waits for a file that is read aside from control; an error if that takes too long.
    pub async fn read_in_time<T>(&self, path: &Path, reading: impl Future<Output = T>) -> Result<T, FileError> {
        self.timeout(PATIENCE, reading).await.ok_or_else(|| FileError::Slow { path: path.into() })
    }

    /// Has long work done by this helper. Without one, as in tests and simulations, it is done at once.
    pub fn help_by(&self, helper: Rc<dyn Helper>) {
        self.insert_room(Helpers(helper));
    }

    /// The result of work that takes long, such as reading a file, done by the helper. An error if it did not come to its end.
    pub fn by_helper<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> LocalFuture<io::Result<T>> {
        if !self.has_room::<Helpers>() {
            return Box::pin(async move { Ok(work()) });
        }
        let helper = self.room::<Helpers>().0.clone();
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
