//! `set acl-plugin macip acl`, `delete acl-plugin macip acl`, `show acl-plugin macip acl`; `set acl-plugin macip interface`,
//! `show acl-plugin macip interface`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_interface::InterfaceName;
use serde_json::json;

use super::config::{MacipAcl, MacipInterface, MacipNumber};
use super::lists::MacipAcls;
use super::text;
use crate::command::{tag_behind, too_many};

pub(crate) fn register(control: &Control) {
    let set = "set acl-plugin macip acl [index <index:u32>] <rules:text>...";
    let help =
        "Add a MAC-IP list, or replace one: permit ip 10.0.0.0/8 mac 02:00:00:00:00:01, deny; `tag NAME` names it.";
    let set = Command::new(set, help, set_acl).argument("index", "index of the list; default: the first free one");
    let set = set.argument(
        "rules",
        "permit or deny; ip PREFIX, mac ADDRESS, mask ADDRESS; without a mask all bits are compared; rules are separated by commas",
    );
    control.commands().add(set);
    let delete = "delete acl-plugin macip acl index <macip-acls>";
    control.commands().add(Command::new(delete, "Delete a MAC-IP list.", delete_acl));
    let show = "show acl-plugin macip acl [index <index:u32>]";
    let show = Command::waiting(show, "Show MAC-IP lists and their rules.", show_acls);
    control.commands().add(show.argument("index", "one list"));
    let attach = "set acl-plugin macip interface <interface> acl <macip-acls> [del]";
    let help = "Set the MAC-IP list of an interface, or remove it.";
    control.commands().add(Command::new(attach, help, set_interface).argument("del", "remove it"));
    let show = "show acl-plugin macip interface";
    control.commands().add(Command::waiting(show, "Show the MAC-IP lists of interfaces.", show_interfaces));
}

fn set_acl(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut words: Vec<String> = given.all("rules")?;
    let tag = tag_behind(&mut words, given)?;
    let rules = text::rules(&words).map_err(|error| CommandError::new(error.to_string()).at(given.place("rules")))?;
    let id = match given.find("index")? {
        Some(id) => id,
        None => control.room::<MacipAcls>().free().ok_or_else(too_many)?,
    };
    control.put(MacipAcl { id, tag, rules })?;
    Ok(Reply::new(format!("ACL index:{id}"), json!(id)))
}

fn delete_acl(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let MacipNumber(id) = given.get("macip-acls")?;
    control.delete::<MacipAcl>(&id)?;
    Ok(Reply::done())
}

fn set_interface(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interface, acl): (InterfaceName, MacipNumber) = (given.get("interface")?, given.get("macip-acls")?);
    if !given.has("del") {
        control.put(MacipInterface { interface, acl })?;
        return Ok(Reply::done());
    }
    match control.objects().get::<MacipInterface>(&interface).filter(|at| at.acl == acl) {
        Some(_) => control.delete::<MacipInterface>(&interface)?,
        None => return Err(CommandError::new(format!("{interface} has no MAC-IP list {acl}"))),
    }
    Ok(Reply::done())
}

async fn show_acls(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<u32> = given.find("index")?;
    let mut listing = Listing::new(&control, &output);
    for acl in control.walk_of::<MacipAcl>(only.as_ref()) {
        listing.step().await;
        let tag = acl.tag.as_deref().unwrap_or_default();
        // A text that is a String takes everything.
        let _ = writeln!(listing.text(), "MACIP acl_index: {}, count: {} tag {{{tag}}}", acl.id, acl.rules.len());
        let mut rules = vec![];
        for (number, rule) in acl.rules.iter().enumerate() {
            listing.step().await;
            let rule = text::write(rule);
            let _ = writeln!(listing.text(), "    rule {number}: {rule}");
            rules.push(rule);
        }
        listing.element(|| json!({"index": acl.id, "tag": acl.tag, "rules": rules}));
    }
    Ok(listing.end())
}

async fn show_interfaces(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "List"]);
    for at in control.walk::<MacipInterface>() {
        rows.step().await;
        rows.row([Cell::of(&at.interface), Cell::from(u64::from(at.acl.0))]);
    }
    Ok(rows.end())
}
