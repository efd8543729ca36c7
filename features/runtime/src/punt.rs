//! `show punt`: packets that nodes sent to control and that no room takes.

use std::collections::{BTreeMap, VecDeque};

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, Punted, Reason};
use quiver_interface::Events;

/// Packets kept to be looked at.
const KEPT: usize = 16;

/// Punted packets by reason, and the last of them.
#[derive(Default)]
pub(crate) struct Punts {
    counts: BTreeMap<Reason, u64>,
    last: VecDeque<Punted>,
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Punts::default());
    control.spawn("punt", Events::listen(control.clone(), hear));
    control.commands().add(Command::new(
        "show punt",
        "Show the counters of packets punted to the control thread, by reason.",
        show,
    ));
}

/// Notes what is waiting. True if more has come.
fn hear(control: &Control) -> bool {
    let (dataplane, mut punts) = (control.room::<Dataplane>(), control.room_mut::<Punts>());
    for packet in dataplane.punted().waiting() {
        *punts.counts.entry(packet.reason).or_default() += 1;
        punts.last.push_back(packet);
        if punts.last.len() > KEPT {
            punts.last.pop_front();
        }
    }
    !dataplane.punted().is_empty()
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, punts) = (control.room::<Dataplane>(), control.room::<Punts>());
    let graph = dataplane.graph();
    let mut table = Table::new(["Node", "Reason", "Packets", "Last from", "Last bytes"]);
    for (reason, count) in &punts.counts {
        let arc = graph.arcs(reason.node()).get(reason.arc()).map_or("unknown", |arc| arc.name);
        let last = punts.last.iter().rev().find(|packet| packet.reason == *reason);
        let hex = |packet: &Punted| packet.bytes.iter().take(32).map(|b| format!("{b:02x}")).collect::<String>();
        table.row([
            Cell::from(graph.name(reason.node())),
            Cell::from(arc),
            Cell::from(*count),
            Cell::from(last.map(|packet| crate::interface_name(control, packet.rx))),
            Cell::from(last.map(hex)),
        ]);
    }
    Ok(table.into())
}
