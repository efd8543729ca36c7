//! VPP's messages about sessions: `sfdp.api` and `interface_input.api`, with their [`types`] and [`slow_path`]; [`tcp`] has `tcp_check.api`.

mod slow_path;
mod tcp;
mod types;

use quiver_compat::types::{InterfaceIndex, IpProto, NONE};
use quiver_compat::{Message, Refusal, Retval, Text};
use quiver_control::{Control, one_by_one};
use quiver_interface::api::name;
use quiver_ip::api::by_family;

use self::types::{ServiceName, SessionDirection, SessionKey, SessionState, SessionType};
use crate::expiry::{Which, end_session, end_sessions};
use crate::interface::{SessionInterface, Tracked};
use crate::listing::{self, Listed};
use crate::record::Direction;
use crate::service::{Services, in_order};
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
        file.request(slow_path::set_sp_node);
        file.request(slow_path::set_icmp_error_node);
        file.dump(|control, SfdpServiceDump {}| {
            let services = control.room::<Services>();
            let details = |(index, service): (u8, &crate::service::Service)| SfdpServiceDetails {
                node_name: service.name.into(),
                scope: "default".into(),
                is_terminal: service.is_terminal,
                index,
            };
            services.named().map(details).collect::<Vec<_>>()
        });
    });
    quiver_compat::add(control, "interface_input", (0, 0, 1), |file| file.request(input_set));
    tcp::register(control);
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
            thread_index: listed.thread(),
            tenant_id: listed.tenant.id,
            session_idx: listed.number(),
            session_type: listed.key.format().into(),
            protocol: IpProto(listed.key.protocol()),
            state: listed.status.state.into(),
            remaining_time: listed.remaining,
            forward_bitmap: forward.bitmap(),
            reverse_bitmap: reverse.bitmap(),
            keys: vec![SessionKey::from(listed)],
        }
    }
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
    Ok(control.put(Tenant::of_vpp(tenant_id, (context_id != NONE).then_some(context_id)))?)
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
