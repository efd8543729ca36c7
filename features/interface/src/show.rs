//! The commands that show interfaces, in VPP's layout.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::Dataplane;
use serde_json::{Map, Value, json};

use crate::interfaces::{Interface, Interfaces, LOCAL};
use crate::settings::InterfaceName;
use crate::speed::in_words;

pub(crate) fn register(control: &Control) {
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run));
    };
    add("show interface [<interface>...]", "Show interfaces and what they counted.", interfaces);
    add("show hardware-interfaces [<interface>...]", "Show queues and addresses of interfaces.", hardware);
}

/// The interfaces that a command names, or all of them.
fn chosen<'a>(interfaces: &'a Interfaces, matches: &Matches) -> Result<Vec<&'a Interface>, CommandError> {
    let names = matches.all::<InterfaceName>("interface")?;
    Ok(interfaces.iter().filter(|i| names.is_empty() || names.iter().any(|name| name.0 == i.name)).collect())
}

fn interfaces(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
    let mut text = String::new();
    let mut line = |name: &str, index: &str, state: &str, mtu: &str, counter: &str, count: &str| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:<32}{index:^5}{state:^10}{mtu:^23}{counter:<16}{count:>16}");
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    line(&format!("{:^32}", "Name"), "Idx", "State", "MTU (L3/IP4/IP6/MPLS)", "    Counter", "Count     ");
    let mut list = vec![];
    for interface in chosen(&interfaces, matches)? {
        let counts = counts(&dataplane, interface);
        let state = if interface.up { "up" } else { "down" };
        let mut row = (interface.name.clone(), interface.id.0.to_string(), state, mtus(interface));
        let shown = counts.iter().filter(|(_, count)| *count > 0);
        let mut shown = shown.map(|(name, count)| (*name, count.to_string())).peekable();
        if shown.peek().is_none() {
            line(&row.0, &row.1, row.2, &row.3, "", "");
        }
        for (name, count) in shown {
            line(&row.0, &row.1, row.2, &row.3, name, &count);
            row = Default::default();
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
        for (name, count) in counts {
            object.insert(name.replace(' ', "-"), count.into());
        }
        list.push(Value::Object(object));
    }
    Ok(Reply::new(text, Value::Array(list)))
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

fn hardware(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
    let mut text = format!("{:^32}{:^6}{:^6}  Hardware\n", "Name", "Idx", "Link");
    let mut list = vec![];
    for interface in chosen(&interfaces, matches)?.into_iter().filter(|i| i.parent.is_none()) {
        let link = if interface.link && interface.up { "up" } else { "down" };
        let _ = writeln!(text, "{:<32}{:^6}{link:^6}  {}", interface.name, interface.id.0, interface.kind);
        let _ = writeln!(text, "  Link speed: {}", in_words(interface.speed));
        let queues: Vec<_> = dataplane.queues().iter().filter(|q| q.interface == interface.id.0).collect();
        if interface.id != LOCAL {
            let _ = writeln!(text, "  Ethernet address {}", interface.mac);
        }
        for queue in &queues {
            let input = dataplane.graph().name(queue.input);
            let _ = writeln!(text, "  RX queue {}: worker {}, {input}", queue.index, queue.worker);
        }
        list.push(json!({
            "name": interface.name,
            "index": interface.id.0,
            "link": link,
            "link-speed-kbps": interface.speed,
            "hardware": interface.kind,
            "mac": interface.mac.to_string(),
            "rx-queues": queues.iter().map(|queue| json!({
                "queue": queue.index,
                "worker": queue.worker,
                "node": dataplane.graph().name(queue.input),
            })).collect::<Vec<_>>(),
        }));
    }
    Ok(Reply::new(text, Value::Array(list)))
}
