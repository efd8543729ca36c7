//! The commands of streams and captures, in VPP's words.

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::InterfaceName;
use serde_json::json;

use crate::capture;
use crate::interface::PacketGenerators;
use crate::stream::PgStream;
use crate::text;

/// Packets of a capture that does not say how many, and of any at most.
const CAPTURED: u32 = 1000;
const CAPTURED_MAX: u32 = 100_000;

quiver_control::reference! {
    /// The name of a stream.
    pub struct StreamName(String) in "pg-streams", "the name of a stream";
}

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<StreamName>().named("stream", "the name of a stream"));
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run));
    };
    add(
        "packet-generator new <words:text>...",
        "Make a stream: { name x interface pg0 limit 1 ... data { ... } }.",
        new,
    );
    add("packet-generator (enable|enable-stream) [<stream>]", "Start a stream, or all of them.", enable);
    add("packet-generator (disable|disable-stream) [<stream>]", "Stop a stream, or all of them.", disable);
    add("packet-generator delete <stream>", "Delete a stream.", delete);
    add("packet-generator capture <interface> [count <count:u32>]", "Keep copies of what it sends.", capture);
    add("packet-generator capture <interface> disable [pcap <file:text>]", "End a capture; write it as pcap.", end);
    add("show packet-generator [<stream>]", "Show streams and what became of their packets.", show);
    add("show packet-generator capture <interface>", "Show the packets of a capture.", show_capture);
}

fn new(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let stream = text::stream(&matches.all::<String>("words")?).map_err(CommandError::new)?;
    if control.objects().get::<PgStream>(&stream.name).is_some() {
        let what = format!("there is a stream {} already; `packet-generator delete` it first", stream.name);
        return Err(CommandError::new(what));
    }
    control.put(stream)?;
    Ok(Reply::done())
}

fn enable(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    switch(control, matches, true)
}

fn disable(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    switch(control, matches, false)
}

fn switch(control: &Control, matches: &Matches, enabled: bool) -> Result<Reply, CommandError> {
    for stream in chosen(control, matches)? {
        control.put(PgStream { enabled, ..stream })?;
    }
    Ok(Reply::done())
}

/// The stream that a command names, or all of them.
fn chosen(control: &Control, matches: &Matches) -> Result<Vec<PgStream>, CommandError> {
    let name: Option<StreamName> = matches.find("stream")?;
    let streams = control.objects().all::<PgStream>();
    let wanted = streams.iter().filter(|stream| name.as_ref().is_none_or(|name| name.0 == stream.name));
    Ok(wanted.map(|stream| PgStream::clone(stream)).collect())
}

fn delete(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    control.delete::<PgStream>(&matches.get::<StreamName>("stream")?.0)?;
    Ok(Reply::done())
}

fn show(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let titles =
        ["Name", "Interface", "Enabled", "Limit", "Rate", "Sent", "Received", "Lost", "Duplicated", "Reordered"];
    let mut table = Table::new(titles);
    let streams = chosen(control, matches)?;
    let room = control.room::<PacketGenerators>();
    for stream in streams {
        let mut row = vec![
            Cell::from(stream.name.clone()),
            Cell::of(&stream.interface),
            Cell::from(stream.enabled),
            Cell::from(stream.limit),
            Cell::from(stream.rate),
        ];
        if let Some(score) = room.streams.score(&stream.name) {
            row.push(Cell::from(score.sent.load(Relaxed)));
            // Packets of a file carry no numbers: what became of them is not known.
            let numbered = |count: u64| if stream.pcap.is_none() { Cell::from(count) } else { Cell::empty() };
            let [received, duplicated, reordered] =
                [&score.received, &score.duplicated, &score.reordered].map(|count| count.load(Relaxed));
            row.extend([received, score.lost(), duplicated, reordered].map(numbered));
        }
        table.row(row);
    }
    Ok(table.into())
}

fn capture(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let count = matches.find("count")?.unwrap_or(CAPTURED);
    if count == 0 || count > CAPTURED_MAX {
        let what = format!("a capture has from 1 to {CAPTURED_MAX} packets");
        return Err(CommandError::new(what).at(matches.place("count")));
    }
    let room = &mut *control.room_mut::<PacketGenerators>();
    room.captures.begin(&name.0, count as usize);
    match room.ports.get(&name.0) {
        Some(port) => port.capturing.store(true, Relaxed),
        None => {
            room.captures.end(&name.0);
            return Err(CommandError::new(format!("{name} is no packet generator")).at(matches.place("interface")));
        }
    }
    Ok(Reply::done())
}

fn end(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let room = &mut *control.room_mut::<PacketGenerators>();
    let none = || CommandError::new(format!("there is no capture on {name}")).at(matches.place("interface"));
    let ended = room.captures.end(&name.0).ok_or_else(none)?;
    if let Some(port) = room.ports.get(&name.0).filter(|_| !room.captures.all()) {
        port.capturing.store(false, Relaxed);
    }
    let count = ended.packets.len();
    match matches.find::<String>("file")? {
        Some(file) => {
            capture::write(Path::new(&file), &ended.packets)
                .map_err(|error| CommandError::new(error).at(matches.place("file")))?;
            Ok(Reply::new(format!("{count} packets written to {file}"), json!({"packets": count, "file": file})))
        }
        None => Ok(Reply::new(format!("{count} packets were captured"), json!({"packets": count}))),
    }
}

fn show_capture(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let captures = &mut control.room_mut::<PacketGenerators>().captures;
    captures.drain();
    let none = || CommandError::new(format!("there is no capture on {name}")).at(matches.place("interface"));
    let found = captures.get(&name.0).ok_or_else(none)?;
    let (mut text, mut list) = (String::new(), vec![]);
    for (number, sent) in found.packets.iter().enumerate() {
        let hex: String = sent.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}: {} bytes at {}", sent.bytes.len(), quiver_control::Time(sent.time));
        for line in hex.as_bytes().chunks(64) {
            let _ = writeln!(text, "  {}", String::from_utf8_lossy(line));
        }
        list.push(json!({"time": sent.time, "bytes": hex}));
    }
    Ok(Reply::new(text, list.into()))
}
