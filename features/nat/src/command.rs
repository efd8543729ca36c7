//! `nat44 ...`, `set interface nat44`, `set nat timeout`, `show nat44 ...`, with VPP's words.

use std::net::Ipv4Addr;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_interface::InterfaceName;
use quiver_ip::objects::TableNumber;
use quiver_ip::table_word;
use quiver_session::expiry::end_translated;
use quiver_session::room::Room as Sessions;
use quiver_wire::{IpProtocol, V4};
use serde_json::json;

use crate::config::{
    External, MappedProtocol, NatAddresses, NatInterface, NatInterfaceAddress, NatMapping, NatSettings,
};
use crate::listing::{self, NatSession, text};
use crate::node::session::{flag, has};
use crate::room::{self, Nat};
use crate::rules::TwiceNat;

pub(crate) fn register(control: &Control) {
    settings(control);
    addresses(control);
    mappings(control);
    shows(control);
}

fn settings(control: &Control) {
    let commands = control.commands();
    let line = "nat44 plugin (enable [sessions <sessions:u32>] | disable)";
    let plugin =
        Command::waiting(line, "Enable NAT44; or disable it, and delete its configuration and sessions.", plugin);
    commands.add(plugin.argument("sessions", "largest number of sessions of a worker"));
    let line = "nat44 forwarding (enable | disable)";
    let help = "Forward packets from the outside that match no session and no mapping, or drop them.";
    commands.add(Command::new(line, help, forwarding));
    let line = "set nat timeout (reset | {udp <udp:u32> | tcp-established <tcp-established:u32> \
                | tcp-transitory <tcp-transitory:u32> | icmp <icmp:u32>})";
    let set = Command::new(line, "Set timeouts of NAT sessions in seconds.", set_timeouts);
    let set = set.argument("reset", "to the defaults").argument("udp", "of UDP sessions");
    let set = set.argument("tcp-established", "of established TCP connections");
    commands.add(set.argument("tcp-transitory", "of other TCP connections").argument("icmp", "of ICMP sessions"));
    commands.add(Command::new("show nat timeouts", "Show timeouts of NAT sessions in seconds.", show_timeouts));
    let line = "set interface nat44 (in <inside:interface> | out <outside:interface>)... {output-feature | del}";
    let set =
        Command::new(line, "Translate packets between inside and outside interfaces; or no longer.", set_interface);
    let set =
        set.argument("inside", "whose hosts are translated").argument("outside", "where they are seen translated");
    let set = set.argument("output-feature", "translate packets to the outside interface when they leave");
    commands.add(set.argument("del", "no longer"));
    commands.add(Command::waiting("clear nat44 (ed sessions | sessions)", "End all NAT44 sessions.", clear));
}

fn addresses(control: &Control) {
    let commands = control.commands();
    let line = "nat44 add address <first:ip4> [- <last:ip4>] {tenant-vrf <tenant-vrf:ip4-table> | twice-nat | del}";
    let add = Command::new(line, "Add addresses to which hosts are translated, or delete them.", add_address);
    let add = add.argument("first", "first address").argument("last", "last address");
    let add = add.argument("tenant-vrf", "table whose hosts they serve (default: all)");
    commands.add(add.argument("twice-nat", "for clients of mappings with twice NAT").argument("del", "delete them"));
    let line = "nat44 add interface address <interface> {twice-nat | del}";
    let help = "Translate hosts to the first address of an interface, too; or no longer.";
    let add = Command::new(line, help, add_interface_address);
    commands.add(add.argument("twice-nat", "for clients of mappings with twice NAT").argument("del", "no longer"));
}

fn mappings(control: &Control) {
    let commands = control.commands();
    let line = "nat44 add static mapping [(tcp | udp | icmp)] local <local:ip4> [<local-port:u16>] \
                external (<external:ip4> | <interface>) [<external-port:u16>] \
                {vrf <vrf:ip4-table> | twice-nat | self-twice-nat | out2in-only | del}";
    let add = Command::new(line, "Map an outside address, or a port of it, to a host; or no longer.", add_mapping);
    let add = add.argument("local", "address of the host").argument("local-port", "port of the host, or identifier");
    let add = add.argument("external", "outside address").argument("external-port", "outside port, or identifier");
    let add = add.argument("vrf", "table of the host (default: 0)").argument("twice-nat", "translate clients, too");
    let add = add.argument("self-twice-nat", "translate clients that are the host itself");
    commands.add(add.argument("out2in-only", "only sessions that clients begin").argument("del", "delete it"));
    let line = "nat44 add identity mapping (<local:ip4> | external <interface>) [(tcp | udp | icmp) <port:u16>] \
                {vrf <vrf:ip4-table> | del}";
    let help = "Leave an address, or a port of it, as it is; or no longer.";
    let add = Command::new(line, help, add_identity);
    let add = add.argument("local", "address").argument("external", "first address of an interface");
    commands.add(
        add.argument("port", "port, or identifier")
            .argument("vrf", "table of the host (default: 0)")
            .argument("del", "delete it"),
    );
}

