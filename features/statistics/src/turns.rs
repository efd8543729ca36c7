//! Turns of the control thread: `/quiver/control/...`.

use quiver_control::Control;
use quiver_engine::stats::Description;

pub(crate) fn register(control: &Control) {
    let segment = crate::segment(control);
    let mut edit = segment.edit();
    let turns = edit.scalar("/quiver/control/turns");
    let over = edit.scalar("/quiver/control/turns-over-5ms");
    let longest = edit.gauge("/quiver/control/longest-turn-ns");
    drop(edit);
    for (entry, help) in [
        ("turns", "Turns of the control thread."),
        ("turns-over-5ms", "Turns of the control thread that took more than 5 ms of CPU time."),
        ("longest-turn-ns", "Longest turn of the control thread, in nanoseconds of its CPU time."),
    ] {
        segment.describe(&format!("/quiver/control/{entry}"), Description::of(help));
    }
    crate::collect(control, move |control| {
        let counts = control.turns_of_all();
        segment.set(&turns, counts.turns);
        segment.set(&over, counts.over);
        segment.set(&longest, u64::try_from(counts.longest.as_nanos()).unwrap_or(u64::MAX));
    });
}
