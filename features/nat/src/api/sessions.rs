//! Messages about sessions, by the hosts on the inside: VPP's users.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use quiver_compat::api::Adding;
use quiver_compat::types::NONE;
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_ip::fib::TableId;
use quiver_session::second::Ip4End;

use super::types::ConfigFlags;
use crate::listing::{self, NatSession, Wanted};
use crate::node::session::{flag, has};
use crate::room::Nat;

pub(super) fn register(file: &mut Adding<'_>) {
    file.waiting(delete);
    file.dump(users);
    file.dump(|control, request: Nat44UserSessionDump| {
        of_user(control, request.ip_address, request.vrf_id).map(|found| found.map(Nat44UserSessionDetails::from))
    });
    file.dump(|control, request: Nat44UserSessionV2Dump| {
        of_user(control, request.ip_address, request.vrf_id).map(|found| found.map(Nat44UserSessionV2Details::from))
    });
    file.dump(|control, request: Nat44UserSessionV3Dump| {
        of_user(control, request.ip_address, request.vrf_id).map(|found| found.map(Nat44UserSessionV3Details::from))
    });
}

/// Ends a session, given by both of its ends as the inside or the outside sees them.
#[derive(Message, Clone, Debug)]
#[message(request, name = "nat44_del_session")]
struct Nat44DelSession {
    address: Ipv4Addr,
    protocol: u8,
    port: u16,
    vrf_id: u32,
    flags: ConfigFlags,
    ext_host_address: Ipv4Addr,
    ext_host_port: u16,
}

/// Dumps the hosts on the inside that have sessions.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44UserDetails)]
struct Nat44UserDump {}

/// Describes a host on the inside: its sessions of static mappings, and its other ones.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44UserDetails {
    vrf_id: u32,
    ip_address: Ipv4Addr,
    nsessions: u32,
    nstaticsessions: u32,
}

/// Dumps the sessions of a host on the inside.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44UserSessionDetails)]
struct Nat44UserSessionDump {
    ip_address: Ipv4Addr,
    vrf_id: u32,
}

/// Describes a session. Times are in seconds since the worker's clock began.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct Nat44UserSessionDetails {
    outside_ip_address: Ipv4Addr,
    outside_port: u16,
    inside_ip_address: Ipv4Addr,
    inside_port: u16,
    protocol: u16,
    flags: ConfigFlags,
    last_heard: u64,
    total_bytes: u64,
    total_pkts: u32,
    ext_host_address: Ipv4Addr,
    ext_host_port: u16,
    ext_host_nat_address: Ipv4Addr,
    ext_host_nat_port: u16,
}

/// Dumps the sessions of a host on the inside.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44UserSessionV2Details, name = "nat44_user_session_v2_dump")]
struct Nat44UserSessionV2Dump {
    ip_address: Ipv4Addr,
    vrf_id: u32,
}

/// Describes a session, and whether its time has passed.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details, name = "nat44_user_session_v2_details")]
struct Nat44UserSessionV2Details {
    outside_ip_address: Ipv4Addr,
    outside_port: u16,
    inside_ip_address: Ipv4Addr,
    inside_port: u16,
    protocol: u16,
    flags: ConfigFlags,
    last_heard: u64,
    total_bytes: u64,
    total_pkts: u32,
    ext_host_address: Ipv4Addr,
    ext_host_port: u16,
    ext_host_nat_address: Ipv4Addr,
    ext_host_nat_port: u16,
    is_timed_out: bool,
}

/// Dumps the sessions of a host on the inside.
#[derive(Message, Clone, Debug)]
#[message(dump, details = Nat44UserSessionV3Details, name = "nat44_user_session_v3_dump")]
struct Nat44UserSessionV3Dump {
    ip_address: Ipv4Addr,
    vrf_id: u32,
}

/// Describes a session, whether its time has passed, and the seconds since its last packet.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details, name = "nat44_user_session_v3_details")]
struct Nat44UserSessionV3Details {
    outside_ip_address: Ipv4Addr,
    outside_port: u16,
    inside_ip_address: Ipv4Addr,
    inside_port: u16,
    protocol: u16,
    flags: ConfigFlags,
    last_heard: u64,
    time_since_last_heard: u64,
    total_bytes: u64,
    total_pkts: u32,
    ext_host_address: Ipv4Addr,
    ext_host_port: u16,
    ext_host_nat_address: Ipv4Addr,
    ext_host_nat_port: u16,
    is_timed_out: bool,
}

