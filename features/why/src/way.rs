//! The path of a packet through the graph.

use quiver_control::Control;
use quiver_control::cli::{Cell, Table};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, Recollection, RehearsalError, To};
use quiver_interface::{InterfaceId, Interfaces, Remainder, Undecided, decided_by, restored, why_undecided};
use serde_json::{Value, json};

/// Step of a packet: a node and its decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: &'static str,
    /// The arc by which the packet left; None if the node kept it.
    pub arc: Option<&'static str>,
    /// The deciding object, if it was not the packet itself.
    pub decided_by: Option<String>,
    /// Reason why there is no deciding object, if the node's room gives one.
    pub undecided: Option<Undecided>,
    /// Description of the packet on arrival, as the node's room formats it.
    pub detail: String,
    /// The next node, if the arc always leads to the same one.
    pub to: Option<&'static str>,
    /// The packet's end, if the arc leads out of the graph.
    pub end: Option<End>,
    /// The node's worker.
    pub worker: usize,
    /// The worker to which the node hands the packet.
    pub handed_to: Option<usize>,
}

impl Step {
    /// The deciding object, or the reason why there is none.
    pub fn because(&self) -> String {
        let undecided = self.undecided.unwrap_or(Undecided::Packet);
        self.decided_by.clone().unwrap_or_else(|| undecided.to_string())
    }
}

