//! `create vxlan tunnel`, `show vxlan tunnel`, `set interface ip vxlan-bypass`, and the same of other kinds.

use std::fmt::Write;
use std::net::IpAddr;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Family;
use quiver_ip::api::by_family;
use quiver_ip::table_word::table;
use quiver_wire::{V4, V6};
use serde_json::json;

use crate::bypass::set_bypass;
use crate::configured::{Configured, Fields, add, find, is_taken};
use crate::kind::Kind;
use crate::tunnels::After;

/// The words of a kind's commands that are its own, as VPP's users know them.
#[derive(Clone, Copy, Debug)]
pub struct Keywords {
    /// In front of the address that datagrams come from, and go to.
    pub ends: [&'static str; 2],
    /// Further words, in front of the ports by which datagrams come, and to which they go.
    pub ports: [&'static str; 2],
    /// Of tunnels without Ethernet headers.
    pub layer3: &'static str,
}

pub(crate) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<After>());
}

/// Adds the commands of a kind.
pub fn register_commands<T: Configured>(control: &Control, words: Keywords) {
    let word = T::Kind::WORD;
    let Keywords { ends: [from, to], ports: [port, destination_port], layer3 } = words;
    let grammar = format!(
        "create {word} tunnel {{{from} <source:ip> | {to} <destination:ip> | \
         group <group:ip> <group-interface:interface> | vni <vni:u32> | (instance <instance:u32> | if-name <if-name:text>) | \
         encap-vrf-id <table:table> | {port} <port:u16> | {destination_port} <destination-port:u16> | \
         decap-next <after:after-tunnel> | {layer3} | del}}"
    );
    let title = word.to_uppercase();
    let help = format!("Create or delete a {title} tunnel.");
    let make = Command::waiting(grammar, help, move |control, given, _: Output| make::<T>(control, given, words));
    let make = make.argument("group", "multicast group of the tunnel, in place of a remote host");
    let make = make.argument("instance", "number in the name; default: the first free one");
    let make = make.argument("if-name", "name that you choose, such as to-berlin");
    let make = make.argument(layer3, "IP packets without an Ethernet header");
    control.commands().add(make.argument("del", "delete the tunnel with these endpoints").arguments_of::<T>());
    let grammar = format!("show {word} tunnel [<interface>]");
    control.commands().add(Command::waiting(grammar, format!("Show {title} tunnels and their endpoints."), show::<T>));
    register_bypass::<T::Kind, V4>(control);
    register_bypass::<T::Kind, V6>(control);
}

fn register_bypass<K: Kind, F: Family>(control: &Control) {
    let grammar = format!("set interface {} {}-bypass <interface> [del]", F::NAMES.command, K::WORD);
    let help = format!(
        "Enable or disable bypass on an interface: tunnel packets over {} are decapsulated without a FIB lookup.",
        F::TITLE
    );
    let set = Command::new(grammar, help, |control, given| {
        set_bypass(control, given.get("interface")?, K::WORD, F::VERSION == 6, !given.has("del"))?;
        Ok(Reply::done())
    });
    control.commands().add(set.argument("del", "disable it"));
}

async fn make<T: Configured>(control: Control, given: Matches, words: Keywords) -> Result<Reply, CommandError> {
    let missing = |what: String| CommandError::new(format!("{what} is missing"));
    let [from, to] = words.ends;
    let source: IpAddr = given.find("source")?.ok_or_else(|| missing(from.into()))?;
    let (host, group) = (given.find::<IpAddr>("destination")?, given.find::<IpAddr>("group")?);
    let destination = host.or(group).ok_or_else(|| missing(format!("{to} or group")))?;
    let vni = given.find("vni")?.ok_or_else(|| missing("vni".into()))?;
    let mut wanted = Fields::between::<T>(source, destination, vni);
    wanted.set_table(by_family!(destination.is_ipv6(), table(&control, &given, "table"))?.unwrap_or(0));
    wanted.group_interface = given.find("group-interface")?;
    wanted.port = given.find("port")?.unwrap_or(wanted.port);
    wanted.destination_port = given.find("destination-port")?.unwrap_or(wanted.destination_port);
    wanted.after = given.find("after")?.unwrap_or(wanted.after);
    wanted.layer3 = given.has(words.layer3);
    if given.has("del") {
        let found = find::<T>(&control, &wanted).ok_or_else(|| CommandError::new("there is no such tunnel"))?;
        control.delete_in_turns::<T>(&found).await?;
        return Ok(Reply::done());
    }
    let instance = given.find("instance")?;
    if let Some(taken) = instance.filter(|number| is_taken::<T>(&control, *number)) {
        return Err(CommandError::new(format!("there is {}{taken} already", T::STEM)).at(given.place("instance")));
    }
    wanted.name = given.find("if-name")?.unwrap_or_default();
    Ok(Reply::text(add::<T>(&control, wanted, instance)?))
}

async fn show<T: Configured>(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let (word, wanted) = (T::Kind::WORD, given.find::<InterfaceName>("interface")?.map(|InterfaceName(name)| name));
    if let Some(name) = wanted.as_ref().filter(|wanted| control.objects().get::<T>(wanted).is_none()) {
        return Err(CommandError::new(format!("{name} is no {word} tunnel")).at(given.place("interface")));
    }
    let (mut listing, mut is_empty) = (Listing::new(&control, &output), true);
    for tunnel in control.walk_of::<T>(wanted.as_ref()).map(|tunnel| tunnel.fields()) {
        listing.step().await;
        is_empty = false;
        let id = control.room::<Interfaces>().find(&tunnel.name).map(|interface| interface.id.0);
        let group = tunnel.group_interface.as_ref().map(|name| format!(" by {name}")).unwrap_or_default();
        let kind = if tunnel.layer3 { "layer 3" } else { "layer 2" };
        // A text that is a String takes everything, so the results of `write` say nothing.
        let instance = tunnel.instance::<T>().map_or_else(|| "-".into(), |instance| instance.to_string());
        let _ = writeln!(
            listing.text(),
            "[{instance}] {} src {} port {} dst {}{group} port {} vni {} table {} {kind} next {}",
            tunnel.name,
            tunnel.source,
            tunnel.port,
            tunnel.destination,
            tunnel.destination_port,
            tunnel.vni,
            tunnel.table_id(),
            tunnel.after,
        );
        listing.element(|| {
            json!({
                "name": tunnel.name, "sw-if-index": id, "source": tunnel.source, "destination": tunnel.destination,
                "group-interface": tunnel.group_interface.as_ref().map(|name| &name.0), "port": tunnel.port,
                "destination-port": tunnel.destination_port, "vni": tunnel.vni, "table": tunnel.table_id().0,
                "layer3": tunnel.layer3, "after": tunnel.after.to_string(),
            })
        });
    }
    if is_empty {
        listing.line(&format!("No {word} tunnels. Create one with `create {word} tunnel`."));
    }
    Ok(listing.end())
}
