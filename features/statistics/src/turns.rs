//! Turns of the control thread: `/quiver/control/...`.

use quiver_control::Control;

pub(crate) fn register(control: &Control) {
    let segment = crate::segment(control);
    let mut edit = segment.edit();
    let turns = edit.scalar("/quiver/control/turns");
    let over = edit.scalar("/quiver/control/turns-over-5ms");
    let longest = edit.gauge("/quiver/control/longest-turn-ns");
    drop(edit);
    crate::collect(control, move |control| {
        let counts = control.turns_of_all();
        segment.set(&turns, counts.turns);
        segment.set(&over, counts.over);
        segment.set(&longest, u64::try_from(counts.longest.as_nanos()).unwrap_or(u64::MAX));
    });
}
