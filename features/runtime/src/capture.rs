//! `pcap trace`: copies of packets at receive, transmit and drop, written to a pcap or pcapng file. `pcap dispatch trace`: the
//! same before each node.

use crate::Runtime;
use crate::capture_format::Format;
use crate::files::{CaptureFile, CaptureFiles};
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, Task};
use quiver_engine::Dataplane;
use quiver_engine::capture::{Capture, CaptureId, Captured, Filter, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_engine::graph::Reason;
use quiver_interface::{InterfaceEvent, Interfaces, watch};
use serde_json::json;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Copies that may wait to be written; more are lost, and counted.
const QUEUE: usize = 16_384;

/// Bytes kept of a packet that comes to a node: all of most, and of a long one as much as VPP keeps.
const DISPATCH_SNAP: u32 = 16_000;

/// How often copies are written.
const EVERY: Duration = Duration::from_millis(10);

/// A running capture.
pub(crate) struct Running {
    id: CaptureId,
    inbox: Inbox<Captured>,
    /// Whether `pcap dispatch trace` began it, and is to end it.
    is_dispatch: bool,
    /// The only one, if it is one.
    interface: Option<u16>,
    format: Format<Unwritten>,
    unwritten: Unwritten,
    /// The file, from its first packet on.
    file: Option<Rc<dyn CaptureFile>>,
    path: PathBuf,
    /// Packets in the file.
    written: u64,
    /// Packets in the file and in `unwritten`.
    taken: u64,
    most: u64,
    /// Why the file does not grow any more.
    failed: Option<String>,
    is_ending: bool,
    /// The task that writes, alone.
    task: Task,
}

/// The part of a file that was made but not written yet.
#[derive(Clone, Default)]
struct Unwritten(Rc<RefCell<Vec<u8>>>);

impl Write for Unwritten {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is to be captured.
pub(crate) struct Wanted {
    /// Where packets are copied.
    pub points: Vec<Point>,
    /// The interface, if it is to be only one.
    pub interface: Option<u16>,
    /// The file; a bare name is one in /tmp, as in VPP, and without a name it is called after the points.
    pub file: Option<String>,
    /// The reason for which packets were dropped, if it is to be only one: `{node}.{reason}`.
    pub error: Option<String>,
    /// Whether the classifier's filter says which packets.
    pub filter: bool,
    /// Bytes kept of each packet.
    pub snap: u32,
    /// Packets after which it ends.
    pub most: u64,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// There is one already, perhaps of what comes to nodes.
    #[error("a capture to {} is running; `pcap {}trace off` ends it", .0.display(), if *.1 { "dispatch " } else { "" })]
    Running(PathBuf, bool),
    /// Nobody said what.
    #[error("say what to capture: one or more of `rx`, `tx`, `drop`")]
    Nothing,
    /// No packet is dropped for that.
    #[error("no node drops packets as `{0}`; `show errors verbose` has all reasons, to be written {{node}}.{{reason}}")]
    Reason(String),
    /// The file cannot be made.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the host says.
        error: io::Error,
    },
    /// There is none to be ended.
    #[error("no capture is running; `pcap {}` starts one", if *.0 { "dispatch trace on" } else { "trace rx" })]
    NotRunning(bool),
}

/// How a capture ended.
pub(crate) struct Ended {
    /// Packets in the file.
    pub written: u64,
    report: Reply,
}

pub(crate) fn register(control: &Control) {
    let start = Command::waiting(
        "pcap trace {rx|tx|drop|off|status|filter|error <error:text>|max <packets:u64>|intfc <intfc:text>|file <file:text>|\
         max-bytes-per-pkt <snap:u32>}",
        "Write copies of packets to a pcap file; `pcap trace off` ends it.",
        trace,
    );
    let start = start.argument("rx", "packets received").argument("tx", "packets about to be sent");
    let start = start.argument("drop", "packets dropped").argument("packets", "stop after so many (default 1000)");
    let start = start.argument("intfc", "one interface, or `any`").argument("snap", "bytes kept of each (default 512)");
    let start =
        start.argument("off", "end it, and say what was written").argument("status", "say what is being captured");
    let start = start
        .argument("filter", "what `classify filter pcap` says")
        .argument("error", "drops of one reason: {node}.{reason}");
    control.commands().add(start.argument("file", "where to write (default /tmp/rx.pcap and alike); a name that ends with .pcapng has node and reason as comments"));
    let start = Command::waiting(
        "pcap dispatch trace {on|off|status|filter|max <packets:u64>|file <file:text>|buffer-trace <node:text> <count:u32>}",
        "Write packets as each node finds them to a pcap file, which Wireshark reads; `pcap dispatch trace off` ends it.",
        dispatch,
    );
    let start = start.argument("on", "start it").argument("packets", "stop after so many records (default 1000)");
    let start =
        start.argument("off", "end it, and say what was written").argument("status", "say what is being captured");
    let start = start.argument("filter", "what `classify filter pcap` says");
    let start = start.argument("node", "trace packets that come to this node, too: `show trace`");
    let start = start.argument("count", "packets to trace on each worker");
    control.commands().add(start.argument("file", "where to write (default /tmp/dispatch.pcap)"));
    // Whoever has the interface's number next is not the one that was meant.
    watch(control, |control, event| {
        if let InterfaceEvent::Removed(id) = event
            && control.room::<Runtime>().capture.as_ref().is_some_and(|running| running.interface == Some(id.0))
        {
            stop(control);
        }
    });
}

const POINTS: [(&str, Point); 3] = [("rx", Point::Rx), ("tx", Point::Tx), ("drop", Point::Drop)];

async fn trace(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    match (matches.has("status"), matches.has("off")) {
        (true, _) => Ok(status(&control)),
        (_, true) => Ok(end(&control, false).await.map_err(|error| CommandError::new(error.to_string()))?.report),
        _ => start(&control, &matches),
    }
}

async fn dispatch(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let told = |error: CaptureError| CommandError::new(error.to_string());
    match (matches.has("status"), matches.has("off"), matches.has("on")) {
        (true, _, _) => Ok(status(&control)),
        (_, true, _) => Ok(end(&control, true).await.map_err(told)?.report),
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
                CaptureError::File { .. } => told(error).at(matches.place("file")),
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
    let points = POINTS.into_iter().filter(|(word, _)| matches.has(word)).map(|(_, point)| point).collect();
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
            CaptureError::File { .. } => told.at(matches.place("file")),
            CaptureError::Reason(_) => told.at(matches.place("error")),
            _ => told,
        }
    })?;
    Ok(Reply::done())
}

