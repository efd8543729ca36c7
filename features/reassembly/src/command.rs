//! `set interface reassembly`, `set interface sv-reassembly`, `set ip4-full-reassembly`, `show ip4-full-reassembly` and the like.

use std::fmt::Write;

use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_control::{Control, ObjectError};
use quiver_interface::{InterfaceName, Interfaces, walk};
use quiver_wire::{V4, V6};
use serde_json::{Value, json};

use crate::config::{Kinds, Reassemblies, Reassembly, ReassemblySettings};
use crate::family::Reassembled;

pub(crate) fn register(control: &Control) {
    for (what, kind, help) in [
        ("reassembly", Kinds::Full, "Enable or disable full reassembly of packets that an interface receives."),
        (
            "sv-reassembly",
            Kinds::Shallow,
            "Enable or disable shallow reassembly on an interface: later fragments get the ports of the first one.",
        ),
    ] {
        let grammar = format!("set interface {what} <interface> [on|off|ip4|ip6]");
        let set = Command::new(grammar, help, move |control: &Control, given: &Matches| enable(control, given, kind));
        let set = set.argument("interface", "name of the interface").argument("on", "both families");
        let set = set.argument("ip4", "IPv4 only").argument("ip6", "IPv6 only");
        control.commands().add(set.argument("off", "neither family"));
    }
    let help = "Enable or disable extended shallow reassembly: fragments wait for the first and the last one, not only for the first.";
    let set = Command::new("set ip reassembly extended [ip4|ip6] (on|off)", help, extend);
    let set = set.argument("ip4", "IPv4 only").argument("ip6", "IPv6 only");
    control.commands().add(set);
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn extend(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let on = given.has("on");
    if !given.has("ip6") {
        control.edit(ReassemblySettings::<V4>::new(Kinds::Shallow), |settings| settings.extended = on)?;
    }
    if !given.has("ip4") {
        control.edit(ReassemblySettings::<V6>::new(Kinds::Shallow), |settings| settings.extended = on)?;
    }
    Ok(Reply::done())
}

fn register_family<F: Reassembled>(control: &Control) {
    for (kind, name) in [(Kinds::Full, "full"), (Kinds::Shallow, "sv")] {
        let path = format!("{}-{name}-reassembly", F::NAME);
        let local = if kind == Kinds::Full { " | (local | no-local)" } else { "" };
        let grammar = format!(
            "set {path} {{timeout-ms <timeout-ms:u32> | packets <packets:u32> | fragments <fragments:u32> \
             | walk-ms <walk-ms:u32>{local}}}"
        );
        let help = format!("Set the limits of {} reassembly.", F::TITLE);
        let run = move |control: &Control, given: &Matches| set::<F>(control, given, kind);
        let mut set = Command::new(grammar, help, run).arguments_of::<ReassemblySettings<F>>();
        if kind == Kinds::Full {
            set = set
                .argument("local", "reassemble packets to local addresses")
                .argument("no-local", "drop fragments to local addresses");
        }
        control.commands().add(set);
        let help = format!("Show the packets in {} reassembly, and the limits.", F::TITLE);
        let run = move |control: Control, _: Matches, output: Output| show::<F>(control, output, kind);
        let show = Command::waiting(format!("show {path} [details]"), help, run);
        control.commands().add(show.argument("details", "no effect: fragments belong to the workers"));
    }
}

fn enable(control: &Control, given: &Matches, kind: Kinds) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let [ip4, ip6] = ["ip4", "ip6"].map(|family| !given.has("off") && (given.has(family) || !given.has(other(family))));
    put::<V4>(control, &interface, kind, ip4)?;
    put::<V6>(control, &interface, kind, ip6)?;
    Ok(Reply::done())
}

fn other(family: &str) -> &'static str {
    if family == "ip4" { "ip6" } else { "ip4" }
}

