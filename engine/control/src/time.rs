//! Time, timers and tasks, as the control side sees them: three small traits. tokio hosts them in the daemon,
//! a seeded executor with a virtual clock in tests (`quiver-testkit`).

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::{Add, Sub};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

/// A future of the control thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A moment: nanoseconds since the daemon started, on a clock that never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, duration: Duration) -> Time {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Where the time comes from.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Time;
    /// The date and time of day, for people; unlike [`Clock::now`] it may be set back. A clock that knows none began
    /// in 1970.
    fn date(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.now().since(Time::default())
    }
    /// CPU time that this thread has taken, where that is known.
    fn cpu_time(&self) -> Option<Duration> {
        None
    }
    /// Advances by so much, so that tasks waiting for that time are due now. Returns false if this clock cannot.
    fn advance(&self, _by: Duration) -> bool {
        false
    }
}

/// Wakes a task at a moment.
pub trait Timer {
    /// A future that is ready at `moment`, at once if it has passed.
    fn sleep_until(&self, moment: Time) -> LocalFuture<()>;
}

/// Runs tasks on the control thread.
pub trait Spawner {
    /// Runs `task` until it ends. Its name is for logs.
    fn spawn(&self, name: &'static str, task: LocalFuture<()>);
    /// Called at the end of each turn of a task.
    fn turn_ends(&self) {}
    /// A future that is ready after all tasks, timers and received input have had their turn.
    fn yield_now(&self) -> LocalFuture<()> {
        let mut yielded = false;
        Box::pin(poll_fn(move |context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

/// A running control task. Dropping this handle lets the task run on; [`Task::cancel`] ends it.
pub struct Task(Rc<RefCell<TaskState>>);

#[derive(Default)]
struct TaskState {
    cancelled: bool,
    ended: bool,
    waker: Option<Waker>,
}

impl Task {
    pub(crate) fn start(spawner: &dyn Spawner, name: &'static str, task: impl Future<Output = ()> + 'static) -> Task {
        let state = Rc::new(RefCell::new(TaskState::default()));
        let shared = state.clone();
        spawner.spawn(
            name,
            Box::pin(async move {
                let mut task = pin!(task);
                poll_fn(|context| {
                    if shared.borrow().cancelled {
                        return Poll::Ready(());
                    }
                    shared.borrow_mut().waker = Some(context.waker().clone());
                    task.as_mut().poll(context)
                })
                .await;
                shared.borrow_mut().ended = true;
            }),
        );
        Task(state)
    }

    /// Ends the task: it is dropped where it waits, the next time that tasks run.
    pub fn cancel(&self) {
        let waker = {
            let mut state = self.0.borrow_mut();
            state.cancelled = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the task has ended, by itself or cancelled.
    pub fn has_ended(&self) -> bool {
        self.0.borrow().ended
    }
}

/// The output of `future`, or nothing if `sleep` ends first.
pub(crate) async fn timeout<F: Future>(sleep: impl Future<Output = ()>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep = pin!(sleep);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
    })
    .await
}
