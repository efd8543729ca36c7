//! `set acl-plugin acl`, `delete acl-plugin acl`, `show acl-plugin acl`; `set acl-plugin interface`, `show acl-plugin interface`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_engine::Traffic;
use quiver_interface::{Direction, InterfaceName};
use serde_json::json;

use crate::config::{Acl, AclInterface, AclNumber, AclSettings, word};
use crate::ethertype::AclEthertypes;
use crate::lanes::List;
use crate::lists::{ACLS_MAX, Acls};
use crate::text;

mod sessions;

pub(crate) fn register(control: &Control) {
    sessions::register(control);
    let set = "set acl-plugin acl [index <index:u32>] <rules:text>...";
    let help =
        "Add an ACL, or replace one: permit+reflect src 10.0.0.0/8 proto 17 dport 53, deny; `tag NAME` names it.";
    let set = Command::waiting(set, help, set_acl).argument("index", "index of the ACL; default: the first free one");
    let set = set.argument(
        "rules",
        "permit, permit+reflect or deny; src, dst, proto, sport, dport, tcpflags VALUE MASK; rules are separated by commas",
    );
    control.commands().add(set);
    let delete = Command::new("delete acl-plugin acl index <acls>", "Delete an access control list.", delete_acl);
    control.commands().add(delete);
    let show = Command::waiting("show acl-plugin acl [index <index:u32>]", "Show ACLs and their rules.", show_acls);
    control.commands().add(show.argument("index", "one ACL"));
    let show = "show acl-plugin matches [index <index:u32>]";
    let help = "Show packets and bytes by matching rule; `set acl-plugin counters enable` counts them.";
    control.commands().add(Command::waiting(show, help, show_matches).argument("index", "one ACL"));
    let help = "Show how packets are matched against ACLs.";
    control.commands().add(Command::waiting("show acl-plugin tables", help, show_tables));
    let attach = "set acl-plugin interface <interface> (input|output) acl <acls> [del]";
    let help = "Append an ACL to the input or output list of an interface, or remove it.";
    let attach = Command::new(attach, help, set_interface).argument("input", "received packets");
    control.commands().add(attach.argument("output", "transmitted packets").argument("del", "remove it"));
    let pass = "set acl-plugin ethertypes <interface> (input|output) [<ethertype>...]";
    let help = "Set the EtherTypes that an interface passes in layer 2 beside IP; without any, all pass.";
    let pass = Command::new(pass, help, set_ethertypes).argument("input", "received frames");
    control.commands().add(pass.argument("output", "transmitted frames").argument("ethertype", "such as 0x0806"));
    let show = "show acl-plugin ethertypes [<interface>]";
    let help = "Show the EtherTypes that interfaces pass in layer 2 beside IP.";
    control.commands().add(Command::waiting(show, help, show_ethertypes));
    let count = "set acl-plugin counters (enable|disable)";
    let help = "Enable or disable counters of packets and bytes by matching rule, /acl/N/matches.";
    let count = Command::new(count, help, set_counters).argument("enable", "count; classification is slower");
    control.commands().add(count.argument("disable", "do not count"));
    let show = "show acl-plugin interface [<interface>]";
    control.commands().add(Command::waiting(show, "Show the ACLs of interfaces.", show_interfaces));
}

fn set_interface(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interface, list): (InterfaceName, AclNumber) = (given.get("interface")?, given.get("acls")?);
    let direction = Direction::received(given.has("input"));
    let known = control.objects().get::<AclInterface>(&interface);
    let mut at = known.map_or_else(|| AclInterface::new(interface.clone()), |at| (*at).clone());
    let lists = at.lists_mut(direction);
    match given.has("del") {
        false => lists.push(list),
        true => {
            let place = lists.iter().position(|known| *known == list);
            let unknown = || CommandError::new(format!("{interface} has no list {} for {}", list.0, word(direction)));
            lists.remove(place.ok_or_else(unknown)?);
        }
    }
    control.assign(&interface, at.wanted())?;
    Ok(Reply::done())
}

async fn show_interfaces(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<InterfaceName> = given.find("interface")?;
    let mut rows = Rows::new(&control, &output, ["Interface", "Direction", "Lists"]);
    for at in control.walk_of::<AclInterface>(only.as_ref()) {
        rows.step().await;
        for direction in Direction::ALL.into_iter().filter(|direction| !at.lists(*direction).is_empty()) {
            let lists: Vec<String> = at.lists(direction).iter().map(|list| list.0.to_string()).collect();
            rows.row([Cell::of(&at.interface), Cell::from(word(direction)), Cell::from(lists.join(" "))]);
        }
    }
    Ok(rows.end())
}

