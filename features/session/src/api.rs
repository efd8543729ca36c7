//! VPP's messages about sessions: `sfdp.api`, `interface_input.api`, `tcp_check.api`.

use quiver_compat::types::{Address, InterfaceIndex, IpProto, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::{Control, one_by_one};
use quiver_interface::api::name;
use quiver_ip::api::by_family;
use quiver_wire::IpProtocol;

use crate::expiry::{Which, end_session, end_sessions};
use crate::interface::{SessionInterface, Tracked};
use crate::key::Format;
use crate::listing::{self, Listed};
use crate::record::{Direction, State};
use crate::service::{Services, in_order};
use crate::tcp;
use crate::tenant::{Tenant, Tenants};
use crate::timeouts::{TIMEOUTS_MAX, Timeouts};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "sfdp_types", (1, 0, 0), |_| {});
    quiver_compat::add(control, "sfdp", (1, 0, 0), |file| {
        file.request(tenant_add_del);
        file.request(set_services);
        file.dump(|control, SfdpSessionDump {}| {
            listing::all(control).map(|listed| listed.as_ref().map(SfdpSessionDetails::from))
        });
        file.waiting(kill);
        file.dump(tenants);
        file.dump(timeouts);
        file.request(set_timeout);
        file.dump(|control, SfdpServiceDump {}| {
            let services = control.room::<Services>();
            let details = |(index, service): (usize, &crate::service::Service)| SfdpServiceDetails {
                node_name: service.name.into(),
                scope: "default".into(),
                is_terminal: service.is_terminal,
                index: index as u8,
            };
            services.all().iter().enumerate().map(details).collect::<Vec<_>>()
        });
    });
    quiver_compat::add(control, "interface_input", (0, 0, 1), |file| file.request(input_set));
    quiver_compat::add(control, "tcp_check", (0, 0, 1), |file| {
        file.dump(|control, SfdpTcpSessionDump {}| {
            listing::all(control).map(|listed| listed.as_ref().and_then(tcp_details))
        });
    });
}

/// Direction of packets of a session.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_direction")]
#[repr(u8)]
enum SessionDirection {
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
enum SessionState {
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
enum SessionType {
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
struct ServiceName {
    data: Text<32>,
}

/// Key of a session: both ends, and the tenant's context.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sfdp_session_key")]
struct SessionKey {
    context_id: u32,
    init_addr: Address,
    init_port: u16,
    resp_addr: Address,
    resp_port: u16,
}

impl From<&Listed> for SessionKey {
    fn from(listed: &Listed) -> SessionKey {
        let [initiator, responder] = listed.ends();
        SessionKey {
            context_id: listed.key.context,
            init_addr: listed.address(initiator).into(),
            init_port: initiator.port,
            resp_addr: listed.address(responder).into(),
            resp_port: responder.port,
        }
    }
}

/// Adds or deletes a tenant. Its context is by default its number.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SfdpTenantAddDel {
    tenant_id: u32,
    #[default(4294967295)]
    context_id: u32,
    is_del: bool,
}

/// Sets the services of a tenant for one direction. Services that end a chain come last.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SfdpSetServices {
    tenant_id: u32,
    dir: SessionDirection,
    #[count(u8, "n_services")]
    services: Vec<ServiceName>,
}

/// Dumps all sessions, in the order of their workers and indexes.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SfdpSessionDetails)]
struct SfdpSessionDump {}

/// Describes a session: its owner, state, services and key.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct SfdpSessionDetails {
    session_id: u64,
    thread_index: u32,
    tenant_id: u32,
    session_idx: u32,
    session_type: SessionType,
    protocol: IpProto,
    state: SessionState,
    remaining_time: f64,
    forward_bitmap: u64,
    reverse_bitmap: u64,
    #[count(u8, "n_keys")]
    keys: Vec<SessionKey>,
}

