//! The links of a room's devices, and the task that watches them.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::object::ObjectRef;
use quiver_interface::{InterfaceId, LinkMtu, set_link, set_link_mtu, set_speed};

use crate::{Link, LinkState, LinuxError, Namespace, Watch};

/// Interval between checks of the links.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Number of checks between checks of the namespaces' names.
const NAMES_EVERY: u32 = 10;

/// The devices of a room by the names of their objects, each with its link under watch.
pub struct Links {
    devices: BTreeMap<String, Linked>,
    /// Makes the link MTU of an interface of the MTU that Linux has for the device.
    mtu: fn(u16) -> LinkMtu,
    /// Whether a device still works that was moved to another namespace.
    can_move: bool,
    /// Looks so far.
    looks: u32,
}

/// A device and its link.
pub struct Linked {
    /// Its interface.
    pub id: InterfaceId,
    /// The link as it was when it was set last, with the MTU that was last seen.
    pub link: Link,
    /// The link as it was last seen.
    pub state: LinkState,
    /// Watches the link.
    pub watch: Watch,
    /// The namespace that it was found in.
    pub namespace: Namespace,
    /// Whether it was told that the device is not there any more.
    pub is_lost: bool,
}

impl Links {
    /// None yet; `mtu` says what an MTU in Linux means for ours, `can_move` whether a device still works that was moved to another
    /// namespace.
    pub fn new(mtu: fn(u16) -> LinkMtu, can_move: bool) -> Links {
        Links { devices: BTreeMap::new(), mtu, can_move, looks: 0 }
    }
    /// The device of the object of this name.
    pub fn get(&self, name: &str) -> Option<&Linked> {
        self.devices.get(name)
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Linked> {
        self.devices.get_mut(name)
    }
    /// The link MTU of an interface whose device has this MTU in Linux.
    pub fn mtu_of(&self, of_linux: u16) -> LinkMtu {
        (self.mtu)(of_linux)
    }
    /// Puts the device of an object under watch. What is to be noted of its link.
    pub fn insert(&mut self, name: &str, linked: Linked) -> DeviceState {
        let seen = linked.seen(self.mtu);
        self.devices.insert(name.to_owned(), linked);
        seen
    }
    /// Gives a device back to whoever deletes it.
    pub fn remove(&mut self, name: &str) -> Option<Linked> {
        self.devices.remove(name)
    }
    /// The interfaces whose links have changed since the last look, and how they are now; and the objects whose devices have gone
    /// since.
    fn look(&mut self) -> (Vec<Change>, Vec<Loss>) {
        self.looks = self.looks.wrapping_add(1);
        let (mtu, can_move, is_name_due) = (self.mtu, self.can_move, self.looks.is_multiple_of(NAMES_EVERY));
        let (mut changed, mut lost) = (vec![], vec![]);
        for (name, linked) in &mut self.devices {
            let before = linked.seen(mtu);
            linked.state = linked.watch.poll();
            linked.link.mtu = linked.watch.mtu();
            let gone = match linked.state {
                _ if linked.is_lost => None,
                LinkState::Gone => Some(linked.no_link()),
                LinkState::Moved if !can_move => Some(linked.no_link()),
                _ if is_name_due && !linked.namespace.is_named() => {
                    Some(LinuxError::RenewedNamespace(linked.namespace.name().to_owned()))
                }
                _ => None,
            };
            if let Some(error) = gone {
                linked.is_lost = true;
                lost.push((name.clone(), error));
            }
            let now = linked.seen(mtu);
            if before != now {
                changed.push((linked.id, now));
            }
        }
        (changed, lost)
    }
}

/// An interface whose link has changed, and the link's state now.
type Change = (InterfaceId, DeviceState);
/// The name of an object whose device is gone, and the reason.
type Loss = (String, LinuxError);

/// State of a link for its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceState {
    /// Whether packets can pass.
    pub running: bool,
    /// Kilobits that it carries a second; none where Linux has no figure.
    pub speed: Option<u32>,
    /// Link MTU of the interface.
    pub mtu: LinkMtu,
}

impl Linked {
    fn no_link(&self) -> LinuxError {
        LinuxError::NoLink { name: self.watch.name().to_owned(), namespace: self.namespace.name().to_owned() }
    }
    /// State of its link when last checked.
    fn seen(&self, mtu: fn(u16) -> LinkMtu) -> DeviceState {
        let of_linux = u16::try_from(self.watch.mtu()).unwrap_or(u16::MAX);
        let running = self.state == LinkState::Running && !self.is_lost;
        DeviceState { running, speed: self.watch.speed(), mtu: mtu(of_linux) }
    }
}

/// Notes how the link of an interface is.
pub fn note_link(control: &Control, id: InterfaceId, seen: DeviceState) {
    set_link(control, id, seen.running);
    set_speed(control, id, seen.speed);
    set_link_mtu(control, id, seen.mtu);
}

/// Starts the task `name` that looks at the links of a room, whose state is `R` and whose objects are of this kind, and notes what has
/// become of them. An object whose device is not there any more goes on without it, and is made anew when it is.
pub fn watch_links<R: 'static>(
    control: &Control,
    name: &'static str,
    kind: &'static str,
    links: fn(&mut R) -> &mut Links,
) {
    let task = control.clone();
    control.spawn(name, async move {
        loop {
            task.sleep(LOOK_EVERY).await;
            let (changed, lost) = links(&mut task.room_mut::<R>()).look();
            changed.into_iter().for_each(|(id, seen)| note_link(&task, id, seen));
            lost.iter().for_each(|(name, error)| task.lost(&ObjectRef::new(kind, name.as_str()), error.of_field("")));
        }
    });
}
