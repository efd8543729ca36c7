//! How control's tasks learn that workers have something for them.

use quiver_control::{Control, Signal};
use quiver_engine::Dataplane;

/// What wakes tasks that wait for workers: they wait for the signal, then empty their inboxes, and wait again.
#[derive(Clone, Default)]
pub struct Events {
    /// Notified after workers rang the bell.
    pub signal: Signal,
}

impl Events {
    /// Answers the workers' bell and wakes the tasks that wait. Whoever hosts the control side calls it when the bell's
    /// descriptor becomes readable.
    pub fn answer(control: &Control) {
        let rung = control.room::<Dataplane>().bell().answer();
        if rung {
            // A clone, since a woken task may run at once and look at this room.
            let signal = control.room::<Events>().signal.clone();
            signal.notify();
        }
    }
}
