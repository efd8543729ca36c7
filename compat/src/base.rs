//! Adds API files: the base messages that every daemon has, then those of rooms.

use quiver_control::Control;

use crate::api::{Adding, Api, extend};
use crate::{clients, memclnt, trace, types};

/// Adds an API file, or adds to the one of this name: VPP has the messages of several rooms in one. `fill` adds the messages, and its
/// result is returned to the room.
pub fn add<T>(
    control: &Control,
    name: &'static str,
    version: (u32, u32, u32),
    fill: impl FnOnce(&mut Adding<'_>) -> T,
) -> T {
    if !control.has_room::<Api>() {
        control.insert_room(Api::new());
        trace::register(control);
        clients::register(control);
        types::register(control);
        memclnt::register(control);
    }
    extend(control, name, version, fill)
}