/// End of a packet, or of a copy of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The interface sends it.
    Sent(String),
    /// The node drops it for this reason.
    Dropped {
        /// The node.
        node: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// It is punted to control for this reason.
    Punted(&'static str),
    /// The node consumes it.
    Done(&'static str),
    /// The node keeps it: it waits there, or its further path is unknown.
    Kept(&'static str),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Sent(interface) => write!(f, "sent by {interface}"),
            End::Dropped { node, reason } => write!(f, "dropped by {node}: {reason}"),
            End::Punted(reason) => write!(f, "given to control: {reason}"),
            End::Done(node) => write!(f, "taken by {node}"),
            End::Kept(node) => write!(f, "kept by {node}"),
        }
    }
}

/// The path of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketPath(pub Vec<Step>);

impl PacketPath {
    /// Rehearses a frame that an interface, or one of its sub-interfaces, would receive now. Workers are asked for
    /// state that only they have, such as the ports of a fragmented packet; asking has no other effect.
    pub async fn of(control: &Control, interface: InterfaceId, frame: &[u8]) -> Result<PacketPath, RehearsalError> {
        let whole = restored(control, interface, frame, Remainder::Frame);
        let (interface, frame) = whole.as_ref().map_or((interface, frame), |(whole, frame)| (*whole, &frame[..]));
        let mut recollection = Recollection::default();
        loop {
            let now = control.now().0;
            let records = control.room_mut::<Dataplane>().rehearse(interface.0, frame, now, &mut recollection)?;
            let question = control.room::<Dataplane>().recall(&mut recollection);
            let is_more = match question {
                Some(answer) => recollection.learn(answer.await),
                None => false,
            };
            if !is_more {
                return Ok(PacketPath::told(control, &records));
            }
        }
    }
    /// The path that trace records tell.
    pub fn told(control: &Control, records: &[Record]) -> PacketPath {
        let mut steps: Vec<Step> = vec![];
        for record in records {
            // What comes to another worker was handed over by the node before.
            if let Some(before) = steps.last_mut().filter(|before| before.worker != record.worker) {
                (before.arc, before.handed_to) = (None, Some(record.worker));
            }
            let Some(mut step) = step(control, record) else { continue };
            if step.undecided == Some(Undecided::NodeBefore) {
                let before = steps.iter().rev().find(|before| before.to == Some(step.node));
                step.decided_by = before.and_then(|before| before.decided_by.clone());
                // What the node before did without an object it did because of the packet.
                step.undecided = before.and_then(|before| before.undecided).or(Some(Undecided::Packet));
            }
            steps.push(step);
        }
        PacketPath(steps)
    }
    /// Ends of the packet and of its copies; none where the records do not show them.
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        self.0.iter().filter_map(|step| step.end.as_ref())
    }
    /// The step at which the packet, or a copy of it, is dropped at this node for this reason.
    pub fn loss(&self, node: &str, reason: &str) -> Option<&Step> {
        let is_it = |end: &End| matches!(end, End::Dropped { node: at, reason: why } if *at == node && *why == reason);
        self.0.iter().find(|step| step.end.as_ref().is_some_and(is_it))
    }
    /// Text for people.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["Node", "To", "Because of", "Packet"]);
        for step in &self.0 {
            table.row([
                Cell::from(step.node),
                match step.handed_to {
                    Some(worker) => Cell::from(format!("worker {worker}")),
                    None => Cell::from(step.arc.unwrap_or("stays")),
                },
                Cell::from(match step.end {
                    Some(End::Dropped { .. }) => Some(step.because()),
                    _ => step.decided_by.clone(),
                }),
                Cell::from(step.detail.lines().next().unwrap_or_default().to_string()),
            ]);
        }
        table
    }
    /// In one sentence's words.
    pub fn summary(&self) -> String {
        let mut ends: Vec<(String, usize)> = vec![];
        for end in self.ends().map(End::to_string) {
            match ends.last_mut().filter(|(last, _)| *last == end) {
                Some((_, packets)) => *packets += 1,
                None => ends.push((end, 1)),
            }
        }
        let words = ends.into_iter().map(|(end, packets)| match packets {
            1 => end,
            packets => format!("{end} ({packets} packets)"),
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() { "nothing that the nodes tell".into() } else { words.join(", ") }
    }
    /// For programs.
    pub fn to_json(&self) -> Value {
        let steps = self.0.iter().map(|step| {
            json!({
                "node": step.node, "arc": step.arc, "decided-by": step.decided_by, "detail": step.detail,
                "worker": step.worker, "handed-to": step.handed_to,
            })
        });
        let ends = self.ends().map(|end| match end {
            End::Sent(interface) => json!({"what": "sent", "interface": interface}),
            End::Dropped { node, reason } => json!({"what": "dropped", "node": node, "reason": reason}),
            End::Punted(reason) => json!({"what": "punted", "reason": reason}),
            End::Done(node) => json!({"what": "done", "node": node}),
            End::Kept(node) => json!({"what": "kept", "node": node}),
        });
        json!({"ends": ends.collect::<Vec<_>>(), "nodes": steps.collect::<Vec<_>>()})
    }
}

/// None for the ends of the graph, to which the arcs before them lead.
fn step(control: &Control, record: &Record) -> Option<Step> {
    let (node, arc, describe) = {
        let dataplane = control.room::<Dataplane>();
        let graph = dataplane.graph();
        let arcs = graph.arcs(record.node);
        if arcs.is_empty() {
            return None;
        }
        let arc = record.arc.and_then(|arc| arcs.get(usize::from(arc))).copied();
        (graph.name(record.node), arc, graph.describer(record.node))
    };
    let end = match arc.map(|arc| (arc.name, arc.to)) {
        Some((_, To::Node(_) | To::Features(_) | To::NextFeature)) => None,
        Some((_, To::Out)) => Some(End::Sent(control.room::<Interfaces>().name(InterfaceId(record.tx)))),
        Some((reason, To::Drop)) => Some(End::Dropped { node, reason }),
        Some((reason, To::Punt)) => Some(End::Punted(reason)),
        Some((_, To::Done)) => Some(End::Done(node)),
        None => Some(End::Kept(node)),
    };
    let to = match arc.map(|arc| arc.to) {
        Some(To::Node(node)) => Some(node),
        _ => None,
    };
    let undecided = record.arc.and_then(|arc| why_undecided(control, record.node, arc));
    let detail = describe.map(|describe| describe(record)).unwrap_or_default();
    let (arc, decided_by) = (arc.map(|arc| arc.name), decided_by(control, record));
    Some(Step { node, arc, decided_by, undecided, detail, to, end, worker: record.worker, handed_to: None })
}
