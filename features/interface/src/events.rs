//! Wakes control's tasks when workers have something for them.

use std::time::Duration;

use quiver_control::{Control, Signal};
use quiver_engine::Dataplane;

/// Pause after a part of a flood of messages, so that others get their turn.
const PAUSE: Duration = Duration::from_micros(100);

/// Signals of tasks that wait for workers.
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

    /// A task that calls `hear` for ever, when workers have rung. It takes what is waiting by then
    /// ([`waiting`](quiver_engine::channel::Inbox::waiting)) and says whether more has come; that is heard after others
    /// had their turn, so no flood keeps the control thread to itself.
    pub async fn listen(control: Control, mut hear: impl FnMut(&Control) -> bool) {
        let signal = control.room::<Events>().signal.clone();
        loop {
            let rung = signal.changed();
            if hear(&control) {
                control.sleep(PAUSE).await;
            } else {
                rung.await;
            }
        }
    }
}
