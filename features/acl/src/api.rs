//! VPP's messages about lists: of `acl.api` those that make, replace, delete and tell them, and say where they hold.

use quiver_compat::types::{InterfaceIndex, IpProto, NONE, Prefix};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::{Control, ObjectError};
use quiver_interface::api::{dump, name};
use quiver_interface::{Direction, InterfaceId};
use quiver_wire::IpProtocol;

use crate::config::{Acl, AclInterface, AclNumber, AclSettings};
use crate::lists::Acls;
use crate::range::Range;
use crate::reflect;
use crate::rule::{Action, Rule};
use crate::rules::Rules;
use crate::said::{AclAction, any_prefix, unknown, wire_prefix};

mod ethertypes;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "acl_types", (1, 0, 0), |file| file.define_type::<AclRule>());
    quiver_compat::add(control, "acl", (2, 0, 1), |file| {
        file.to_the_end(|control, request: AclAddReplace| async move {
            Ok(match add_replace(control, request).await {
                Ok(acl_index) => AclAddReplaceReply { acl_index, retval: 0 },
                Err(Refusal { retval, .. }) => AclAddReplaceReply { acl_index: NONE, retval: retval.0 },
            })
        });
        file.request(|control, AclDel { acl_index }| match control.objects().get::<Acl>(&acl_index) {
            None => Err(unknown(acl_index)),
            Some(_) => control.delete::<Acl>(&acl_index).map_err(|error| in_use(control, acl_index, &error)),
        });
        file.request(set_lists);
        file.request(add_del);
        file.dump(|control, request: AclInterfaceListDump| {
            dump(control, request.sw_if_index, |control, id, name| {
                interface_details(id, control.objects().get::<AclInterface>(&name).as_deref())
            })
        });
        file.request(|_, AclPluginGetVersion {}| Ok(AclPluginGetVersionReply::default()));
        file.request(|control, AclPluginGetConnTableMaxEntries {}| {
            let conn_table_max_entries = quiver_session::room::limit(control) as u64;
            Ok(AclPluginGetConnTableMaxEntriesReply { conn_table_max_entries })
        });
        file.request(|control, AclStatsIntfCountersEnable { enable }| {
            AclSettings::change(control, |settings| settings.counters = enable).map_err(Refusal::from)
        });
        ethertypes::add_messages(file);
        file.dump(|control, AclDump { acl_index }| {
            let only = Some(acl_index).filter(|index| *index != NONE);
            control.walk_of::<Acl>(only.as_ref()).map(|acl| details(&acl))
        });
    });
}

/// A rule.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
struct AclRule {
    is_permit: AclAction,
    src_prefix: Prefix,
    dst_prefix: Prefix,
    proto: IpProto,
    srcport_or_icmptype_first: u16,
    srcport_or_icmptype_last: u16,
    dstport_or_icmpcode_first: u16,
    dstport_or_icmpcode_last: u16,
    tcp_flags_mask: u8,
    tcp_flags_value: u8,
}

/// Adds an ACL, or replaces the rules of ACL `acl_index`; 0xffffffff selects a free index.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AclAddReplaceReply)]
struct AclAddReplace {
    acl_index: u32,
    tag: Text<64>,
    #[count(u32, "count")]
    r: Vec<AclRule>,
}

/// Index of the ACL; 0xffffffff after an error. Here `retval` is the last field.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct AclAddReplaceReply {
    acl_index: u32,
    retval: i32,
}

/// Reply to a message that cannot be parsed.
impl Default for AclAddReplaceReply {
    fn default() -> AclAddReplaceReply {
        AclAddReplaceReply { acl_index: NONE, retval: Retval::INVALID_VALUE.0 }
    }
}

/// Deletes the ACL of this index.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AclDel {
    acl_index: u32,
}

/// Dumps one ACL, or all ACLs if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AclDetails)]
struct AclDump {
    acl_index: u32,
}

/// Describes one ACL: its index, its tag and its rules.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct AclDetails {
    acl_index: u32,
    tag: Text<64>,
    #[count(u32, "count")]
    r: Vec<AclRule>,
}

/// Asks for the version of the ACL messages.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AclPluginGetVersionReply)]
struct AclPluginGetVersion {}