impl From<&Listed> for SfdpSessionDetails {
    fn from(listed: &Listed) -> SfdpSessionDetails {
        let [forward, reverse] = listed.tenant.chains;
        SfdpSessionDetails {
            session_id: listed.id(),
            thread_index: thread(listed),
            tenant_id: listed.tenant.id,
            session_idx: listed.number(),
            session_type: listed.key.format.into(),
            protocol: IpProto(listed.key.protocol),
            state: listed.status.state.into(),
            remaining_time: listed.remaining,
            forward_bitmap: forward.bitmap(),
            reverse_bitmap: reverse.bitmap(),
            keys: vec![SessionKey::from(listed)],
        }
    }
}

/// The number of the owner's thread, as `show threads` has it: the first one is the main one.
fn thread(listed: &Listed) -> u32 {
    listed.worker as u32 + 1
}

/// Ends the session of an index, or all sessions.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SfdpKillSession {
    session_index: u32,
    is_all: bool,
}

/// Dumps all tenants with their services and timeouts.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SfdpTenantDetails)]
struct SfdpTenantDump {}

/// Describes a tenant: its context, services and timeouts in seconds.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct SfdpTenantDetails {
    index: u32,
    context_id: u32,
    forward_bitmap: u64,
    reverse_bitmap: u64,
    #[count(u32, "n_timeout")]
    timeout: Vec<u32>,
}

/// Dumps the timeouts of a tenant, or the defaults if its number is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SfdpTimeoutDetails)]
struct SfdpTimeoutDump {
    #[default(4294967295)]
    tenant_id: u32,
}

/// Describes a timeout: its number, name and value in seconds.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct SfdpTimeoutDetails {
    index: u32,
    name: Text<32>,
    timeout_value: u32,
}

/// Sets a timeout of a tenant, by its number, in seconds.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SfdpSetTimeout {
    tenant_id: u32,
    timeout_value: u32,
    timeout_id: u32,
}

/// Dumps the services of which chains can consist.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SfdpServiceDetails)]
struct SfdpServiceDump {}

/// Describes a service: its node and number, and whether it ends a chain.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct SfdpServiceDetails {
    node_name: Text<32>,
    scope: Text<32>,
    is_terminal: bool,
    index: u8,
}

/// Sets the tenant to which packets of a family that an interface receives belong, or removes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SfdpInterfaceInputSet {
    sw_if_index: InterfaceIndex,
    tenant_id: u32,
    #[default(0)]
    is_ip6: u8,
    is_disable: u8,
}

quiver_compat::flags! {
    /// Events of a TCP connection so far.
    struct TcpFlags(u32) as "sfdp_tcp_check_session_flags" Flags {
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
struct SfdpTcpSessionDump {}

/// Describes a TCP session: its owner, flags and key.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct SfdpTcpSessionDetails {
    session_id: u64,
    thread_index: u32,
    tenant_id: u32,
    session_idx: u32,
    session_type: SessionType,
    flags: TcpFlags,
    #[count(u8, "n_keys")]
    keys: Vec<SessionKey>,
}

/// Flags of a session, as VPP's clients know them.
fn tcp_flags(listed: &Listed) -> TcpFlags {
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
            | of(own & crate::record::BLOCKED != 0, TcpFlags::BLOCKED),
    )
}

fn tcp_details(listed: &Listed) -> Option<SfdpTcpSessionDetails> {
    (listed.key.protocol == IpProtocol::TCP.0).then(|| SfdpTcpSessionDetails {
        session_id: listed.id(),
        thread_index: thread(listed),
        tenant_id: listed.tenant.id,
        session_idx: listed.number(),
        session_type: listed.key.format.into(),
        flags: tcp_flags(listed),
        keys: vec![SessionKey::from(listed)],
    })
}

fn tenant(control: &Control, id: u32) -> Result<Tenant, Refusal> {
    let tenant = control.objects().get::<Tenant>(&id);
    let unknown = || Refusal::new(Retval::NO_SUCH_ENTRY, format!("tenant_id: there is no tenant {id}"));
    tenant.map(|tenant| Tenant::clone(&tenant)).ok_or_else(unknown)
}