/// Starts a capture.
pub(crate) fn begin(control: &Control, wanted: Wanted) -> Result<(), CaptureError> {
    if let Some(running) = &control.room::<Runtime>().capture {
        return Err(CaptureError::Running(running.path.clone(), running.is_dispatch));
    }
    let Wanted { points, interface, file, error, filter, snap, most } = wanted;
    if points.is_empty() {
        return Err(CaptureError::Nothing);
    }
    let named = || POINTS.iter().filter(|(_, point)| points.contains(point)).map(|(word, _)| *word).collect::<String>();
    let file = file.unwrap_or_else(|| format!("{}.pcap", named()));
    let path = if file.contains('/') { PathBuf::from(file) } else { PathBuf::from("/tmp").join(file) };
    let refused = |error: io::Error| CaptureError::File { path: path.clone(), error };
    // Clients do not know the folder in which the daemon runs.
    if !path.is_absolute() {
        return Err(refused(io::Error::other("say a path that begins with `/`, or a name alone for a file in /tmp")));
    }
    control.room::<Runtime>().files.check(&path).map_err(refused)?;
    let unwritten = Unwritten::default();
    let is_dispatch = points.contains(&Point::Node);
    let format = match is_dispatch {
        true => Format::dispatch(unwritten.clone()),
        false => Format::of(&path, unwritten.clone()),
    };
    let format = format.map_err(|error| refused(io::Error::other(error)))?;
    let reason = error.map(|error| reason(&control.room(), &error).ok_or(CaptureError::Reason(error))).transpose()?;
    let filter = filter.then(|| {
        let chain = quiver_classify::filter(control, quiver_classify::Use::Pcap);
        Arc::new(move |packet: &[u8]| chain.takes(packet)) as Filter
    });
    let mut dataplane = control.room_mut::<Dataplane>();
    let (to, inbox) = channel(QUEUE, dataplane.bell());
    let all = Capture::new(points.iter().map(|point| Capture::bit(*point)).sum(), snap as usize, to);
    let id = dataplane.capture(Capture { interface, reason, filter, frames: true, ..all });
    drop(dataplane);
    let task = control.spawn("pcap", write(control.clone()));
    control.room_mut::<Runtime>().capture = Some(Running {
        id,
        inbox,
        is_dispatch,
        interface,
        format,
        unwritten,
        file: None,
        path,
        written: 0,
        taken: 0,
        most,
        failed: None,
        is_ending: false,
        task,
    });
    Ok(())
}