fn shows(control: &Control) {
    let commands = control.commands();
    let show = Command::waiting(
        "show nat44 sessions [max <max:u32>]",
        "Show the sessions of NAT44, both ends as inside and outside see them.",
        show_sessions,
    );
    commands.add(show.argument("max", "at most so many"));
    commands.add(Command::waiting(
        "show nat44 addresses",
        "Show addresses to which hosts are translated.",
        show_addresses,
    ));
    commands.add(Command::waiting("show nat44 interfaces", "Show interfaces of NAT44.", show_interfaces));
    commands.add(Command::waiting("show nat44 static mappings", "Show the static mappings of NAT44.", show_mappings));
    let show = "show nat44 interface address";
    commands.add(Command::waiting(
        show,
        "Show interfaces whose address hosts are translated to.",
        show_interface_addresses,
    ));
    commands.add(Command::waiting("show nat44 summary", "Show limits and numbers of NAT44 sessions.", show_summary));
}

/// Changes the settings.
fn edit(control: &Control, change: impl FnOnce(&mut NatSettings)) -> Result<Reply, CommandError> {
    control.edit(NatSettings::standard(), change)?;
    Ok(Reply::done())
}

async fn plugin(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    if given.has("disable") {
        room::clear(&control)?;
        end_translated(control, |_, _| true).await;
        return Ok(Reply::done());
    }
    let sessions = given.find("sessions")?;
    edit(&control, |settings| settings.sessions = sessions.unwrap_or(settings.sessions))
}

fn forwarding(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    edit(control, |settings| settings.forwarding = given.has("enable"))
}

fn set_timeouts(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let standard = NatSettings::standard();
    let of =
        |name: &str, standard: u32| Ok::<_, CommandError>(given.find(name)?.or(given.has("reset").then_some(standard)));
    let udp = of("udp", standard.udp_timeout)?;
    let established = of("tcp-established", standard.tcp_established_timeout)?;
    let transitory = of("tcp-transitory", standard.tcp_transitory_timeout)?;
    let icmp = of("icmp", standard.icmp_timeout)?;
    edit(control, |settings| {
        settings.udp_timeout = udp.unwrap_or(settings.udp_timeout);
        settings.tcp_established_timeout = established.unwrap_or(settings.tcp_established_timeout);
        settings.tcp_transitory_timeout = transitory.unwrap_or(settings.tcp_transitory_timeout);
        settings.icmp_timeout = icmp.unwrap_or(settings.icmp_timeout);
    })
}

fn show_timeouts(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let settings = control.room::<Nat>().settings().clone();
    let mut table = Table::new(["Timeout", "Seconds"]);
    for (name, seconds) in [
        ("udp", settings.udp_timeout),
        ("tcp-established", settings.tcp_established_timeout),
        ("tcp-transitory", settings.tcp_transitory_timeout),
        ("icmp", settings.icmp_timeout),
    ] {
        table.row([Cell::from(name), Cell::from(u64::from(seconds))]);
    }
    Ok(table.into())
}

/// Changes the sides of an interface; one without sides has no object.
pub(crate) fn set_sides(
    control: &Control,
    interface: &InterfaceName,
    change: impl FnOnce(&mut NatInterface),
) -> Result<(), quiver_control::ObjectError> {
    let known = control.objects().get::<NatInterface>(interface);
    let mut wanted = known.as_deref().cloned().unwrap_or_else(|| NatInterface::new(interface.clone()));
    change(&mut wanted);
    control.assign(interface, Some(wanted).filter(|wanted| wanted.sides() != 0))
}

fn set_interface(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (on, is_output) = (!given.has("del"), given.has("output-feature"));
    for interface in given.all::<InterfaceName>("inside")? {
        // With the output feature VPP has nothing to do for those inside.
        if !is_output {
            set_sides(control, &interface, |sides| sides.inside = on)?;
        }
    }
    for interface in given.all::<InterfaceName>("outside")? {
        set_sides(control, &interface, |sides| if is_output { sides.output = on } else { sides.outside = on })?;
    }
    Ok(Reply::done())
}

