//! Sessions of lists: `show acl-plugin sessions`, `clear acl-plugin sessions`, `set acl-plugin session timeout`,
//! `set acl-plugin reclassify-sessions`.

use std::net::SocketAddr;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::{Direction, InterfaceId, Interfaces};
use quiver_session::listing::Listed;
use quiver_wire::IpProtocol;

use crate::config::{AclSettings, word};
use crate::flow::Admission;
use crate::reflect;
use crate::rule::Rule;

pub(super) fn register(control: &Control) {
    let commands = control.commands();
    let show = "show acl-plugin sessions [verbose <level:u32>]";
    let help = "Show ACL sessions, with the source and destination of their first packet.";
    commands.add(Command::waiting(show, help, show_sessions).argument("level", "level of detail, without effect"));
    let help = "End all ACL sessions.";
    commands.add(Command::waiting("clear acl-plugin sessions", help, clear));
    let help = "Set the idle timeout of ACL sessions, in seconds.";
    let set = Command::new("set acl-plugin session timeout udp idle <seconds:u32>", help, set_udp);
    commands.add(set.argument("idle", "timeout of all protocols except TCP; default: 600"));
    let set = Command::new("set acl-plugin session timeout tcp (idle|transient) <seconds:u32>", help, set_tcp);
    let set = set.argument("idle", "timeout of established connections; default: 86400");
    commands.add(
        set.argument("transient", "timeout before the handshake is complete, and after a FIN or RST; default: 120"),
    );
    let set = "set acl-plugin session table event-trace <level:u32>";
    let set = Command::new(set, "Accepted for VPP's scripts, without effect: there is no event logger.", |_, _| {
        Ok(Reply::done())
    });
    commands.add(set.argument("level", "0 to 1"));
    let set = "set acl-plugin reclassify-sessions <on:u32>";
    let help =
        "Enable (1) or disable (0) ending the sessions whose first packet changed ACLs no longer permit and reflect.";
    commands.add(Command::new(set, help, set_reclassify).argument("on", "0 or 1"));
}

/// An end of the first packet.
fn end(session: &Admission, is_source: bool) -> String {
    let fields = &session.fields;
    let upper = fields.upper.unwrap_or_default();
    let (address, port) = match is_source {
        true => (fields.source, upper.source),
        false => (fields.destination, upper.destination),
    };
    match IpProtocol(fields.protocol) {
        IpProtocol::TCP | IpProtocol::UDP => SocketAddr::new(address, port).to_string(),
        _ => address.to_string(),
    }
}

/// The protocol of a session, and of ICMP type and code.
fn protocol(session: &Admission) -> String {
    let upper = session.fields.upper.unwrap_or_default();
    match IpProtocol(session.fields.protocol) {
        IpProtocol::TCP => "tcp".to_owned(),
        IpProtocol::UDP => "udp".to_owned(),
        protocol if Rule::has_numbers(protocol) => {
            format!("{} type {} code {}", protocol.0, upper.source, upper.destination)
        }
        protocol => protocol.0.to_string(),
    }
}

async fn show_sessions(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = [
        "Interface",
        "Direction",
        "Protocol",
        "Source",
        "Destination",
        "State",
        "Thread",
        "Seconds",
        "Packets there",
        "Packets back",
    ];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |session: Option<(Listed, Admission)>| {
        let (listed, session) = session?;
        let [(there, _), (back, _)] = listed.traffic;
        Some([
            Cell::from(control.room::<Interfaces>().name(InterfaceId(session.interface))),
            Cell::from(word(Direction::received(!session.is_sent))),
            Cell::from(protocol(&session)),
            Cell::from(end(&session, true)),
            Cell::from(end(&session, false)),
            Cell::from(listed.status.state.name()),
            Cell::from(listed.thread()),
            Cell::from(listed.remaining),
            Cell::from(there),
            Cell::from(back),
        ])
    };
    rows.each(reflect::all(&control), row).await;
    Ok(rows.end())
}

async fn clear(control: Control, _: Matches, _: Output) -> Result<Reply, CommandError> {
    reflect::clear(control).await;
    Ok(Reply::done())
}

fn set_udp(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let seconds = given.get("seconds")?;
    AclSettings::change(control, |settings| settings.udp_timeout = seconds)?;
    Ok(Reply::done())
}

fn set_tcp(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let seconds = given.get("seconds")?;
    AclSettings::change(control, |settings| match given.has("idle") {
        true => settings.tcp_timeout = seconds,
        false => settings.tcp_transient_timeout = seconds,
    })?;
    Ok(Reply::done())
}

fn set_reclassify(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let on: u32 = given.get("on")?;
    if on > 1 {
        return Err(CommandError::new(format!("{on} is neither 0 nor 1")).at(given.place("on")));
    }
    AclSettings::change(control, |settings| settings.reclassify_sessions = on == 1)?;
    Ok(Reply::done())
}
