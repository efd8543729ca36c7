//! The links of a room's devices, and the task that watches them.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_control::Control;

use crate::{Link, LinkState, Watch};

/// How often links are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The devices of a room by the names of their objects, each with its link under watch. `I` is the number by which the
/// daemon knows a device's interface, `D` what else the room keeps of it.
pub struct Links<I, D>(BTreeMap<String, Linked<I, D>>);

/// A device and its link.
pub struct Linked<I, D> {
    /// The number of its interface.
    pub id: I,
    /// The link as it was when the device was made.
    pub link: Link,
    /// The link as it was last seen.
    pub state: LinkState,
    /// What tells how the link is.
    pub watch: Watch,
    /// What else the room keeps of the device.
    pub kept: D,
}

impl<I, D> Default for Links<I, D> {
    fn default() -> Links<I, D> {
        Links(BTreeMap::new())
    }
}

impl<I: Copy, D> Links<I, D> {
    /// The device of the object of this name.
    pub fn get(&self, name: &str) -> Option<&Linked<I, D>> {
        self.0.get(name)
    }
    /// Puts the device of an object under watch.
    pub fn insert(&mut self, name: &str, linked: Linked<I, D>) {
        self.0.insert(name.to_owned(), linked);
    }
    /// Gives a device back to whoever deletes it.
    pub fn remove(&mut self, name: &str) -> Option<Linked<I, D>> {
        self.0.remove(name)
    }
    /// The interfaces whose links have changed since the last look, and whether packets can pass now.
    fn look(&mut self) -> Vec<(I, bool)> {
        let changed = self.0.values_mut().filter_map(|linked| {
            let state = linked.watch.poll();
            let changed = std::mem::replace(&mut linked.state, state) != state;
            changed.then_some((linked.id, state == LinkState::Running))
        });
        changed.collect()
    }
}

/// Starts the task `name` that looks at the links of a room, whose state is `R`, and `tell`s of those that have changed.
pub fn watch_links<R: 'static, I: Copy + 'static, D: 'static>(
    control: &Control,
    name: &'static str,
    links: fn(&mut R) -> &mut Links<I, D>,
    tell: fn(&Control, I, bool),
) {
    let task = control.clone();
    control.spawn(name, async move {
        loop {
            task.sleep(LOOK_EVERY).await;
            let changed = links(&mut task.room_mut::<R>()).look();
            changed.into_iter().for_each(|(id, running)| tell(&task, id, running));
        }
    });
}
