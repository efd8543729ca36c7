//! The interfaces in the statistics segment: their names at `/if/names`, and what the engine counts of each under
//! `/interfaces/NAME/`.

use std::collections::HashMap;

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_engine::stats::layout::name_part;
use quiver_engine::stats::{Names, Segment, Symlink};

use crate::interfaces::{InterfaceEvent, InterfaceId, Interfaces, LOCAL, watch};

/// The name of a number that no interface has any more. Without one, vpp_papi would give the next names wrong numbers.
const DELETED: &str = "deleted";

/// What the segment shows of interfaces.
struct Shown {
    segment: Segment,
    names: Names,
    symlinks: HashMap<InterfaceId, Vec<Symlink>>,
}

pub(crate) fn register(control: &Control) {
    let segment = control.room::<Dataplane>().statistics().clone();
    let names = segment.edit().names("/if/names");
    control.insert_room(Shown { segment, names, symlinks: HashMap::new() });
    show(control, LOCAL);
    watch(control, |control, event| match event {
        InterfaceEvent::Created(id) => show(control, id),
        InterfaceEvent::Removed(id) => hide(control, id),
        _ => {}
    });
}

fn show(control: &Control, id: InterfaceId) {
    let (dataplane, name) = (control.room::<Dataplane>(), control.room::<Interfaces>().name(id));
    let Shown { segment, names, symlinks } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(&name));
    let part = name_part(&name);
    let symlink = |(counter, target)| edit.symlink(&format!("/interfaces/{part}/{counter}"), target, id.0.into());
    symlinks.insert(id, dataplane.counted_by_interface().map(symlink).collect());
}

fn hide(control: &Control, id: InterfaceId) {
    let Shown { segment, names, symlinks } = &mut *control.room_mut::<Shown>();
    let mut edit = segment.edit();
    edit.set_name(names, id.index(), Some(DELETED));
    symlinks.remove(&id).into_iter().flatten().for_each(|symlink| edit.remove(symlink));
}
