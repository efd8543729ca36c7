//! Messages about bridge domains.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, Wire, flags};
use quiver_control::{Control, behind, one_by_one};
use quiver_interface::InterfaceId;

use super::members::checked;
use super::{domain, members};
use crate::bridges::{BridgeState, Bridges, Mode};
use crate::objects::{BridgeDomain, DOMAIN_ID_MAX};
use crate::set::set_default_limit;

/// Adds or deletes a bridge domain.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BridgeDomainAddDel {
    pub bd_id: u32,
    pub flood: bool,
    pub uu_flood: bool,
    pub forward: bool,
    pub learn: bool,
    pub arp_term: bool,
    pub arp_ufwd: bool,
    pub mac_age: u8,
    pub bd_tag: Text<64>,
    #[default(true)]
    pub is_add: bool,
}

/// Adds or deletes a bridge domain; the id 0xffffffff selects a free one.
#[derive(Message, Clone, Debug)]
#[message(request, reply = BridgeDomainAddDelV2Reply)]
pub(super) struct BridgeDomainAddDelV2 {
    pub bd_id: u32,
    pub flood: bool,
    pub uu_flood: bool,
    pub forward: bool,
    pub learn: bool,
    pub arp_term: bool,
    pub arp_ufwd: bool,
    pub mac_age: u8,
    pub bd_tag: Text<64>,
    #[default(true)]
    pub is_add: bool,
}

/// Id of the bridge domain that was added or deleted.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct BridgeDomainAddDelV2Reply {
    pub bd_id: u32,
}

/// Dumps one bridge domain, that of an interface, or all.
#[derive(Message, Clone, Debug)]
#[message(dump, details = BridgeDomainDetails)]
pub(super) struct BridgeDomainDump {
    #[default(4294967295)]
    pub bd_id: u32,
    #[default(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// Describes one bridge domain: its flags, MAC age, tag and members.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct BridgeDomainDetails {
    pub bd_id: u32,
    pub flood: bool,
    pub uu_flood: bool,
    pub forward: bool,
    pub learn: bool,
    pub arp_term: bool,
    pub arp_ufwd: bool,
    pub mac_age: u8,
    pub bd_tag: Text<64>,
    pub bvi_sw_if_index: InterfaceIndex,
    pub uu_fwd_sw_if_index: InterfaceIndex,
    #[count(u32, "n_sw_ifs")]
    pub sw_if_details: Vec<BridgeDomainSwIf>,
}

/// A member of a bridge domain, and its split-horizon group.
#[derive(Wire, Clone, Debug, PartialEq)]
pub(super) struct BridgeDomainSwIf {
    pub context: u32,
    pub sw_if_index: InterfaceIndex,
    pub shg: u8,
}

flags! {
    /// Features of a bridge domain.
    pub(super) struct BdFlags(u32) as "bd_flags" Enum {
        /// No feature.
        NONE = 0 => "BRIDGE_API_FLAG_NONE",
        /// MAC learning.
        LEARN = 1 => "BRIDGE_API_FLAG_LEARN",
        /// Forwarding of unicast frames to the interface of a known address.
        FWD = 2 => "BRIDGE_API_FLAG_FWD",
        /// Flooding of multicast and broadcast frames.
        FLOOD = 4 => "BRIDGE_API_FLAG_FLOOD",
        /// Flooding of unicast frames to unknown addresses.
        UU_FLOOD = 8 => "BRIDGE_API_FLAG_UU_FLOOD",
        /// Replies to ARP requests for known addresses.
        ARP_TERM = 16 => "BRIDGE_API_FLAG_ARP_TERM",
        /// Forwarding of ARP requests for unknown addresses to one interface.
        ARP_UFWD = 32 => "BRIDGE_API_FLAG_ARP_UFWD",
    }
}

/// Sets or clears flags of a bridge domain.
#[derive(Message, Clone, Debug)]
#[message(request, reply = BridgeFlagsReply)]
pub(super) struct BridgeFlags {
    pub bd_id: u32,
    pub is_set: bool,
    pub flags: BdFlags,
}

/// Resulting flags of the bridge domain, as VPP's layer-2 feature bits.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct BridgeFlagsReply {
    pub resulting_feature_bitmap: u32,
}

/// Sets the MAC aging time of a bridge domain in minutes; 0 disables aging.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BridgeDomainSetMacAge {
    pub bd_id: u32,
    pub mac_age: u8,
}

/// Sets the largest number of MAC addresses that a bridge domain learns.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BridgeDomainSetLearnLimit {
    pub bd_id: u32,
    pub learn_limit: u32,
}

/// Sets the learn limit of bridge domains that are created later.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BridgeDomainSetDefaultLearnLimit {
    pub learn_limit: u32,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.waiting(|control, request: BridgeDomainAddDel| async move {
        let BridgeDomainAddDel { bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, mac_age, bd_tag, is_add } =
            request;
        let request = BridgeDomainAddDelV2 {
            bd_id,
            flood,
            uu_flood,
            forward,
            learn,
            arp_term,
            arp_ufwd,
            mac_age,
            bd_tag,
            is_add,
        };
        add_or_delete(&control, request).await
    });
    file.waiting(|control, mut request: BridgeDomainAddDelV2| async move {
        if request.is_add && request.bd_id == NONE {
            request.bd_id = unused(&control)?;
        }
        let bd_id = request.bd_id;
        add_or_delete(&control, request).await?;
        Ok(BridgeDomainAddDelV2Reply { bd_id })
    });
    file.dump(|control, request: BridgeDomainDump| details(control, &request));
    file.request(set_flags);
    file.request(|control, request: BridgeDomainSetMacAge| {
        let domain = domain(control, request.bd_id)?;
        Ok(control.put(BridgeDomain { mac_age: request.mac_age, ..domain })?)
    });
    file.request(|control, request: BridgeDomainSetLearnLimit| {
        let domain = domain(control, request.bd_id)?;
        Ok(control.put(BridgeDomain { learn_limit: request.learn_limit, ..domain })?)
    });
    file.request(|control, request: BridgeDomainSetDefaultLearnLimit| {
        Ok(set_default_limit(control, request.learn_limit)?)
    });
}

