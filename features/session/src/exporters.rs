//! Events of sessions on the control side: their ring, and the exporters that read it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::stats::memory::Memory;
use quiver_engine::stats::{Description, Gauge};
use quiver_engine::{Counter, Counters, Dataplane};
use quiver_session_events::export::Counts;
use quiver_session_events::protocol::{NAME_MAX, Place, Report};
use quiver_session_events::ring::{self, SLOTS, Size};

use crate::events::{Log, Ring, Written};
use crate::expiry::{begin, date, set_date};
use crate::interface::no_space;
use crate::room::Room;
use crate::sessions::TICKS;
use crate::tenant::Tenants;

/// Events of sessions, for exporters.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "session-events")]
pub struct SessionEvents {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Events that the ring of each worker keeps for exporters, rounded up to a power of two. An event takes 128 bytes.
    #[default(65536)]
    pub slots: u32,
    /// Seconds between updates of a living session. Default: no updates.
    pub update_seconds: Option<u32>,
}

impl SessionEvents {
    /// The only name.
    pub const NAME: &str = "default";
}

/// Checks the settings of events.
pub(crate) fn check(events: &SessionEvents) -> Result<(), ObjectError> {
    if events.name != SessionEvents::NAME {
        let what = format!("{} is not the name of the settings", events.name);
        return Err(ObjectError::field("name", what).remedy("write default"));
    }
    if !SLOTS.contains(&events.slots) {
        let what = format!("{} is out of range ({} to {})", events.slots, SLOTS.start(), SLOTS.end());
        return Err(ObjectError::field("slots", what).remedy("leave it out for 65536"));
    }
    if events.update_seconds == Some(0) {
        let error = ObjectError::field("update-seconds", "there is no update every 0 seconds");
        return Err(error.remedy("say 1 or more, or leave it out for no updates"));
    }
    Ok(())
}

/// An exporter that is attached, or was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exporter {
    /// Its process, while it is attached; 0 if that has no number here.
    pub process: Option<i32>,
    /// Its last report.
    pub report: Report,
    /// Counts of the processes of this name that have ended.
    pub before: Counts,
}

fn sum(one: Counts, other: Counts) -> Counts {
    Counts {
        exported: one.exported.saturating_add(other.exported),
        lost: one.lost.saturating_add(other.lost),
        failed: one.failed.saturating_add(other.failed),
    }
}

impl Exporter {
    /// Counts of all processes of this name.
    pub fn counts(&self) -> Counts {
        sum(self.before, self.report.counts)
    }
    fn detach(&mut self) {
        self.process = None;
        self.before = sum(self.before, std::mem::take(&mut self.report.counts));
    }
}

/// Exporters that quiverd knows at a time.
pub const EXPORTERS_MAX: usize = 16;

/// The room.
pub(crate) struct EventRoom {
    ring: Option<Arc<Ring>>,
    exporters: BTreeMap<String, Exporter>,
    written: Counters<Counter>,
    left_out: Counters<Counter>,
    lost: Gauge,
    failed: Gauge,
    /// Rings so far.
    rings: u64,
}