/// The reason that somebody calls `{node}.{reason}`, or without braces, by a name of ours or of clients' own; VPP has lower
/// lines where dashes are here.
fn reason(dataplane: &Dataplane, told: &str) -> Option<Reason> {
    let plain = told.strip_prefix('{').and_then(|told| told.strip_suffix('}')).map(|told| told.split_once("}.{"));
    let (node, reason) = plain.unwrap_or_else(|| told.rsplit_once('.'))?;
    let graph = dataplane.graph();
    let own = graph.find(node).ok().and_then(|node| {
        let is_meant = |name: &str| name == reason.replace('_', "-");
        let arc = graph.arcs(node).iter().position(|arc| arc.is_drop() && is_meant(arc.name))?;
        Some(Reason::new(node, u16::try_from(arc).ok()?))
    });
    let is_drop = |node, arc| graph.arcs(node).get(usize::from(arc)).is_some_and(|arc| arc.is_drop());
    own.or_else(|| {
        let name = format!("{node}/{reason}");
        let other =
            dataplane.other_names().iter().find(|other| other.name == name && is_drop(other.node, other.arc))?;
        Some(Reason::new(other.node, other.arc))
    })
}

/// Writes what workers copied, until the capture ends or has its packets.
async fn write(control: Control) {
    loop {
        control.sleep(EVERY).await;
        let (file, bytes, taken) = {
            let mut runtime = control.room_mut::<Runtime>();
            let Runtime { capture: Some(running), files, .. } = &mut *runtime else { return };
            running.take(&control);
            // A capture without packets leaves no file.
            let bytes = if running.taken > 0 { running.unwritten.0.take() } else { vec![] };
            (running.file(&**files), bytes, running.taken)
        };
        let done = match file {
            Ok(Some(file)) if !bytes.is_empty() => file.append(bytes).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let mut runtime = control.room_mut::<Runtime>();
        let Some(running) = &mut runtime.capture else { return };
        match done {
            Ok(()) => running.written = taken,
            Err(error) => running.failed = Some(error.to_string()),
        }
        if running.is_ending || running.taken >= running.most || running.failed.is_some() {
            let id = running.id;
            control.room::<Dataplane>().end_capture(id);
            return;
        }
    }
}

impl Running {
    /// The file, which comes into being with the first packet.
    fn file(&mut self, files: &dyn CaptureFiles) -> io::Result<Option<Rc<dyn CaptureFile>>> {
        if self.file.is_none() && self.taken > 0 {
            self.file = Some(files.create(&self.path)?);
        }
        Ok(self.file.clone())
    }
    /// Takes what workers copied into the part that is to be written.
    fn take(&mut self, control: &Control) {
        while self.taken < self.most
            && let Some(copy) = self.inbox.receive()
        {
            match self.format.write(control, &copy) {
                Ok(()) => self.taken += 1,
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
    }
    fn report(&self) -> Reply {
        let (path, lost) = (self.path.display().to_string(), self.inbox.lost());
        let mut text = format!(
            "Write {} packets to {path}, {lost} lost because the file was slower than the packets",
            self.written
        );
        if let Some(failed) = &self.failed {
            text.push_str(&format!("; then the file failed: {failed}"));
        }
        Reply::new(text, json!({"file": path, "packets": self.written, "lost": lost, "failed": self.failed}))
    }
}

/// Lets workers copy no more.
fn stop(control: &Control) {
    if let Some(running) = &control.room::<Runtime>().capture {
        control.room::<Dataplane>().end_capture(running.id);
    }
}

/// Ends the capture, when all that was copied is in the file.
pub(crate) async fn end(control: &Control, is_dispatch: bool) -> Result<Ended, CaptureError> {
    let settled = {
        match &control.room::<Runtime>().capture {
            Some(running) if running.is_dispatch != is_dispatch => {
                return Err(CaptureError::Running(running.path.clone(), running.is_dispatch));
            }
            _ => {}
        }
        stop(control);
        control.room::<Dataplane>().settled()
    };
    settled.await;
    loop {
        {
            let capture = &mut control.room_mut::<Runtime>().capture;
            let Some(running) = capture else { return Err(CaptureError::NotRunning(is_dispatch)) };
            running.is_ending = true;
            if let Some(ended) = capture.take_if(|running| running.task.has_ended()) {
                return Ok(Ended { written: ended.written, report: ended.report() });
            }
        }
        control.sleep(EVERY).await;
    }
}

fn status(control: &Control) -> Reply {
    let runtime = control.room::<Runtime>();
    runtime.capture.as_ref().map_or_else(|| Reply::text("No capture is running."), Running::report)
}
