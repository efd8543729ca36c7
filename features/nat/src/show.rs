//! `show nat44 ...`, `show nat timeouts`, with VPP's words.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_session::room::Room as Sessions;
use quiver_wire::IpProtocol;
use serde_json::json;

use crate::config::{NatInterface, NatInterfaceAddress, NatMapping};
use crate::listing::{self, NatSession, text};
use crate::node::session::{flag, has};
use crate::pools::{self, PooledAddress};
use crate::room::{self, Nat};

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(Command::new("show nat timeouts", "Show timeouts of NAT sessions in seconds.", timeouts));
    let show = Command::waiting(
        "show nat44 sessions [max <max:u32>]",
        "Show the sessions of NAT44, both ends as inside and outside see them.",
        sessions,
    );
    commands.add(show.argument("max", "at most so many"));
    commands.add(Command::waiting("show nat44 addresses", "Show addresses to which hosts are translated.", addresses));
    commands.add(Command::waiting("show nat44 interfaces", "Show interfaces of NAT44.", interfaces));
    let show = "Show mappings of endpoint-independent mode, with the number of their sessions.";
    commands.add(Command::waiting("show nat44 mappings", show, mappings));
    commands.add(Command::waiting("show nat44 static mappings", "Show the static mappings of NAT44.", static_mappings));
    let show = "show nat44 interface address";
    commands.add(Command::waiting(show, "Show interfaces whose address hosts are translated to.", interface_addresses));
    commands.add(Command::waiting("show nat44 summary", "Show limits and numbers of NAT44 sessions.", summary));
}

fn timeouts(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let settings = control.room::<Nat>().settings().clone();
    let mut table = Table::new(["Timeout", "Seconds"]);
    for (name, seconds) in [
        ("udp", settings.udp_timeout),
        ("tcp-established", settings.tcp_established_timeout),
        ("tcp-transitory", settings.tcp_transitory_timeout),
        ("icmp", settings.icmp_timeout),
        ("port-rest", settings.port_rest),
    ] {
        table.row([Cell::from(name), Cell::from(u64::from(seconds))]);
    }
    Ok(table.into())
}

/// The name of a protocol.
fn named(number: u8) -> &'static str {
    match IpProtocol(number) {
        IpProtocol::TCP => "TCP",
        IpProtocol::UDP => "UDP",
        _ => "ICMP",
    }
}

/// Kind of a session: static, dynamic or forwarded.
fn kind(session: &NatSession) -> &'static str {
    match () {
        () if has(&session.second, flag::FORWARDED) => "forwarded",
        () if has(&session.second, flag::TWICE) => "static, twice",
        () if has(&session.second, flag::STATIC) => "static",
        () => "dynamic",
    }
}

async fn sessions(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut left: u32 = given.find("max")?.unwrap_or(u32::MAX);
    let titles =
        ["Thread", "Table", "Protocol", "Inside", "Seen as", "To", "Seen inside as", "Kind", "State", "Seconds"];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |session: Option<NatSession>| {
        let session = session.filter(|_| left > 0)?;
        left -= 1;
        Some([
            Cell::from(session.listed.thread()),
            Cell::from(u64::from(session.table.0)),
            Cell::from(named(session.second.key.protocol)),
            Cell::from(text(session.host())),
            Cell::from(text(session.second.key.near)),
            Cell::from(text(session.second.key.far)),
            Cell::from(text(session.inside.destination)),
            Cell::from(kind(&session)),
            Cell::from(session.listed.status.state.name()),
            Cell::from(session.listed.remaining),
        ])
    };
    rows.each(listing::all(&control), row).await;
    Ok(rows.end())
}

async fn addresses(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Address", "Table", "Twice NAT", "Mapping", "Filtering"]);
    let row = |pooled: Option<PooledAddress>| {
        let PooledAddress { address, table, is_twice, mapping, filtering } = pooled?;
        let table = table.map_or("all".to_owned(), |table| table.0.to_string());
        let cells = [Cell::from(address.to_string()), Cell::from(table), Cell::from(is_twice)];
        Some(cells.into_iter().chain([Cell::of(mapping), Cell::of(filtering)]))
    };
    rows.each(pools::pooled(&control), row).await;
    Ok(rows.end())
}

