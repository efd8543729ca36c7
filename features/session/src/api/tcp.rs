//! VPP's messages about TCP sessions: `tcp_check.api`.

use quiver_compat::Message;
use quiver_control::Control;
use quiver_wire::IpProtocol;

use super::types::{SessionKey, SessionType};
use crate::listing::{self, Listed};
use crate::record::{BLOCKED, State};
use crate::tcp;

pub(super) fn register(control: &Control) {
    quiver_compat::add(control, "tcp_check", (0, 0, 1), |file| {
        file.dump(|control, SfdpTcpSessionDump {}| {
            listing::all(control).map(|listed| listed.as_ref().and_then(details))
        });
    });
}

quiver_compat::flags! {
    /// Events of a TCP connection so far.
    pub(super) struct TcpFlags(u32) as "sfdp_tcp_check_session_flags" Flags {
        /// The responder's SYN is expected.
        WAIT_FOR_RESP_SYN = 0x1 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_RESP_SYN",
        /// The initiator's acknowledgment of the responder's SYN is expected.
        WAIT_FOR_INIT_ACK_TO_SYN = 0x2 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_INIT_ACK_TO_SYN",
        /// The responder's acknowledgment of the initiator's SYN is expected.
        WAIT_FOR_RESP_ACK_TO_SYN = 0x4 => "SFDP_API_TCP_CHECK_SESSION_FLAG_WAIT_FOR_RESP_ACK_TO_SYN",
        /// The initiator's FIN has come.
        SEEN_FIN_INIT = 0x8 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_FIN_INIT",
        /// The responder's FIN has come.
        SEEN_FIN_RESP = 0x10 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_FIN_RESP",
        /// The initiator's FIN has been acknowledged.
        SEEN_ACK_TO_FIN_INIT = 0x20 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_ACK_TO_FIN_INIT",
        /// The responder's FIN has been acknowledged.
        SEEN_ACK_TO_FIN_RESP = 0x40 => "SFDP_API_TCP_CHECK_SESSION_FLAG_SEEN_ACK_TO_FIN_RESP",
        /// The handshake is complete.
        ESTABLISHED = 0x80 => "SFDP_API_TCP_CHECK_SESSION_FLAG_ESTABLISHED",
        /// The session ends.
        REMOVING = 0x100 => "SFDP_API_TCP_CHECK_SESSION_FLAG_REMOVING",
        /// Its packets are dropped.
        BLOCKED = 0x200 => "SFDP_API_TCP_CHECK_SESSION_FLAG_BLOCKED",
    }
}

/// Dumps the TCP sessions.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SfdpTcpSessionDetails)]
pub(super) struct SfdpTcpSessionDump {}

/// Describes a TCP session: its owner, flags and key.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct SfdpTcpSessionDetails {
    pub session_id: u64,
    pub thread_index: u32,
    pub tenant_id: u32,
    pub session_idx: u32,
    pub session_type: SessionType,
    pub flags: TcpFlags,
    #[count(u8, "n_keys")]
    pub keys: Vec<SessionKey>,
}

/// Flags of a session, as VPP's clients know them.
fn flags(listed: &Listed) -> TcpFlags {
    let own = listed.status.flags;
    let is_new = listed.status.state == State::Embryonic && own & tcp::CLOSING == 0;
    let of = |condition: bool, flag: TcpFlags| if condition { flag.0 } else { 0 };
    TcpFlags(
        of(is_new && own & tcp::SYN_REVERSE == 0, TcpFlags::WAIT_FOR_RESP_SYN)
            | of(is_new, TcpFlags::WAIT_FOR_INIT_ACK_TO_SYN)
            | of(is_new && own & tcp::SYN_ACKED == 0, TcpFlags::WAIT_FOR_RESP_ACK_TO_SYN)
            | of(own & tcp::FIN_FORWARD != 0, TcpFlags::SEEN_FIN_INIT)
            | of(own & tcp::FIN_REVERSE != 0, TcpFlags::SEEN_FIN_RESP)
            | of(own & tcp::FIN_FORWARD_ACKED != 0, TcpFlags::SEEN_ACK_TO_FIN_INIT)
            | of(own & tcp::FIN_REVERSE_ACKED != 0, TcpFlags::SEEN_ACK_TO_FIN_RESP)
            | of(listed.status.state == State::Established, TcpFlags::ESTABLISHED)
            | of(own & (tcp::CLOSING | tcp::NO_SYN) != 0, TcpFlags::REMOVING)
            | of(own & BLOCKED != 0, TcpFlags::BLOCKED),
    )
}

fn details(listed: &Listed) -> Option<SfdpTcpSessionDetails> {
    (listed.key.protocol() == IpProtocol::TCP.0).then(|| SfdpTcpSessionDetails {
        session_id: listed.id(),
        thread_index: listed.thread(),
        tenant_id: listed.tenant.id,
        session_idx: listed.number(),
        session_type: listed.key.format().into(),
        flags: flags(listed),
        keys: vec![SessionKey::from(listed)],
    })
}
