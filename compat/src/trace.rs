//! What clients have asked, and what they were told, remembered: `api trace`. It can be looked at, written to a file as VPP
//! writes it, and asked again.
//!
//! - `json`: messages in words, and back.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::{Value, json};

use crate::api::{Answer, Api, Call, FRAME};
use crate::event::Client;
use crate::wire::{Input, Malformed, Wire};

mod json;

use json::{read_json, show};

/// As many as VPP remembers.
pub const MESSAGES: usize = 256 << 10;
/// Bytes that are remembered at most, however few messages they are.
const BYTES_MAX: usize = 64 << 20;

/// Where traces are written and read. VPP's users give a name, and find the file in `/tmp`.
pub trait TraceFiles {
    /// Writes a file that is not there yet, and says where it lies.
    fn create(&self, name: &str, content: &[u8]) -> io::Result<PathBuf>;
    /// Reads a file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
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
    /// The side that a command is about.
    fn side(&mut self, given: &Matches) -> &mut Messages {
        if given.has("tx") { &mut self.told } else { &mut self.asked }
    }
}

/// The messages that passed last, each as its number and what stood behind it.
#[derive(Default)]
struct Messages {
    /// How many are remembered while it is on.
    limit: usize,
    on: bool,
    messages: VecDeque<Rc<[u8]>>,
    bytes: usize,
    /// Whether some were forgotten.
    wrapped: bool,
}

impl Messages {
    fn start(&mut self, messages: usize) {
        self.forget();
        (self.limit, self.on) = (messages, true);
    }
    fn note(&mut self, message: &[u8]) {
        if !self.on {
            return;
        }
        self.bytes += message.len();
        self.messages.push_back(message.into());
        while self.messages.len() > self.limit || self.bytes > BYTES_MAX {
            self.wrapped = true;
            self.bytes -= self.messages.pop_front().map_or(self.bytes, |oldest| oldest.len());
        }
    }
    fn forget(&mut self) {
        (self.bytes, self.wrapped) = (0, false);
        self.messages.clear();
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
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).argument("nitems", "so many, the last ones");
        let command = command.argument("tx", "what they are told, in place of what they ask");
        control.commands().add(command.argument("file", "its name, without a folder"));
    };
    add(
        "api trace [tx] (on|enable) [nitems <nitems:u32>]",
        "Remember what clients of VPP's API ask.",
        |control, given| {
            let most = given.find::<u32>("nitems")?.map_or(MESSAGES, |messages| messages as usize);
            control.room_mut::<Trace>().side(given).start(most);
            Ok(Reply::done())
        },
    );
    add("api trace [tx] (off|disable)", "Remember nothing more of what clients of VPP's API ask.", |control, given| {
        control.room_mut::<Trace>().side(given).on = false;
        Ok(Reply::done())
    });
    add("api trace [tx] free", "Forget what clients of VPP's API asked.", |control, given| {
        control.room_mut::<Trace>().side(given).forget();
        Ok(Reply::done())
    });
    add(
        "api trace [tx] status",
        "Show how much is remembered of what clients of VPP's API asked.",
        |control, given| {
            let trace = &mut *control.room_mut::<Trace>();
            let trace = trace.side(given);
            let (state, count) = (if trace.on { "on" } else { "off" }, trace.messages.len());
            let text = format!(
                "{state}, {count} messages, {} bytes{}",
                trace.bytes,
                if trace.wrapped { ", wrapped" } else { "" }
            );
            Ok(Reply::new(
                text,
                json!({"on": trace.on, "messages": count, "bytes": trace.bytes, "wrapped": trace.wrapped}),
            ))
        },
    );
    add("api trace [tx] dump", "Show what clients of VPP's API asked.", |control, given| {
        let shown = in_words(control, given);
        let text: Vec<String> = shown.iter().map(ToString::to_string).collect();
        Ok(Reply::new(text.join("\n"), shown.into()))
    });
    add(
        "api trace [tx] save <file:text>",
        "Write what clients of VPP's API asked to a file in /tmp, as VPP does.",
        |control, given| {
            let content = written(&control.room::<Api>(), control.room_mut::<Trace>().side(given));
            save(control, given, &content)
        },
    );
    add("api trace [tx] save-json <file:text>", "The same in words, as JSON.", |control, given| {
        let content = Value::from(in_words(control, given)).to_string();
        save(control, given, content.as_bytes())
    });
    add("api trace replay <file:text>", "Ask again what a file in /tmp says.", |control, given| {
        replay(control, given, |api, content| read(api, content).map_err(|error| error.to_string()))
    });
    add("api trace replay-json <file:text>", "Ask what a file in /tmp says in JSON.", |control, given| {
        replay(control, given, read_json)
    });
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

/// The messages of a side, in words.
fn in_words(control: &Control, given: &Matches) -> Vec<Value> {
    let (api, trace) = (control.room::<Api>(), &mut *control.room_mut::<Trace>());
    trace.side(given).messages.iter().map(|message| show(&api, message)).collect()
}

