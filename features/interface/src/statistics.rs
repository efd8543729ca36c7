//! The interfaces in the statistics segment: their names at `/if/names`, and what the engine counts of each under
//! `/interfaces/NAME/`.
//!
//! VPP has a node for each interface that sends by it. Here `interface-output` does, for all, and `/nodes/NAME-tx/vectors`
//! says how many packets each has sent.

use std::collections::HashMap;

use quiver_control::Control;
use quiver_engine::stats::layout::name_part;
use quiver_engine::stats::{Counter, Description, Names, Segment, Symlink, Vector};
use quiver_engine::{Dataplane, INTERFACES_MAX};

use crate::interfaces::{Interface, InterfaceEvent, InterfaceId, Interfaces, LOCAL, watch};

/// The name of a number that no interface has any more. Without one, vpp_papi would give the next names wrong numbers.
const DELETED: &str = "deleted";

/// Entries of the segment about interfaces.
struct Shown {
    segment: Segment,
    names: Names,
    symlinks: HashMap<InterfaceId, Vec<Symlink>>,
    /// Packets sent, by interface: copies of what the engine counts with its bytes.
    sent: Vector<Counter>,
    /// Current states, in the order of [`STATES`].
    states: [Vector<Counter>; STATES.len()],
}

/// Entries of the segment with the states of interfaces, one row each.
type State = (&'static str, fn(&Interface) -> u64, &'static str);
const STATES: [State; 3] = [
    (
        SPEED,
        |interface| interface.speed.unwrap_or_default().into(),
        "Kilobits a second that the link carries; absent where that is not known.",
    ),
    ("admin-up", |interface| interface.up.into(), "1 if the interface is set up, 0 if it is set down."),
    (
        "link-up",
        |interface| interface.link.into(),
        "1 if the interface has a link, as far as its driver knows, else 0.",
    ),
];
const SPEED: &str = "link-speed-kbps";

pub(crate) fn register(control: &Control) {
    let segment = control.room::<Dataplane>().statistics().clone();
    let names = segment.edit().names("/if/names");
    let sent = segment.edit().vector("/quiver/sent-packets", INTERFACES_MAX);
    let states = STATES.map(|(name, _, help)| {
        let entry = format!("/quiver/if/{name}");
        let description = Description::by_interface(help).gauge();
        segment.describe(&entry, Description { is_unknown_at_zero: name == SPEED, ..description });
        segment.edit().table(&entry, 1, INTERFACES_MAX)
    });
    control.insert_room(Shown { segment, names, symlinks: HashMap::new(), sent, states });
    quiver_statistics::collect_in_turns(control, copy);
    show(control, LOCAL);
    watch(control, |control, event| match event {
        InterfaceEvent::Created(id) => show(control, id),
        InterfaceEvent::Removed(id) => hide(control, id),
        _ => {}
    });
}

fn show(control: &Control, id: InterfaceId) {
    let (dataplane, name) = (control.room::<Dataplane>(), control.room::<Interfaces>().name(id));
    let Shown { segment, names, symlinks, sent, states } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(&name));
    let part = name_part(&name);
    // PERF: an interface has some twenty of these.
    let mut text = format!("/interfaces/{part}/");
    let beginning = text.len();
    let symlink = |(counter, target)| {
        text.truncate(beginning);
        text.push_str(counter);
        edit.symlink(&text, target, id.0)
    };
    let mut links: Vec<_> = dataplane.counted_by_interface().map(symlink).collect();
    links.push(edit.symlink(&format!("/nodes/{part}-tx/vectors"), sent.target(), id.0));
    drop(edit);
    sent.show(id.0 + 1);
    states.iter().for_each(|state| state.show(id.0 + 1));
    symlinks.insert(id, links);
}

/// Interfaces whose counts are copied in a turn.
const COPIED: usize = 256;

/// Copies what was counted of some interfaces, from a place on, and says where to go on.
fn copy(control: &Control, from: usize) -> Option<usize> {
    let (dataplane, shown) = (control.room::<Dataplane>(), control.room::<Shown>());
    let threads = dataplane.statistics().threads();
    let interfaces = control.room::<Interfaces>();
    let (some, next) = interfaces.some(from, COPIED);
    for interface in some {
        for ((_, of, _), state) in STATES.iter().zip(&shown.states) {
            let cell = state.rows()[0].get(interface.id.index());
            cell.into_iter().for_each(|cell| cell.set(of(interface)));
        }
        for worker in 0..dataplane.workers() {
            let cell = shown.sent.rows()[threads.row(worker)].get(interface.id.index());
            let sent = dataplane.tx_counters().of(worker, interface.id.0);
            cell.into_iter().for_each(|cell| cell.set(sent.packets));
        }
    }
    next
}

fn hide(control: &Control, id: InterfaceId) {
    let Shown { segment, names, symlinks, .. } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(DELETED));
    symlinks.remove(&id).into_iter().flatten().for_each(|symlink| edit.remove(symlink));
}
