//! Sessions as people read them: which ones a command lists, and the texts of their ends, protocols and states.

use std::net::IpAddr;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches};
use quiver_wire::IpProtocol;

use crate::key::{Format, Formats};
use crate::listing::{self, Listed};
use crate::record::{BLOCKED, REFUSED, State};
use crate::tenant::TenantId;

/// The words that select sessions, for `{ }` of a grammar.
pub(crate) const FILTERS: &str = "tenant <session-tenants> | address <address:ip> | port <port:u16> | \
    protocol <protocol:text> | state (embryonic | established | time-wait | blocked) | older <older:u32> | \
    younger <younger:u32>";

/// Help of these words.
pub(crate) fn with_filters(command: Command) -> Command {
    let command = command.argument("address", "sessions with this address at either end");
    let command = command.argument("port", "sessions with this port at either end");
    let command = command.argument("protocol", "tcp, udp, icmp, icmp6 or a number");
    let command = command.argument("blocked", "sessions whose packets are dropped");
    let command = command.argument("older", "sessions that began at least so many seconds ago");
    command.argument("younger", "sessions that began less than so many seconds ago")
}

/// Which sessions are listed.
#[derive(Default)]
pub(crate) struct Filter {
    tenant: Option<u32>,
    address: Option<IpAddr>,
    port: Option<u16>,
    protocol: Option<IpProtocol>,
    state: Option<&'static str>,
    older: Option<u32>,
    younger: Option<u32>,
}

/// Name of the state of sessions whose packets are dropped.
const BLOCKED_NAME: &str = "blocked";

impl Filter {
    /// The sessions that a command names.
    ///
    /// # Errors
    /// If an argument has a wrong value.
    pub fn of(given: &Matches) -> Result<Filter, CommandError> {
        let protocol: Option<String> = given.find("protocol")?;
        let wrong = |text: &str| {
            let what = format!("'{text}' is no protocol; write tcp, udp, icmp, icmp6 or a number from 0 to 255");
            CommandError::new(what).at(given.place("protocol"))
        };
        let protocol =
            protocol.map(|text| text.to_lowercase().parse::<IpProtocol>().map_err(|_| wrong(&text))).transpose()?;
        let mut states = State::ALL.map(State::name).into_iter().chain([BLOCKED_NAME]);
        Ok(Filter {
            tenant: given.find("session-tenants")?.map(|TenantId(id)| id),
            address: given.find("address")?,
            port: given.find("port")?,
            protocol,
            state: states.find(|state| given.has(state)),
            older: given.find("older")?,
            younger: given.find("younger")?,
        })
    }
    /// Whether a session is one of them.
    pub fn has(&self, listed: &Listed) -> bool {
        let ends = listed.ends();
        self.tenant.is_none_or(|tenant| tenant == listed.tenant.id)
            && self.address.is_none_or(|address| ends.iter().any(|end| listed.address(*end) == address))
            && self.port.is_none_or(|port| ends.iter().any(|end| end.port == port))
            && self.protocol.is_none_or(|protocol| protocol.0 == listed.key.protocol())
            && self.state.is_none_or(|name| name == state(listed))
            && self.older.is_none_or(|seconds| listed.age >= f64::from(seconds))
            && self.younger.is_none_or(|seconds| listed.age < f64::from(seconds))
    }
}

/// Both ends: initiator and responder.
pub(crate) fn ends(control: &Control, listed: &Listed) -> [String; 2] {
    let formats = control.room::<Formats>();
    let show = formats.get(listed.key.format()).map_or(listing::ip6_end as fn(_) -> _, |format| format.show);
    listed.ends().map(show)
}

/// Name of the key's format; of a registered one as VPP has it.
pub(crate) fn format(control: &Control, listed: &Listed) -> String {
    let formats = control.room::<Formats>();
    let name = formats.get(listed.key.format()).map_or("unknown", |format| format.name);
    match listed.key.format() {
        Format::IP4 | Format::IP6 => name.to_owned(),
        _ => format!("custom-parser: {name}"),
    }
}

/// The name of a protocol, or its number.
pub(crate) fn protocol(listed: &Listed) -> String {
    match IpProtocol(listed.key.protocol()) {
        IpProtocol::TCP => "TCP".to_owned(),
        IpProtocol::UDP => "UDP".to_owned(),
        IpProtocol::ICMP4 => "ICMP".to_owned(),
        IpProtocol::ICMP6 => "ICMP6".to_owned(),
        other => other.0.to_string(),
    }
}

/// The number by which clients know a session for good, as `show session detail` reads it.
pub(crate) fn id(listed: &Listed) -> String {
    format!("{:#x}", listed.id())
}

/// Name of a state.
pub(crate) fn state(listed: &Listed) -> &'static str {
    if listed.status.flags & (BLOCKED | REFUSED) != 0 { BLOCKED_NAME } else { listed.status.state.name() }
}
