//! The interfaces in the statistics segment: their names at `/if/names`, and what the engine counts of each under
//! `/interfaces/NAME/`.
//!
//! VPP has a node for each interface that sends by it. Here `interface-output` does, for all, and `/nodes/NAME-tx/vectors`
//! says how many packets each has sent.

use std::collections::HashMap;

use quiver_control::Control;
use quiver_engine::stats::layout::name_part;
use quiver_engine::stats::{Counter, Names, Segment, Symlink, Vector};
use quiver_engine::{Dataplane, INTERFACES_MAX};

use crate::interfaces::{InterfaceEvent, InterfaceId, Interfaces, LOCAL, watch};

/// The name of a number that no interface has any more. Without one, vpp_papi would give the next names wrong numbers.
const DELETED: &str = "deleted";

/// What the segment shows of interfaces.
struct Shown {
    segment: Segment,
    names: Names,
    symlinks: HashMap<InterfaceId, Vec<Symlink>>,
    /// Packets sent, by interface: copies of what the engine counts with its bytes.
    sent: Vector<Counter>,
    /// What links carry, in kilobits a second; 0 where nobody knows.
    speeds: Vector<Counter>,
}

pub(crate) fn register(control: &Control) {
    let segment = control.room::<Dataplane>().statistics().clone();
    let names = segment.edit().names("/if/names");
    let sent = segment.edit().vector("/quiver/sent-packets", INTERFACES_MAX);
    let speeds = segment.edit().table("/quiver/if/link-speed-kbps", 1, INTERFACES_MAX);
    control.insert_room(Shown { segment, names, symlinks: HashMap::new(), sent, speeds });
    quiver_statistics::collect(control, copy);
    show(control, LOCAL);
    watch(control, |control, event| match event {
        InterfaceEvent::Created(id) => show(control, id),
        InterfaceEvent::Removed(id) => hide(control, id),
        _ => {}
    });
}

fn show(control: &Control, id: InterfaceId) {
    let (dataplane, name) = (control.room::<Dataplane>(), control.room::<Interfaces>().name(id));
    let Shown { segment, names, symlinks, sent, speeds } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(&name));
    let part = name_part(&name);
    let symlink = |(counter, target)| edit.symlink(&format!("/interfaces/{part}/{counter}"), target, id.0);
    let mut links: Vec<_> = dataplane.counted_by_interface().map(symlink).collect();
    links.push(edit.symlink(&format!("/nodes/{part}-tx/vectors"), sent.target(), id.0));
    drop(edit);
    sent.show(id.0 + 1);
    speeds.show(id.0 + 1);
    symlinks.insert(id, links);
}

fn copy(control: &Control) {
    let (dataplane, shown) = (control.room::<Dataplane>(), control.room::<Shown>());
    let threads = dataplane.statistics().threads();
    for interface in control.room::<Interfaces>().iter() {
        let cell = shown.speeds.rows()[0].get(interface.id.index());
        cell.into_iter().for_each(|cell| cell.set(interface.speed.unwrap_or_default().into()));
        for worker in 0..dataplane.workers() {
            let cell = shown.sent.rows()[threads.row(worker)].get(interface.id.index());
            let sent = dataplane.tx_counters().of(worker, interface.id.0);
            cell.into_iter().for_each(|cell| cell.set(sent.packets));
        }
    }
}

fn hide(control: &Control, id: InterfaceId) {
    let Shown { segment, names, symlinks, .. } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(DELETED));
    symlinks.remove(&id).into_iter().flatten().for_each(|symlink| edit.remove(symlink));
}
