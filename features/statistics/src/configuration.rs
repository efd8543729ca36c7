//! The configuration: `/quiver/configuration/pending`, the number of objects that wait for something outside.

use quiver_control::Control;
use quiver_engine::stats::Description;

pub(crate) fn register(control: &Control) {
    let segment = crate::segment(control);
    let pending = segment.edit().gauge("/quiver/configuration/pending");
    let help = "Configured objects that wait for something outside of quiverd.";
    segment.describe("/quiver/configuration/pending", Description::of(help));
    crate::collect(control, move |control| segment.set(&pending, control.pending() as u64));
}
