//! VPP's messages about MAC-IP lists.

use quiver_compat::types::{InterfaceIndex, NONE, Prefix};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::Control;
use quiver_interface::api::{dump, name};
use quiver_interface::{InterfaceId, Interfaces, LOCAL};
use quiver_wire::MacAddress;

use super::config::{MacipAcl, MacipInterface, MacipNumber};
use super::lists::MacipAcls;
use super::rule::{Action, MacipRule};
use crate::said::{AclAction, any_prefix, unknown, wire_prefix};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "acl_types", (1, 0, 0), |file| file.define_type::<MacipAclRule>());
    quiver_compat::add(control, "acl", (2, 0, 1), |file| {
        file.request(|control, MacipAclAdd { tag, r }: MacipAclAdd| {
            let added = add_replace(control, &MacipAclAddReplace { acl_index: NONE, tag, r });
            let (acl_index, retval) = answered(added);
            Ok(MacipAclAddReply { acl_index, retval })
        });
        file.request(|control, request: MacipAclAddReplace| {
            let (acl_index, retval) = answered(add_replace(control, &request));
            Ok(MacipAclAddReplaceReply { acl_index, retval })
        });
        file.request(|control, MacipAclDel { acl_index }| delete(control, acl_index));
        file.request(add_del);
        file.request(|control, MacipAclInterfaceGet {}| Ok(MacipAclInterfaceGetReply { acls: by_interface(control) }));
        file.dump(|control, MacipAclDump { acl_index }| {
            let only = Some(acl_index).filter(|index| *index != NONE);
            control.walk_of::<MacipAcl>(only.as_ref()).map(|acl| details(&acl))
        });
        file.dump(|control, request: MacipAclInterfaceListDump| {
            dump(control, request.sw_if_index, |control, id, name| {
                let at = control.objects().get::<MacipInterface>(&name);
                at.map(|at| MacipAclInterfaceListDetails { sw_if_index: id.into(), acls: vec![at.acl.0] })
            })
        });
    });
}

/// A rule of a MAC-IP list: the source MAC address, its compared bits, and the prefix of source addresses.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
struct MacipAclRule {
    is_permit: AclAction,
    src_mac: MacAddress,
    src_mac_mask: MacAddress,
    src_prefix: Prefix,
}

/// Adds a MAC-IP list.
#[derive(Message, Clone, Debug)]
#[message(request, reply = MacipAclAddReply)]
struct MacipAclAdd {
    tag: Text<64>,
    #[count(u32, "count")]
    r: Vec<MacipAclRule>,
}

/// Index of the MAC-IP list; 0xffffffff after an error. Here `retval` is the last field.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct MacipAclAddReply {
    acl_index: u32,
    retval: i32,
}

/// Reply to a message that cannot be parsed.
impl Default for MacipAclAddReply {
    fn default() -> MacipAclAddReply {
        MacipAclAddReply { acl_index: NONE, retval: Retval::INVALID_VALUE.0 }
    }
}

/// Adds a MAC-IP list, or replaces the rules of list `acl_index`; 0xffffffff selects a free index.
#[derive(Message, Clone, Debug)]
#[message(request, reply = MacipAclAddReplaceReply)]
struct MacipAclAddReplace {
    #[default(4294967295)]
    acl_index: u32,
    tag: Text<64>,
    #[count(u32, "count")]
    r: Vec<MacipAclRule>,
}

/// Index of the MAC-IP list; 0xffffffff after an error. Here `retval` is the last field.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct MacipAclAddReplaceReply {
    acl_index: u32,
    retval: i32,
}

/// Reply to a message that cannot be parsed.
impl Default for MacipAclAddReplaceReply {
    fn default() -> MacipAclAddReplaceReply {
        MacipAclAddReplaceReply { acl_index: NONE, retval: Retval::INVALID_VALUE.0 }
    }
}

/// Deletes the MAC-IP list of this index, and takes it from its interfaces.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MacipAclDel {
    acl_index: u32,
}

/// Sets the MAC-IP list of an interface, in place of an earlier one, or removes it whatever its index.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MacipAclInterfaceAddDel {
    #[default(true)]
    is_add: bool,
    sw_if_index: InterfaceIndex,
    acl_index: u32,
}

/// Dumps one MAC-IP list, or all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = MacipAclDetails)]
struct MacipAclDump {
    #[default(4294967295)]
    acl_index: u32,
}

/// Describes one MAC-IP list: its index, its tag and its rules.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct MacipAclDetails {
    acl_index: u32,
    tag: Text<64>,
    #[count(u32, "count")]
    r: Vec<MacipAclRule>,
}