async fn mappings(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Table", "Protocol", "Inside", "Outside", "Filtering", "Sessions"]);
    let row = |found: Option<listing::SharedMapping>| {
        let listing::SharedMapping { shared, table, sessions } = found?;
        Some([
            Cell::from(u64::from(table.0)),
            Cell::from(named(shared.inside.protocol)),
            Cell::from(text(shared.inside.end)),
            Cell::from(text(shared.outside)),
            Cell::of(shared.filtering),
            Cell::from(u64::from(sessions)),
        ])
    };
    rows.each(listing::mappings(&control), row).await;
    Ok(rows.end())
}

async fn interfaces(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Inside", "Outside", "Output feature"]);
    for object in control.walk::<NatInterface>() {
        rows.step().await;
        let sides = [object.inside, object.outside, object.output].map(Cell::from);
        rows.row([Cell::of(&object.interface)].into_iter().chain(sides));
    }
    Ok(rows.end())
}

async fn interface_addresses(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Address", "Twice NAT"]);
    for object in control.walk::<NatInterfaceAddress>() {
        rows.step().await;
        let address =
            room::address_of(&control, &object.interface).map_or("none".to_owned(), |found| found.to_string());
        rows.row([Cell::of(&object.interface), Cell::from(address), Cell::from(object.twice_nat)]);
    }
    Ok(rows.end())
}

async fn static_mappings(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Outside", "Port", "Protocol", "Host", "Port", "Table", "Twice NAT", "Inbound only", "Tag"];
    let mut rows = Rows::new(&control, &output, titles);
    for object in control.walk::<NatMapping>() {
        rows.step().await;
        let hosts = match object.is_balancing() {
            true => object.backends.iter().map(|host| (Some(host.address), host.port, host.table)).collect(),
            false => vec![(object.local, object.local_port.unwrap_or(object.external_port), object.table)],
        };
        for (local, port, table) in hosts {
            rows.row([
                Cell::from(object.external.to_string()),
                Cell::from(u64::from(object.external_port)),
                Cell::of(&object.protocol),
                Cell::from(local.map_or_else(|| "the same".to_owned(), |local| local.to_string())),
                Cell::from(u64::from(port)),
                Cell::from(u64::from(table.0)),
                Cell::of(&object.twice_nat),
                Cell::from(object.inbound_only),
                Cell::from(object.tag.clone().unwrap_or_default()),
            ]);
        }
    }
    Ok(rows.end())
}

async fn summary(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut counts = [0u64; 4];
    let mut pace = quiver_control::Pace::in_turns(&control);
    for session in listing::all(&control) {
        pace.step().await;
        let Some(session) = session else { continue };
        let at = match IpProtocol(session.second.key.protocol) {
            IpProtocol::TCP => 0,
            IpProtocol::UDP => 1,
            _ => 2,
        };
        counts[at] += 1;
        counts[3] += u64::from(has(&session.second, flag::STATIC));
    }
    _ = output;
    let [tcp, udp, icmp, fixed] = counts;
    let most = control.room::<Nat>().settings().sessions;
    let workers = control.room::<Sessions>().sessions().map_or(0, |sessions| sessions.workers());
    let total = tcp + udp + icmp;
    let text = format!(
        "sessions: {total}\n  of TCP: {tcp}\n  of UDP: {udp}\n  of ICMP: {icmp}\n  of static mappings: {fixed}\n\
         sessions of a worker at most: {most}\nworkers: {workers}"
    );
    let fields = json!({"sessions": total, "tcp": tcp, "udp": udp, "icmp": icmp, "static": fixed, "sessions-max": most,
        "workers": workers});
    Ok(Reply::new(text, fields))
}
