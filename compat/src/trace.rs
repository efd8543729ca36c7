//! What clients have asked, remembered: `api trace`. It can be looked at, written to a file as VPP writes it, and asked again.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use serde_json::{Map, Value, json};

use crate::api::{Answer, Api, Call};
use crate::definition::{Definition, Field, Kind, Shape, Type};
use crate::event::Client;
use crate::wire::{Input, Malformed, Wire};

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

/// The requests that came last, each as its number and what stood behind it.
#[derive(Default)]
pub struct Trace {
    /// How many are remembered while it is on.
    limit: usize,
    on: bool,
    messages: VecDeque<Rc<[u8]>>,
    bytes: usize,
    /// Whether some were forgotten.
    wrapped: bool,
    files: Option<Rc<dyn TraceFiles>>,
}

impl Trace {
    /// Remembers a request, if it is on.
    pub(crate) fn note(&mut self, message: &[u8]) {
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
    let mut trace = control.room_mut::<Trace>();
    trace.forget();
    (trace.limit, trace.on) = (messages, true);
}

/// Has traces written to and read from these files.
pub fn save_to(control: &Control, files: Rc<dyn TraceFiles>) {
    control.room_mut::<Trace>().files = Some(files);
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Trace::default());
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).argument("nitems", "so many, the last ones");
        control.commands().add(command.argument("file", "its name, without a folder"));
    };
    add("api trace (on|enable) [nitems <nitems:u32>]", "Remember what clients of VPP's API ask.", |control, given| {
        start(control, given.find::<u32>("nitems")?.map_or(MESSAGES, |messages| messages as usize));
        Ok(Reply::done())
    });
    add("api trace (off|disable)", "Remember nothing more of what clients of VPP's API ask.", |control, _| {
        control.room_mut::<Trace>().on = false;
        Ok(Reply::done())
    });
    add("api trace free", "Forget what clients of VPP's API asked.", |control, _| {
        control.room_mut::<Trace>().forget();
        Ok(Reply::done())
    });
    add("api trace status", "Show how much is remembered of what clients of VPP's API asked.", |control, _| {
        let trace = control.room::<Trace>();
        let (state, count) = (if trace.on { "on" } else { "off" }, trace.messages.len());
        let text =
            format!("{state}, {count} messages, {} bytes{}", trace.bytes, if trace.wrapped { ", wrapped" } else { "" });
        Ok(Reply::new(text, json!({"on": trace.on, "messages": count, "bytes": trace.bytes, "wrapped": trace.wrapped})))
    });
    add("api trace dump", "Show what clients of VPP's API asked.", |control, _| {
        let (api, trace) = (control.room::<Api>(), control.room::<Trace>());
        let shown: Vec<Value> = trace.messages.iter().map(|message| show(&api, message)).collect();
        let text: Vec<String> = shown.iter().map(ToString::to_string).collect();
        Ok(Reply::new(text.join("\n"), shown.into()))
    });
    add("api trace save <file:text>", "Write what clients of VPP's API asked to a file in /tmp, as VPP does.", save);
    add("api trace replay <file:text>", "Ask again what a file in /tmp says.", replay);
}

/// A file's name, with nothing that leads elsewhere.
fn file(control: &Control, given: &Matches) -> Result<(Rc<dyn TraceFiles>, String), CommandError> {
    let name: String = given.get("file")?;
    if name.contains('/') || name.contains("..") {
        let what = format!("'{name}' is no name of a file: files lie in /tmp, and `/` and `..` lead elsewhere");
        return Err(CommandError::new(what).at(given.place("file")));
    }
    let files = control.room::<Trace>().files.clone();
    files.map(|files| (files, name)).ok_or_else(|| CommandError::new("this daemon has no files for traces"))
}

fn save(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (files, name) = file(control, given)?;
    let content = written(&control.room::<Api>(), &control.room::<Trace>());
    let failed = |error| CommandError::new(format!("/tmp/{name}: {error}")).at(given.place("file"));
    let path = files.create(&name, &content).map_err(failed)?;
    Ok(Reply::text(format!("API trace saved to {}", path.display())))
}

/// A trace as VPP writes it: how many messages; the length of a table of names, and whether older messages are missing; the
/// table; each message with its length before it.
fn written(api: &Api, trace: &Trace) -> Vec<u8> {
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

fn replay(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
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

/// A message in words: its name, and its fields where they are known.
fn show(api: &Api, message: &[u8]) -> Value {
    let input = &mut Input::new(message);
    let id = u16::take(input).unwrap_or_default();
    let mut shown = Map::new();
    shown.insert("_msgname".into(), api.name(id).unwrap_or("unknown").into());
    if let Some(Definition { fields, .. }) = api.definition(id) {
        // What ends early is shown as far as it goes.
        let _ = show_fields(fields, input, &mut shown);
    }
    shown.into()
}

fn show_fields(fields: &[Field], input: &mut Input<'_>, shown: &mut Map<String, Value>) -> Result<(), Malformed> {
    for Field { name, of, shape } in fields {
        let value = match shape {
            Shape::Array(length) if of.name == "string" => match length {
                0 => String::take(input)?.into(),
                length => {
                    let bytes = input.bytes(*length)?;
                    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into()
                }
            },
            Shape::One => show_one(of, input)?,
            Shape::Array(length) => show_many(of, *length, input)?,
            Shape::Counted(count) => {
                let count = shown.get(count).and_then(Value::as_u64).unwrap_or_default();
                show_many(of, count as usize, input)?
            }
        };
        shown.insert(name.clone(), value);
    }
    Ok(())
}

fn show_many(of: &Type, count: usize, input: &mut Input<'_>) -> Result<Value, Malformed> {
    (0..count).map(|_| show_one(of, input)).collect()
}

fn show_one(of: &Type, input: &mut Input<'_>) -> Result<Value, Malformed> {
    let base = match &of.kind {
        Kind::Base => of.name.as_str(),
        Kind::Alias { of, length: 0 } => return show_one(of, input),
        Kind::Alias { of, length } => return show_many(of, *length, input),
        Kind::Struct(fields) => {
            let mut shown = Map::new();
            show_fields(fields, input, &mut shown)?;
            return Ok(shown.into());
        }
        // Which of its fields is meant, another field says; all of its bytes are shown.
        Kind::Union(fields) => {
            let size = fields.iter().map(|field| field.of.size()).max().unwrap_or_default();
            return Ok(input.bytes(size)?.to_vec().into());
        }
        Kind::Enum { base, .. } | Kind::Flags { base, .. } => base,
    };
    Ok(match base {
        "u8" => u8::take(input)?.into(),
        "i8" => i8::take(input)?.into(),
        "u16" => u16::take(input)?.into(),
        "i16" => i16::take(input)?.into(),
        "u32" => u32::take(input)?.into(),
        "i32" => i32::take(input)?.into(),
        "u64" => u64::take(input)?.into(),
        "i64" => i64::take(input)?.into(),
        "f64" => f64::take(input)?.into(),
        "bool" => bool::take(input)?.into(),
        _ => Value::Null,
    })
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
