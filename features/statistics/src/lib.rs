//! The statistics segment's control side. Workers write most counters where clients read them; what is computed instead
//! (rates, clocks of nodes, buffers in use) is copied there at intervals, and on request.
//!
//! - [`collect`]: how rooms add what they compute; [`refresh`] and [`keep_fresh`] let it be computed.
//! - `nodes`, `workers`, `memory`: values of the engine; `turns`: turns of the control thread; `configuration`: pending objects.
//! - `show`: the command.
//! - [`metrics`]: the same with labels; [`prometheus`] and [`otlp`] put it into the words of others; `unit`: their units.
//!   Help texts come from the rooms that add entries ([`Segment::describe`]).
#![forbid(unsafe_code)]

mod configuration;
mod memory;
pub mod metrics;
mod nodes;
pub mod otlp;
pub mod prometheus;
mod show;
mod turns;
mod unit;
mod workers;

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use quiver_control::{Control, Pace};
use quiver_engine::Dataplane;
use quiver_engine::stats::Segment;

/// Settings of the statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Interval between two computations.
    pub update_interval: Duration,
    /// Whether there are counters of each node.
    pub per_node_counters: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { update_interval: Duration::from_secs(1), per_node_counters: true }
    }
}

/// Computes something from a place on that begins as 0, and says where to go on.
type Collector = Rc<dyn Fn(&Control, usize) -> Option<usize>>;

/// State of the room.
struct Statistics {
    segment: Segment,
    collectors: Vec<Collector>,
    settings: Settings,
    beats: Cell<u64>,
}

/// Registers the room: before those that [`collect`].
pub fn register(control: &Control) -> Result<(), std::convert::Infallible> {
    let segment = control.room::<Dataplane>().statistics().clone();
    let started = control.date().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    segment.set_boot_time(started.as_secs());
    control.insert_room(Statistics { segment, collectors: vec![], settings: Settings::default(), beats: Cell::new(0) });
    configuration::register(control);
    memory::register(control);
    workers::register(control);
    turns::register(control);
    nodes::register(control);
    show::register(control);
    Ok(())
}

/// The segment.
pub fn segment(control: &Control) -> Segment {
    control.room::<Statistics>().segment.clone()
}

/// Serves the statistics so. Before the first [`refresh`].
pub fn set(control: &Control, settings: Settings) {
    control.room_mut::<Statistics>().settings = settings;
}

/// The settings.
pub fn settings(control: &Control) -> Settings {
    control.room::<Statistics>().settings
}

/// Calls `collector` at each computation; never on a control side without statistics.
pub fn collect(control: &Control, collector: impl Fn(&Control) + 'static) {
    collect_in_turns(control, move |control, _| {
        collector(control);
        None
    });
}

/// The same for what takes long: `collector` computes some of it, from a place on that begins as 0, and says where to go on.
pub fn collect_in_turns(control: &Control, collector: impl Fn(&Control, usize) -> Option<usize> + 'static) {
    if control.has_room::<Statistics>() {
        control.room_mut::<Statistics>().collectors.push(Rc::new(collector));
    }
}

/// Computes everything anew, at once.
pub fn refresh(control: &Control) {
    let collectors = control.room::<Statistics>().collectors.clone();
    for collector in collectors {
        let mut next = Some(0);
        while let Some(from) = next {
            next = collector(control, from);
        }
    }
    beat(control);
}

/// The same in turns, between which others have theirs.
pub async fn refresh_in_turns(control: &Control) {
    let (collectors, mut pace) = (control.room::<Statistics>().collectors.clone(), Pace::in_turns(control));
    for collector in collectors {
        let mut next = Some(0);
        while let Some(from) = next {
            pace.step().await;
            next = collector(control, from);
        }
    }
    beat(control);
}

/// Tells clients of the segment that what it says is new.
fn beat(control: &Control) {
    let statistics = control.room::<Statistics>();
    statistics.beats.set(statistics.beats.get() + 1);
    statistics.segment.set_heartbeat(statistics.beats.get());
}

/// Computes everything anew for ever, as often as the settings say.
pub async fn keep_fresh(control: Control) {
    loop {
        refresh_in_turns(&control).await;
        let pause = settings(&control).update_interval;
        control.sleep(pause).await;
    }
}

/// Notes that counts were set back.
pub fn cleared(control: &Control) {
    let seconds = control.now().since(quiver_control::Time::default()).as_secs();
    control.room::<Statistics>().segment.set_cleared(seconds);
}
