//! `pcap trace` and `pcap dispatch trace`.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::Dataplane;
use quiver_engine::capture::Point;
use quiver_interface::{InterfaceEvent, Interfaces, watch};
use serde_json::{Value, json};

use crate::Runtime;
use crate::capture::{Begun, CaptureError, Ended, POINTS, Wanted, begin, end, end_of_interface, path_of};

/// Bytes kept of a packet that comes to a node: all of most, and of a long one as much as VPP keeps.
const DISPATCH_SNAP: u32 = 16_000;

pub(crate) fn register(control: &Control) {
    let start = Command::waiting(
        "pcap trace {rx|tx|drop|off|status|filter|error <error:text>|max <packets:u64>|intfc <intfc:text>|file <file:text>|\
         max-bytes-per-pkt <snap:u32>}",
        "Capture packets to a pcap file; `pcap trace off` stops it, at the given points and for the given file only.",
        trace,
    );
    let start = start.argument("rx", "received packets").argument("tx", "packets about to be transmitted");
    let start =
        start.argument("drop", "dropped packets").argument("packets", "largest number of packets; default 1000");
    let start = start
        .argument("intfc", "one interface, or `any`")
        .argument("snap", "bytes to keep of each packet; default 512");
    let start =
        start.argument("off", "stop, and show the file that was written").argument("status", "show running captures");
    let start = start
        .argument("filter", "packets that match `classify filter pcap`")
        .argument("error", "drops of one reason: {node}.{reason}");
    control.commands().add(start.argument("file", "file name; default rx.pcap and alike in the capture folder. A name that ends with .pcapng adds node and reason as comments"));
    let start = Command::waiting(
        "pcap dispatch trace {on|off|status|filter|max <packets:u64>|file <file:text>|buffer-trace <node:text> <count:u32>}",
        "Write packets, as each node receives them, to a pcap file for Wireshark; `pcap dispatch trace off` stops it.",
        dispatch,
    );
    let start =
        start.argument("on", "start the capture").argument("packets", "largest number of records; default 1000");
    let start =
        start.argument("off", "stop, and show the file that was written").argument("status", "show running captures");
    let start = start.argument("filter", "packets that match `classify filter pcap`");
    let start = start.argument("node", "also trace packets that reach this node: `show trace`");
    let start = start.argument("count", "packets to trace per worker");
    control.commands().add(start.argument("file", "file name; default dispatch.pcap in the capture folder"));
    // Whoever has the interface's number next is not the one that was meant.
    watch(control, |control, event| {
        if let InterfaceEvent::Removed(id) = event {
            end_of_interface(control, id.0);
        }
    });
}

async fn trace(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    match (matches.has("status"), matches.has("off")) {
        (true, _) => Ok(status(&control)),
        (_, true) => {
            let (points, path) =
                (points(&matches), matches.find::<String>("file")?.map(|file| path_of(&control, &file)));
            let is_meant = |begun: &Begun| path.as_ref().is_none_or(|path| begun.is_to(path));
            let ended = end(&control, |begun| begun.is_at(&points) && is_meant(begun)).await;
            report(ended, false)
        }
        _ => start(&control, &matches),
    }
}

fn points(matches: &Matches) -> Vec<Point> {
    POINTS.into_iter().filter(|(word, _)| matches.has(word)).map(|(_, point)| point).collect()
}

/// Report of ended captures, or an error if there are none.
fn report(ended: Vec<Ended>, is_dispatch: bool) -> Result<Reply, CommandError> {
    match ended.is_empty() {
        true => Err(CommandError::new(CaptureError::NotRunning(is_dispatch).to_string())),
        false => Ok(list(ended.into_iter().map(|ended| ended.told))),
    }
}

fn list(told: impl Iterator<Item = (String, Value)>) -> Reply {
    let (lines, values): (Vec<_>, Vec<_>) = told.unzip();
    Reply::new(lines.join("\n"), values.into())
}

fn status(control: &Control) -> Reply {
    let runtime = control.room::<Runtime>();
    match &runtime.captures[..] {
        [] => Reply::new("No capture is running.", json!([])),
        captures => list(captures.iter().map(Begun::told)),
    }
}

async fn dispatch(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let told = |error: CaptureError| CommandError::new(error.to_string());
    match (matches.has("status"), matches.has("off"), matches.has("on")) {
        (true, _, _) => Ok(status(&control)),
        (_, true, _) => report(end(&control, Begun::is_dispatch).await, true),
        (_, _, false) => Err(CommandError::new("say `on`, `off` or `status`")),
        (_, _, true) => {
            let node = match matches.find::<String>("node")? {
                None => None,
                Some(name) => {
                    let found = control.room::<Dataplane>().graph().find(&name);
                    Some(found.map_err(|error| CommandError::new(error.to_string()).at(matches.place("node")))?)
                }
            };
            let (file, most) = (matches.find("file")?, matches.find("packets")?.unwrap_or(1000));
            let file = Some(file.unwrap_or_else(|| "dispatch.pcap".to_owned()));
            let (points, filter) = (vec![Point::Node], matches.has("filter"));
            let wanted = Wanted { points, interface: None, file, error: None, filter, snap: DISPATCH_SNAP, most };
            begin(&control, wanted).map_err(|error| match error {
                CaptureError::File(_) => told(error).at(matches.place("file")),
                _ => told(error),
            })?;
            if let Some(node) = node {
                control.room::<Dataplane>().trace(node, matches.get("count")?, None);
            }
            Ok(Reply::done())
        }
    }
}

fn start(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let points = points(matches);
    let interface = match matches.find::<String>("intfc")?.filter(|name| name != "any") {
        None => None,
        Some(name) => {
            let found = control.room::<Interfaces>().find(&name).map(|interface| interface.id.0);
            let unknown = || CommandError::new(format!("there is no interface `{name}`")).at(matches.place("intfc"));
            Some(found.ok_or_else(unknown)?)
        }
    };
    let (file, snap, most) = (matches.find("file")?, matches.find("snap")?, matches.find("packets")?);
    let (error, filter) = (matches.find("error")?, matches.has("filter"));
    let (snap, most) = (snap.unwrap_or(512), most.unwrap_or(1000));
    let wanted = Wanted { points, interface, file, error, filter, snap, most };
    begin(control, wanted).map_err(|error| {
        let told = CommandError::new(error.to_string());
        match error {
            CaptureError::File(_) => told.at(matches.place("file")),
            CaptureError::Reason(_) => told.at(matches.place("error")),
            _ => told,
        }
    })?;
    Ok(Reply::done())
}
