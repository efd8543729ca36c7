//! The commands that show interfaces, in VPP's layout.

use std::collections::BTreeSet;
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_engine::Dataplane;
use quiver_engine::counters::Traffic;
use quiver_engine::dataplane::QueueInfo;
use serde_json::{Map, Value, json};

use crate::interfaces::{Interface, InterfaceId, Interfaces, LOCAL, walk};
use crate::queues::Mode;
use crate::settings::{InterfaceName, InterfaceSettings};
use crate::speed::in_words;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let help = "Show interfaces and their counters.";
    commands.add(Command::waiting("show interface [<interface>...]", help, interfaces));
    let show = "show hardware-interfaces {(brief | verbose | detail) | <interface>...}";
    let show = Command::waiting(show, "Show queues and MAC addresses of interfaces.", hardware);
    let show = show.argument("brief", "one line per interface").argument("detail", "with counters of receive queues");
    commands.add(show.argument("verbose", "with counters of receive queues"));
}

/// The numbers of the interfaces that a command names, or of all of them, in their order.
pub fn chosen(control: &Control, matches: &Matches) -> Result<impl Iterator<Item = InterfaceId> + use<>, CommandError> {
    let names = matches.all::<InterfaceName>("interface")?;
    let interfaces = control.room::<Interfaces>();
    let named: BTreeSet<InterfaceId> = names.iter().filter_map(|name| Some(interfaces.find(&name.0)?.id)).collect();
    let all = names.is_empty().then(|| walk(control));
    Ok(named.into_iter().chain(all.into_iter().flatten()))
}

async fn interfaces(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    let line = |text: &mut String, name: &str, index: &str, state: &str, mtu: &str, counter: &str, count: &str| {
        let start = text.len();
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:<32}{index:^5}{state:^10}{mtu:^23}{counter:<16}{count:>16}");
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    };
    let (name, mtu) = (format!("{:^32}", "Name"), "MTU (L3/IP4/IP6/MPLS)");
    line(listing.text(), &name, "Idx", "State", mtu, "    Counter", "Count     ");
    for id in chosen(&control, &matches)? {
        listing.step().await;
        let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
        let Some(interface) = interfaces.get(id) else { continue };
        let counts = counts(&dataplane, interface);
        let state = if interface.up { "up" } else { "down" };
        let mut row = (interface.name.clone(), interface.id.0.to_string(), state, mtus(interface));
        let shown = counts.iter().filter(|(_, count)| *count > 0);
        let mut shown = shown.map(|(name, count)| (*name, count.to_string())).peekable();
        if shown.peek().is_none() {
            line(listing.text(), &row.0, &row.1, row.2, &row.3, "", "");
        }
        for (name, count) in shown {
            line(listing.text(), &row.0, &row.1, row.2, &row.3, name, &count);
            row = Default::default();
        }
        if !listing.wants_json() {
            continue;
        }
        let mut object = Map::new();
        object.insert("name".into(), interface.name.clone().into());
        object.insert("index".into(), interface.id.0.into());
        object.insert("state".into(), state.into());
        object.insert("link".into(), if interface.link { "up" } else { "down" }.into());
        let whole = interface.parent.and_then(|parent| interfaces.get(parent)).unwrap_or(interface);
        object.insert("link-speed-kbps".into(), whole.speed.into());
        object.insert("mtu".into(), interface.mtu.into());
        for (name, mtu) in ["mtu-ip4", "mtu-ip6", "mtu-mpls"].into_iter().zip(interface.mtus.in_order()) {
            if mtu > 0 {
                object.insert(name.into(), mtu.into());
            }
        }
        object.insert("mac".into(), interface.mac.to_string().into());
        if let Some(description) = description(&control, &interface.name) {
            object.insert("description".into(), description.into());
        }
        for (name, count) in counts {
            object.insert(name.replace(' ', "-"), count.into());
        }
        listing.element(|| Value::Object(object));
    }
    Ok(listing.end())
}