impl EventRoom {
    pub fn new(dataplane: &Dataplane) -> EventRoom {
        let segment = dataplane.statistics();
        let (written, left_out) = ("/sfdp/events/written", "/sfdp/events/denials_left_out");
        let counters = [written, left_out].map(|name| {
            let counters = Counters::shown(segment, name, 1);
            counters.grow(1);
            counters
        });
        let [(lost, lost_help), (failed, failed_help)] = [
            ("/sfdp/events/lost", "Events of sessions that exporters have lost, because they were too slow."),
            ("/sfdp/events/failed", "Events of sessions that outputs of exporters have refused."),
        ];
        let gauges = [lost, failed].map(|name| segment.edit().gauge(name));
        for (name, help) in [
            (written, "Events of sessions that workers have written."),
            (left_out, "Denials that were left out, beyond 1,000 of a worker in a second."),
        ] {
            segment.describe(name, Description::of(help));
        }
        for (name, help) in [(lost, lost_help), (failed, failed_help)] {
            segment.describe(name, Description::of(help).gauge());
        }
        let ([written, left_out], [lost, failed]) = (counters, gauges);
        let (ring, exporters, rings) = Default::default();
        EventRoom { ring, exporters, written, left_out, lost, failed, rings }
    }
    /// The ring, if there are events.
    pub fn ring(&self) -> Option<&Arc<Ring>> {
        self.ring.as_ref()
    }
    /// Exporters by name.
    pub fn exporters(&self) -> &BTreeMap<String, Exporter> {
        &self.exporters
    }
    /// Events that were written, and denials that were left out.
    pub fn written(&self) -> (u64, u64) {
        (self.written.sum(0), self.left_out.sum(0))
    }
    /// Events that an exporter has not read yet.
    pub fn waiting(&self, exporter: &Exporter) -> u64 {
        let Some(ring) = self.ring.as_ref().filter(|ring| ring.instance == exporter.report.place.instance) else {
            return 0;
        };
        let written = (0..ring.size.workers).map(|worker| ring::written(ring.memory.words(), ring.size, worker));
        written.zip(&exporter.report.place.next).map(|(written, next)| written.saturating_sub(*next)).sum()
    }
    fn show(&self, control: &Control) {
        let counts = self.exporters.values().map(Exporter::counts).fold(Counts::default(), sum);
        let dataplane = control.room::<Dataplane>();
        dataplane.statistics().set(&self.lost, counts.lost);
        dataplane.statistics().set(&self.failed, counts.failed);
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, SessionEvents>) -> Result<(), ObjectError> {
    let (_, new) = change.sides();
    let ring = match new {
        Some(new) => {
            begin(control).map_err(no_space)?;
            Some(Arc::new(make(control, new)?))
        }
        None => None,
    };
    let old = std::mem::replace(&mut control.room_mut::<EventRoom>().ring, ring.clone());
    install(control, ring);
    if let Some(old) = old {
        let later = control.clone();
        control.spawn("the end of a ring of events", async move {
            // Until then workers write into it.
            let settled = later.room::<Dataplane>().settled();
            settled.await;
            ring::end(old.memory.words());
            // A ring may have gigabytes, of which the system frees each page. If the helper fails, it is freed all the same.
            let _ = later.by_helper(move || drop(old)).await;
        });
    }
    Ok(())
}

fn make(control: &Control, events: &SessionEvents) -> Result<Ring, ObjectError> {
    let size = Size::new(control.room::<Dataplane>().workers(), events.slots);
    let memory = Memory::named("quiver-session-events", size.bytes()).map_err(|error| {
        ObjectError::field("slots", format!("the memory of the ring is refused ({error})")).remedy("name fewer")
    })?;
    let mut room = control.room_mut::<EventRoom>();
    room.rings += 1;
    // Differs from that of another quiverd, before or after this one.
    let instance = date(control) << 8 | room.rings & 0xff;
    ring::begin(memory.words(), size, instance);
    let update = events.update_seconds.map(|seconds| seconds.saturating_mul(TICKS));
    Ok(Ring { memory, size, instance, update })
}

/// Has all workers write into a ring, or into none.
fn install(control: &Control, ring: Option<Arc<Ring>>) {
    let Some(sessions) = control.room::<Room>().sessions() else { return };
    let tenants = control.room::<Tenants>().numbers();
    let (date, room) = (date(control), control.room::<EventRoom>());
    for number in 0..sessions.workers() {
        let log = ring.clone().map(|ring| {
            let written = Written { events: room.written.row(number), left_out: room.left_out.row(number) };
            Log::new(ring, number, tenants.clone(), written)
        });
        let all = sessions.clone();
        // No answer is needed: the letter is read before later packets are.
        drop(control.room::<Dataplane>().ask(number, move |worker| {
            let Some(owned) = all.of(number) else { return };
            let mut shard = owned.shard();
            shard.events = log.map(Box::new);
            set_date(owned, &mut shard, worker.now(), date);
        }));
    }
}

/// Answer to an exporter: the file of the ring, and where an exporter of its name was.
#[derive(Debug)]
pub struct Attached {
    /// The file.
    pub file: OwnedFd,
    /// The place.
    pub resume: Option<Place>,
}

/// Attaches an exporter.
///
/// # Errors
/// A text with the reason and a remedy.
pub fn attach(control: &Control, name: &str, process: Option<i32>) -> Result<Attached, String> {
    let mut room = control.room_mut::<EventRoom>();
    if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(format!("the name of an exporter has 1 to {NAME_MAX} bytes; write another one"));
    }
    let off = "there are no events of sessions; run `quiver sfdp events enable`";
    let file = room.ring.as_ref().and_then(|ring| ring.memory.file()).ok_or(off)?;
    let file = file.try_clone_to_owned().map_err(|error| format!("the ring cannot be passed: {error}"))?;
    if let Some(other) = room.exporters.get(name).and_then(|exporter| exporter.process) {
        return Err(format!("process {other} exports as `{name}`; stop it, or give this one another --name"));
    }
    if !room.exporters.contains_key(name) && room.exporters.len() >= EXPORTERS_MAX {
        let gone = room.exporters.iter().find(|(_, exporter)| exporter.process.is_none());
        let gone = gone.map(|(name, _)| name.clone());
        let full = || format!("there are {EXPORTERS_MAX} exporters; stop one of them");
        room.exporters.remove(&gone.ok_or_else(full)?);
    }
    let exporter = room.exporters.entry(name.to_owned()).or_default();
    exporter.process = Some(process.unwrap_or_default());
    let place = &exporter.report.place;
    let resume = (place.instance != 0).then(|| place.clone());
    Ok(Attached { file, resume })
}

/// Keeps what an exporter reports.
pub fn report(control: &Control, name: &str, report: Report) {
    {
        let mut room = control.room_mut::<EventRoom>();
        if let Some(exporter) = room.exporters.get_mut(name) {
            exporter.report = report;
        }
    }
    control.room::<EventRoom>().show(control);
}

/// Detaches an exporter. The next one of its name goes on where it was.
pub fn detach(control: &Control, name: &str) {
    if let Some(exporter) = control.room_mut::<EventRoom>().exporters.get_mut(name) {
        exporter.detach();
    }
}
