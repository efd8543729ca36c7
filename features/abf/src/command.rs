//! `abf policy`, `abf attach`, and their `show` commands.

use std::fmt::Write;

use quiver_acl::AclNumber;
use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::api::by_family;
use quiver_ip::command::paths;
use quiver_ip::show::{forwarding, forwarding_json};
use quiver_wire::{V4, V6};
use serde_json::json;

use crate::attachment::AbfAttachment;
use crate::family::Forwarded;
use crate::policy::{AbfPolicy, PolicyNumber};
use crate::state::Policies;

pub(crate) fn register(control: &Control) {
    // Of paths without a next hop, such as `drop`, nobody can tell whose they are: the first family takes them.
    policies::<V4>(control);
    policies::<V6>(control);
    let del =
        Command::new("abf policy del [ip4 | ip6] id <id:u32>", "Delete an ABF policy without attachments.", delete);
    control.commands().add(del.arguments_of::<AbfPolicy<V4>>());
    let attach = "abf attach (ip4 | ip6) [del] policy <policy:u32> [priority <priority:u32>] <interface>";
    let help = "Attach an ABF policy to packets that an interface receives, or detach it.";
    control.commands().add(Command::new(attach, help, self::attach).arguments_of::<AbfAttachment<V4>>());
    control.commands().add(Command::waiting("show abf policy", "Show ABF policies and their paths.", show_policies));
    let show =
        Command::waiting("show abf attach [<interface>]", "Show the attachments of ABF policies.", show_attachments);
    control.commands().add(show);
}

fn policies<F: Forwarded>(control: &Control) {
    let add = format!(
        "abf policy add [{}] id <id:u32> acl <acls> (via (<next-hop:{}> [<interface>] | <interface> | drop | local \
         | null-send-unreach | null-send-prohibit) {{next-hop-table <next-hop-table:{}-table> | weight <weight:u8>}})...",
        F::NAME,
        F::NAME,
        F::NAME
    );
    let help = format!("Forward {} packets that an ACL permits by these paths.", F::TITLE);
    control.commands().add(Command::new(add, help, self::add::<F>).arguments_of::<AbfPolicy<F>>());
}

fn add<F: Forwarded>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let acl: AclNumber = given.get("acls")?;
    control.put(AbfPolicy::<F> { id: given.get("id")?, acl, paths: paths(control, given)? })?;
    Ok(Reply::done())
}

/// Where no family is named, a policy of IPv6 is meant if there is none of IPv4 with this number.
fn delete(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let id = given.get("id")?;
    let objects = control.objects();
    let is_6_alone = || objects.get::<AbfPolicy<V4>>(&id).is_none() && objects.get::<AbfPolicy<V6>>(&id).is_some();
    match given.has("ip6") || (!given.has("ip4") && is_6_alone()) {
        true => control.delete::<AbfPolicy<V6>>(&id)?,
        false => control.delete::<AbfPolicy<V4>>(&id)?,
    }
    Ok(Reply::done())
}

fn attach(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(given.has("ip6"), attach_family(control, given))
}

fn attach_family<F: Forwarded>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let policy = PolicyNumber::<F>::new(given.get("policy")?);
    match given.has("del") {
        true => control.delete::<AbfAttachment<F>>(&(interface, policy))?,
        false => {
            let priority = given.find("priority")?.unwrap_or(0);
            control.put(AbfAttachment { interface, policy, priority })?;
        }
    }
    Ok(Reply::done())
}

async fn show_policies(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    show_family::<V4>(&control, &mut listing).await;
    show_family::<V6>(&control, &mut listing).await;
    Ok(listing.end())
}

async fn show_family<F: Forwarded>(control: &Control, listing: &mut Listing) {
    for policy in control.walk::<AbfPolicy<F>>() {
        listing.step().await;
        let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
        let room = control.room::<Policies<F>>();
        let Some(group) = room.group(policy.id).and_then(|group| ip.fib.groups.get(group)) else { continue };
        let (id, acl) = (policy.id, policy.acl.0);
        // A text that is a String takes everything.
        let _ =
            write!(listing.text(), "{} policy {id} acl {acl}\n{}", F::NAME, forwarding(&ip.fib, &interfaces, group));
        let buckets = || forwarding_json(&ip.fib, &interfaces, group);
        listing.element(|| json!({"family": F::NAME, "policy": id, "acl": acl, "buckets": buckets()}));
    }
}

async fn show_attachments(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<InterfaceName> = given.find("interface")?;
    let mut rows = Rows::new(&control, &output, ["Interface", "Family", "Priority", "Policy"]);
    attachments::<V4>(&control, only.as_ref(), &mut rows).await;
    attachments::<V6>(&control, only.as_ref(), &mut rows).await;
    Ok(rows.end())
}

/// Lists attachments by interface and priority.
async fn attachments<F: Forwarded>(control: &Control, only: Option<&InterfaceName>, rows: &mut Rows) {
    let mut all = control.walk::<AbfAttachment<F>>().peekable();
    while let Some(first) = all.next() {
        rows.step().await;
        if only.is_some_and(|only| *only != first.interface) {
            continue;
        }
        let mut of_interface = vec![first.clone()];
        while let Some(next) = all.next_if(|next| next.interface == first.interface) {
            rows.step().await;
            of_interface.push(next);
        }
        of_interface.sort_by_key(|held| held.priority);
        for held in of_interface {
            rows.step().await;
            let (priority, policy) = (Cell::from(u64::from(held.priority)), Cell::from(u64::from(held.policy.0)));
            rows.row([Cell::of(&held.interface), Cell::from(F::NAME), priority, policy]);
        }
    }
}
