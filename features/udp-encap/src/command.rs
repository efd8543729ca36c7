//! `udp encap`, `show udp encap`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::Interfaces;
use quiver_ip::api::by_family;
use quiver_ip::objects::TableNumber;
use quiver_ip::show::{forwarding, forwarding_json};
use quiver_ip::table_word::table;
use quiver_ip::{Family, Ip};
use quiver_tunnel::Ends;
use quiver_wire::{V4, V6};
use serde_json::{Value, json};

use crate::config::{Encaps, UdpEncap};

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    let del = Command::new("udp encap del index <id:u16>", "Delete a UDP encapsulation.", |control, given| {
        control.delete::<UdpEncap>(&given.get("id")?)?;
        Ok(Reply::done())
    });
    control.commands().add(del.arguments_of::<UdpEncap>());
    let show = Command::waiting("show udp encap [<id:u16>]", "Show UDP encapsulations and their counters.", show);
    control.commands().add(show.arguments_of::<UdpEncap>());
}

fn register_family<F: Family>(control: &Control) {
    let name = F::NAME;
    let add = format!(
        "udp encap add <source:{name}> <destination:{name}> <port:u16> [<destination-port:u16>] \
         {{src-port-is-entropy | table-id <table:{name}-table> | index <id:u16>}}"
    );
    let help = format!("Add a UDP encapsulation over {}, to which routes refer by its id.", F::TITLE);
    let add = Command::new(add, help, self::add).argument("port", "source port, or, if the only one, destination port");
    let add = add.argument("src-port-is-entropy", "select the source port by the inner flow");
    control.commands().add(add.arguments_of::<UdpEncap>());
}

fn add(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (port, second) = (given.get("port")?, given.find("destination-port")?);
    let (source_port, destination_port) = second.map_or((0, port), |second| (port, second));
    let id = given.find("id")?.or_else(|| control.room::<Encaps>().free());
    let id: u16 = id.ok_or_else(|| CommandError::new("all numbers of encapsulations are taken; delete one first"))?;
    let (source, destination) = (given.get("source")?, given.get::<std::net::IpAddr>("destination")?);
    let table = by_family!(destination.is_ipv6(), table(control, given, "table"))?.unwrap_or(0);
    let (of4, of6) = if destination.is_ipv4() { (table, 0) } else { (0, table) };
    let source_port = if given.has("src-port-is-entropy") { 0 } else { source_port };
    control.put(UdpEncap {
        id,
        source,
        destination,
        source_port,
        destination_port,
        table: TableNumber::new(of4),
        ip6_table: TableNumber::new(of6),
    })?;
    Ok(Reply::new(format!("udp-encap: {id}\n"), json!({"id": id})))
}

async fn show(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let wanted = given.find::<u16>("id")?;
    if let Some(wanted) = wanted.filter(|wanted| control.objects().get::<UdpEncap>(wanted).is_none()) {
        return Err(CommandError::new(format!("there is no encapsulation {wanted}")).at(given.place("id")));
    }
    let mut listing = Listing::new(&control, &output);
    for encap in control.walk_of::<UdpEncap>(wanted.as_ref()) {
        listing.step().await;
        let room = control.room::<Encaps>();
        let (Some(held), to) = (room.get(encap.id), room.counters().sum(encap.id.into())) else { continue };
        let source = if encap.source_port == 0 { "by-flow".into() } else { encap.source_port.to_string() };
        // A text that is a String takes everything, so the results of `write` say nothing.
        let _ = writeln!(
            listing.text(),
            "udp-encap:[{}]: table:{} ip:[src:{}, dst:{}] udp:[src:{source}, dst:{}] to:[{}:{}]",
            encap.id,
            encap.table_id(),
            encap.source,
            encap.destination,
            encap.destination_port,
            to.packets,
            to.bytes
        );
        let buckets = match held.ends {
            Ends::V4(..) => way::<V4>(&control, held.group, wanted.is_some(), listing.text()),
            Ends::V6(..) => way::<V6>(&control, held.group, wanted.is_some(), listing.text()),
        };
        listing.element(|| {
            json!({
                "id": encap.id, "table": encap.table_id().0, "source": encap.source, "destination": encap.destination,
                "source-port": encap.source_port, "destination-port": encap.destination_port,
                "packets": to.packets, "bytes": to.bytes, "buckets": buckets,
            })
        });
    }
    Ok(listing.end())
}

/// Where datagrams go.
fn way<F: Family>(control: &Control, group: u32, detail: bool, text: &mut String) -> Value {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    let Some(group) = ip.fib.groups.get(group) else { return Value::Null };
    if detail {
        text.push_str(&forwarding(&ip.fib, &interfaces, group));
    }
    forwarding_json(&ip.fib, &interfaces, group)
}
