//! `nat44 ...`, `set interface nat44`, `set nat timeout`, with VPP's words.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::object::Scalar;
use quiver_interface::InterfaceName;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_ip::table_word;
use quiver_session::expiry::end_translated;
use quiver_session::second::Ip4End;
use quiver_wire::V4;

use crate::config::{
    External, MappedProtocol, NatAddresses, NatInterface, NatInterfaceAddress, NatMapping, NatSettings,
};
use crate::listing::{self, Wanted};
use crate::mappings::{Filtering, MappingMode};
use crate::pools;
use crate::room::{self, Nat};
use crate::rules::TwiceNat;

pub(crate) fn register(control: &Control) {
    settings(control);
    addresses(control);
    mappings(control);
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
                | tcp-transitory <tcp-transitory:u32> | icmp <icmp:u32> | port-rest <port-rest:u32>})";
    let set = Command::new(line, "Set timeouts of NAT sessions in seconds.", set_timeouts);
    let set = set.argument("reset", "to the defaults").argument("udp", "of UDP sessions");
    let set = set.argument("port-rest", "of freed ports of mappings, before another mapping may have them");
    let set = set.argument("tcp-established", "of established TCP connections");
    commands.add(set.argument("tcp-transitory", "of other TCP connections").argument("icmp", "of ICMP sessions"));
    let line = "set interface nat44 (in <inside:interface> | out <outside:interface>)... {output-feature | del}";
    let set =
        Command::new(line, "Translate packets between inside and outside interfaces; or no longer.", set_interface);
    let set =
        set.argument("inside", "whose hosts are translated").argument("outside", "where they are seen translated");
    let set = set.argument("output-feature", "translate packets to the outside interface when they leave");
    commands.add(set.argument("del", "no longer"));
    commands.add(Command::waiting("clear nat44 (ed sessions | sessions)", "End all NAT44 sessions.", clear));
    commands.add_kind(ArgumentKind::of::<EndWord>());
    let line = "nat44 del session (in | out) <end:ip4-end> (tcp | udp | icmp) {vrf <vrf:ip4-table>} \
                external-host <external-host:ip4-end>";
    let end = Command::waiting(line, "End a NAT44 session.", end_session);
    let end = end.argument("in", "both ends as the inside sees them").argument("out", "as the outside sees them");
    let end = end.argument("end", "address and port of the host, or identifier of an echo");
    let end = end.argument("vrf", "table of the host, or with `out` of the outside (default: 0)");
    commands.add(end.argument("external-host", "address and port of the other end"));
}

fn addresses(control: &Control) {
    let commands = control.commands();
    let line = "nat44 add address <first:ip4> [- <last:ip4>] {tenant-vrf <tenant-vrf:ip4-table> | twice-nat \
                | endpoint-independent | filtering (address-dependent | address-and-port-dependent) | del}";
    let add = Command::new(line, "Add addresses to which hosts are translated, or delete them.", add_address);
    let add = add.argument("first", "first address").argument("last", "last address");
    let add = add.argument("tenant-vrf", "table whose hosts they serve (default: all)");
    let add = add.argument("twice-nat", "for clients of mappings with twice NAT").argument("del", "delete them");
    commands.add(with_mode(add));
    let line = "nat44 add interface address <interface> {twice-nat | endpoint-independent \
                | filtering (address-dependent | address-and-port-dependent) | del}";
    let help = "Translate hosts to the first address of an interface, too; or no longer.";
    let add = Command::new(line, help, add_interface_address);
    let add = add.argument("twice-nat", "for clients of mappings with twice NAT").argument("del", "no longer");
    commands.add(with_mode(add));
}

/// Describes the words of endpoint-independent mode.
fn with_mode(command: Command) -> Command {
    let command = command.argument("endpoint-independent", "a host's port keeps one outside port (default: not)");
    let command = command.argument("filtering", "hosts that may begin sessions to a mapping (default: all)");
    let command = command.argument("address-dependent", "hosts to whose address it has a session");
    command.argument("address-and-port-dependent", "none: only replies come in")
}

/// Mode and filtering that a command gives.
fn mode(given: &Matches) -> (MappingMode, Filtering) {
    let mapping = match given.has("endpoint-independent") {
        true => MappingMode::EndpointIndependent,
        false => MappingMode::EndpointDependent,
    };
    let filtering = match (given.has("address-dependent"), given.has("address-and-port-dependent")) {
        (true, _) => Filtering::AddressDependent,
        (_, true) => Filtering::AddressAndPortDependent,
        _ => Filtering::EndpointIndependent,
    };
    (mapping, filtering)
}

/// An end of a session: address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EndWord(SocketAddrV4);

impl fmt::Display for EndWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Scalar for EndWord {
    const NAME: &'static str = "ip4-end";
    const EXPECTED: &'static str = "an IPv4 address and a port such as 192.0.2.1:80";
    fn parse(text: &str) -> Result<EndWord, String> {
        text.parse().map(EndWord).map_err(|_| String::new())
    }
}

impl From<EndWord> for Ip4End {
    fn from(word: EndWord) -> Ip4End {
        Ip4End { address: word.0.ip().to_bits(), port: word.0.port() }
    }
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
    let port_rest = of("port-rest", standard.port_rest)?;
    edit(control, |settings| {
        settings.udp_timeout = udp.unwrap_or(settings.udp_timeout);
        settings.tcp_established_timeout = established.unwrap_or(settings.tcp_established_timeout);
        settings.tcp_transitory_timeout = transitory.unwrap_or(settings.tcp_transitory_timeout);
        settings.icmp_timeout = icmp.unwrap_or(settings.icmp_timeout);
        settings.port_rest = port_rest.unwrap_or(settings.port_rest);
    })
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

async fn end_session(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let (end, other): (EndWord, EndWord) = (given.get("end")?, given.get("external-host")?);
    let protocol = protocol(&given).number();
    let table = table(&control, &given, "vrf")?.map_or(TableId::DEFAULT, TableId::from);
    let wanted = Wanted { end: end.into(), other: other.into(), protocol, table, is_inside: given.has("in") };
    let format = control.room::<Nat>().format;
    match listing::end(control, format, wanted).await {
        true => Ok(Reply::done()),
        false => Err(CommandError::new(format!("there is no session of {end} with {other}; see show nat44 sessions"))),
    }
}

/// The table that an argument names.
fn table(control: &Control, given: &Matches, name: &str) -> Result<Option<TableNumber<V4>>, CommandError> {
    Ok(table_word::table::<V4>(control, given, name)?.map(TableNumber::new))
}

fn add_address(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (first, last): (Ipv4Addr, Option<Ipv4Addr>) = (given.get("first")?, given.find("last")?);
    let table = table(control, given, "tenant-vrf")?;
    let (twice_nat, (mapping, filtering)) = (given.has("twice-nat"), mode(given));
    let last = last.filter(|last| *last != first);
    let addresses = NatAddresses { first, last, table, twice_nat, mapping, filtering };
    match given.has("del") {
        true => pools::remove_addresses(control, &addresses)?,
        false => control.put(addresses)?,
    }
    Ok(Reply::done())
}

fn add_interface_address(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let (twice_nat, (mapping, filtering)) = (given.has("twice-nat"), mode(given));
    let object = NatInterfaceAddress { interface: interface.clone(), twice_nat, mapping, filtering };
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
