//! `set acl-plugin acl`, `delete acl-plugin acl`, `show acl-plugin acl`; `set acl-plugin interface`, `show acl-plugin interface`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_interface::{Direction, InterfaceName};
use serde_json::json;

use crate::config::{ACLS_MAX, Acl, AclNumber, Acls};
use crate::interface::{AclInterface, word};
use crate::text;

pub(crate) fn register(control: &Control) {
    let set = "set acl-plugin acl [index <index:u32>] <rules:text>...";
    let help = "Add an ACL, or replace one: permit src 10.0.0.0/8 proto 17 dport 53, deny; `tag NAME` names it.";
    let set = Command::new(set, help, set_acl).argument("index", "index of the ACL; default: the first free one");
    let set = set.argument(
        "rules",
        "permit or deny; src, dst, proto, sport, dport, tcpflags VALUE MASK; rules are separated by commas",
    );
    control.commands().add(set);
    let delete = Command::new("delete acl-plugin acl index <acls>", "Delete an access control list.", delete_acl);
    control.commands().add(delete);
    let show = Command::waiting("show acl-plugin acl [index <index:u32>]", "Show ACLs and their rules.", show_acls);
    control.commands().add(show.argument("index", "one ACL"));
    let attach = "set acl-plugin interface <interface> (input|output) acl <acls> [del]";
    let help = "Append an ACL to the input or output list of an interface, or remove it.";
    let attach = Command::new(attach, help, set_interface).argument("input", "received packets");
    control.commands().add(attach.argument("output", "transmitted packets").argument("del", "remove it"));
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

fn set_acl(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut words: Vec<String> = given.all("rules")?;
    let wrong = |what: String| CommandError::new(what).at(given.place("rules"));
    let tag = words.iter().position(|word| word == "tag").map(|at| words.split_off(at));
    let tag = match tag.as_deref() {
        Some([_, name]) => Some(name.clone()),
        Some(_) => return Err(wrong("`tag` stands last, with one word behind it".into())),
        None => None,
    };
    let rules = text::rules(&words).map_err(|error| wrong(error.to_string()))?;
    let full = || CommandError::new(format!("there are {ACLS_MAX} lists; delete one first"));
    let id = match given.find("index")? {
        Some(id) => id,
        None => control.room::<Acls>().free().ok_or_else(full)?,
    };
    control.put(Acl { id, tag, rules })?;
    Ok(Reply::new(format!("ACL index:{id}"), json!(id)))
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
