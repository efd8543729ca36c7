//! `ip punt redirect`, `set punt`, `punt socket`, and what shows them.

use std::fmt::Write;
use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows, Table};
use quiver_interface::{Interfaces, LOCAL};
use quiver_ip::Ip;
use quiver_ip::api::by_family;
use quiver_ip::command::paths;
use quiver_ip::show::{forwarding, forwarding_json};
use quiver_wire::{IpFamily, IpProtocol, V4, V6};
use serde_json::json;

use crate::delivery::{By, Delivery};
use crate::family::Punted;
use crate::police::PuntPolicer;
use crate::reason::{PuntReason, Reason};
use crate::redirect::{PuntRedirect, Receiver, Redirects};
use crate::traffic::Punt;

pub(crate) fn register(control: &Control) {
    redirects::<V4>(control);
    redirects::<V6>(control);
    let what = "[ip4 | IPv4 | ip6 | IPv6] (udp | UDP | tcp | TCP | protocol <protocol:u8>) [all | ALL | <port:u16>]";
    let add = |grammar: String, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).arguments_of::<Punt<V4>>();
        let command = command
            .argument("all", "all ports without a punt of their own")
            .argument("ALL", "continue second by second");
        control.commands().add(command.argument("del", "disable punting"));
    };
    add(
        format!("set punt {what} [del]"),
        "Punt unclaimed local packets of a protocol or port to the punt redirects.",
        set_punt,
    );
    add(
        format!("punt socket register {what} socket <socket:text>"),
        "Send unclaimed local packets of a protocol or port to a program's datagram socket.",
        register_socket,
    );
    add(format!("punt socket deregister {what}"), "Stop sending punted packets to a socket.", deregister_socket);
    let show = "show punt socket registrations [l4 | ip-proto | exception]";
    let show = Command::waiting(show, "Show the punt sockets and their packets.", show_punts);
    let show = show.argument("l4", "protocols with ports").argument("ip-proto", "other protocols");
    control.commands().add(show.argument("exception", "punt reasons"));
    reasons(control);
}

fn reasons(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<Reason>());
    let what = "reason <reason:punt-reason>";
    let add = |grammar: String, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).arguments_of::<PuntReason>();
        control.commands().add(command.argument("del", "disable punting"));
    };
    let help = "Punt local packets of a reason to the punt redirects.";
    add(format!("set punt {what} [del]"), help, |control, given| set_reason(control, given, None, given.has("del")));
    add(
        format!("punt socket register {what} socket <socket:text>"),
        "Send local packets that are punted for a reason to a program's datagram socket.",
        |control, given| set_reason(control, given, Some(given.get("socket")?), false),
    );
    let help = "Stop sending packets that are punted for a reason to a socket.";
    add(format!("punt socket deregister {what}"), help, |control, given| set_reason(control, given, None, true));
    let help = "Show the punt reasons and their targets.";
    control.commands().add(Command::new("show punt reasons", help, |control, _| {
        let mut table = Table::new(["Number", "Reason", "Goes to", "Sent", "Lost"]);
        for reason in Reason::ALL {
            let (goes, sent, lost) = where_to(control, reason);
            table.row([Cell::from(u64::from(reason.number())), Cell::of(reason), goes, sent, lost]);
        }
        Ok(table.into())
    }));
}

fn set_reason(control: &Control, given: &Matches, socket: Option<String>, del: bool) -> Result<Reply, CommandError> {
    let reason = given.get("reason")?;
    match del {
        true => control.delete::<PuntReason>(&reason)?,
        false => control.put(PuntReason { reason, socket })?,
    }
    Ok(Reply::done())
}

/// Where packets go that nobody takes for a reason, and what became of those for programs.
fn where_to(control: &Control, reason: Reason) -> (Cell, Cell, Cell) {
    let none = || Cell::from(None::<u64>);
    let Some(punt) = control.objects().get::<PuntReason>(&reason) else { return (none(), none(), none()) };
    let Some(socket) = punt.socket.clone() else { return (Cell::from("redirect"), none(), none()) };
    let told = control.room::<Delivery>().told(By::Reason(reason));
    (Cell::from(socket), Cell::from(told.sent), Cell::from(told.lost))
}

fn redirects<F: Punted>(control: &Control) {
    let (command, name) = (F::NAMES.command, F::NAME);
    let add = format!(
        "{command} punt redirect [add] rx (all | <interface>) (via (<next-hop:{name}> [<interface>] | <interface> | drop) \
         {{next-hop-table <next-hop-table:{name}-table> | weight <weight:u8>}})..."
    );
    let help = format!("Redirect punted {} packets of an interface to another host.", F::TITLE);
    let add = Command::new(add, help, add_redirect::<F>).arguments_of::<PuntRedirect<F>>();
    control.commands().add(add.argument("all", "interfaces without a redirect of their own"));
    let del = format!("{command} punt redirect del rx (all | <interface>)");
    control.commands().add(Command::new(del, "Delete a punt redirect.", delete_redirect::<F>));
    let policer = format!("{command} punt policer (none | <policers>)");
    let help = format!("Attach a policer to punted {} packets, or detach it.", F::TITLE);
    control.commands().add(Command::new(policer, help, set_policer::<F>));
    let show = format!("show {command} punt policer");
    let help = format!("Show the policer of punted {} packets.", F::TITLE);
    control.commands().add(Command::new(show, help, show_policer::<F>));
    let show = Command::waiting(
        format!("show {command} punt redirect"),
        format!("Show the punt redirects of {}.", F::TITLE),
        show_redirects::<F>,
    );
    control.commands().add(show);
}

