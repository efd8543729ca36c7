//! Which interfaces are spread over which workers.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Worker};
use quiver_ethernet::DEVICE_INPUT;
use quiver_interface::{InterfaceName, Interfaces};

use crate::Handoffs;
use crate::node::{NAME, Spread};

/// Spreading of an interface's received flows over workers.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "handoffs")]
pub struct Handoff {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Workers that process the received packets.
    pub workers: Vec<u16>,
    /// Whether both directions of a flow go to the same worker.
    #[default(true)]
    pub symmetrical: bool,
}

/// Checks a hand-off on its own, regardless of other objects.
pub(crate) fn check(handoff: &Handoff) -> Result<(), ObjectError> {
    let distinct: BTreeSet<_> = handoff.workers.iter().collect();
    if handoff.workers.is_empty() || distinct.len() < handoff.workers.len() {
        let what = if handoff.workers.is_empty() { "there are none" } else { "a worker is named twice" };
        return Err(ObjectError::field("workers", what).remedy("name each worker once, and at least one"));
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, Handoff>) -> Result<(), ObjectError> {
    let (name, wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (&new.interface, Some(new)),
        Change::Delete(old) => (&old.interface, None),
    };
    let interface = control.room::<Interfaces>().id_of(&name.0)?.0;
    let node = control.room::<Handoffs>().0;
    let mut dataplane = control.room_mut::<Dataplane>();
    let last = dataplane.workers().saturating_sub(1);
    let spread = wanted.map(|handoff| Spread {
        workers: handoff.workers.iter().copied().map(usize::from).collect(),
        is_symmetrical: handoff.symmetrical,
    });
    if let Some(unknown) = spread.iter().flat_map(|spread| &spread.workers).find(|worker| **worker > last) {
        return Err(ObjectError::field("workers", format!("there is no worker {unknown}"))
            .remedy(format!("name some of 0 to {last}, or start quiverd with more --workers")));
    }
    if dataplane.queues_of(interface).next().is_none() {
        return Err(ObjectError::field("interface", format!("{name} has no receive queues of its own"))
            .remedy("name the interface that it is a part of"));
    }
    let on = spread.is_some();
    dataplane.connect_workers();
    let (spread, domain) = (spread.map(Arc::new), dataplane.domain().clone());
    dataplane.post_all(|_| {
        let (spread, domain) = (spread.clone(), domain.clone());
        move |worker: &mut Worker| {
            // Flows may change their workers: what was handed over before must not be overtaken.
            worker.hold(interface);
            let before = worker
                .graph()
                .node_mut(node.id)
                .map(|node: &mut crate::node::WorkerHandoff| node.set(interface, spread));
            domain.retire(before);
        }
    });
    // In this order, so that when the node is no longer passed nothing is on its way from it.
    dataplane.enable(DEVICE_INPUT, NAME, interface, on).map_err(|error| ObjectError::whole(error.to_string()))
}

pub(crate) fn register(control: &Control) {
    let set = Command::new(
        "set interface handoff <interface> (workers <workers:text> [symmetrical|asymmetrical]|off)",
        "Spread received packets of an interface over workers, by flow.",
        set,
    );
    let set = set.arguments_of::<Handoff>().argument("workers", "worker numbers, such as 0-1,3");
    let set = set.argument("symmetrical", "both directions of a flow go to one worker (default)");
    let set = set.argument("asymmetrical", "each direction of a flow is hashed by itself");
    control.commands().add(set.argument("off", "process packets on the receiving worker"));
    let show = "Show the interfaces whose flows are spread over workers.";
    control.commands().add(Command::waiting("show interface handoff", show, self::show));
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = matches.get("interface")?;
    if matches.has("off") {
        control.delete::<Handoff>(&interface)?;
        return Ok(Reply::done());
    }
    let text: String = matches.get("workers")?;
    let workers = workers(&text).ok_or_else(|| {
        CommandError::new(format!("'{text}' is no list of workers; write one such as 0-1,3"))
            .at(matches.place("workers"))
    })?;
    control.put(Handoff { interface, workers, symmetrical: !matches.has("asymmetrical") })?;
    Ok(Reply::done())
}

/// Numbers and ranges with commas between them.
fn workers(text: &str) -> Option<Vec<u16>> {
    let mut workers = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        // More workers than this there are on no machine.
        let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        workers.extend(u16::from(first)..=u16::from(last));
    }
    Some(workers)
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Workers", "Hash"]);
    let row = |handoff: Rc<Handoff>| {
        let workers: Vec<_> = handoff.workers.iter().map(u16::to_string).collect();
        let hash = if handoff.symmetrical { "symmetrical" } else { "asymmetrical" };
        Some([Cell::of(&handoff.interface), Cell::from(workers.join(",")), Cell::from(hash)])
    };
    rows.each(control.walk::<Handoff>(), row).await;
    Ok(rows.end())
}

#[cfg(test)]
mod tests {
    use super::workers;

    #[test]
    fn lists_of_workers_are_numbers_and_ranges() {
        assert_eq!(workers("0-1,3"), Some(vec![0, 1, 3]));
        assert_eq!(workers("7"), Some(vec![7]));
        for wrong in ["", "1-", "3-1", "a", "1,,2", "0-999", "-1"] {
            assert_eq!(workers(wrong), None, "{wrong}");
        }
    }
}