fn save(control: &Control, given: &Matches, content: &[u8]) -> Result<Reply, CommandError> {
    let (files, name) = file(control, given)?;
    let failed = |error| CommandError::new(format!("/tmp/{name}: {error}")).at(given.place("file"));
    let path = files.create(&name, content).map_err(failed)?;
    Ok(Reply::text(format!("API trace saved to {}", path.display())))
}

/// A trace as VPP writes it: how many messages; the length of a table of names, and whether older messages are missing; the
/// table; each message with its length before it.
fn written(api: &Api, trace: &Messages) -> Vec<u8> {
    let mut table = vec![];
    let names: Vec<(u16, &str)> = api.names_in_order().collect();
    (names.len() as u32).put(&mut table);
    for (id, name) in names {
        put_small(&mut table, id.into());
        put_small(&mut table, name.len() as u64);
        table.extend(name.as_bytes());
    }
    let mut out = vec![];
    (trace.messages.len() as u32).put(&mut out);
    (table.len() as u32).put(&mut out);
    trace.wrapped.put(&mut out);
    out.extend(table);
    for message in &trace.messages {
        (message.len() as u32).put(&mut out);
        out.extend(&message[..]);
    }
    out
}

/// A number that is most likely small, as vppinfra's `serialize.h` has it: the low bits of the first byte say how many there are.
fn put_small(out: &mut Vec<u8>, number: u64) {
    const ONE: u64 = 1 << 7;
    const TWO: u64 = ONE + (1 << 14);
    match number {
        0..ONE => out.push((1 + 2 * number) as u8),
        ONE..TWO => out.extend((4 * (number - ONE) as u16 + 2).to_le_bytes()),
        _ => out.extend((8 * (number - TWO) as u32 + 4).to_le_bytes()),
    }
}

fn take_small(input: &mut Input<'_>) -> Result<u64, Malformed> {
    let first = u8::take(input)?;
    let rest = |input: &mut Input<'_>, count: usize| {
        let bytes = input.bytes(count)?;
        Ok(bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) << 8 | u64::from(first))
    };
    match first.trailing_zeros() {
        0 => Ok(u64::from(first) / 2),
        1 => Ok((1 << 7) + rest(input, 1)? / 4),
        2 => Ok((1 << 7) + (1 << 14) + rest(input, 3)? / 8),
        _ => Err(Malformed::value(first.into(), "length of a number")),
    }
}

/// The messages of a file, with the numbers that they have here, and how many are not known.
fn read(api: &Api, content: &[u8]) -> Result<(Vec<Vec<u8>>, usize), Malformed> {
    let input = &mut Input::new(content);
    let (count, length, _wrapped) = (u32::take(input)?, u32::take(input)?, bool::take(input)?);
    let table = &mut Input::new(input.bytes(length as usize)?);
    let mut numbers = std::collections::HashMap::new();
    for _ in 0..u32::take(table)? {
        let (id, length) = (take_small(table)?, take_small(table)?);
        let name = String::from_utf8_lossy(table.bytes(length as usize)?).into_owned();
        numbers.insert(id, name);
    }
    let (mut messages, mut unknown) = (vec![], 0);
    for _ in 0..count {
        let length = u32::take(input)?;
        let message = &mut Input::new(input.bytes(length as usize)?);
        let theirs = u16::take(message)?;
        let ours = numbers.get(&u64::from(theirs)).and_then(|name| api.id_of_name_crc(name));
        match ours {
            Some(id) => messages.push([&id.to_be_bytes()[..], message.rest()].concat()),
            None => unknown += 1,
        }
    }
    Ok((messages, unknown))
}

/// Asks again what a file says, which `read` understands.
fn replay(
    control: &Control,
    given: &Matches,
    read: impl Fn(&Api, &[u8]) -> Result<(Vec<Vec<u8>>, usize), String>,
) -> Result<Reply, CommandError> {
    let (files, name) = file(control, given)?;
    let failed =
        |error: &dyn std::fmt::Display| CommandError::new(format!("/tmp/{name}: {error}")).at(given.place("file"));
    let content = files.read(&name).map_err(|error| failed(&error))?;
    // Messages may be asked again that no room has, and no client has asked yet.
    control.room_mut::<Api>().await_rest();
    let (messages, unknown) = read(&control.room::<Api>(), &content).map_err(|error| failed(&error))?;
    let client = Client::new("api trace replay".into(), 0);
    let (mut asked, mut later) = (0, 0);
    for message in &messages {
        let input = &mut Input::new(message);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_few_bytes_and_are_read_as_they_were_written() {
        for (number, length) in [(0, 1), (127, 1), (128, 2), (16_511, 2), (16_512, 4), (70_000, 4)] {
            let mut out = vec![];
            put_small(&mut out, number);
            assert_eq!(out.len(), length, "{number}");
            assert_eq!(take_small(&mut Input::new(&out)), Ok(number));
        }
        assert!(take_small(&mut Input::new(&[0])).is_err());
    }
}
