//! The task that ends waiting: a worker without packets has no clock of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, Worker};
use quiver_interface::Events;

use crate::family::Reassembled;
use crate::node::Reassembly;

/// How often workers look, while something waits.
const TICK: Duration = Duration::from_secs(1);

/// Has workers end what has waited for too long, as long as anything waits.
pub(crate) async fn end<F: Reassembled>(control: Control, node: NodeId, waiting: Inbox<()>) {
    // Whether anything waited when workers looked last.
    let waits = Arc::new(AtomicBool::new(false));
    loop {
        let changed = control.room::<Events>().signal.changed();
        if !waits.swap(false, Ordering::Relaxed) && waiting.waiting().count() == 0 {
            changed.await;
            continue;
        }
        let post = |_| {
            let waits = waits.clone();
            move |worker: &mut Worker| {
                if Reassembly::<F>::end(worker, node) {
                    waits.store(true, Ordering::Relaxed);
                }
            }
        };
        control.room::<Dataplane>().post_all(post);
        control.sleep(TICK).await;
    }
}
