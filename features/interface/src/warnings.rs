//! Warnings of rooms about MTUs that may be set but break something, such as IPv6.

use std::rc::Rc;

use quiver_control::Control;

use crate::interfaces::InterfaceId;

type Warning = Rc<dyn Fn(&Control, InterfaceId) -> Option<String>>;

/// All that there may be.
#[derive(Default)]
pub(crate) struct Warnings(Vec<Warning>);

/// Adds a warning of a room: commands that set the MTU of an interface show what `of` returns for it.
pub fn warns(control: &Control, of: impl Fn(&Control, InterfaceId) -> Option<String> + 'static) {
    control.room_mut::<Warnings>().0.push(Rc::new(of));
}

/// Warnings of all rooms about an interface.
pub(crate) fn warnings(control: &Control, id: InterfaceId) -> Vec<String> {
    // Rooms borrow what they need, so no borrow may be held here meanwhile.
    let all = control.room::<Warnings>().0.clone();
    all.iter().filter_map(|of| of(control, id)).collect()
}