fn set_policer<F: Punted>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    crate::police::set::<F>(control, given.find("policers")?)?;
    Ok(Reply::done())
}

fn show_policer<F: Punted>(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let running = control.objects().get::<PuntPolicer<F>>(&PuntPolicer::<F>::NAME.to_owned());
    let name = running.map(|running| running.policer.0.clone());
    Ok(Reply::new(name.clone().unwrap_or_else(|| "none".into()), json!({ "policer": name })))
}

fn receiver(given: &Matches) -> Result<Receiver, CommandError> {
    if given.has("all") { Ok(Receiver::All) } else { given.get("interface").map(Receiver::Interface) }
}

fn add_redirect<F: Punted>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    control.put(PuntRedirect::<F> { interface: receiver(given)?, paths: paths(control, given)? })?;
    Ok(Reply::done())
}

fn delete_redirect<F: Punted>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    control.delete::<PuntRedirect<F>>(&receiver(given)?)?;
    Ok(Reply::done())
}

async fn show_redirects<F: Punted>(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for (id, group) in Redirects::<F>::walk(&control) {
        listing.step().await;
        let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
        let name = if id == LOCAL { "all".to_owned() } else { interfaces.name(id) };
        let group = ip.fib.groups.get(group);
        let way = group.map_or("    nowhere\n".into(), |group| forwarding(&ip.fib, &interfaces, group));
        // A text that is a String takes everything.
        let _ = write!(listing.text(), " rx {name} via:\n{way}");
        let buckets = || group.map(|group| forwarding_json(&ip.fib, &interfaces, group));
        listing.element(|| json!({"interface": name, "buckets": buckets()}));
    }
    Ok(listing.end())
}

/// The family that a command means.
fn is_ip6(given: &Matches) -> bool {
    given.has("ip6") || given.has("IPv6")
}

/// The protocol and port that a command means.
fn key(given: &Matches) -> Result<(u8, u16), CommandError> {
    let protocol = match given.find("protocol")? {
        Some(protocol) => protocol,
        None if given.has("tcp") || given.has("TCP") => IpProtocol::TCP.0,
        None => IpProtocol::UDP.0,
    };
    Ok((protocol, given.find("port")?.unwrap_or(0)))
}

fn set_punt(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(is_ip6(given), set_family(control, key(given)?, None, given.has("del")))
}

fn register_socket(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let socket: String = given.get("socket")?;
    by_family!(is_ip6(given), set_family(control, key(given)?, Some(socket), false))
}

fn deregister_socket(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(is_ip6(given), set_family(control, key(given)?, None, true))
}

fn set_family<F: Punted>(
    control: &Control,
    key: (u8, u16),
    socket: Option<String>,
    del: bool,
) -> Result<Reply, CommandError> {
    match del {
        true => control.delete::<Punt<F>>(&key)?,
        false => control.put(Punt::<F> { socket, ..Punt::new(key.0, key.1) })?,
    }
    Ok(Reply::done())
}

async fn show_punts(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Family", "Protocol or reason", "Port", "Goes to", "Sent", "Lost"];
    let mut rows = Rows::new(&control, &output, titles);
    let is_wanted = |has_ports: bool| match has_ports {
        _ if given.has("exception") => false,
        true => !given.has("ip-proto"),
        false => !given.has("l4"),
    };
    let chosen = |(has_ports, row): (bool, [Cell; 6])| is_wanted(has_ports).then_some(row);
    rows.each(punts::<V4>(&control).chain(punts::<V6>(&control)), chosen).await;
    if !given.has("l4") && !given.has("ip-proto") {
        let row = |punt: Rc<PuntReason>| {
            let family = if punt.reason.is_ip6() { V6::NAME } else { V4::NAME };
            let (goes, sent, lost) = where_to(&control, punt.reason);
            Some([Cell::from(family), Cell::of(punt.reason), Cell::from(None::<u64>), goes, sent, lost])
        };
        rows.each(control.walk::<PuntReason>(), row).await;
    }
    Ok(rows.end())
}

/// Whether a protocol has ports, and what is shown of it, one by one.
fn punts<F: Punted>(control: &Control) -> impl Iterator<Item = (bool, [Cell; 6])> + use<F> {
    let control = control.clone();
    control.clone().walk::<Punt<F>>().map(move |punt| {
        let delivery = control.room::<Delivery>();
        let told = punt.socket.is_some().then(|| delivery.told(By::port::<F>((punt.protocol, punt.port))));
        let port = if punt.port == 0 { Cell::from("all") } else { Cell::from(u64::from(punt.port)) };
        let goes = punt.socket.clone().map_or(Cell::from("redirect"), Cell::from);
        let (sent, lost) = (Cell::from(told.map(|told| told.sent)), Cell::from(told.map(|told| told.lost)));
        let protocol = IpProtocol(punt.protocol);
        let has_ports = protocol == IpProtocol::UDP || protocol == IpProtocol::TCP;
        (has_ports, [Cell::from(F::NAME), Cell::of(protocol), port, goes, sent, lost])
    })
}