async fn clear(control: Control, _: Matches, _: Output) -> Result<Reply, CommandError> {
    end_translated(control, |_, _| true).await;
    Ok(Reply::done())
}

/// The table that an argument names.
fn table(control: &Control, given: &Matches, name: &str) -> Result<Option<TableNumber<V4>>, CommandError> {
    Ok(table_word::table::<V4>(control, given, name)?.map(TableNumber::new))
}

fn add_address(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (first, last): (Ipv4Addr, Option<Ipv4Addr>) = (given.get("first")?, given.find("last")?);
    let table = table(control, given, "tenant-vrf")?;
    let twice_nat = given.has("twice-nat");
    let addresses = NatAddresses { first, last: last.filter(|last| *last != first), table, twice_nat };
    match given.has("del") {
        true => room::remove_addresses(control, &addresses)?,
        false => control.put(addresses)?,
    }
    Ok(Reply::done())
}

fn add_interface_address(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let object = NatInterfaceAddress { interface: interface.clone(), twice_nat: given.has("twice-nat") };
    control.assign(&interface, (!given.has("del")).then_some(object))?;
    Ok(Reply::done())
}

fn protocol(given: &Matches) -> MappedProtocol {
    let all = [("tcp", MappedProtocol::Tcp), ("udp", MappedProtocol::Udp), ("icmp", MappedProtocol::Icmp)];
    all.into_iter().find(|(word, _)| given.has(word)).map_or(MappedProtocol::Any, |(_, protocol)| protocol)
}

/// Adds or deletes a mapping.
fn change(control: &Control, given: &Matches, mapping: NatMapping) -> Result<Reply, CommandError> {
    match given.has("del") {
        true => control.delete::<NatMapping>(&quiver_control::Object::key(&mapping))?,
        false => control.put(mapping)?,
    }
    Ok(Reply::done())
}

fn external(given: &Matches, address: &str) -> Result<External, CommandError> {
    match given.find::<Ipv4Addr>(address)? {
        Some(address) => Ok(External::Address(address)),
        None => Ok(External::Interface(given.get("interface")?)),
    }
}

fn add_mapping(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let twice_nat = match (given.has("twice-nat"), given.has("self-twice-nat")) {
        (_, true) => TwiceNat::Own,
        (true, _) => TwiceNat::On,
        _ => TwiceNat::Off,
    };
    let external_port = given.find("external-port")?.unwrap_or_default();
    let mapping = NatMapping::new(external(given, "external")?, protocol(given), external_port);
    let (local, local_port) = (Some(given.get("local")?), given.find("local-port")?);
    let table = table(control, given, "vrf")?.unwrap_or(TableNumber::DEFAULT);
    let inbound_only = given.has("out2in-only");
    change(control, given, NatMapping { local, local_port, table, twice_nat, inbound_only, ..mapping })
}

fn add_identity(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let port = given.find("port")?.unwrap_or_default();
    let mapping = NatMapping::new(external(given, "local")?, protocol(given), port);
    let table = table(control, given, "vrf")?.unwrap_or(TableNumber::DEFAULT);
    change(control, given, NatMapping { table, ..mapping })
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

async fn show_sessions(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
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

async fn show_addresses(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Address", "Table", "Twice NAT"]);
    let row = |pooled: Option<room::PooledAddress>| {
        let (address, table, twice) = pooled?;
        let table = table.map_or("all".to_owned(), |table| table.0.to_string());
        Some([Cell::from(address.to_string()), Cell::from(table), Cell::from(twice)])
    };
    rows.each(room::pooled(&control), row).await;
    Ok(rows.end())
}

async fn show_interfaces(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Inside", "Outside", "Output feature"]);
    for object in control.walk::<NatInterface>() {
        rows.step().await;
        let sides = [object.inside, object.outside, object.output].map(Cell::from);
        rows.row([Cell::of(&object.interface)].into_iter().chain(sides));
    }
    Ok(rows.end())
}

async fn show_interface_addresses(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Address", "Twice NAT"]);
    for object in control.walk::<NatInterfaceAddress>() {
        rows.step().await;
        let address =
            room::address_of(&control, &object.interface).map_or("none".to_owned(), |found| found.to_string());
        rows.row([Cell::of(&object.interface), Cell::from(address), Cell::from(object.twice_nat)]);
    }
    Ok(rows.end())
}

async fn show_mappings(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
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

async fn show_summary(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
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
