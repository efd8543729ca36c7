//! The configuration: `/quiver/configuration/pending`, the number of objects that wait for something outside.

use quiver_control::Control;

pub(crate) fn register(control: &Control) {
    let segment = crate::segment(control);
    let pending = segment.edit().gauge("/quiver/configuration/pending");
    crate::collect(control, move |control| segment.set(&pending, control.pending() as u64));
}
