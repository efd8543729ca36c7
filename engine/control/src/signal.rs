//! [`Signal`]: how one control task tells others that something changed.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Wakes the tasks that wait for a change. Cheap to clone; all clones are one signal.
///
/// The pattern: look at the state; if it is not what you want, wait for the signal of its change, look again.
/// Between looking and waiting nothing can change, since all tasks share one thread; a wait sees every [`notify`]
/// that comes after the call of [`changed`].
///
/// [`notify`]: Signal::notify
/// [`changed`]: Signal::changed
#[derive(Clone, Default)]
pub struct Signal(Rc<State>);

#[derive(Default)]
struct State {
    generation: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Signal {
    /// Creates a signal without waiting tasks.
    pub fn new() -> Signal {
        Signal::default()
    }

    /// Wakes all that wait.
    pub fn notify(&self) {
        self.0.generation.set(self.0.generation.get().wrapping_add(1));
        let waiting = self.0.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for the next [`notify`](Signal::notify) after this call.
    pub fn changed(&self) -> impl Future<Output = ()> + 'static {
        let state = self.0.clone();
        let seen = state.generation.get();
        poll_fn(move |context| {
            if state.generation.get() != seen {
                return Poll::Ready(());
            }
            let mut waiting = state.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
    }
}
