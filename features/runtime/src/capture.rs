//! Captures: copies of packets at receive, transmit and drop, or before each node, written to a pcap or pcapng file. Several run at a
//! time, each to a file of its own; one of them before nodes. One that has all its packets, or cannot go on, ends by itself: its file
//! is closed, and what became of it is told until it is switched off or another one takes its place.

use crate::Runtime;
use crate::capture_format::Format;
use crate::files::{CaptureFile, CaptureFiles};
use quiver_control::Control;
use quiver_control::files::{FileError, Reach};
use quiver_engine::Dataplane;
use quiver_engine::capture::{Capture, CaptureId, Captured, Filter, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_engine::graph::Reason;
use quiver_interface::{InterfaceId, Remainder, restored};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Copies that may wait to be written; more are lost, and counted.
const QUEUE: usize = 16_384;

/// Interval between writes of copies.
const EVERY: Duration = Duration::from_millis(10);

/// Largest number of ended captures that are kept for display. Beyond it, the oldest is removed.
const ENDED_MAX: usize = 64;

/// A capture, which runs or has ended by itself.
pub(crate) struct Begun {
    id: CaptureId,
    /// Where packets are copied.
    points: Vec<Point>,
    /// The only interface, if there is one.
    interface: Option<u32>,
    path: PathBuf,
    /// Packets in the file.
    written: u64,
    /// Copies lost because the queue was full.
    lost: u64,
    state: State,
}

/// Whether a capture runs.
enum State {
    Running(Box<Running>),
    Ended(Cause),
}

/// Reason why a capture has ended.
enum Cause {
    /// A command switched it off.
    Asked,
    /// It has its number of packets.
    Full,
    /// The interface was deleted.
    InterfaceGone,
    /// The file cannot be written any more.
    Failed(String),
}

/// State of a running capture.
struct Running {
    inbox: Inbox<Captured>,
    format: Format<Unwritten>,
    unwritten: Unwritten,
    /// Files that the author of the capture may write.
    reach: Reach,
    /// The file, from its first packet on.
    file: Option<Rc<dyn CaptureFile>>,
    /// Packets in the file and in `unwritten`.
    taken: u64,
    most: u64,
    /// Reason to end as soon as all copies are in the file.
    ending: Option<Cause>,
}

/// The part of a file that is encoded but not written yet.
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

/// Parameters of a capture.
pub(crate) struct Wanted {
    /// Where packets are copied.
    pub points: Vec<Point>,
    /// The only interface, if there is one.
    pub interface: Option<u32>,
    /// The file; a bare name is one in the folder of captures. Without a name it is named after the points.
    pub file: Option<String>,
    /// The only drop reason, if there is one: `{node}.{reason}`.
    pub error: Option<String>,
    /// Whether the classifier's filter selects the packets.
    pub filter: bool,
    /// Bytes kept of each packet.
    pub snap: u32,
    /// Largest number of packets.
    pub most: u64,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// A capture to this file, or a dispatch capture, is running already.
    #[error("a capture to {} is running; `pcap {}` ends it", .0.display(), if *.1 { "dispatch trace off".into() } else { format!("trace off file {}", .0.display()) })]
    Running(PathBuf, bool),
    /// No point was named.
    #[error("say what to capture: one or more of `rx`, `tx`, `drop`")]
    Nothing,
    /// No node has this drop reason.
    #[error("no node drops packets as `{0}`; `show errors verbose` has all reasons, to be written {{node}}.{{reason}}")]
    Reason(String),
    /// The file cannot be created.
    #[error(transparent)]
    File(#[from] FileError),
    /// No such capture is running.
    #[error("no such capture is running; `pcap {}` starts one", if *.0 { "dispatch trace on" } else { "trace rx" })]
    NotRunning(bool),
}

/// Result of an ended capture.
pub(crate) struct Ended {
    /// Packets in the file.
    pub written: u64,
    /// The result as text and as JSON.
    pub told: (String, Value),
}

/// The words for points.
pub(crate) const POINTS: [(&str, Point); 3] = [("rx", Point::Rx), ("tx", Point::Tx), ("drop", Point::Drop)];

/// The file that somebody means: a bare name is one in the folder of captures.
pub(crate) fn path_of(control: &Control, file: &str) -> PathBuf {
    if file.contains('/') { PathBuf::from(file) } else { control.room::<Runtime>().files.folder().join(file) }
}

/// Starts a capture.
pub(crate) fn begin(control: &Control, wanted: Wanted) -> Result<(), CaptureError> {
    let Wanted { points, interface, file, error, filter, snap, most } = wanted;
    if points.is_empty() {
        return Err(CaptureError::Nothing);
    }
    let named = || POINTS.iter().filter(|(_, point)| points.contains(point)).map(|(word, _)| *word).collect::<String>();
    let file = file.unwrap_or_else(|| format!("{}.pcap", named()));
    let path = path_of(control, &file);
    let refused = |error: io::Error| CaptureError::from(FileError::refused(&path, error));
    // Clients do not know the folder in which the daemon runs.
    if !path.is_absolute() {
        return Err(refused(io::Error::other(
            "say a path that begins with `/`, or a name alone for a file in the folder of captures",
        )));
    }
    let unwritten = Unwritten::default();
    let is_dispatch = points.contains(&Point::Node);
    let is_other = |begun: &Begun| begun.is_to(&path) || is_dispatch && begun.is_dispatch();
    if let Some(begun) = control.room::<Runtime>().captures.iter().find(|begun| begun.is_running() && is_other(begun)) {
        return Err(CaptureError::Running(begun.path.clone(), begun.is_dispatch()));
    }
    let reach = control.files();
    control.room::<Runtime>().files.check(&reach, &path)?;
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
    // Those that have ended make place for it.
    forget(control, is_other);
    let running = Running { inbox, format, unwritten, reach, file: None, taken: 0, most, ending: None };
    let state = State::Running(Box::new(running));
    let begun = Begun { id, points, interface, path: path.clone(), written: 0, lost: 0, state };
    control.room_mut::<Runtime>().captures.push(begun);
    control.spawn("pcap", write(control.clone(), id));
    Ok(())
}

/// Tells no more of captures that have ended.
pub(crate) fn forget(control: &Control, chosen: impl Fn(&Begun) -> bool) {
    control.room_mut::<Runtime>().captures.retain(|begun| begun.is_running() || !chosen(begun));
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

/// Writes what workers copied, until the capture ends or has its packets; then ends it.
async fn write(control: Control, id: CaptureId) {
    loop {
        control.sleep(EVERY).await;
        let (file, bytes, taken, mut cause) = {
            let mut runtime = control.room_mut::<Runtime>();
            let Runtime { captures, files, .. } = &mut *runtime;
            let Some(begun) = captures.iter_mut().find(|begun| begun.id == id) else { return };
            let State::Running(running) = &mut begun.state else { return };
            // Whoever ends it has waited for the workers' last copies, which are taken now; what comes later is not theirs.
            let cause = running.ending.take();
            let cause = running.take(&control).err().map(Cause::Failed).or(cause);
            let cause = cause.or((running.taken >= running.most).then_some(Cause::Full));
            begun.lost = running.inbox.lost();
            // A capture without packets leaves no file.
            let bytes = if running.taken > 0 { running.unwritten.0.take() } else { vec![] };
            (running.file(&begun.path, &**files), bytes, running.taken, cause)
        };
        if cause.is_some() {
            // Workers need not copy more while the file is written.
            control.room::<Dataplane>().end_capture(id);
        }
        let done = match file {
            Ok(Some(file)) if !bytes.is_empty() => file.append(bytes).await.map_err(|error| error.to_string()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        let mut runtime = control.room_mut::<Runtime>();
        let Some(begun) = runtime.captures.iter_mut().find(|begun| begun.id == id) else { return };
        match done {
            Ok(()) => begun.written = taken,
            Err(error) => {
                control.room::<Dataplane>().end_capture(id);
                cause = Some(Cause::Failed(error));
            }
        }
        if let Some(cause) = cause {
            // With what it worked with goes its file, which is closed.
            begun.state = State::Ended(cause);
            let ended = runtime.captures.iter().filter(|begun| !begun.is_running()).count();
            if ended > ENDED_MAX
                && let Some(eldest) = runtime.captures.iter().position(|begun| !begun.is_running())
            {
                runtime.captures.remove(eldest);
            }
            return;
        }
    }
}

/// A dropped packet as it was received, also where a part of an interface had it without its tags.
fn received(control: &Control, copy: Captured) -> Captured {
    let of_part = (copy.point == Point::Drop)
        .then(|| restored(control, InterfaceId(copy.interface), &copy.bytes, Remainder::Buffer));
    match of_part.flatten() {
        Some((_, bytes)) => {
            let length = copy.length - copy.bytes.len() as u32 + bytes.len() as u32;
            Captured { length, bytes, ..copy }
        }
        None => copy,
    }
}

/// Where a file is, however its folder is spelled.
fn place_of(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name))
}

impl Running {
    /// The file, which comes into being with the first packet.
    fn file(&mut self, path: &Path, files: &dyn CaptureFiles) -> Result<Option<Rc<dyn CaptureFile>>, FileError> {
        if self.file.is_none() && self.taken > 0 {
            self.file = Some(files.create(&self.reach, path)?);
        }
        Ok(self.file.clone())
    }
    /// Takes what workers copied into the part that is to be written; why not, if that cannot be.
    fn take(&mut self, control: &Control) -> Result<(), String> {
        while self.taken < self.most
            && let Some(copy) = self.inbox.receive()
        {
            self.format.write(control, &received(control, copy)).map_err(|error| error.to_string())?;
            self.taken += 1;
        }
        Ok(())
    }
}

impl Begun {
    /// Whether it copies packets, or writes the last of them.
    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }
    /// Whether `pcap dispatch trace` began it, and is to end it.
    pub fn is_dispatch(&self) -> bool {
        self.points.contains(&Point::Node)
    }
    /// Whether it copies packets at one of these, or these are none and it is none of what comes to nodes.
    pub fn is_at(&self, points: &[Point]) -> bool {
        !self.is_dispatch() && (points.is_empty() || self.points.iter().any(|point| points.contains(point)))
    }
    /// Whether it is one of an interface.
    pub fn is_of(&self, interface: u32) -> bool {
        self.interface == Some(interface)
    }
    /// Whether it goes to this file, as [`path_of`] has it, however its folder is spelled.
    pub fn is_to(&self, path: &Path) -> bool {
        place_of(&self.path) == place_of(path)
    }
    /// Result so far, as text and as JSON.
    pub fn told(&self) -> (String, Value) {
        let (path, packets, lost) = (self.path.display().to_string(), self.written, self.lost);
        let mut text =
            format!("Write {packets} packets to {path}, {lost} lost because the file was slower than the packets");
        let (state, failed) = match &self.state {
            State::Running(_) => ("running", None),
            State::Ended(Cause::Asked) => ("off", None),
            State::Ended(Cause::Full) => ("complete", None),
            State::Ended(Cause::InterfaceGone) => ("interface-gone", None),
            State::Ended(Cause::Failed(why)) => ("failed", Some(why)),
        };
        text.push_str(&match &self.state {
            State::Ended(Cause::Full) => "; it has ended with all packets that were wanted".to_owned(),
            State::Ended(Cause::InterfaceGone) => "; it has ended with its interface".to_owned(),
            State::Ended(Cause::Failed(why)) => format!("; then the file failed: {why}"),
            State::Running(_) | State::Ended(Cause::Asked) => String::new(),
        });
        (text, json!({"file": path, "packets": packets, "lost": lost, "state": state, "failed": failed}))
    }
}

/// Lets workers copy no more for these.
fn stop(control: &Control, chosen: impl Fn(&Begun) -> bool) -> Vec<CaptureId> {
    let runtime = control.room::<Runtime>();
    let ids: Vec<_> = runtime.captures.iter().filter(|begun| chosen(begun)).map(|begun| begun.id).collect();
    ids.iter().for_each(|id| control.room::<Dataplane>().end_capture(*id));
    ids
}

/// Has a running capture end for this cause, when it has written what it was given.
fn finish(begun: &mut Begun, cause: Cause) {
    if let State::Running(running) = &mut begun.state {
        running.ending.get_or_insert(cause);
    }
}

/// Ends the captures of an interface that is no more.
pub(crate) fn end_of_interface(control: &Control, interface: u32) {
    let ids = stop(control, |begun| begun.is_running() && begun.is_of(interface));
    if ids.is_empty() {
        return;
    }
    let (settled, owned) = (control.room::<Dataplane>().settled(), control.clone());
    control.spawn("pcap", async move {
        settled.await;
        let captures = &mut owned.room_mut::<Runtime>().captures;
        let theirs = captures.iter_mut().filter(|begun| ids.contains(&begun.id));
        theirs.for_each(|begun| finish(begun, Cause::InterfaceGone));
    });
}

/// Ends captures, when all that was copied is in their files; those that had ended before are among them, and told of no more.
pub(crate) async fn end(control: &Control, chosen: impl Fn(&Begun) -> bool) -> Vec<Ended> {
    let ids = stop(control, chosen);
    let settled = control.room::<Dataplane>().settled();
    settled.await;
    let mut ended = vec![];
    for id in ids {
        loop {
            {
                let captures = &mut control.room_mut::<Runtime>().captures;
                // Somebody else may have ended it at the same time, and has what is to be told.
                let Some(at) = captures.iter().position(|begun| begun.id == id) else { break };
                finish(&mut captures[at], Cause::Asked);
                if !captures[at].is_running() {
                    let begun = captures.remove(at);
                    ended.push(Ended { written: begun.written, told: begun.told() });
                    break;
                }
            }
            control.sleep(EVERY).await;
        }
    }
    ended
}
