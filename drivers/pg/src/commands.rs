//! The commands of streams and captures, in VPP's words; what they show is made in [`show`].

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, ObjectError};
use quiver_interface::InterfaceName;
use serde_json::json;

use crate::capture::{Capture, PcapFile, Store};
use crate::chosen::{StreamName, chosen};
use crate::interface::PgMode;
use crate::room::PacketGenerators;
use crate::show;
use crate::start::{recording, switch};
use crate::stream::PgStream;
use crate::text::{self, Entry, ParsedStream};

/// The interface of the generator that VPP's users count on.
const FIRST: &str = "pg0";

/// Packets of a capture in memory that does not say how many, and of any at most.
const CAPTURED: u32 = 1000;
const CAPTURED_MAX: u32 = 100_000;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<StreamName>().named("stream", "the name of a stream"));
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run));
    };
    control.commands().add(Command::waiting(
        "packet-generator new <words:text>...",
        "Create a stream: pcap FILE source pg0 name x, or { name x source pg0 limit 1 ... data { ... } }.",
        new,
    ));
    add("packet-generator enable-stream [<stream>]", "Start one packet generator stream, or all.", enable);
    add("packet-generator disable-stream [<stream>]", "Stop one packet generator stream, or all.", disable);
    add("packet-generator delete <stream>", "Delete a packet generator stream.", delete);
    add(
        "packet-generator capture <interface> {pcap <file:text>|count <count:u32>|disable}",
        "Capture packets that an interface transmits, in memory or in a pcap file; `disable` stops it.",
        capture,
    );
    let help = "Show streams, their packet counters and latencies.";
    commands.add(Command::waiting("show packet-generator [<stream>]", help, show::streams));
    let help = "Show the packets of a capture.";
    commands.add(Command::waiting("show packet-generator capture <interface>", help, show::capture));
    add("show packet-generator profiles", "Show the traffic profiles for streams.", show::profiles);
}

async fn new(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let ParsedStream { mut stream, entry, interface, has_source } =
        text::stream(&matches.all::<String>("words")?).map_err(CommandError::new)?;
    let is_ours = |name: &InterfaceName| control.room::<PacketGenerators>().ports.contains_key(&name.0);
    match interface.filter(|_| stream.output.is_some()) {
        Some(name) if has_source => stream.received_by = Some(name),
        // As in VPP: whoever is said to have received what is sent, it comes from the first interface of the generator.
        Some(name) if !is_ours(&name) => {
            (stream.interface, stream.received_by) = (InterfaceName(FIRST.into()), Some(name));
        }
        _ => {}
    }
    let wanted = match entry {
        Entry::Ethernet => None,
        Entry::Ip4 => Some((PgMode::Ip4, "ip4")),
        Entry::Ip6 => Some((PgMode::Ip6, "ip6")),
    };
    let mode = control.room::<PacketGenerators>().ports.get(&stream.interface.0).map(|port| port.mode);
    if let (Some((wanted, family)), Some(mode)) = (wanted, mode)
        && wanted != mode
    {
        let what = format!("node {family}-input: what {} receives does not begin with that header", stream.interface);
        return Err(CommandError::new(format!("{what}; use an interface of mode {family}, or ethernet-input")));
    }
    check_new(&control, &stream)?;
    let once = |control: &Control, stream: &mut PgStream| {
        // As in VPP: a file is played once.
        if let Some(recording) = recording(control, stream).filter(|_| stream.limit == 0) {
            stream.limit = recording.count() as u64;
        }
        check_new(control, stream)
    };
    control.put_with_content(stream, once).await?;
    Ok(Reply::done())
}

/// Refuses a stream whose name is taken.
fn check_new(control: &Control, stream: &PgStream) -> Result<(), ObjectError> {
    match control.objects().get::<PgStream>(&stream.name) {
        None => Ok(()),
        Some(_) => Err(ObjectError::whole(format!("there is a stream {} already", stream.name))
            .remedy("`packet-generator delete` it first")),
    }
}

fn enable(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    chosen(control, matches)?.iter().try_for_each(|stream| switch(control, stream, true))?;
    Ok(Reply::done())
}

fn disable(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    chosen(control, matches)?.iter().try_for_each(|stream| switch(control, stream, false))?;
    Ok(Reply::done())
}

fn delete(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    control.delete::<PgStream>(&matches.get::<StreamName>("stream")?.0)?;
    Ok(Reply::done())
}

fn capture(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    if matches.has("disable") {
        let Some(ended) = end(control, &name)? else { return Ok(Reply::done()) };
        let (text, file) = match ended.store() {
            Store::Memory(_) => (format!("{} packets were captured", ended.taken()), None),
            Store::File(file) => {
                let path = file.path().display().to_string();
                (format!("{} packets are in {path}", ended.taken()), Some(path))
            }
        };
        return Ok(Reply::new(text, json!({"packets": ended.taken(), "file": file})));
    }
    let (file, count) = (matches.find::<String>("file")?, matches.find("count")?);
    if count.is_some_and(|count| count == 0 || file.is_none() && count > CAPTURED_MAX) {
        let what = format!("a capture has from 1 to {CAPTURED_MAX} packets");
        return Err(CommandError::new(what).at(matches.place("count")));
    }
    begin(control, &name, file.as_deref().map(Path::new), count)?;
    Ok(Reply::done())
}

/// Begins a capture, to a file that is not there yet or to memory.
pub(crate) fn begin(
    control: &Control,
    name: &InterfaceName,
    file: Option<&Path>,
    count: Option<u32>,
) -> Result<(), ObjectError> {
    let room = &mut *control.room_mut::<PacketGenerators>();
    let port = room.ports.get(&name.0).ok_or_else(|| no_generator(name))?;
    let capture = match file {
        Some(path) => {
            let place = control.files().place(path).map_err(|error| ObjectError::field("pcap", error.to_string()))?;
            let file = PcapFile::new(place, port.mode).map_err(|error| {
                let what = format!("{}: {error}", path.display());
                ObjectError::field("pcap", what).remedy("name a file that is not there")
            })?;
            Capture::new(count.map_or(u64::MAX, u64::from), Store::File(file))
        }
        None => Capture::new(count.unwrap_or(CAPTURED).into(), Store::Memory(vec![])),
    };
    room.captures.begin(&name.0, capture);
    port.capturing.store(true, Relaxed);
    Ok(())
}

/// Ends the capture of an interface, if there is one; an error if its file does not have what was captured.
pub(crate) fn end(control: &Control, name: &InterfaceName) -> Result<Option<Capture>, ObjectError> {
    let room = &mut *control.room_mut::<PacketGenerators>();
    let port = room.ports.get(&name.0).ok_or_else(|| no_generator(name))?;
    let ended = room.captures.end(&name.0);
    port.capturing.store(room.captures.all(), Relaxed);
    if let Some(Store::File(file)) = ended.as_ref().map(Capture::store)
        && let Some(error) = file.failed()
    {
        return Err(ObjectError::field("pcap", error.to_string()).remedy("packets are missing there; capture again"));
    }
    Ok(ended)
}

fn no_generator(name: &InterfaceName) -> ObjectError {
    ObjectError::field("interface", format!("{name} is no packet generator"))
}