/// Version of the ACL messages: `minor` grows with additions, `major` with changes that break clients.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct AclPluginGetVersionReply {
    major: u32,
    minor: u32,
}

/// VPP 26.10's.
impl Default for AclPluginGetVersionReply {
    fn default() -> AclPluginGetVersionReply {
        AclPluginGetVersionReply { major: 1, minor: 4 }
    }
}

/// Asks how many sessions there may be.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AclPluginGetConnTableMaxEntriesReply)]
struct AclPluginGetConnTableMaxEntries {}

/// Number of sessions that there may be, those of other features included.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(details)]
struct AclPluginGetConnTableMaxEntriesReply {
    conn_table_max_entries: u64,
}

/// Enables or disables counters of packets and bytes by matching rule at interfaces, `/acl/N/matches`.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AclStatsIntfCountersEnable {
    enable: bool,
}

/// The first elements of a list, and the others.
fn parted<T>(list: &[T], n_input: u8) -> Result<(&[T], &[T]), Refusal> {
    let wrong = || Refusal::new(Retval::INVALID_VALUE, "n_input: it is more than count");
    list.split_at_checked(n_input.into()).ok_or_else(wrong)
}

/// VPP's answer for a list that is in use by an interface or by another feature.
fn in_use(control: &Control, list: u32, error: &ObjectError) -> Refusal {
    let users = reflect::interfaces_of(control, list);
    let is_used = |direction| users.iter().any(|(_, at)| at.lists(direction).contains(&AclNumber(list)));
    let retval = match () {
        () if is_used(Direction::Rx) => -142,
        () if is_used(Direction::Tx) => -143,
        () => -149,
    };
    Refusal::new(Retval(retval), error.to_string())
}

/// Sets the ACLs of an interface: the first `n_input` check received packets, the others transmitted packets.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AclInterfaceSetAclList {
    sw_if_index: InterfaceIndex,
    n_input: u8,
    #[count(u8, "count", n_input)]
    acls: Vec<u32>,
}

/// Appends an ACL to the input or output list of an interface, or removes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct AclInterfaceAddDel {
    #[default(true)]
    is_add: bool,
    is_input: bool,
    sw_if_index: InterfaceIndex,
    acl_index: u32,
}

/// Dumps the ACLs of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AclInterfaceListDetails)]
struct AclInterfaceListDump {
    #[default(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// Lists the ACLs of one interface; the first `n_input` check received packets.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct AclInterfaceListDetails {
    sw_if_index: InterfaceIndex,
    n_input: u8,
    #[count(u8, "count", n_input)]
    acls: Vec<u32>,
}

fn set_lists(control: &Control, request: AclInterfaceSetAclList) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let (input, output) = parted(&request.acls, request.n_input)?;
    let numbers = |lists: &[u32]| lists.iter().map(|list| AclNumber(*list)).collect();
    put(control, AclInterface { interface, input: numbers(input), output: numbers(output) })
}

fn add_del(control: &Control, request: AclInterfaceAddDel) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let direction = Direction::received(request.is_input);
    let known = control.objects().get::<AclInterface>(&interface);
    let mut at = known.map_or_else(|| AclInterface::new(interface), |at| (*at).clone());
    let (lists, list) = (at.lists_mut(direction), AclNumber(request.acl_index));
    match (request.is_add, lists.iter().position(|known| *known == list)) {
        (true, None) => lists.push(list),
        // As VPP: what is done need not be done.
        (true, Some(_)) => return Ok(()),
        (false, Some(place)) => _ = lists.remove(place),
        (false, None) => {
            let what = format!("acl_index: list {} is not there", list.0);
            return Err(Refusal::new(Retval::NO_SUCH_ENTRY, what));
        }
    }
    put(control, at)
}

/// Puts lists into force, or takes the last away.
fn put(control: &Control, at: AclInterface) -> Result<(), Refusal> {
    if let Some(AclNumber(list)) =
        at.input.iter().chain(&at.output).find(|list| control.objects().get::<Acl>(&list.0).is_none())
    {
        return Err(unknown(*list));
    }
    Ok(control.assign(&at.interface.clone(), at.wanted())?)
}