fn tenant_add_del(control: &Control, request: SfdpTenantAddDel) -> Result<(), Refusal> {
    let SfdpTenantAddDel { tenant_id, context_id, is_del } = request;
    if is_del {
        return Ok(control.delete::<Tenant>(&tenant_id)?);
    }
    if control.objects().get::<Tenant>(&tenant_id).is_some() {
        let why = format!("tenant_id: there is a tenant {tenant_id} already");
        return Err(Refusal::new(Retval::ENTRY_ALREADY_EXISTS, why));
    }
    Ok(control.put(Tenant { context: (context_id != NONE).then_some(context_id), ..Tenant::new(tenant_id) })?)
}

fn set_services(control: &Control, request: SfdpSetServices) -> Result<(), Refusal> {
    let mut tenant = tenant(control, request.tenant_id)?;
    let direction = match request.dir {
        SessionDirection::Forward => Direction::Forward,
        SessionDirection::Reverse => Direction::Reverse,
    };
    let names = request.services.into_iter().map(|service| service.data.0).collect();
    *tenant.services_mut(direction) = in_order(control, names);
    Ok(control.put(tenant)?)
}

async fn kill(control: Control, request: SfdpKillSession) -> Result<(), Refusal> {
    let SfdpKillSession { session_index, is_all } = request;
    if is_all {
        end_sessions(control, Which::All).await;
        return Ok(());
    }
    let (worker, index) = listing::place(session_index);
    match end_session(control, worker, index).await {
        true => Ok(()),
        false => {
            let why = format!("session_index: there is no session {session_index}");
            Err(Refusal::new(Retval::NO_SUCH_ENTRY, why))
        }
    }
}

fn tenants(control: &Control, _: SfdpTenantDump) -> impl Iterator<Item = SfdpTenantDetails> + use<> {
    let control = control.clone();
    one_by_one(move |last| {
        let tenants = control.room::<Tenants>();
        let (id, slot) = tenants.behind(last)?;
        let row = tenants.row(slot);
        let [forward_bitmap, reverse_bitmap] = row.chains.map(|chain| chain.bitmap());
        let timeout = row.timeouts[..control.room::<Timeouts>().all().len()].to_vec();
        let details =
            SfdpTenantDetails { index: slot.into(), context_id: row.context, forward_bitmap, reverse_bitmap, timeout };
        Some((id, details))
    })
}

fn timeouts(control: &Control, request: SfdpTimeoutDump) -> Vec<SfdpTimeoutDetails> {
    let known = control.room::<Timeouts>();
    let values = match control.objects().get::<Tenant>(&request.tenant_id) {
        Some(tenant) => tenant.timeouts(&known),
        None if request.tenant_id == NONE => Tenant::new(0).timeouts(&known),
        None => return vec![],
    };
    let details = |(index, (timeout, value)): (usize, (&crate::timeouts::Timeout, u32))| SfdpTimeoutDetails {
        index: index as u32,
        name: timeout.name.into(),
        timeout_value: value,
    };
    known.all().iter().zip(values).enumerate().map(details).collect()
}

fn set_timeout(control: &Control, request: SfdpSetTimeout) -> Result<(), Refusal> {
    let SfdpSetTimeout { tenant_id, timeout_value, timeout_id } = request;
    let mut tenant = tenant(control, tenant_id)?;
    let name = {
        let known = control.room::<Timeouts>();
        let number = (timeout_id as usize).min(TIMEOUTS_MAX);
        let unknown = || Refusal::new(Retval::UNSPECIFIED, format!("timeout_id: there is no timeout {timeout_id}"));
        known.all().get(number).ok_or_else(unknown)?.name
    };
    tenant.set_timeout(name, timeout_value);
    Ok(control.put(tenant)?)
}

fn input_set(control: &Control, request: SfdpInterfaceInputSet) -> Result<(), Refusal> {
    by_family!(request.is_ip6 != 0, input_set_family(control, &request))
}

fn input_set_family<F: Tracked>(control: &Control, request: &SfdpInterfaceInputSet) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let tenant = (request.is_disable == 0).then_some(request.tenant_id);
    let object = tenant.map(|tenant| SessionInterface::<F>::of(interface.clone(), tenant));
    Ok(control.assign(&interface, object)?)
}

#[cfg(test)]
mod tests;
