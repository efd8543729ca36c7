//! The task that ends waiting: a worker without packets has no clock of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quiver_control::Control;
use quiver_engine::channel::Inbox;
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, Worker};
use quiver_interface::Events;

use crate::config::{Kinds, Reassemblies};
use crate::keeper::{Keeper, Parts};

/// Has workers end what has waited for too long, as long as anything waits.
pub(crate) async fn end<P: Parts>(control: Control, node: NodeId, kind: Kinds, waiting: Inbox<()>) {
    // Whether anything waited when workers looked last.
    let waits = Arc::new(AtomicBool::new(false));
    loop {
        let changed = control.room::<Events>().signal.changed();
        // Each letter that no worker has read yet has one of these.
        let all_have_looked = Arc::strong_count(&waits) == 1;
        if !waits.swap(false, Ordering::Acquire) && all_have_looked && waiting.waiting().count() == 0 {
            changed.await;
            continue;
        }
        let now = control.now().0;
        let post = |_| {
            let waits = waits.clone();
            move |worker: &mut Worker| {
                let Some(this) = worker.graph().node_mut::<Keeper<P>>(node) else { return };
                if this.end(now) {
                    waits.store(true, Ordering::Release);
                }
                worker.wake_node(node);
            }
        };
        control.room::<Dataplane>().post_all(post);
        let (walk, changed) = {
            let room = control.room::<Reassemblies<P::Family>>();
            (room.settings(kind).walk, room.changed())
        };
        _ = control.timeout(walk, changed).await;
    }
}
