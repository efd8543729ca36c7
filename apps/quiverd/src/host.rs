//! tokio as the host of the control side: its clock, timers and tasks.

use std::rc::Rc;
use std::time::SystemTime;

use quiver_control::{Clock, Control, LocalFuture, Spawner, Time, Timer};
// Tokio's clock, which is the one that its timers know: in tests it may stand still.
use tokio::time::Instant;

/// The machine's clock, and tokio's timers and tasks on the current thread.
#[derive(Clone, Copy)]
struct Host {
    start: Instant,
}

/// A control side that tokio hosts. Its tasks need a `LocalSet`.
pub fn control() -> Control {
    let host = Host { start: Instant::now() };
    Control::new(Rc::new(host), Rc::new(host), Rc::new(host))
}

impl Clock for Host {
    fn now(&self) -> Time {
        Time::default() + self.start.elapsed()
    }
    fn date(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl Timer for Host {
    fn sleep_until(&self, moment: Time) -> LocalFuture<()> {
        let deadline = self.start + moment.since(Time::default());
        Box::pin(tokio::time::sleep_until(deadline))
    }
}

impl Spawner for Host {
    fn spawn(&self, name: &'static str, task: LocalFuture<()>) {
        let running = tokio::task::spawn_local(task);
        // A panic ends one task, never the daemon; it must not be silent.
        tokio::task::spawn_local(async move {
            if let Err(error) = running.await {
                tracing::error!(task = name, "a control task has failed: {error}");
            }
        });
    }
    fn yield_now(&self) -> LocalFuture<()> {
        // Unlike a task that wakes itself, this also lets tokio look at sockets and timers.
        Box::pin(tokio::task::yield_now())
    }
}
