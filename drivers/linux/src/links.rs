//! The links of a room's devices, and the task that watches them.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_control::Control;
use quiver_interface::{InterfaceId, set_link, set_speed};

use crate::{Link, LinkState, Watch};

/// How often links are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The devices of a room by the names of their objects, each with its link under watch. `D` is what else the room keeps of one.
pub struct Links<D>(BTreeMap<String, Linked<D>>);

/// A device and its link.
pub struct Linked<D> {
    /// Its interface.
    pub id: InterfaceId,
    /// The link as it was when the device was made.
    pub link: Link,
    /// The link as it was last seen.
    pub state: LinkState,
    /// What tells how the link is.
    pub watch: Watch,
    /// What else the room keeps of the device.
    pub kept: D,
}

impl<D> Default for Links<D> {
    fn default() -> Links<D> {
        Links(BTreeMap::new())
    }
}

impl<D> Links<D> {
    /// The device of the object of this name.
    pub fn get(&self, name: &str) -> Option<&Linked<D>> {
        self.0.get(name)
    }
    /// Puts the device of an object under watch.
    pub fn insert(&mut self, name: &str, linked: Linked<D>) {
        self.0.insert(name.to_owned(), linked);
    }
    /// Gives a device back to whoever deletes it.
    pub fn remove(&mut self, name: &str) -> Option<Linked<D>> {
        self.0.remove(name)
    }
    /// The interfaces whose links have changed since the last look, and how they are now.
    fn look(&mut self) -> Vec<(InterfaceId, Seen)> {
        let changed = self.0.values_mut().filter_map(|linked| {
            let before = linked.seen();
            linked.state = linked.watch.poll();
            let now = linked.seen();
            (before != now).then_some((linked.id, now))
        });
        changed.collect()
    }
}

/// How a link is, as far as its interface is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether packets can pass.
    pub running: bool,
    /// Kilobits that it carries a second; none where Linux has no figure.
    pub speed: Option<u32>,
}

impl<D> Linked<D> {
    /// How its link was last seen.
    pub fn seen(&self) -> Seen {
        Seen { running: self.state == LinkState::Running, speed: self.watch.speed() }
    }
}

/// Notes how the link of an interface is.
pub fn note_link(control: &Control, id: InterfaceId, seen: Seen) {
    set_link(control, id, seen.running);
    set_speed(control, id, seen.speed);
}

/// Starts the task `name` that looks at the links of a room, whose state is `R`, and notes what has become of them.
pub fn watch_links<R: 'static, D: 'static>(control: &Control, name: &'static str, links: fn(&mut R) -> &mut Links<D>) {
    let task = control.clone();
    control.spawn(name, async move {
        loop {
            task.sleep(LOOK_EVERY).await;
            let changed = links(&mut task.room_mut::<R>()).look();
            changed.into_iter().for_each(|(id, seen)| note_link(&task, id, seen));
        }
    });
}
