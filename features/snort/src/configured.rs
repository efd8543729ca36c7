//! Changes of instances.

use std::sync::Arc;

use quiver_control::{Change, Control, ObjectError};
use quiver_engine::Dataplane;

use crate::clients::disconnect;
use crate::instance::{Instance, SnortInstance};
use crate::room::Snort;

pub(crate) fn apply(control: &Control, change: Change<'_, SnortInstance>) -> Result<(), ObjectError> {
    let memory = |config: &SnortInstance| (config.queue_size, config.queues_per_thread);
    let gone = match change.sides() {
        (Some(old), Some(new)) if memory(old) == memory(new) => {
            let room = control.room::<Snort>();
            let instance = room.number(&new.name).and_then(|number| room.instance(number));
            instance.into_iter().for_each(|instance| instance.configure(new));
            None
        }
        (_, Some(new)) => {
            let workers = control.room::<Dataplane>().workers().max(1);
            // Made before anything changes: the system may refuse it.
            let made = control.room_mut::<Snort>().make(new, workers)?;
            control.room_mut::<Snort>().insert(made)
        }
        (Some(old), None) => control.room_mut::<Snort>().remove(&old.name),
        (None, None) => None,
    };
    gone.into_iter().for_each(|gone| end(control, gone));
    Ok(())
}

/// Ends an instance that workers are not given any more: its clients are disconnected, and what they hold is taken back.
fn end(control: &Control, instance: Arc<Instance>) {
    let clients: Vec<u32> = instance.pairs.iter().filter_map(|pair| pair.client()).collect();
    clients.into_iter().for_each(|client| disconnect(control, client));
    let later = control.clone();
    control.spawn("the end of an inspection instance", async move {
        // Workers may hold it until then, and it is not to be dropped by one of them.
        let settled = later.room::<Dataplane>().settled();
        settled.await;
        drop(instance);
    });
}
