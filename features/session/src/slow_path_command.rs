//! `set sfdp sp-node`, `set sfdp icmp-error-node`, `set sfdp eviction sessions-margin`.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};

use crate::room::Room;
use crate::slow_path::{OddPackets, set};
use crate::tenant_command::tenant;

/// VPP's words for packets that leave the way of sessions.
const WORDS: [(&str, OddPackets, &str); 8] = [
    ("sp-ip4-reassembly", OddPackets::Ip4Fragment, "IPv4 fragments whose ports are unknown"),
    ("sp-ip6-reassembly", OddPackets::Ip6Fragment, "IPv6 fragments whose ports are unknown"),
    ("sp-ip4-unknown-proto", OddPackets::Ip4UnknownProtocol, "IPv4 packets of protocols without ports"),
    ("sp-ip6-unknown-proto", OddPackets::Ip6UnknownProtocol, "IPv6 packets of protocols without ports"),
    ("sp-ip4-icmp4-error", OddPackets::Ip4IcmpError, "ICMP errors that quote no packet of a session"),
    // VPP's word has this 4.
    ("sp-ip4-icmp6-error", OddPackets::Ip6IcmpError, "ICMPv6 errors that quote no packet of a session"),
    ("sp-ip4-table-overflow", OddPackets::Ip4TableFull, "IPv4 packets that would begin a session in a full table"),
    ("sp-ip6-table-overflow", OddPackets::Ip6TableFull, "IPv6 packets that would begin a session in a full table"),
];

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let words = WORDS.map(|(word, ..)| word).join(" | ");
    let line = format!("set sfdp sp-node tenant <session-tenants> ({words}) node <node:text>");
    let help = "Set the node to which packets of a tenant go that belong to no session; by default they are dropped.";
    let command = Command::new(&line, help, set_slow_path).argument("node", "drop, ip4-lookup or ip6-lookup");
    commands.add(WORDS.into_iter().fold(command, |command, (word, _, help)| command.argument(word, help)));
    let line = "set sfdp icmp-error-node tenant <session-tenants> (ip4 | ip6) node <node:text>";
    let help = "Set the node to which ICMP errors about packets of a tenant's sessions go, instead of the chain's end.";
    let command = Command::new(line, help, set_error_node).argument("node", "drop, ip4-lookup or ip6-lookup");
    commands.add(command);
    let line = "set sfdp eviction sessions-margin <margin:u32>";
    let help = "Set how many sessions the table keeps room for: with less, each new session makes one give way.";
    commands.add(Command::new(line, help, set_margin).argument("margin", "at most half of all sessions (default 0)"));
}

fn put(control: &Control, given: &Matches, packets: OddPackets) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    set(&mut tenant.slow_path, packets, &given.get::<String>("node")?);
    control.put(tenant).map_err(|error| CommandError::from(error).at(given.place("node")))?;
    Ok(Reply::done())
}

fn set_slow_path(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let named = WORDS.into_iter().find(|(word, ..)| given.has(word));
    let (_, packets, _) = named.ok_or_else(|| CommandError::new("the packets are missing"))?;
    put(control, given, packets)
}

fn set_error_node(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put(control, given, if given.has("ip6") { OddPackets::Ip6SessionError } else { OddPackets::Ip4SessionError })
}

fn set_margin(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let margin: u32 = given.get("margin")?;
    control.room_mut::<Room>().set_margin(margin as usize).map_err(|most| {
        let what = format!("{margin} is more than half of all sessions; write 0 to {most}");
        CommandError::new(what).at(given.place("margin"))
    })?;
    Ok(Reply::done())
}
