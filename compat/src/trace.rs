//! What clients have asked, and what they were told, remembered: `api trace`. It can be looked at, written to a file as VPP
//! writes it, and asked again. There can be hundreds of thousands of messages, so all of it is done in short turns.
//!
//! - `ring`: what is remembered, and how it is walked through; `file`: the files that VPP writes; `json`: messages in words, and back.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, LocalFuture, Pace};
use serde_json::{Value, json};

use crate::api::{Answer, Api, Call, FRAME};
use crate::event::Client;
use crate::wire::{Input, Wire};

mod file;
mod json;
mod ring;

use ring::{Messages, Walk};

/// As many as VPP remembers.
pub const MESSAGES: usize = 256 << 10;
/// Messages in a part of an answer.
const PART: usize = 256;

/// Where traces are written and read. VPP's users give a name, and find the file in `/tmp`.
pub trait TraceFiles {
    /// Writes a file that is not there yet, and says where it lies.
    fn create(&self, name: &str, content: Vec<u8>) -> LocalFuture<io::Result<PathBuf>>;
    /// Reads a file.
    fn read(&self, name: &str) -> LocalFuture<io::Result<Vec<u8>>>;
}

/// What is remembered.
#[derive(Default)]
pub struct Trace {
    /// What clients have asked.
    asked: Messages,
    /// What they were told.
    told: Messages,
    files: Option<Rc<dyn TraceFiles>>,
}

impl Trace {
    /// Remembers a request, if that is wanted.
    pub(crate) fn note(&mut self, message: &[u8]) {
        self.asked.note(message);
    }
    /// Remembers whole messages to a client, as they go over the socket, if that is wanted.
    pub(crate) fn note_told(&mut self, mut output: &[u8]) {
        while self.told.on
            && let Some((header, rest)) = output.split_first_chunk::<FRAME>()
        {
            let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
            let Some((message, rest)) = rest.split_at_checked(length) else { return };
            self.told.note(message);
            output = rest;
        }
    }
    /// What they were told, or what they have asked.
    fn side(&mut self, is_told: bool) -> &mut Messages {
        if is_told { &mut self.told } else { &mut self.asked }
    }
}

/// Remembers so many requests from now on.
pub fn start(control: &Control, messages: usize) {
    control.room_mut::<Trace>().asked.start(messages);
}

/// Has traces written to and read from these files.
pub fn save_to(control: &Control, files: Rc<dyn TraceFiles>) {
    control.room_mut::<Trace>().files = Some(files);
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Trace::default());
    let add = |command: Command| {
        let command = command.argument("nitems", "so many, the last ones");
        let command = command.argument("tx", "what they are told, in place of what they ask");
        control.commands().add(command.argument("file", "its name, without a folder"));
    };
    add(Command::waiting(
        "api trace [tx] (on|enable) [nitems <nitems:u32>]",
        "Remember what clients of VPP's API ask.",
        |control, given, _| async move {
            let most = given.find::<u32>("nitems")?.map_or(MESSAGES, |messages| messages as usize);
            control.room_mut::<Trace>().side(given.has("tx")).start(most);
            forget(&control, &given).await;
            Ok(Reply::done())
        },
    ));
    add(Command::new(
        "api trace [tx] (off|disable)",
        "Remember nothing more of what clients of VPP's API ask.",
        |control, given| {
            control.room_mut::<Trace>().side(given.has("tx")).on = false;
            Ok(Reply::done())
        },
    ));
    add(Command::waiting(
        "api trace [tx] free",
        "Forget what clients of VPP's API asked.",
        |control, given, _| async move {
            forget(&control, &given).await;
            Ok(Reply::done())
        },
    ));
    add(Command::new("api trace [tx] status", "Show how much is remembered of what clients of VPP's API ask.", status));
    add(Command::waiting("api trace [tx] dump", "Show what clients of VPP's API asked.", dump));
    add(Command::waiting(
        "api trace [tx] save <file:text>",
        "Write what clients of VPP's API asked to a file in /tmp, as VPP does.",
        |control, given, _| async move {
            let wrapped = control.room_mut::<Trace>().side(given.has("tx")).wrapped;
            let (mut walk, mut messages) = (Walk::new(&control, &given), file::Written::default());
            while let Some(message) = walk.next().await {
                messages.add(&message);
            }
            let content = messages.content(&control.room::<Api>(), wrapped);
            save(&control, &given, content).await
        },
    ));
    add(Command::waiting(
        "api trace [tx] save-json <file:text>",
        "The same in words, as JSON.",
        |control, given, _| async move {
            let (mut walk, mut content) = (Walk::new(&control, &given), String::new());
            while let Some(message) = walk.next_in_words().await {
                content.push(if content.is_empty() { '[' } else { ',' });
                content.push_str(&message.to_string());
            }
            content.push_str(if content.is_empty() { "[]" } else { "]" });
            save(&control, &given, content.into_bytes()).await
        },
    ));
    add(Command::waiting(
        "api trace replay <file:text>",
        "Ask again what a file in /tmp says.",
        |control, given, _| {
            replay(control, given, |content| file::Saved::new(content).map_err(|error| error.to_string()))
        },
    ));
    add(Command::waiting(
        "api trace replay-json <file:text>",
        "Ask what a file in /tmp says in JSON.",
        |control, given, _| replay(control, given, |content| Ok(json::Listed::new(content))),
    ));
}