impl From<NatSession> for Nat44UserSessionV3Details {
    fn from(session: NatSession) -> Nat44UserSessionV3Details {
        let (near, far, inside) = (session.second.key.near, session.second.key.far, session.inside);
        let is_twice = has(&session.second, flag::TWICE);
        let of = |is: bool, flag: ConfigFlags| if is { flag.0 } else { 0 };
        let seen = if is_twice { inside.destination } else { Ip4End::default() };
        let (packets, bytes) = session.traffic();
        let address = |end: Ip4End| Ipv4Addr::from_bits(end.address);
        Nat44UserSessionV3Details {
            outside_ip_address: address(near),
            outside_port: near.port,
            inside_ip_address: address(inside.source),
            inside_port: inside.source.port,
            protocol: inside.protocol.into(),
            flags: ConfigFlags(
                of(has(&session.second, flag::STATIC), ConfigFlags::STATIC)
                    | of(is_twice, ConfigFlags::TWICE_NAT)
                    | ConfigFlags::EXT_HOST_VALID.0,
            ),
            last_heard: session.idle.1.into(),
            time_since_last_heard: session.idle.0.into(),
            total_bytes: bytes,
            total_pkts: packets as u32,
            ext_host_address: address(far),
            ext_host_port: far.port,
            ext_host_nat_address: address(seen),
            ext_host_nat_port: seen.port,
            is_timed_out: session.listed.remaining == 0.0,
        }
    }
}

impl From<NatSession> for Nat44UserSessionV2Details {
    fn from(session: NatSession) -> Nat44UserSessionV2Details {
        let of = Nat44UserSessionV3Details::from(session);
        Nat44UserSessionV2Details {
            outside_ip_address: of.outside_ip_address,
            outside_port: of.outside_port,
            inside_ip_address: of.inside_ip_address,
            inside_port: of.inside_port,
            protocol: of.protocol,
            flags: of.flags,
            last_heard: of.last_heard,
            total_bytes: of.total_bytes,
            total_pkts: of.total_pkts,
            ext_host_address: of.ext_host_address,
            ext_host_port: of.ext_host_port,
            ext_host_nat_address: of.ext_host_nat_address,
            ext_host_nat_port: of.ext_host_nat_port,
            is_timed_out: of.is_timed_out,
        }
    }
}

impl From<NatSession> for Nat44UserSessionDetails {
    fn from(session: NatSession) -> Nat44UserSessionDetails {
        let of = Nat44UserSessionV3Details::from(session);
        Nat44UserSessionDetails {
            outside_ip_address: of.outside_ip_address,
            outside_port: of.outside_port,
            inside_ip_address: of.inside_ip_address,
            inside_port: of.inside_port,
            protocol: of.protocol,
            flags: of.flags,
            last_heard: of.last_heard,
            total_bytes: of.total_bytes,
            total_pkts: of.total_pkts,
            ext_host_address: of.ext_host_address,
            ext_host_port: of.ext_host_port,
            ext_host_nat_address: of.ext_host_nat_address,
            ext_host_nat_port: of.ext_host_nat_port,
        }
    }
}

async fn delete(control: Control, request: Nat44DelSession) -> Result<(), Refusal> {
    if !request.flags.has(ConfigFlags::EXT_HOST_VALID) {
        let why = "flags: a session of this mode has two ends; set NAT_IS_EXT_HOST_VALID and give the other one";
        return Err(Refusal::new(Retval::UNIMPLEMENTED, why));
    }
    let wanted = Wanted {
        end: Ip4End { address: request.address.to_bits(), port: request.port },
        other: Ip4End { address: request.ext_host_address.to_bits(), port: request.ext_host_port },
        protocol: request.protocol,
        table: TableId(if request.vrf_id == NONE { 0 } else { request.vrf_id }),
        is_inside: request.flags.has(ConfigFlags::INSIDE),
    };
    let format = control.room::<Nat>().format;
    match listing::end(control, format, wanted).await {
        true => Ok(()),
        false => Err(Refusal::new(Retval::NO_SUCH_ENTRY, "there is no such session")),
    }
}

/// The sessions of a host.
fn of_user(control: &Control, host: Ipv4Addr, table: u32) -> impl Iterator<Item = Option<NatSession>> + use<> {
    let is_of = move |session: &NatSession| session.host().address == host.to_bits() && session.table == TableId(table);
    listing::all(control).map(move |session| session.filter(is_of))
}

/// The hosts with their sessions: counted one by one, and then listed.
fn users(control: &Control, _: Nat44UserDump) -> impl Iterator<Item = Option<Nat44UserDetails>> + use<> {
    let mut sessions = listing::all(control);
    let mut users: BTreeMap<(TableId, u32), (u32, u32)> = BTreeMap::new();
    let mut counts = true;
    std::iter::from_fn(move || {
        if counts {
            match sessions.next() {
                Some(session) => {
                    if let Some(session) = session {
                        let (dynamic, fixed) = users.entry((session.table, session.host().address)).or_default();
                        *(if has(&session.second, flag::STATIC) { fixed } else { dynamic }) += 1;
                    }
                    return Some(None);
                }
                None => counts = false,
            }
        }
        let ((table, address), (nsessions, nstaticsessions)) = users.pop_first()?;
        let ip_address = Ipv4Addr::from_bits(address);
        Some(Some(Nat44UserDetails { vrf_id: table.0, ip_address, nsessions, nstaticsessions }))
    })
}

#[cfg(test)]
mod tests;