/// The configured description of an interface.
pub(crate) fn description(control: &Control, name: &str) -> Option<String> {
    control.objects().get::<InterfaceSettings>(&InterfaceName(name.into()))?.description.clone()
}

/// Bytes of a packet at most: of all, IPv4, IPv6, MPLS; 0 where the first holds.
fn mtus(interface: &Interface) -> String {
    let [ip4, ip6, mpls] = interface.mtus.in_order();
    format!("{}/{ip4}/{ip6}/{mpls}", interface.mtu)
}

fn counts(dataplane: &Dataplane, interface: &Interface) -> Vec<(&'static str, u64)> {
    let counted = dataplane.interface_counters(interface.id.0);
    let before = [
        ("rx packets", counted.rx.packets),
        ("rx bytes", counted.rx.bytes),
        ("tx packets", counted.tx.packets),
        ("tx bytes", counted.tx.bytes),
        ("drops", counted.drops),
        ("punt", counted.punts),
    ];
    let after = [
        ("rx-no-buf", counted.rx_no_buffer),
        ("rx-miss", counted.rx_missed),
        ("rx-error", counted.rx_errors),
        ("tx-error", counted.tx_errors),
    ];
    before.into_iter().chain(dataplane.added_interface_counters(interface.id.0)).chain(after).collect()
}

async fn hardware(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let (is_brief, is_verbose) = (matches.has("brief"), matches.has("verbose") || matches.has("detail"));
    let mut listing = Listing::new(&control, &output);
    listing.line(&format!("{:^32}{:^6}{:^6}  Hardware", "Name", "Idx", "Link"));
    for id in chosen(&control, &matches)? {
        listing.step().await;
        let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
        let Some(interface) = interfaces.get(id).filter(|interface| interface.parent.is_none()) else { continue };
        let queues: Vec<&QueueInfo> = dataplane.queues_of(id.0).collect();
        let received = |queue: &QueueInfo| dataplane.queue_counters(queue.index, id.0);
        let link = if interface.link && interface.up { "up" } else { "down" };
        let description = description(&control, &interface.name);
        let text = listing.text();
        let _ = writeln!(text, "{:<32}{:^6}{link:^6}  {}", interface.name, interface.id.0, interface.kind);
        if !is_brief {
            if let Some(description) = &description {
                let _ = writeln!(text, "  Description: {description}");
            }
            let _ = writeln!(text, "  Link speed: {}", in_words(interface.speed));
            if interface.id != LOCAL {
                let _ = writeln!(text, "  Ethernet address {}", interface.mac);
            }
            for queue in &queues {
                let input = dataplane.graph().name(queue.input);
                let _ = writeln!(text, "  RX queue {}: worker {}, {input}", queue.index, queue.worker);
                if is_verbose {
                    let (mode, Traffic { packets, bytes }) = (Mode::from(queue.mode), received(queue));
                    let interrupts = if queue.has_interrupts { "with" } else { "without" };
                    let _ = writeln!(text, "    {mode}, {interrupts} interrupts, {packets} packets, {bytes} bytes");
                }
            }
        }
        listing.element(|| {
            json!({
                "name": interface.name,
                "index": interface.id.0,
                "link": link,
                "link-speed-kbps": interface.speed,
                "hardware": interface.kind,
                "mac": interface.mac.to_string(),
                "description": description,
                "rx-queues": queues.iter().map(|queue| json!({
                    "queue": queue.index,
                    "worker": queue.worker,
                    "node": dataplane.graph().name(queue.input),
                    "mode": Mode::from(queue.mode).to_string(),
                    "interrupts": queue.has_interrupts,
                    "rx-packets": received(queue).packets,
                    "rx-bytes": received(queue).bytes,
                })).collect::<Vec<_>>(),
            })
        });
    }
    Ok(listing.end())
}