fn unused(control: &Control) -> Result<u32, Refusal> {
    let free = Some(control.room::<Bridges>().free()).filter(|id| *id <= DOMAIN_ID_MAX);
    free.ok_or_else(|| Refusal::new(Retval::LIMIT_EXCEEDED, "bd_id: all numbers of bridge domains are in use"))
}

async fn add_or_delete(control: &Control, request: BridgeDomainAddDelV2) -> Result<(), Refusal> {
    let id = request.bd_id;
    if !request.is_add {
        domain(control, id)?;
        if control.room::<Bridges>().interfaces(id).next().is_some() {
            let what = format!("bd_id: interfaces are members of bridge domain {id}; take them out first");
            return Err(Refusal::new(Retval::BD_IN_USE, what));
        }
        return Ok(control.delete_in_turns::<BridgeDomain>(&id).await?);
    }
    if request.arp_ufwd {
        return Err(Refusal::unimplemented("arp_ufwd: ARP goes the way of all frames"));
    }
    match domain(control, id) {
        Ok(_) => {
            let what = format!("bd_id: there is a bridge domain {id} already; bridge_flags changes it");
            return Err(Refusal::new(Retval::BD_ALREADY_EXISTS, what));
        }
        Err(refusal) if refusal.retval != Retval::NO_SUCH_ENTRY => return Err(refusal),
        Err(_) => {}
    }
    let mut new = BridgeDomain::with_defaults(control, checked(id)?);
    (new.flood, new.uu_flood, new.forward, new.learn) =
        (request.flood, request.uu_flood, request.forward, request.learn);
    (new.arp_term, new.mac_age) = (request.arp_term, request.mac_age);
    new.tag = Some(request.bd_tag.0).filter(|tag| !tag.is_empty());
    Ok(control.put(new)?)
}

/// Step by step; none in place of a domain that the client does not ask for.
fn details(control: &Control, request: &BridgeDomainDump) -> impl Iterator<Item = Option<BridgeDomainDetails>> + use<> {
    // No domain has local0: clients that leave a field out send 0.
    let interface = Some(request.sw_if_index.0).filter(|index| *index != NONE && *index != 0);
    let (control, wanted) = (control.clone(), request.bd_id);
    one_by_one(move |last| {
        let bridges = control.room::<Bridges>();
        let (id, state) = behind(bridges.domains(), last)?;
        let is_in =
            |index| matches!(bridges.mode(InterfaceId(index)), Some(Mode::Member { domain, .. }) if domain == *id);
        let is_wanted = (wanted == NONE || wanted == *id) && interface.is_none_or(is_in);
        Some((*id, is_wanted.then(|| described(&bridges, *id, state))))
    })
}

fn described(bridges: &Bridges, id: u32, state: &BridgeState) -> BridgeDomainDetails {
    let index = |id: Option<InterfaceId>| id.map_or(InterfaceIndex(NONE), InterfaceIndex::from);
    BridgeDomainDetails {
        bd_id: id,
        flood: state.settings.flood,
        uu_flood: state.settings.uu_flood,
        forward: state.settings.forward,
        learn: state.settings.learn,
        arp_term: state.settings.arp_term,
        arp_ufwd: false,
        mac_age: state.settings.mac_age,
        bd_tag: state.settings.tag.clone().unwrap_or_default().into(),
        bvi_sw_if_index: index(bridges.bvi(id)),
        uu_fwd_sw_if_index: index(bridges.unknown(id)),
        sw_if_details: bridges
            .members(id)
            .map(|member| BridgeDomainSwIf { context: 0, sw_if_index: member.interface.into(), shg: member.group })
            .collect(),
    }
}

fn set_flags(control: &Control, request: BridgeFlags) -> Result<BridgeFlagsReply, Refusal> {
    let mut domain = domain(control, request.bd_id)?;
    if request.is_set && request.flags.has(BdFlags::ARP_UFWD) {
        return Err(Refusal::unimplemented("flags: bridge domains do not divert ARP"));
    }
    let flags = [
        (BdFlags::LEARN, &mut domain.learn, members::LEARN),
        (BdFlags::FWD, &mut domain.forward, members::FORWARD),
        (BdFlags::FLOOD, &mut domain.flood, members::FLOOD),
        (BdFlags::UU_FLOOD, &mut domain.uu_flood, members::UNKNOWN),
        (BdFlags::ARP_TERM, &mut domain.arp_term, members::ARP_TERM),
    ];
    let mut resulting_feature_bitmap = 0;
    for (flag, field, bit) in flags {
        if request.flags.has(flag) {
            *field = request.is_set;
        }
        resulting_feature_bitmap |= if *field { bit } else { 0 };
    }
    control.put(domain)?;
    Ok(BridgeFlagsReply { resulting_feature_bitmap })
}