fn interface_details(id: InterfaceId, at: Option<&AclInterface>) -> Option<AclInterfaceListDetails> {
    let numbers = |direction| at.iter().flat_map(move |at| at.lists(direction).iter().map(|list| list.0));
    let (input, output) = (numbers(Direction::Rx), numbers(Direction::Tx));
    let n_input = u8::try_from(input.clone().count()).ok()?;
    Some(AclInterfaceListDetails { sw_if_index: id.into(), n_input, acls: input.chain(output).collect() })
}

async fn add_replace(control: Control, request: AclAddReplace) -> Result<u32, Refusal> {
    let number = || match request.acl_index {
        NONE => {
            let full = || Refusal::new(Retval::UNSPECIFIED, "there are too many lists");
            control.room::<Acls>().free().ok_or_else(full)
        }
        id if control.objects().get::<Acl>(&id).is_none() => Err(unknown(id)),
        id => Ok(id),
    };
    let id = number()?;
    let rules = request.r.iter().map(configured).collect::<Result<Rules, _>>()?;
    let tag = Some(request.tag.as_str().to_owned()).filter(|tag| !tag.is_empty());
    let refused = |error: ObjectError| Refusal::new(Retval::INVALID_VALUE, error.to_string());
    let mut acl = Acl { id, tag, rules };
    control.prepare(&acl).await.map_err(refused)?;
    // Others may have added and deleted lists meanwhile.
    acl.id = number()?;
    let id = acl.id;
    control.put(acl).map_err(refused)?;
    Ok(id)
}

fn configured(said: &AclRule) -> Result<Rule, Refusal> {
    let wrong = |what: &str| Refusal::new(Retval::INVALID_VALUE, format!("r: {what}"));
    let action = match said.is_permit {
        AclAction::Deny => Action::Deny,
        AclAction::Permit => Action::Permit,
        AclAction::PermitReflect => Action::PermitReflect,
    };
    let range = |first, last| match first <= last {
        true => Ok(Range { first, last }),
        false => Err(wrong("a range ends before it begins")),
    };
    let protocol = Some(said.proto.0).filter(|protocol| *protocol != 0);
    let numbers = (
        range(said.srcport_or_icmptype_first, said.srcport_or_icmptype_last)?,
        range(said.dstport_or_icmpcode_first, said.dstport_or_icmpcode_last)?,
    );
    // Numbers and flags of what has none mean nothing, as in VPP.
    let has = |protocols: &[IpProtocol]| protocol.is_some_and(|known| protocols.contains(&IpProtocol(known)));
    let has_numbers = has(&[IpProtocol::TCP, IpProtocol::UDP, IpProtocol::ICMP4, IpProtocol::ICMP6]);
    let numbers = if has_numbers { numbers } else { (Range::ALL, Range::ALL) };
    let tcp_mask = if has(&[IpProtocol::TCP]) { said.tcp_flags_mask } else { 0 };
    Ok(Rule {
        action,
        source: Some(any_prefix(said.src_prefix)?),
        destination: Some(any_prefix(said.dst_prefix)?),
        protocol,
        source_ports: numbers.0,
        destination_ports: numbers.1,
        tcp_mask,
        tcp_flags: said.tcp_flags_value & tcp_mask,
    })
}

fn details(acl: &Acl) -> AclDetails {
    let tag = acl.tag.as_deref().unwrap_or_default().into();
    AclDetails { acl_index: acl.id, tag, r: acl.rules.iter().map(known).collect() }
}

fn known(rule: &Rule) -> AclRule {
    let is_ip6 = rule.source.or(rule.destination).is_some_and(|prefix| prefix.is_ip6());
    AclRule {
        is_permit: match rule.action {
            Action::Deny => AclAction::Deny,
            Action::Permit => AclAction::Permit,
            Action::PermitReflect => AclAction::PermitReflect,
        },
        src_prefix: wire_prefix(rule.source, is_ip6),
        dst_prefix: wire_prefix(rule.destination, is_ip6),
        proto: IpProto(rule.protocol.unwrap_or(0)),
        srcport_or_icmptype_first: rule.source_ports.first,
        srcport_or_icmptype_last: rule.source_ports.last,
        dstport_or_icmpcode_first: rule.destination_ports.first,
        dstport_or_icmpcode_last: rule.destination_ports.last,
        tcp_flags_mask: rule.tcp_mask,
        tcp_flags_value: rule.tcp_flags,
    }
}

#[cfg(test)]
mod tests;
