//! `drops`: what is lost, as it is lost, and what decided it.

use std::collections::BTreeMap;
use std::time::Duration;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, Time};
use quiver_engine::capture::{Capture, CaptureId, Captured, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_engine::{Dataplane, Reason};
use quiver_interface::{InterfaceId, Interfaces, Remainder, Undecided, restored, why_undecided};
use quiver_wire::summary;
use serde_json::json;

use crate::way::PacketPath;

/// Interval between reports of drops.
const EVERY: Duration = Duration::from_secs(1);
/// Largest number of queued samples: a flood of drops costs a worker no more than these.
const SAMPLES: usize = 256;
/// Bytes kept of a sample, for the nodes that process it again.
const SNAP: usize = 2048;
/// Bytes of a sample that are shown.
const SHOWN: usize = 64;

pub(crate) fn register(control: &Control) {
    let help = "Show packets dropped within a second: reason, node, interface, deciding object, and a sample.";
    let drops = Command::waiting("drops {(follow|--follow)|seconds <seconds:u32>}", help, drops);
    let drops = drops.argument("follow", "continue second by second").argument("--follow", "continue second by second");
    control.commands().add(drops.argument("seconds", "duration; default 1 s, or unlimited with follow"));
}

/// A capture that ends with whoever follows.
struct Following {
    control: Control,
    id: CaptureId,
    inbox: Inbox<Captured>,
}

impl Following {
    fn start(control: &Control) -> Following {
        let mut dataplane = control.room_mut::<Dataplane>();
        let (to, inbox) = channel(SAMPLES, dataplane.bell());
        let capture = Capture::new(Capture::bit(Point::Drop), SNAP, to);
        Following { control: control.clone(), id: dataplane.capture(Capture { frames: true, ..capture }), inbox }
    }
}
impl Drop for Following {
    fn drop(&mut self) {
        self.control.room::<Dataplane>().end_capture(self.id);
    }
}

/// Packets by reason since the start.
fn counts(dataplane: &Dataplane) -> BTreeMap<Reason, u64> {
    let graph = dataplane.graph();
    let of = |node| {
        let arcs = (0u16..).zip(graph.arcs(node)).filter(|(_, arc)| arc.is_drop());
        let sum = move |arc: u16| graph.counters(node).map(|counters| counters.arcs[usize::from(arc)].get()).sum();
        arcs.map(move |(arc, _)| (Reason::new(node, arc), sum(arc)))
    };
    graph.nodes().flat_map(of).collect()
}

async fn drops(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let follows = matches.has("follow") || matches.has("--follow");
    let seconds: Option<u32> = matches.find("seconds")?;
    if seconds == Some(0) {
        let wrong = "losses cannot be watched for 0 seconds; say 1 or more";
        return Err(CommandError::new(wrong).at(matches.place("seconds")));
    }
    let mut left = seconds.or((!follows).then_some(1));
    let following = Following::start(&control);
    let mut before = counts(&control.room::<Dataplane>());
    let mut all = 0;
    while left != Some(0) {
        control.sleep(EVERY).await;
        left = left.map(|left| left - 1);
        let now = counts(&control.room::<Dataplane>());
        // The first sample of each reason and interface stands for the others.
        let mut samples = BTreeMap::<Reason, BTreeMap<u32, Captured>>::new();
        for sample in following.inbox.waiting() {
            if let Some(reason) = sample.reason {
                samples.entry(reason).or_default().entry(sample.interface).or_insert(sample);
            }
        }
        for (reason, count) in &now {
            let lost = count.saturating_sub(before.get(reason).copied().unwrap_or(0));
            if lost > 0 {
                all += lost;
                let samples = samples.remove(reason).unwrap_or_default();
                let line = line(&control, *reason, lost, samples.into_values()).await;
                output.send(line).await;
            }
        }
        before = now;
    }
    let text = match all {
        0 => "Nothing was lost. `drops follow` waits for it; `show errors` has what was lost before.",
        _ => "",
    };
    Ok(Reply::new(text, json!({"lost": all})))
}

/// The date of a sample that was taken at a time of the engine's clock since drops were told last.
fn moment(control: &Control, time: u64) -> humantime::Rfc3339Timestamp {
    // Control's clock may have been set ahead of the engine's (`set clock adjust`); no sample is older than this.
    let age = control.now().since(Time(time)).min(EVERY);
    humantime::format_rfc3339_millis(control.date() - age)
}

/// Report of a drop reason: the number of packets, and for each interface the deciding object and a packet.
async fn line(control: &Control, reason: Reason, lost: u64, samples: impl Iterator<Item = Captured>) -> Reply {
    let (node, name) = {
        let dataplane = control.room::<Dataplane>();
        let graph = dataplane.graph();
        (graph.name(reason.node()), graph.arcs(reason.node()).get(reason.arc()).map_or("unknown", |arc| arc.name))
    };
    let mut text = format!("{lost} packets dropped by {node}: {name}\n");
    let mut told = vec![];
    for sample in samples {
        let interface = InterfaceId(sample.interface);
        let from = control.room::<Interfaces>().name(interface);
        // It is asked again, now, when something else may be configured, or room again for what was too much.
        let whole = restored(control, interface, &sample.bytes, Remainder::Buffer);
        let (at, bytes) = whole.as_ref().map_or((interface, &sample.bytes), |(whole, frame)| (*whole, frame));
        let way = PacketPath::of(control, at, bytes).await;
        let (way, untold) = match way {
            Ok(way) => (Some(way), String::new()),
            Err(error) => (None, format!("what cannot be told of {from}: {error}")),
        };
        let step = way.as_ref().and_then(|way| way.loss(node, name));
        let decided_by = step.and_then(|step| step.decided_by.clone());
        let undecided = why_undecided(control, reason.node(), reason.arc() as u16);
        let because = match (step, undecided, &way) {
            (Some(step), ..) => step.because(),
            (None, Some(undecided @ (Undecided::Packet | Undecided::Load)), _) => undecided.to_string(),
            (None, _, Some(way)) => format!("what is no more: it would be {} now", way.summary()),
            (None, _, None) => untold,
        };
        let hex: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
        let (packet, time) = (summary::of(bytes), moment(control, sample.time).to_string());
        text.push_str(&format!("  from {from}, because of {because}\n    {time} {packet}\n"));
        text.push_str(&format!("    {} bytes: {hex}\n", sample.length));
        told.push(json!({
            "interface": from, "decided-by": decided_by, "because": because, "time": time, "packet": packet,
            "length": sample.length, "bytes": hex,
        }));
    }
    Reply::new(text, json!({"packets": lost, "node": node, "reason": name, "samples": told}))
}
