//! Trace of API requests and replies: `api trace`. It can be shown, written to a file in VPP's format, and replayed.
//! There can be hundreds of thousands of messages, so all of this runs in short turns.
//!
//! - `ring`: the messages of one side; `store`: both sides, and the folder of files; `walk`: iteration over messages.
//! - `secrets`: the fields that the trace leaves out.
//! - `file`: files in VPP's format; `json`: messages in words, and back; `requests`: requests read from either.

use std::path::Path;
use std::rc::Rc;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::files::FileError;
use quiver_control::{Control, Pace};
use serde_json::{Value, json};

use crate::api::{Answer, Api, Call};
use crate::event::Client;
use crate::wire::{Input, Wire};

mod file;
mod json;
mod requests;
mod ring;
mod secrets;
mod store;
mod walk;

pub use store::{Trace, TraceFiles};

use requests::Requests;
use walk::Walk;

/// As many as VPP remembers.
pub const MESSAGES: usize = 256 << 10;
/// Messages in a part of an answer.
const PART: usize = 256;

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
        let command = command.argument("nitems", "number of messages to keep");
        let command = command.argument("secrets", "include secrets, which are hidden by default");
        let command = command.argument("tx", "messages to clients, in place of those from them");
        control.commands().add(command.argument("file", "file name without a folder"));
    };
    add(Command::waiting(
        "api trace [tx] (on|enable) [nitems <nitems:u32>] [secrets]",
        "Start the API trace: record the messages of VPP's clients.",
        |control, given, _| async move {
            let most = given.find::<u32>("nitems")?.map_or(MESSAGES, |messages| messages as usize);
            {
                let trace = &mut *control.room_mut::<Trace>();
                let messages = trace.side(given.has("tx"));
                messages.start(most);
                messages.has_secrets = given.has("secrets");
            }
            forget(&control, &given).await;
            Ok(Reply::done())
        },
    ));
    add(Command::new("api trace [tx] (off|disable)", "Stop the API trace.", |control, given| {
        control.room_mut::<Trace>().side(given.has("tx")).on = false;
        Ok(Reply::done())
    }));
    add(Command::waiting("api trace [tx] free", "Clear the API trace.", |control, given, _| async move {
        forget(&control, &given).await;
        Ok(Reply::done())
    }));
    add(Command::new(
        "api trace [tx] status",
        "Show the state of the API trace and the number of recorded messages.",
        status,
    ));
    add(Command::waiting("api trace [tx] dump", "Show the messages in the API trace.", dump));
    add(Command::waiting(
        "api trace [tx] save <file:text>",
        "Save the API trace to a file in the capture folder, in VPP's format.",
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
        "Save the API trace to a file in the capture folder, as JSON.",
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
        "Replay an API trace from a file in the capture folder.",
        |control, given, _| {
            replay(control, given, |content| file::Saved::new(content).map_err(|error| error.to_string()))
        },
    ));
    add(Command::waiting(
        "api trace replay-json <file:text>",
        "Replay an API trace from a JSON file in the capture folder.",
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
    let files = control.room::<Trace>().files.clone();
    let files = files.ok_or_else(|| CommandError::new("this daemon has no files for traces"))?;
    let folder = files.folder();
    // A path in the folder of traces, or in VPP's `/tmp`, names a file there.
    let told = Path::new(&name);
    let told = told.strip_prefix(&folder).or_else(|_| told.strip_prefix("/tmp")).unwrap_or(told);
    match (told.components().count(), told.file_name().and_then(|name| name.to_str())) {
        (1, Some(name)) => Ok((files, name.to_owned())),
        _ => {
            let what = format!("'{name}' is no name of a file: files lie in {}; leave folders out", folder.display());
            Err(CommandError::new(what).at(given.place("file")))
        }
    }
}

async fn save(control: &Control, given: &Matches, content: Vec<u8>) -> Result<Reply, CommandError> {
    let (files, name) = file(control, given)?;
    let failed = |error: FileError| CommandError::new(error.to_string()).at(given.place("file"));
    let path = files.create(&name, content).await.map_err(failed)?;
    Ok(Reply::text(format!("API trace saved to {}", path.display())))
}

/// Sends the requests of a file, which `read` parses. Sends none if a part of the file is malformed.
async fn replay<R: Requests>(
    control: Control,
    given: Matches,
    read: impl Fn(Vec<u8>) -> Result<R, String>,
) -> Result<Reply, CommandError> {
    let (files, name) = file(&control, &given)?;
    let refused = |what: String| CommandError::new(what).at(given.place("file"));
    let path = files.folder().join(&name);
    let failed = |error: &dyn std::fmt::Display| refused(format!("{}: {error}", path.display()));
    let content = files.read(&name).await.map_err(|error| refused(error.to_string()))?;
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
        // The replies are discarded. A request that waits would have to be awaited.
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
