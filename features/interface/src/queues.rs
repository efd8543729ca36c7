//! Receive queues: which worker serves each, and when it looks at them. VPP's `rx-placement` and `rx-mode`.

use std::collections::BTreeMap;

use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::dataplane::QueueInfo;
use quiver_engine::{Dataplane, PlacementError, RxMode};
use serde_json::json;

use crate::interfaces::{Interfaces, walk};
use crate::settings::InterfaceName;

quiver_control::choice! {
    /// When a worker looks at a receive queue.
    pub enum Mode of RxMode {
        /// In every turn: the worker never sleeps.
        Polling = "polling",
        /// When the driver says that packets wait.
        Interrupt = "interrupt",
        /// Whichever costs less at the load that there is.
        Adaptive = "adaptive",
    } as "rx-mode", "polling, interrupt or adaptive";
}

/// Worker and mode of a receive queue. Queues without such an object are adaptive, and their workers are chosen round
/// robin.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "rx-queues")]
pub struct RxQueueSettings {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Number of the queue, from 0.
    #[key]
    pub queue: u16,
    /// Worker that polls the queue. Default: the one chosen when the interface was created.
    pub worker: Option<u16>,
    /// When the worker polls the queue.
    #[default(Mode::Adaptive)]
    pub mode: Mode,
}

pub(crate) fn apply(control: &Control, change: Change<'_, RxQueueSettings>) -> Result<(), ObjectError> {
    let defaults;
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => new,
        Change::Delete(old) => {
            defaults = RxQueueSettings::new(old.interface.clone(), old.queue);
            &defaults
        }
    };
    let interface = control.room::<Interfaces>().id_of(&wanted.interface.0)?;
    let dataplane = &mut *control.room_mut::<Dataplane>();
    let queues: Vec<_> = dataplane.queues_of(interface.0).map(|queue| queue.id).collect();
    let queue = queues.get(usize::from(wanted.queue)).copied();
    let queue = queue.ok_or_else(|| {
        let remedy = match queues.len() {
            0 => "name an interface that has receive queues of its own".to_owned(),
            count => format!("name one of 0 to {}", count - 1),
        };
        ObjectError::field("queue", format!("{} has no receive queue {}", wanted.interface, wanted.queue))
            .remedy(remedy)
    })?;
    let worker = wanted.worker.map(usize::from);
    if let Some(worker) = worker.filter(|worker| *worker >= dataplane.workers()) {
        let last = dataplane.workers() - 1;
        return Err(ObjectError::field("worker", format!("there is no worker {worker}"))
            .remedy(format!("name one of 0 to {last}, or start quiverd with more --workers")));
    }
    dataplane.set_rx_mode(queue, wanted.mode.into()).map_err(|error| match error {
        PlacementError::NoInterrupts => {
            ObjectError::field("mode", error.to_string()).remedy("choose polling or adaptive")
        }
        error => ObjectError::whole(error.to_string()),
    })?;
    dataplane.place(queue, worker).map_err(|error| ObjectError::whole(error.to_string()))
}

pub(crate) fn register(control: &Control) {
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        Command::new(grammar, help, run).arguments_of::<RxQueueSettings>()
    };
    let place = add(
        "set interface rx-placement <interface> [queue <queue:u16>] (worker <worker:u16>|main)",
        "Assign a receive queue to a worker.",
        place,
    );
    let place = place.argument("queue", "number of the queue; default 0");
    control.commands().add(place.argument("main", "the only thread of a daemon without workers"));
    let mode = add(
        "set interface rx-mode <interface> [queue <queue:u16>] (polling|interrupt|adaptive)",
        "Set the receive mode of one queue, or of all queues of an interface.",
        mode,
    );
    control.commands().add(mode.argument("queue", "number of the queue; default: all"));
    let help = "Show the worker and mode of each receive queue.";
    let show = Command::waiting("show interface rx-placement", help, show);
    control.commands().add(show.arguments_of::<RxQueueSettings>());
}

fn place(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let queue = RxQueueSettings::new(matches.get("interface")?, matches.find("queue")?.unwrap_or(0));
    let worker = match matches.find::<u16>("worker")? {
        Some(worker) => worker,
        None => main_worker(control).map_err(|what| CommandError::new(what).at(matches.place("main")))?,
    };
    control.edit(queue, |settings| settings.worker = Some(worker))?;
    Ok(Reply::done())
}

/// The worker that is the main thread, where it is the only one; else why there is none.
pub(crate) fn main_worker(control: &Control) -> Result<u16, String> {
    match control.room::<Dataplane>().workers() {
        1 => Ok(0),
        workers => Err(format!("the main thread serves no queues beside workers; name one of 0 to {}", workers - 1)),
    }
}

fn mode(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = matches.get("interface")?;
    let words = [("polling", Mode::Polling), ("interrupt", Mode::Interrupt)];
    let mode = words.into_iter().find(|(word, _)| matches.has(word)).map_or(Mode::Adaptive, |(_, mode)| mode);
    set_mode(control, &interface, matches.find("queue")?, mode)?;
    Ok(Reply::done())
}

/// Sets when one queue of an interface, or each of them, is looked at.
pub(crate) fn set_mode(
    control: &Control,
    interface: &InterfaceName,
    queue: Option<u16>,
    mode: Mode,
) -> Result<(), ObjectError> {
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    let queues = match queue {
        Some(queue) => vec![queue],
        None => control.room::<Dataplane>().queues_of(id.0).map(|queue| queue.index as u16).collect(),
    };
    if queues.is_empty() {
        return Err(ObjectError::field("interface", format!("{interface} has no receive queues of its own")));
    }
    for queue in queues {
        control.edit(RxQueueSettings::new(interface.clone(), queue), |settings| settings.mode = mode)?;
    }
    Ok(())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    // By worker, node, interface and number.
    let mut queues: BTreeMap<_, String> = BTreeMap::new();
    for id in walk(&control) {
        listing.step().await;
        let dataplane = control.room::<Dataplane>();
        let mode = |queue: &QueueInfo| Mode::from(queue.mode).to_string();
        queues.extend(dataplane.queues_of(id.0).map(|q| ((q.worker, q.input, id, q.index), mode(q))));
    }
    let mut last = None;
    while let Some(((worker, input, id, index), mode)) = queues.pop_first() {
        listing.step().await;
        let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
        let (name, node) = (interfaces.name(id), dataplane.graph().name(input));
        if last.is_none_or(|(last, _)| last != worker) {
            listing.line(&format!("Worker {worker} (quiver-{worker}):"));
        }
        if last.replace((worker, input)) != Some((worker, input)) {
            listing.line(&format!(" node {node}:"));
        }
        listing.line(&format!("    {name} queue {index} ({mode})"));
        listing.element(|| json!({"interface": name, "queue": index, "worker": worker, "mode": mode, "node": node}));
    }
    Ok(listing.end())
}
