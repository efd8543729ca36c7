//! Types of the messages: directions, states and keys of sessions.

use quiver_compat::types::Address;
use quiver_compat::{Text, Wire};

use crate::key::Format;
use crate::listing::Listed;
use crate::record::State;

/// Direction of packets of a session.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_direction")]
#[repr(u8)]
pub(super) enum SessionDirection {
    /// From the initiator to the responder.
    #[default]
    #[value("SFDP_API_FORWARD")]
    Forward = 0,
    /// From the responder to the initiator.
    #[value("SFDP_API_REVERSE")]
    Reverse = 1,
}

/// State of a session.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_state")]
#[repr(u8)]
pub(super) enum SessionState {
    /// No reply has been seen.
    #[default]
    #[value("SFDP_API_SESSION_STATE_FSOL")]
    Embryonic = 0,
    /// Both ends have sent packets.
    #[value("SFDP_API_SESSION_STATE_ESTABLISHED")]
    Established = 1,
    /// Both ends have closed the connection.
    #[value("SFDP_API_SESSION_STATE_TIME_WAIT")]
    TimeWait = 2,
}

impl From<State> for SessionState {
    fn from(state: State) -> SessionState {
        match state {
            State::Embryonic => SessionState::Embryonic,
            State::Established => SessionState::Established,
            State::TimeWait => SessionState::TimeWait,
        }
    }
}

/// Format of a session's key.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_type")]
#[repr(u8)]
pub(super) enum SessionType {
    /// IPv4 addresses and ports.
    #[default]
    #[value("SFDP_API_SESSION_TYPE_IP4")]
    Ip4 = 0,
    /// IPv6 addresses and ports.
    #[value("SFDP_API_SESSION_TYPE_IP6")]
    Ip6 = 1,
    /// A format of a plugin.
    #[value("SFDP_API_SESSION_TYPE_USER")]
    User = 2,
}

impl From<Format> for SessionType {
    fn from(format: Format) -> SessionType {
        match format {
            Format::IP4 => SessionType::Ip4,
            Format::IP6 => SessionType::Ip6,
            _ => SessionType::User,
        }
    }
}

/// Name of a service.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_service_name")]
pub(super) struct ServiceName {
    pub data: Text<32>,
}

/// Key of a session: both ends, and the tenant's context.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_key")]
pub(super) struct SessionKey {
    pub context_id: u32,
    pub init_addr: Address,
    pub init_port: u16,
    pub resp_addr: Address,
    pub resp_port: u16,
}

impl From<&Listed> for SessionKey {
    fn from(listed: &Listed) -> SessionKey {
        let [initiator, responder] = listed.ends();
        SessionKey {
            context_id: listed.key.context(),
            init_addr: listed.address(initiator).into(),
            init_port: initiator.port,
            resp_addr: listed.address(responder).into(),
            resp_port: responder.port,
        }
    }
}
