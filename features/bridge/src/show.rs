//! The commands that show bridges, and the trace of their nodes.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::{EthernetHeader, Header};
use serde_json::json;

use crate::bridges::{BridgeState, Bridges, Mode};
use crate::learning::settle;
use crate::macs::MacEntry;
use crate::objects::DomainId;

pub(crate) fn register(control: &Control) {
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run));
    };
    add(
        "show bridge-domain [<id:bridge-domains>] [detail]",
        "Show bridge domains, with detail their members.",
        domains,
    );
    add(
        "show l2fib [verbose | all | bd_id <domain:bridge-domains>]",
        "Show how many addresses are known; with a choice, which.",
        macs,
    );
    add("show l2patch", "Show which interfaces send all that they receive by another.", connected);
    add("show mode [<interface>...]", "Show what interfaces are in layer 2 and 3.", modes);
}

fn domains(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
    let only = matches.find::<DomainId>("id")?;
    let mut table = Table::new([
        "BD-ID",
        "Index",
        "Age(min)",
        "Learning",
        "U-Forwrd",
        "UU-Flood",
        "Flooding",
        "ARP-Term",
        "Learned-Max",
        "BVI-Intf",
    ]);
    let mut text = String::new();
    let mut list = vec![];
    for (id, domain) in bridges.domains().iter().filter(|(id, _)| only.as_ref().is_none_or(|only| only.0 == **id)) {
        let BridgeState { index, settings } = domain;
        let flag = |on| Cell::new(if on { "on" } else { "off" }, on);
        let age = settings.mac_age;
        let bvi = bridges.bvi(*id).map(|bvi| interfaces.name(bvi));
        let cells = [
            Cell::from(*id),
            Cell::from(u32::from(index.0)),
            Cell::new(if age == 0 { "off".to_owned() } else { age.to_string() }, age),
            flag(settings.learn),
            flag(settings.forward),
            flag(settings.uu_flood),
            flag(settings.flood),
            flag(settings.arp_term),
            Cell::from(settings.learn_limit),
            bvi.map_or(Cell::new("N/A", serde_json::Value::Null), Cell::from),
        ];
        table.row(cells);
        let mut members = Table::new(["Interface", "If-idx", "SHG", "BVI"]);
        for member in bridges.members(*id) {
            members.row([
                Cell::from(interfaces.name(member.interface)),
                Cell::from(member.interface.0),
                Cell::from(member.group),
                Cell::new(if member.bvi { "*" } else { "-" }, member.bvi),
            ]);
        }
        if matches.has("detail") && !members.is_empty() {
            let indented: String = members.to_text().lines().map(|line| format!("  {line}\n")).collect();
            text.push_str(&format!("\nBD-ID {id}:\n{indented}"));
        }
        list.push(members.to_json());
    }
    let mut json = table.to_json();
    for (domain, members) in json.as_array_mut().into_iter().flatten().zip(list) {
        domain["members"] = members;
    }
    Ok(Reply::new(format!("{}{text}", table.to_text()), json))
}

fn macs(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    settle(control);
    let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
    let only = matches.find::<DomainId>("domain")?;
    let mut table = Table::new(["Mac-Address", "BD-ID", "Age(min)", "static", "filter", "bvi", "Interface-Name"]);
    let listed = only.is_some() || matches.has("verbose") || matches.has("all");
    for MacEntry { station, place, age } in if listed { bridges.macs.entries() } else { vec![] } {
        let Some(id) = bridges.id_of(station.domain).filter(|id| only.as_ref().is_none_or(|only| only.0 == *id)) else {
            continue;
        };
        let flag = |on| Cell::new(if on { "*" } else { "-" }, on);
        table.row([
            Cell::of(station.mac),
            Cell::from(id),
            if place.fixed { Cell::new("no", serde_json::Value::Null) } else { Cell::from(age / 60) },
            flag(place.fixed),
            flag(place.filter),
            flag(place.bvi),
            if place.filter {
                Cell::new("N/A", serde_json::Value::Null)
            } else {
                Cell::from(interfaces.name(place.interface))
            },
        ]);
    }
    let ((total, learned), (lost, refused)) = (bridges.macs.count(), bridges.macs.missed());
    let text = if listed { table.to_text() } else { String::new() };
    let text = format!(
        "{text}L2FIB total/learned entries: {total}/{learned}  Sightings lost: {lost}  Refused by limits: {refused}"
    );
    let json = json!({
        "total": total, "learned": learned, "lost": lost, "refused": refused, "entries": table.to_json(),
    });
    Ok(Reply::new(text, json))
}

fn connected(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
    let peer = |id| match bridges.mode(id) {
        Some(Mode::Connected(peer)) => Some(interfaces.name(peer)),
        _ => None,
    };
    let pairs: Vec<_> = interfaces.iter().filter_map(|of| Some((of.name.clone(), peer(of.id)?))).collect();
    let text = match pairs.is_empty() {
        true => "no l2patch entries".to_owned(),
        false => pairs.iter().map(|(from, to)| format!("{from:>26} -> {to}\n")).collect(),
    };
    let list: Vec<_> = pairs.iter().map(|(from, to)| json!({"interface": from, "peer": to})).collect();
    Ok(Reply::new(text, list.into()))
}

fn modes(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
    let names = matches.all::<InterfaceName>("interface")?;
    let mut lines = vec![];
    let mut list = vec![];
    for interface in interfaces.iter().filter(|i| names.is_empty() || names.iter().any(|name| name.0 == i.name)) {
        let name = &interface.name;
        let (line, json) = match bridges.mode(interface.id) {
            None => (format!("l3 {name}"), json!({"interface": name, "mode": "l3"})),
            Some(Mode::Connected(peer)) => {
                let peer = interfaces.name(peer);
                (format!("l2 xconnect {name} {peer}"), json!({"interface": name, "mode": "l2 xconnect", "peer": peer}))
            }
            Some(Mode::Member { domain, group, bvi, unknown }) => {
                let role = match (bvi, unknown) {
                    (true, _) => " bvi",
                    (_, true) => " uu-fwd",
                    _ => "",
                };
                let mut json =
                    json!({"interface": name, "mode": "l2 bridge", "domain": domain, "group": group, "bvi": bvi});
                if unknown {
                    json["uu-fwd"] = true.into();
                }
                (format!("l2 bridge {name} bd_id {domain}{role} shg {group}"), json)
            }
        };
        lines.push(line);
        list.push(json);
    }
    Ok(Reply::new(lines.join("\n"), list.into()))
}

/// Addresses, interface and domain, for the trace.
pub(crate) fn describe_frame(record: &Record) -> String {
    match EthernetHeader::parse(&record.bytes) {
        Some((header, _)) => format!("{} -> {}", header.source, header.destination),
        None => format!("{} bytes", record.length),
    }
}
