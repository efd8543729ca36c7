//! tokio as the host of the control side: its clock, timers and tasks.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use quiver_control::{Clock, Control, LocalFuture, Spawner, Time, Timer};
use tokio::sync::Notify;
// Tokio's clock, on which its timers run: in tests it may stand still.
use tokio::time::Instant;

use crate::heap;

/// A clock at the end of its numbers would leave nothing to wait for: 100 years are far from there.
const AHEAD_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The machine's clock, and tokio's timers and tasks on the current thread.
#[derive(Clone)]
struct Host(Rc<Inner>);

struct Inner {
    start: Instant,
    /// Lead of this clock over the machine's.
    ahead: Cell<Duration>,
    /// Wakes sleepers when the clock goes ahead.
    advanced: Notify,
}

/// A control side that tokio hosts. Its tasks need a `LocalSet`.
pub fn control() -> Control {
    let inner = Inner { start: Instant::now(), ahead: Cell::default(), advanced: Notify::new() };
    let host = Rc::new(Host(Rc::new(inner)));
    Control::new(host.clone(), host.clone(), host)
}

impl Clock for Host {
    fn now(&self) -> Time {
        Time::default() + self.0.start.elapsed() + self.0.ahead.get()
    }
    fn date(&self) -> SystemTime {
        SystemTime::now()
    }
    fn cpu_time(&self) -> Option<Duration> {
        Some(Duration::from_nanos(quiver_engine::thread::cpu_time()))
    }
    fn advance(&self, by: Duration) -> bool {
        let ahead = self.0.ahead.get().saturating_add(by);
        if ahead > AHEAD_MAX {
            return false;
        }
        self.0.ahead.set(ahead);
        self.0.advanced.notify_waiters();
        true
    }
}

impl Timer for Host {
    fn sleep_until(&self, moment: Time) -> LocalFuture<()> {
        let host = self.clone();
        Box::pin(async move {
            loop {
                let left = moment.since(host.now());
                if left.is_zero() {
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(left) => {}
                    () = host.0.advanced.notified() => {}
                }
            }
        })
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
    fn turn_ends(&self) {
        heap::sort_free_chunks();
    }
    fn yield_now(&self) -> LocalFuture<()> {
        // Unlike a task that wakes itself, this also lets tokio look at sockets and timers.
        Box::pin(tokio::task::yield_now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_sleeps_is_woken_when_the_clock_goes_ahead() {
        let control = control();
        let woken = Rc::new(Cell::new(0));
        let tasks = tokio::task::LocalSet::new();
        let all = tasks.run_until(async {
            for hours in 1..=3 {
                let (control, woken) = (control.clone(), woken.clone());
                tokio::task::spawn_local(async move {
                    control.sleep(Duration::from_secs(hours * 3600)).await;
                    woken.set(woken.get() + 1);
                });
            }
            tokio::task::yield_now().await;
            let before = control.now();
            assert!(control.advance_clock(Duration::from_secs(7200)));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(woken.get(), 2, "those of one and of two hours");
            assert!(control.now().since(before) >= Duration::from_secs(7200));
            // The third one sleeps on for its rest.
            tokio::time::sleep(Duration::from_secs(3601)).await;
            assert_eq!(woken.get(), 3);
            assert!(!control.advance_clock(Duration::MAX) && !control.advance_clock(AHEAD_MAX));
        });
        all.await;
    }
}