fn status(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let trace = &mut *control.room_mut::<Trace>();
    let trace = trace.side(given.has("tx"));
    let (state, count) = (if trace.on { "on" } else { "off" }, trace.messages.len());
    let wrapped = if trace.wrapped { ", wrapped" } else { "" };
    let text = format!("{state}, {count} messages, {} bytes{wrapped}", trace.bytes);
    let shown = json!({"on": trace.on, "messages": count, "bytes": trace.bytes, "wrapped": trace.wrapped});
    Ok(Reply::new(text, shown))
}

async fn forget(control: &Control, given: &Matches) {
    let mut forgotten = control.room_mut::<Trace>().side(given.has("tx")).forget();
    let mut pace = Pace::in_turns(control);
    while forgotten.pop_front().is_some() {
        pace.step().await;
    }
}

async fn dump(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let reply = |part: Vec<Value>| {
        let text: Vec<String> = part.iter().map(ToString::to_string).collect();
        Reply::new(text.join("\n"), part.into())
    };
    let (mut walk, mut part) = (Walk::new(&control, &given), vec![]);
    while let Some(message) = walk.next_in_words().await {
        if part.len() == PART {
            output.send(reply(std::mem::take(&mut part))).await;
        }
        part.push(message);
    }
    Ok(reply(part))
}

/// A file's name, with nothing that leads elsewhere.
fn file(control: &Control, given: &Matches) -> Result<(Rc<dyn TraceFiles>, String), CommandError> {
    let name: String = given.get("file")?;
    // Who names the folder names the right one.
    let name = name.strip_prefix("/tmp/").map(str::to_owned).unwrap_or(name);
    if name.contains('/') || name.contains("..") {
        let what = format!("'{name}' is no name of a file: files lie in /tmp, and `/` and `..` lead elsewhere");
        return Err(CommandError::new(what).at(given.place("file")));
    }
    let files = control.room::<Trace>().files.clone();
    files.map(|files| (files, name)).ok_or_else(|| CommandError::new("this daemon has no files for traces"))
}

async fn save(control: &Control, given: &Matches, content: Vec<u8>) -> Result<Reply, CommandError> {
    let (files, name) = file(control, given)?;
    let failed = |error| CommandError::new(format!("/tmp/{name}: {error}")).at(given.place("file"));
    let path = files.create(&name, content).await.map_err(failed)?;
    Ok(Reply::text(format!("API trace saved to {}", path.display())))
}

/// The requests that a file says, one by one.
trait Requests {
    /// The next one, with the numbers that messages have here; nothing for one that is not known here.
    fn next(&mut self, api: &Api) -> Option<Result<Option<Vec<u8>>, String>>;
}

/// Asks again what a file says, which `read` understands. Nothing is asked if a part of it makes no sense.
async fn replay<R: Requests>(
    control: Control,
    given: Matches,
    read: impl Fn(Vec<u8>) -> Result<R, String>,
) -> Result<Reply, CommandError> {
    let (files, name) = file(&control, &given)?;
    let failed =
        |error: &dyn std::fmt::Display| CommandError::new(format!("/tmp/{name}: {error}")).at(given.place("file"));
    let content = files.read(&name).await.map_err(|error| failed(&error))?;
    // Messages may be asked again that no room has, and no client has asked yet.
    control.room_mut::<Api>().await_rest();
    let mut requests = read(content).map_err(|error| failed(&error))?;
    let (mut pace, mut messages, mut unknown) = (Pace::in_turns(&control), vec![], 0);
    loop {
        pace.step().await;
        let Some(request) = requests.next(&control.room::<Api>()) else { break };
        match request.map_err(|error| failed(&error))? {
            Some(message) => messages.push(message),
            None => unknown += 1,
        }
    }
    let client = Client::new("api trace replay".into(), 0);
    let (mut asked, mut later) = (0, 0);
    for message in messages {
        pace.step().await;
        let input = &mut Input::new(&message);
        let (Ok(id), Ok(_), Ok(context)) = (u16::take(input), u32::take(input), u32::take(input)) else { continue };
        let Some(handler) = control.room::<Api>().handler(id) else { continue };
        let call = Call { control: control.clone(), client: client.clone(), context };
        // Nobody reads the answers. What waits for something would have to be waited for.
        match handler(&call, input, &mut vec![]) {
            Answer::Waiting(_) => later += 1,
            Answer::Done | Answer::Parts(_) => asked += 1,
        }
    }
    let text = format!(
        "{asked} messages were asked again, {unknown} are not known, {later} would take a while and were left out"
    );
    Ok(Reply::new(text, json!({"asked": asked, "unknown": unknown, "left-out": later})))
}