/// Asks for the MAC-IP lists of all interfaces.
#[derive(Message, Clone, Debug)]
#[message(request, reply = MacipAclInterfaceGetReply)]
struct MacipAclInterfaceGet {}

/// Indexes of MAC-IP lists by interface, up to the last interface that has one; 0xffffffff stands for none.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(details)]
struct MacipAclInterfaceGetReply {
    #[count(u32, "count")]
    acls: Vec<u32>,
}

/// Dumps the MAC-IP list of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = MacipAclInterfaceListDetails)]
struct MacipAclInterfaceListDump {
    sw_if_index: InterfaceIndex,
}

/// Names the MAC-IP list of one interface.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct MacipAclInterfaceListDetails {
    sw_if_index: InterfaceIndex,
    #[count(u8, "count")]
    acls: Vec<u32>,
}

fn answered(result: Result<u32, Refusal>) -> (u32, i32) {
    match result {
        Ok(index) => (index, 0),
        Err(Refusal { retval, .. }) => (NONE, retval.0),
    }
}

fn add_replace(control: &Control, request: &MacipAclAddReplace) -> Result<u32, Refusal> {
    let id = match request.acl_index {
        NONE => {
            let full = || Refusal::new(Retval::UNSPECIFIED, "there are too many lists");
            control.room::<MacipAcls>().free().ok_or_else(full)?
        }
        id if control.objects().get::<MacipAcl>(&id).is_none() => return Err(unknown(id)),
        id => id,
    };
    let rules = request.r.iter().map(configured).collect::<Result<Vec<_>, _>>()?;
    let tag = Some(request.tag.as_str().to_owned()).filter(|tag| !tag.is_empty());
    let refused = |error: quiver_control::ObjectError| Refusal::new(Retval::INVALID_VALUE, error.to_string());
    control.put(MacipAcl { id, tag, rules }).map_err(refused)?;
    Ok(id)
}

fn configured(said: &MacipAclRule) -> Result<MacipRule, Refusal> {
    Ok(MacipRule {
        // As VPP: what is not denied is permitted.
        action: if said.is_permit == AclAction::Deny { Action::Deny } else { Action::Permit },
        source: Some(any_prefix(said.src_prefix)?),
        mac: said.src_mac,
        mac_mask: said.src_mac_mask,
    })
}

fn details(acl: &MacipAcl) -> MacipAclDetails {
    let rule = |rule: &MacipRule| MacipAclRule {
        is_permit: if rule.action == Action::Permit { AclAction::Permit } else { AclAction::Deny },
        src_mac: rule.mac,
        src_mac_mask: rule.mac_mask,
        src_prefix: wire_prefix(rule.source, rule.source.is_some_and(|prefix| prefix.is_ip6())),
    };
    let tag = acl.tag.as_deref().unwrap_or_default().into();
    MacipAclDetails { acl_index: acl.id, tag, r: acl.rules.iter().map(rule).collect() }
}

fn delete(control: &Control, list: u32) -> Result<(), Refusal> {
    if control.objects().get::<MacipAcl>(&list).is_none() {
        return Err(unknown(list));
    }
    let users: Vec<_> = control.walk::<MacipInterface>().filter(|at| at.acl.0 == list).collect();
    for at in users {
        control.delete::<MacipInterface>(&at.interface)?;
    }
    Ok(control.delete::<MacipAcl>(&list)?)
}

fn add_del(control: &Control, request: MacipAclInterfaceAddDel) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    if request.is_add {
        if control.objects().get::<MacipAcl>(&request.acl_index).is_none() {
            return Err(unknown(request.acl_index));
        }
        if request.sw_if_index == LOCAL.into() {
            // As VPP, which takes it: `local0` receives nothing, so there is nothing to check, and no object of it.
            return Ok(());
        }
        return Ok(control.put(MacipInterface { interface, acl: MacipNumber(request.acl_index) })?);
    }
    match control.objects().get::<MacipInterface>(&interface) {
        Some(_) => Ok(control.delete::<MacipInterface>(&interface)?),
        None => Err(Refusal::new(Retval::NO_SUCH_ENTRY, format!("sw_if_index: {interface} has no MAC-IP list"))),
    }
}

fn by_interface(control: &Control) -> Vec<u32> {
    let mut all = vec![];
    let at = control.walk::<MacipInterface>();
    for (id, list) in at.filter_map(|at| {
        let InterfaceId(id) = control.room::<Interfaces>().id_of(&at.interface.0).ok()?;
        Some((id as usize, at.acl.0))
    }) {
        if all.len() <= id {
            all.resize(id + 1, NONE);
        }
        all[id] = list;
    }
    all
}

#[cfg(test)]
mod tests;
