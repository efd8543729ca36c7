//! A seeded executor with a virtual clock: it hosts control tasks in tests.
//!
//! Which of the ready tasks runs next is drawn from the seed, so that a test can try many orders, and a failure
//! replays. Time stands still while any task is ready, unless it is said how it passes; when none is, it jumps to the next timer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fastrand::Rng;
use quiver_control::{Clock, Control, LocalFuture, Spawner, Time, Timer};

/// Runs control tasks in an order drawn from a seed, on a clock of its own. Clones are the same executor.
#[derive(Clone)]
pub struct Executor(Rc<State>);

struct State {
    now: Cell<Time>,
    /// A count of nanoseconds that pass by themselves, and how many of them are in `now`.
    passing: Cell<Option<fn() -> u64>>,
    passed: Cell<u64>,
    random: RefCell<Rng>,
    tasks: RefCell<BTreeMap<u64, SimTask>>,
    next_task: Cell<u64>,
    /// Wakers by time; the number distinguishes timers for the same time.
    timers: RefCell<BTreeMap<(Time, u64), Waker>>,
    next_timer: Cell<u64>,
    ready: Arc<Ready>,
}

struct SimTask {
    name: &'static str,
    future: LocalFuture<()>,
}

/// The tasks that were woken. Wakers are shared between threads by contract, so this one thing is locked.
#[derive(Default)]
struct Ready(Mutex<Vec<u64>>);

struct TaskWaker {
    task: u64,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !ready.contains(&self.task) {
            ready.push(self.task);
        }
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Executor {
    /// An executor at time zero whose choices follow from `seed`.
    pub fn new(seed: u64) -> Executor {
        Executor(Rc::new(State {
            now: Cell::default(),
            passing: Cell::default(),
            passed: Cell::default(),
            random: RefCell::new(Rng::with_seed(seed)),
            tasks: RefCell::default(),
            next_task: Cell::default(),
            timers: RefCell::default(),
            next_timer: Cell::default(),
            ready: Arc::default(),
        }))
    }

    /// A control side that this executor hosts.
    pub fn control(&self) -> Control {
        Control::new(Rc::new(self.clone()), Rc::new(self.clone()), Rc::new(self.clone()))
    }

    /// The virtual time.
    pub fn time(&self) -> Time {
        self.0.now.get()
    }

    /// From now on tasks find that time passes while they run: as many nanoseconds as `passing` rises by. It never falls.
    pub fn pass_time_by(&self, passing: fn() -> u64) {
        self.0.passed.set(passing());
        self.0.passing.set(Some(passing));
    }

    /// Runs tasks until none is ready; time stands still. Whether any ran.
    pub fn run_ready(&self) -> bool {
        let ran = self.step();
        while self.step() {}
        ran
    }

    /// The moment of the next timer.
    pub fn next_timer(&self) -> Option<Time> {
        self.0.timers.borrow().keys().next().map(|(moment, _)| *moment)
    }

    /// Drops all tasks where they wait. They own the control side that this executor hosts, and it owns the executor:
    /// whoever wants all of them freed breaks the circle here.
    pub fn drop_tasks(&self) {
        let tasks = self.0.tasks.take();
        drop(tasks);
    }

    /// Runs tasks and lets time pass until `duration` is over.
    pub fn run_for(&self, duration: Duration) {
        let end = self.time() + duration;
        loop {
            self.run_ready();
            match self.next_timer() {
                Some(moment) if moment <= end => self.advance_to(moment),
                _ => break,
            }
        }
        self.advance_to(end);
    }

    /// Runs `future` to its end, with all tasks, letting time pass as needed.
    ///
    /// # Panics
    /// If it waits for something that no task and no timer will ever bring.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        loop {
            if woken.0.swap(false, Ordering::Relaxed)
                && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return output;
            }
            if self.step() || woken.0.load(Ordering::Relaxed) {
                continue;
            }
            match self.next_timer() {
                Some(moment) => self.advance_to(moment),
                None => panic!("nothing will ever wake what is waited for; tasks left: {:?}", self.task_names()),
            }
        }
    }

    /// The names of the tasks that have not ended.
    pub fn task_names(&self) -> Vec<&'static str> {
        self.0.tasks.borrow().values().map(|task| task.name).collect()
    }

    /// Runs one of the ready tasks, drawn by lot, up to where it waits. False if none is ready.
    pub fn step(&self) -> bool {
        let drawn = {
            let mut ready = self.0.ready.0.lock().unwrap_or_else(PoisonError::into_inner);
            if ready.is_empty() {
                return false;
            }
            let place = self.0.random.borrow_mut().usize(..ready.len());
            ready.swap_remove(place)
        };
        // The task is taken out while it runs: it may spawn others.
        let Some(mut task) = self.0.tasks.borrow_mut().remove(&drawn) else { return true };
        let waker = Waker::from(Arc::new(TaskWaker { task: drawn, ready: self.0.ready.clone() }));
        if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.tasks.borrow_mut().insert(drawn, task);
        }
        true
    }

    /// Lets time jump to a moment, unless that has passed, and wakes who waited for it or an earlier one.
    pub fn advance_to(&self, moment: Time) {
        self.0.now.set(moment.max(self.time()));
        let later = self.0.timers.borrow_mut().split_off(&(moment + Duration::from_nanos(1), 0));
        let due = self.0.timers.replace(later);
        due.into_values().for_each(Waker::wake);
    }
}