/// Turns a kind of reassembly on or off at an interface.
pub(crate) fn put<F: Reassembled>(
    control: &Control,
    interface: &InterfaceName,
    kind: Kinds,
    on: bool,
) -> Result<(), ObjectError> {
    let known = control.objects().get::<Reassembly<F>>(interface);
    let mut wanted = known.as_deref().cloned().unwrap_or_else(|| Reassembly::new(interface.clone()));
    match kind {
        Kinds::Full => wanted.full = on,
        Kinds::Shallow => wanted.shallow = on,
    }
    control.assign(interface, Some(wanted).filter(|wanted| wanted.full || wanted.shallow))
}

fn set<F: Reassembled>(control: &Control, given: &Matches, kind: Kinds) -> Result<Reply, CommandError> {
    let [timeout, packets, fragments, walk] =
        [given.find("timeout-ms")?, given.find("packets")?, given.find("fragments")?, given.find("walk-ms")?];
    let local = (given.has("local") || given.has("no-local")).then(|| given.has("local"));
    control.edit(ReassemblySettings::<F>::new(kind), |settings| {
        settings.timeout_ms = timeout.or(settings.timeout_ms);
        settings.packets = packets.or(settings.packets);
        settings.fragments = fragments.or(settings.fragments);
        settings.walk_ms = walk.or(settings.walk_ms);
        settings.local = local.unwrap_or(settings.local);
    })?;
    Ok(Reply::done())
}

async fn show<F: Reassembled>(control: Control, output: Output, kind: Kinds) -> Result<Reply, CommandError> {
    let (mut text, value) = limits::<F>(&control, kind);
    let mut listing = Listing::new(&control, &output).named("interfaces");
    std::mem::swap(listing.text(), &mut text);
    listing.text().push_str("Interfaces:");
    let mut is_empty = true;
    for id in walk(&control) {
        listing.step().await;
        let Some(InterfaceName(name)) =
            control.room::<Interfaces>().get(id).map(|found| InterfaceName(found.name.clone()))
        else {
            continue;
        };
        let set = control.objects().get::<Reassembly<F>>(&InterfaceName(name.clone()));
        if set.is_some_and(|set| if kind == Kinds::Full { set.full } else { set.shallow }) {
            is_empty = false;
            listing.text().push_str(&format!(" {name}"));
            listing.element(|| name.into());
        }
    }
    listing.line(if is_empty { " none" } else { "" });
    Ok(listing.end_with(value))
}

/// How many packets are put together, and the limits.
fn limits<F: Reassembled>(control: &Control, kind: Kinds) -> (String, Value) {
    let room = control.room::<Reassemblies<F>>();
    let settings = room.settings(kind);
    let (what, current) = match kind {
        Kinds::Full => ("full", room.received.get() + room.local.get()),
        Kinds::Shallow => ("shallow", room.shallow.get()),
    };
    let title = F::NAME.to_uppercase();
    let (timeout, walk) = (settings.patience.as_millis(), settings.walk.as_millis());
    let mut text = String::new();
    // A text that is a String takes everything.
    let _ = writeln!(text, "Current {what} {title} reassemblies count: {current}");
    let _ = writeln!(text, "Concurrent {what} {title} reassemblies of a worker at most: {}", settings.packets);
    let _ = writeln!(text, "Fragments of a {what} {title} reassembly at most: {}", settings.fragments);
    let _ = writeln!(text, "Timeout of a {what} {title} reassembly: {timeout}ms, looked at each {walk}ms");
    if kind == Kinds::Full {
        let _ = writeln!(text, "Packets for us: {}", if settings.local { "put together" } else { "dropped" });
    }
    if settings.extended {
        let _ = writeln!(text, "Fragments wait for the first and the last of their packet");
    }
    let mut value = json!({
        "reassemblies": current,
        "packets": settings.packets,
        "fragments": settings.fragments,
        "timeout-ms": timeout as u64,
        "walk-ms": walk as u64,
    });
    match kind {
        Kinds::Full => value["local"] = settings.local.into(),
        Kinds::Shallow => value["extended"] = settings.extended.into(),
    }
    (text, value)
}