fn set_ethertypes(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let known = control.objects().get::<AclEthertypes>(&interface);
    let mut at = known.map_or_else(|| AclEthertypes::new(interface.clone()), |at| (*at).clone());
    *at.of_mut(Direction::received(given.has("input"))) = given.all("ethertype")?;
    control.assign(&interface, at.wanted())?;
    Ok(Reply::done())
}

fn set_counters(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    AclSettings::change(control, |settings| settings.counters = given.has("enable"))?;
    Ok(Reply::done())
}

async fn show_ethertypes(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<InterfaceName> = given.find("interface")?;
    let mut rows = Rows::new(&control, &output, ["Interface", "Direction", "EtherTypes"]);
    for at in control.walk_of::<AclEthertypes>(only.as_ref()) {
        rows.step().await;
        for direction in Direction::ALL.into_iter().filter(|direction| !at.of(*direction).is_empty()) {
            let passing: Vec<String> = at.of(direction).iter().map(ToString::to_string).collect();
            rows.row([Cell::of(&at.interface), Cell::from(word(direction)), Cell::from(passing.join(" "))]);
        }
    }
    Ok(rows.end())
}

async fn set_acl(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let mut words: Vec<String> = given.all("rules")?;
    let tag = tag_behind(&mut words, &given)?;
    let rules = text::rules(&words).map_err(|error| CommandError::new(error.to_string()).at(given.place("rules")))?;
    let number = || match given.find("index")? {
        Some(id) => Ok(id),
        None => control.room::<Acls>().free().ok_or_else(too_many),
    };
    let mut acl = Acl { id: number()?, tag, rules: rules.into() };
    control.prepare(&acl).await?;
    // Others may have added lists meanwhile.
    acl.id = number()?;
    let id = acl.id;
    control.put(acl)?;
    Ok(Reply::new(format!("ACL index:{id}"), json!(id)))
}

/// The tag behind the words of rules, which it leaves.
pub(crate) fn tag_behind(words: &mut Vec<String>, given: &Matches) -> Result<Option<String>, CommandError> {
    let tag = words.iter().position(|word| word == "tag").map(|at| words.split_off(at));
    match tag.as_deref() {
        Some([_, name]) => Ok(Some(name.clone())),
        Some(_) => {
            Err(CommandError::new("`tag` stands last, with one word behind it".to_owned()).at(given.place("rules")))
        }
        None => Ok(None),
    }
}

/// No number is left for a list.
pub(crate) fn too_many() -> CommandError {
    CommandError::new(format!("there are {ACLS_MAX} lists; delete one first"))
}

fn delete_acl(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let AclNumber(id) = given.get("acls")?;
    control.delete::<Acl>(&id)?;
    Ok(Reply::done())
}

async fn show_acls(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<u32> = given.find("index")?;
    let mut listing = Listing::new(&control, &output);
    for acl in control.walk_of::<Acl>(only.as_ref()) {
        listing.step().await;
        let tag = acl.tag.as_deref().unwrap_or_default();
        // A text that is a String takes everything.
        let _ = writeln!(listing.text(), "acl-index {} count {} tag {{{tag}}}", acl.id, acl.rules.len());
        let mut rules = vec![];
        for (index, rule) in acl.rules.iter().enumerate() {
            listing.step().await;
            let rule = text::write(rule);
            let _ = writeln!(listing.text(), "{index:>11}: {rule}");
            rules.push(rule);
        }
        listing.element(|| json!({"index": acl.id, "tag": acl.tag, "rules": rules}));
    }
    Ok(listing.end())
}

async fn show_matches(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<u32> = given.find("index")?;
    let mut rows = Rows::new(&control, &output, ["ACL", "Rule", "Packets", "Bytes"]);
    for acl in control.walk_of::<Acl>(only.as_ref()) {
        for rule in 0..acl.rules.len() {
            rows.step().await;
            let Traffic { packets, bytes } = control.room::<Acls>().current().matched(acl.id, rule);
            rows.row([u64::from(acl.id), rule as u64, packets, bytes].map(Cell::from));
        }
    }
    Ok(rows.end())
}

async fn show_tables(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["ACL", "Rules", "Matching"]);
    for acl in control.walk::<Acl>() {
        rows.step().await;
        let matching = control.room::<Acls>().current().get(acl.id).map(List::matching).unwrap_or_default();
        rows.row([Cell::from(u64::from(acl.id)), Cell::from(acl.rules.len() as u64), Cell::from(matching)]);
    }
    Ok(rows.end())
}
