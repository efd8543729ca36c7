//! The commands that show bridges, and the trace of their nodes.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows, Table};
use quiver_engine::trace::Record;
use quiver_interface::{Interfaces, chosen};
use quiver_wire::{EthernetHeader, Header};
use serde_json::json;

use crate::bridges::{BridgeState, Bridges, Mode};
use crate::gathering::{Gathering, Stations};
use crate::learning::settle;
use crate::macs::MacEntry;
use crate::objects::DomainId;

/// Buckets of the table of stations that are gathered in a step.
const GATHERED: usize = 64;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let grammar = "show bridge-domain [<id:bridge-domains>] [detail]";
    commands.add(Command::new(grammar, "Show bridge domains; `detail` adds their members.", domains));
    let grammar = "show l2fib [verbose | all | bd_id <domain:bridge-domains>]";
    let help = "Show the number of MAC table entries, or with an argument the entries.";
    commands.add(Command::waiting(grammar, help, macs));
    commands.add(Command::waiting("show l2patch", "Show the layer-2 cross-connects.", connected));
    let help = "Show the layer-2 or layer-3 mode of interfaces.";
    commands.add(Command::waiting("show mode [<interface>...]", help, modes));
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

async fn macs(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    settle(&control);
    let only = matches.find::<DomainId>("domain")?;
    let titles = ["Mac-Address", "BD-ID", "Age(min)", "static", "filter", "bvi", "Interface-Name"];
    let mut rows = Rows::new(&control, &output, titles).named("entries");
    let listed = only.is_some() || matches.has("verbose") || matches.has("all");
    for station in if listed { stations(&control, &mut rows).await } else { Stations::new() }.into_values() {
        rows.step().await;
        let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
        let Some(MacEntry { place, age, .. }) = bridges.macs.get(station) else { continue };
        let Some(id) = bridges.id_of(station.domain).filter(|id| only.as_ref().is_none_or(|only| only.0 == *id)) else {
            continue;
        };
        let flag = |on| Cell::new(if on { "*" } else { "-" }, on);
        rows.row([
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
    let bridges = control.room::<Bridges>();
    let ((total, learned), (lost, refused)) = (bridges.macs.count(), bridges.macs.missed());
    let counts =
        format!("L2FIB total/learned entries: {total}/{learned}  Sightings lost: {lost}  Refused by limits: {refused}");
    let json = json!({"total": total, "learned": learned, "lost": lost, "refused": refused});
    if listed {
        return Ok(rows.end_with(&counts, json));
    }
    let json = json!({"total": total, "learned": learned, "lost": lost, "refused": refused, "entries": []});
    Ok(Reply::new(counts, json))
}

/// The stations that are known, by domain and address.
async fn stations(control: &Control, rows: &mut Rows) -> Stations {
    let mut gathering = Gathering::new();
    loop {
        rows.step().await;
        if !gathering.step(&control.room::<Bridges>().macs, GATHERED) {
            return gathering.into_stations();
        }
    }
}

async fn connected(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    let mut is_empty = true;
    let ids = control.room::<Interfaces>().ids();
    for id in ids {
        listing.step().await;
        let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
        let (Some(from), Some(Mode::Connected(peer))) = (interfaces.get(id), bridges.mode(id)) else { continue };
        let peer = interfaces.name(peer);
        listing.line(&format!("{:>26} -> {peer}", from.name));
        listing.element(|| json!({"interface": from.name, "peer": peer}));
        is_empty = false;
    }
    if is_empty {
        listing.line("no l2patch entries");
    }
    Ok(listing.end())
}

async fn modes(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &matches)? {
        listing.step().await;
        let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
        let Some(interface) = interfaces.get(id) else { continue };
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
        listing.line(&line);
        listing.element(|| json);
    }
    Ok(listing.end())
}

/// Addresses, interface and domain, for the trace.
pub(crate) fn describe_frame(record: &Record) -> String {
    match EthernetHeader::parse(&record.bytes) {
        Some((header, _)) => format!("{} -> {}", header.source, header.destination),
        None => format!("{} bytes", record.length),
    }
}
