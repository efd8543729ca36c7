//! VPP's messages about ACL based forwarding: `abf.api`.

use quiver_acl::AclNumber;
use quiver_compat::types::{FibPath, FibPathNhProto, InterfaceIndex};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_interface::Interfaces;
use quiver_interface::api::name;
use quiver_ip::Ip;
use quiver_ip::api::{by_family, configured, known};
use quiver_wire::{V4, V6};

use crate::attachment::AbfAttachment;
use crate::family::Forwarded;
use crate::policy::{AbfPolicy, PolicyNumber};
use crate::state::Policies;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "abf", (1, 0, 0), |file| {
        file.request(|_, _: AbfPluginGetVersion| Ok::<_, Refusal>(AbfPluginGetVersionReply { major: 1, minor: 0 }));
        file.request(|control, request: AbfPolicyAddDel| {
            let first = request.policy.paths.first();
            let first = first.ok_or_else(|| Refusal::new(Retval::INVALID_VALUE, "policy.paths: there is none"))?;
            by_family!(first.proto == FibPathNhProto::Ip6, policy_add_del(control, &request))
        });
        file.dump(|control, _: AbfPolicyDump| policies::<V4>(control).chain(policies::<V6>(control)));
        file.request(|control, request: AbfItfAttachAddDel| {
            by_family!(request.attach.is_ipv6, attach_add_del(control, &request))
        });
        file.dump(|control, _: AbfItfAttachDump| attachments::<V4>(control).chain(attachments::<V6>(control)));
    });
}

/// Asks for the version of the ABF API.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AbfPluginGetVersionReply)]
struct AbfPluginGetVersion;

/// Major and minor version of the ABF API.
#[derive(Message, Clone, Debug, Default)]
#[message(details)]
struct AbfPluginGetVersionReply {
    major: u32,
    minor: u32,
}

/// A list, and the paths of what it permits.
#[derive(Wire, Clone, Debug, Default)]
#[wire(name = "abf_policy")]
struct Policy {
    policy_id: u32,
    acl_index: u32,
    #[count(u8, "n_paths")]
    paths: Vec<FibPath>,
}

/// Adds paths to an ABF policy, or deletes them. The first path creates the policy, and deleting the last one deletes
/// it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AbfPolicyAddDel {
    is_add: bool,
    policy: Policy,
}

/// Dumps all ABF policies.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AbfPolicyDetails)]
struct AbfPolicyDump;

/// Describes one ABF policy: its id, its ACL and its paths.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct AbfPolicyDetails {
    policy: Policy,
}

/// Where a policy holds: the least priority is asked first.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "abf_itf_attach")]
struct Attach {
    policy_id: u32,
    sw_if_index: InterfaceIndex,
    priority: u32,
    is_ipv6: bool,
}

/// Attaches an ABF policy to packets that an interface receives, or detaches it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AbfItfAttachAddDel {
    is_add: bool,
    attach: Attach,
}

/// Dumps all attachments of ABF policies.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AbfItfAttachDetails)]
struct AbfItfAttachDump;

/// Describes one attachment: its policy, interface, priority and address family.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct AbfItfAttachDetails {
    attach: Attach,
}

fn policy_add_del<F: Forwarded>(control: &Control, request: &AbfPolicyAddDel) -> Result<(), Refusal> {
    let Policy { policy_id: id, acl_index, ref paths } = request.policy;
    let mut paths = paths.iter().map(|path| configured::<F>(path, control)).collect::<Result<Vec<_>, _>>()?;
    let running = control.objects().get::<AbfPolicy<F>>(&id);
    if request.is_add {
        if let Some(running) = running {
            if running.acl.0 != acl_index {
                let what = format!("policy.acl_index: the policy has list {}", running.acl);
                return Err(Refusal::new(Retval::INVALID_VALUE, what));
            }
            // As VPP: paths are added to those that there are.
            let new = paths.into_iter().filter(|path| !running.paths.contains(path));
            paths = running.paths.iter().cloned().chain(new).collect();
        }
        return Ok(control.put(AbfPolicy::<F> { id, acl: AclNumber(acl_index), paths })?);
    }
    let unknown = || Refusal::new(Retval::INVALID_VALUE, format!("policy.policy_id: there is no policy {id}"));
    let running = running.ok_or_else(unknown)?;
    let rest: Vec<_> = running.paths.iter().filter(|path| !paths.contains(path)).cloned().collect();
    match rest.is_empty() {
        true => Ok(control.delete::<AbfPolicy<F>>(&id)?),
        false => Ok(control.put(AbfPolicy::<F> { id, acl: running.acl.clone(), paths: rest })?),
    }
}

fn policies<F: Forwarded>(control: &Control) -> impl Iterator<Item = Option<AbfPolicyDetails>> + use<F> {
    let control = control.clone();
    control.clone().walk::<AbfPolicy<F>>().map(move |policy| {
        let (room, ip) = (control.room::<Policies<F>>(), control.room::<Ip<F>>());
        let group = ip.fib.groups.get(room.group(policy.id)?)?;
        let paths = group.paths.iter().map(known).collect();
        Some(AbfPolicyDetails { policy: Policy { policy_id: policy.id, acl_index: policy.acl.0, paths } })
    })
}

fn attach_add_del<F: Forwarded>(control: &Control, request: &AbfItfAttachAddDel) -> Result<(), Refusal> {
    let Attach { policy_id, sw_if_index, priority, .. } = request.attach;
    let interface = name(control, sw_if_index)?;
    let policy = PolicyNumber::<F>::new(policy_id);
    let key = (interface.clone(), policy);
    let is_there = control.objects().get::<AbfAttachment<F>>(&key).is_some();
    match (request.is_add, is_there) {
        (true, true) => {
            Err(Refusal::new(Retval::ENTRY_ALREADY_EXISTS, format!("attach: {interface} has policy {policy_id}")))
        }
        (true, false) if control.objects().get::<AbfPolicy<F>>(&policy_id).is_none() => {
            Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("attach.policy_id: there is no policy {policy_id}")))
        }
        (true, false) => Ok(control.put(AbfAttachment { interface, policy, priority })?),
        (false, true) => Ok(control.delete::<AbfAttachment<F>>(&key)?),
        (false, false) => {
            Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("attach: {interface} does not have policy {policy_id}")))
        }
    }
}

fn attachments<F: Forwarded>(control: &Control) -> impl Iterator<Item = Option<AbfItfAttachDetails>> + use<F> {
    let control = control.clone();
    control.clone().walk::<AbfAttachment<F>>().map(move |held| {
        let sw_if_index = control.room::<Interfaces>().id_of(&held.interface.0).ok()?.into();
        let (policy_id, priority, is_ipv6) = (held.policy.0, held.priority, F::VERSION == 6);
        Some(AbfItfAttachDetails { attach: Attach { policy_id, sw_if_index, priority, is_ipv6 } })
    })
}

#[cfg(test)]
mod tests;
