//! The commands that show bridges, and the trace of their nodes.

use std::collections::BTreeMap;

use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows, Table};
use quiver_control::{Control, behind, one_by_one};
use quiver_engine::trace::Record;
use quiver_interface::{InterfaceId, Interfaces, chosen, walk};
use quiver_wire::{EthernetHeader, Header, MacAddress};
use serde_json::json;

use crate::bridges::{BridgeState, Bridges, Mode};
use crate::layer2::DomainIndex;
use crate::learning::settle;
use crate::macs::{Found, MacEntry};
use crate::objects::DomainId;
use crate::station::Station;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let grammar = "show bridge-domain [<id:bridge-domains>] [detail]";
    commands.add(Command::waiting(grammar, "Show bridge domains; `detail` adds their members.", domains));
    let grammar = "show l2fib [verbose | all | bd_id <domain:bridge-domains>]";
    let help = "Show the number of MAC table entries, or with an argument the entries.";
    commands.add(Command::waiting(grammar, help, macs));
    commands.add(Command::waiting("show l2patch", "Show the layer-2 cross-connects.", connected));
    let help = "Show the layer-2 or layer-3 mode of interfaces.";
    commands.add(Command::waiting("show mode [<interface>...]", help, modes));
}

async fn domains(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let only = matches.find::<DomainId>("id")?;
    let titles = [
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
    ];
    let mut rows = Rows::new(&control, &output, titles);
    for id in ids(&control, only.as_ref()) {
        rows.step().await;
        let mut members = vec![];
        let interfaces = control.room::<Bridges>().interfaces(id);
        for member in interfaces {
            rows.step().await;
            members.extend(member_row(&control, id, member));
        }
        let (bridges, interfaces) = (control.room::<Bridges>(), control.room::<Interfaces>());
        let Some(BridgeState { index, settings }) = bridges.domains().get(&id) else { continue };
        let flag = |on| Cell::new(if on { "on" } else { "off" }, on);
        let age = settings.mac_age;
        let bvi = bridges.bvi(id).map(|bvi| interfaces.name(bvi));
        let cells = [
            Cell::from(id),
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
        rows.row_with(cells, || {
            let mut table = Table::new(MEMBER);
            members.into_iter().for_each(|row| table.row(row));
            json!({"members": table.to_json()})
        });
    }
    let mut listing = rows.end_table();
    if matches.has("detail") && listing.wants_text() {
        for id in ids(&control, only.as_ref()) {
            list_members(&control, id, &mut listing).await;
        }
    }
    Ok(listing.end())
}

/// The numbers of all domains, or this one.
fn ids(control: &Control, only: Option<&DomainId>) -> impl Iterator<Item = u32> + use<> {
    let (control, only) = (control.clone(), only.map(|only| only.0));
    let all = one_by_one(move |last| behind(control.room::<Bridges>().domains(), last).map(|(id, _)| (*id, *id)));
    only.into_iter().chain(all.take_while(move |_| only.is_none()))
}

const MEMBER: [&str; 4] = ["Interface", "If-idx", "SHG", "BVI"];

/// An interface of a domain, unless it is that for unknown addresses.
fn member_row(control: &Control, domain: u32, interface: InterfaceId) -> Option<[Cell; 4]> {
    let bridges = control.room::<Bridges>();
    let Some(Mode::Member { domain: of, group, bvi, unknown: false }) = bridges.mode(interface) else { return None };
    (of == domain).then(|| {
        let name = control.room::<Interfaces>().name(interface);
        let bvi = Cell::new(if bvi { "*" } else { "-" }, bvi);
        [Cell::from(name), Cell::from(interface.0), Cell::from(group), bvi]
    })
}

/// A table of the members of a domain, as text.
async fn list_members(control: &Control, domain: u32, listing: &mut Listing) {
    let mut table = Table::new(MEMBER);
    let interfaces = control.room::<Bridges>().interfaces(domain);
    for interface in interfaces {
        listing.step().await;
        member_row(control, domain, interface).into_iter().for_each(|row| table.row(row));
    }
    if !table.is_empty() {
        listing.line(&format!("\nBD-ID {domain}:"));
        for line in table.to_text().lines() {
            listing.step().await;
            listing.line(&format!("  {line}"));
        }
    }
}

async fn macs(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    settle(&control);
    let only = matches.find::<DomainId>("domain")?;
    let titles = ["Mac-Address", "BD-ID", "Age(min)", "static", "filter", "bvi", "Interface-Name"];
    let mut rows = Rows::new(&control, &output, titles).named("entries");
    let listed = only.is_some() || matches.has("verbose") || matches.has("all");
    for station in if listed { stations(&control, &mut rows).await } else { BTreeMap::new() }.into_values() {
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
async fn stations(control: &Control, rows: &mut Rows) -> BTreeMap<(DomainIndex, MacAddress), Station> {
    let mut found = Found::default();
    while control.room::<Bridges>().macs.find_more(&mut found) {
        rows.step().await;
    }
    found.stations
}

async fn connected(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    let mut is_empty = true;
    for id in walk(&control) {
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