impl Clock for Executor {
    fn now(&self) -> Time {
        if let Some(passing) = self.0.passing.get() {
            let all = passing();
            let more = all.saturating_sub(self.0.passed.replace(all));
            self.0.now.set(self.time() + Duration::from_nanos(more));
        }
        self.time()
    }
}

impl Timer for Executor {
    fn sleep_until(&self, moment: Time) -> LocalFuture<()> {
        let state = self.0.clone();
        let number = state.next_timer.get();
        state.next_timer.set(number + 1);
        let sleep = Sleep { state, key: (moment, number) };
        Box::pin(poll_fn(move |context| sleep.poll(context)))
    }
}

/// A timer; dropped, it is forgotten, so that time does not jump to it.
struct Sleep {
    state: Rc<State>,
    key: (Time, u64),
}

impl Sleep {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if self.state.now.get() >= self.key.0 {
            return Poll::Ready(());
        }
        self.state.timers.borrow_mut().insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.state.timers.borrow_mut().remove(&self.key);
    }
}

impl Spawner for Executor {
    fn spawn(&self, name: &'static str, future: LocalFuture<()>) {
        let task = self.0.next_task.get();
        self.0.next_task.set(task + 1);
        self.0.tasks.borrow_mut().insert(task, SimTask { name, future });
        Arc::new(TaskWaker { task, ready: self.0.ready.clone() }).wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_when_nothing_is_ready() {
        let executor = Executor::new(1);
        let control = executor.control();
        let log = Rc::new(RefCell::new(Vec::new()));
        for (name, seconds) in [("late", 2), ("early", 1)] {
            let (control, log) = (control.clone(), log.clone());
            control.clone().spawn(name, async move {
                control.sleep(Duration::from_secs(seconds)).await;
                log.borrow_mut().push((name, control.now()));
            });
        }
        executor.run_for(Duration::from_millis(1500));
        assert_eq!(*log.borrow(), [("early", Time(1_000_000_000))]);
        assert_eq!((executor.task_names(), executor.time()), (vec!["late"], Time(1_500_000_000)));
        executor.run_for(Duration::from_secs(1));
        assert_eq!(*log.borrow(), [("early", Time(1_000_000_000)), ("late", Time(2_000_000_000))]);
        assert!(executor.task_names().is_empty());
    }

    #[test]
    fn the_order_of_ready_tasks_follows_from_the_seed() {
        let order = |seed| {
            let executor = Executor::new(seed);
            let control = executor.control();
            let log = Rc::new(RefCell::new(Vec::new()));
            for number in 0..6 {
                let log = log.clone();
                control.spawn("task", async move { log.borrow_mut().push(number) });
            }
            executor.run_ready();
            log.take()
        };
        assert_eq!(order(7), order(7));
        let orders: std::collections::HashSet<_> = (0..20).map(order).collect();
        assert!(orders.len() > 10, "20 seeds gave {} orders", orders.len());
    }

    #[test]
    fn a_timeout_ends_what_takes_too_long_and_a_cancelled_task_is_dropped() {
        let executor = Executor::new(1);
        let control = executor.control();
        let second = Duration::from_secs(1);
        assert_eq!(executor.block_on(control.timeout(second, control.sleep(second * 2))), None);
        assert_eq!(executor.block_on(control.timeout(second * 2, control.sleep(second))), Some(()));
        let task = control.spawn("forever", std::future::pending());
        executor.run_ready();
        assert!(!task.has_ended());
        task.cancel();
        executor.run_ready();
        assert!(task.has_ended() && executor.task_names().is_empty());
        assert_eq!(executor.time(), Time(2_000_000_000), "forgotten timers do not move time");
    }

    #[test]
    fn time_passes_in_a_task_if_it_is_said_how() {
        use std::sync::atomic::AtomicU64;
        static WORK: AtomicU64 = AtomicU64::new(5);
        let executor = Executor::new(1);
        let control = executor.control();
        executor.pass_time_by(|| WORK.load(Ordering::Relaxed));
        assert_eq!(control.now(), Time(0));
        executor.block_on(async {
            WORK.fetch_add(7, Ordering::Relaxed);
            assert_eq!((control.now(), control.now()), (Time(7), Time(7)));
            let sleep = control.sleep_until(Time(10));
            WORK.fetch_add(20, Ordering::Relaxed);
            sleep.await;
        });
        assert_eq!(executor.time(), Time(10), "a clock that was not looked at has not moved");
        assert_eq!(control.now(), Time(30));
    }

    #[test]
    #[should_panic(expected = "nothing will ever wake what is waited for")]
    fn a_deadlock_is_told() {
        Executor::new(1).block_on(std::future::pending::<()>());
    }
}
