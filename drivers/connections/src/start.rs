//! Starts and stops runs: `connections start cg0 side client profile tcp-cps rate 1e5`.

use std::path::Path;
use std::sync::Arc;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::files::FileError;
use quiver_control::{Control, Pace};
use quiver_engine::Dataplane;
use quiver_interface::InterfaceName;
use serde_json::json;

use crate::load::Load;
use crate::plan::Places;
use crate::queue::{Sink, Source};
use crate::record::Record;
use crate::replay::{self, Replay};
use crate::room::ConnectionGenerators;
use crate::run::Run;

/// Records made in one step: half a megabyte.
const STEP: usize = 8192;

pub(crate) fn register(control: &Control) {
    control.commands().add(Command::waiting(
        "connections start <interface> <words:text>...",
        "Begin a run of connections on an interface of the connection generator.",
        start,
    ));
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run));
    };
    add("connections stop <interface>", "Stop opening connections; open ones continue.", stop);
    add("connections end <interface>", "Forget a run and all its connections.", end);
}

/// Finds the port of the interface that a command names.
fn port_name(control: &Control, matches: &Matches) -> Result<String, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    if !control.room::<ConnectionGenerators>().ports.contains_key(&name) {
        let what = format!("{name} is no connection generator; name one of `create connection-generator interface`");
        return Err(CommandError::new(what).at(matches.place("interface")));
    }
    Ok(name)
}

async fn start(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let name = port_name(&control, &matches)?;
    let text = matches.all::<String>("words")?.join(" ");
    let load = Load::parse(&text).map_err(|error| CommandError::new(error.to_string()))?;
    let replay = match &load.replay {
        Some(path) => Some(read(&control, path, &load).await?),
        None => None,
    };
    let count = Places::new(&load.plan).count() as usize;
    let mut records: Vec<Record> = quiver_table::room_in_huge_pages(count);
    let mut pace = Pace::in_turns(&control);
    while records.len() < count {
        pace.step().await;
        let step = STEP.min(count - records.len());
        records.extend((0..step).map(|_| Record::default()));
    }
    let mut answer = json!({"connections": count});
    if let Some(replay) = &replay {
        let [client, server] = replay.packets();
        answer["flows"] = json!({"count": replay.flows(), "client-packets": client, "server-packets": server});
        answer["skipped"] = replay.skipped.into();
    }
    let run = Arc::new(Run::new(load, records.into(), replay));
    replace(&control, &name, Some(run));
    Ok(Reply::new("", answer))
}

/// Reads a capture aside from control.
async fn read(control: &Control, path: &str, load: &Load) -> Result<Replay, CommandError> {
    let (reach, transport, is_ip4) = (control.files(), load.profile.transport, load.is_ip4());
    let reading = control.read_by_helper({
        let path = path.to_owned();
        move || replay::read(&reach, &path, transport, is_ip4)
    });
    let refused = |error: FileError| CommandError::new(error.to_string());
    let path = Path::new(path);
    let read = control.read_in_time(path, reading).await.map_err(refused)?;
    Ok(read.map_err(|error| refused(FileError::refused(path, error)))??)
}

fn stop(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name = port_name(control, matches)?;
    let room = control.room::<ConnectionGenerators>();
    room.ports.get(&name).and_then(|port| port.run.as_ref()).into_iter().for_each(|run| run.stop());
    Ok(Reply::done())
}

fn end(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    replace(control, &port_name(control, matches)?, None);
    Ok(Reply::done())
}

/// Makes the worker go on with another run, or with none.
fn replace(control: &Control, name: &str, run: Option<Arc<Run>>) {
    let mut room = control.room_mut::<ConnectionGenerators>();
    let Some(port) = room.ports.get_mut(name) else { return };
    let (queue, interface) = (port.queue, port.id.0);
    let old = std::mem::replace(&mut port.run, run.clone());
    let dataplane = control.room::<Dataplane>();
    let domain = dataplane.domain().clone();
    dataplane.post_to_queue(queue, move |worker| {
        if let Some(run) = &run {
            run.set_clock(worker.fine_clock());
        }
        let before = worker.tx_queue_and_pool::<Sink>(interface).map(|(sink, _)| sink.replace(run.clone()));
        let also = worker.queue_mut::<Source>(queue).map(|source| source.replace(run));
        domain.retire((before, also, old));
    });
}
