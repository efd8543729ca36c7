//! VPP's messages about sub-interfaces (`interface.api`) and tag rewrite (`l2.api`).

use quiver_compat::types::{InterfaceIndex, SubIfFlags};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::details::{self, SwInterfaceDetails};
use quiver_interface::api::{FILE, find, name};
use quiver_interface::{Interface, InterfaceName, Interfaces};
use quiver_wire::VlanId;

use crate::rewrite::{TagRewrite, TagType, leave};
use crate::sub_interface::{AnyVlan, SubInterface, SubInterfaceName, Takes};

/// Creates an 802.1Q sub-interface for a VLAN.
#[derive(Message, Clone, Debug)]
#[message(request, reply = CreateVlanSubifReply)]
struct CreateVlanSubif {
    sw_if_index: InterfaceIndex,
    vlan_id: u32,
}

/// Index of the new sub-interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct CreateVlanSubifReply {
    sw_if_index: InterfaceIndex,
}

/// Creates a sub-interface that matches one or two VLAN tags.
#[derive(Message, Clone, Debug)]
#[message(request, reply = CreateSubifReply)]
struct CreateSubif {
    sw_if_index: InterfaceIndex,
    sub_id: u32,
    sub_if_flags: SubIfFlags,
    outer_vlan_id: u16,
    inner_vlan_id: u16,
}

/// Index of the new sub-interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct CreateSubifReply {
    sw_if_index: InterfaceIndex,
}

/// Deletes a sub-interface and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct DeleteSubif {
    sw_if_index: InterfaceIndex,
}

/// Sets or disables the VLAN tag rewrite of a layer-2 interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct L2InterfaceVlanTagRewrite {
    sw_if_index: InterfaceIndex,
    vtr_op: u32,
    push_dot1q: u32,
    tag1: u32,
    tag2: u32,
}

/// Operations by their numbers in VPP, from 1 on: tags that come off, and tags that go on.
const OPERATIONS: [(u8, usize); 8] = [(0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, 2), (2, 1), (2, 2)];

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        file.request(|control, request: CreateVlanSubif| {
            let mut sub = part(control, request.sw_if_index, request.vlan_id)?;
            let vlan = u16::try_from(request.vlan_id).map_err(|_| no_vlan("vlan_id", request.vlan_id))?;
            sub.outer = Some(AnyVlan::Vlan(vlan_id("vlan_id", vlan)?));
            Ok(CreateVlanSubifReply { sw_if_index: create(control, sub)? })
        });
        file.request(|control, request: CreateSubif| {
            Ok(CreateSubifReply { sw_if_index: create(control, by_flags(control, &request)?)? })
        });
        file.waiting(|control, request: DeleteSubif| async move {
            let interface = find(&control, request.sw_if_index)?.name;
            match SubInterfaceName::parse(&interface).filter(|name| is_there(&control, name)) {
                Some(name) => Ok(control.delete_in_turns::<SubInterface>(&name).await?),
                None => {
                    let what = format!("sw_if_index: {interface} is no sub-interface");
                    Err(Refusal::new(Retval::INVALID_SUB_SW_IF_INDEX, what))
                }
            }
        });
    });
    quiver_compat::add(control, "l2", (3, 3, 0), |file| file.request(rewrite));
    details::add(control, describe);
}

fn is_there(control: &Control, name: &SubInterfaceName) -> bool {
    control.objects().get::<SubInterface>(name).is_some()
}

/// A part of an interface that has nothing yet.
fn part(control: &Control, of: InterfaceIndex, number: u32) -> Result<SubInterface, Refusal> {
    Ok(SubInterface::new(SubInterfaceName { parent: name(control, of)?, number }))
}

fn no_vlan(field: &str, vlan: u32) -> Refusal {
    Refusal::new(Retval::INVALID_VLAN, format!("{field}: {vlan} is no VLAN; choose one from 1 to 4094"))
}

fn vlan_id(field: &str, vlan: u16) -> Result<VlanId, Refusal> {
    VlanId::new(vlan).ok().filter(|vlan| *vlan != VlanId::PRIORITY).ok_or_else(|| no_vlan(field, vlan.into()))
}

fn by_flags(control: &Control, request: &CreateSubif) -> Result<SubInterface, Refusal> {
    let flags = request.sub_if_flags;
    let mut sub = part(control, request.sw_if_index, request.sub_id)?;
    if flags.has(SubIfFlags::DOT1AH) {
        return Err(Refusal::unimplemented("sub_if_flags: there is no IEEE 802.1ah"));
    }
    if flags.has(SubIfFlags::DEFAULT) {
        sub.takes = Takes::Default;
        return Ok(sub);
    }
    if flags.has(SubIfFlags::NO_TAGS) {
        sub.takes = Takes::Untagged;
        return Ok(sub);
    }
    let vlan = |any, field, vlan| match flags.has(any) {
        true => Ok(AnyVlan::Any),
        false => vlan_id(field, vlan).map(AnyVlan::Vlan),
    };
    let two = flags.has(SubIfFlags::TWO_TAGS);
    if !two && !flags.has(SubIfFlags::ONE_TAG) {
        return Err(Refusal::new(Retval::INVALID_VALUE, "sub_if_flags: say how many tags the frames have"));
    }
    sub.takes = if flags.has(SubIfFlags::DOT1AD) { Takes::Dot1ad } else { Takes::Dot1q };
    sub.outer = Some(vlan(SubIfFlags::OUTER_VLAN_ID_ANY, "outer_vlan_id", request.outer_vlan_id)?);
    if two {
        sub.inner = Some(vlan(SubIfFlags::INNER_VLAN_ID_ANY, "inner_vlan_id", request.inner_vlan_id)?);
    }
    sub.exact = flags.has(SubIfFlags::EXACT_MATCH);
    Ok(sub)
}

fn create(control: &Control, sub: SubInterface) -> Result<InterfaceIndex, Refusal> {
    let name = sub.name.to_string();
    if is_there(control, &sub.name) {
        return Err(Refusal::new(Retval::VLAN_ALREADY_EXISTS, format!("there is {name} already")));
    }
    control.put(sub)?;
    Ok(control.room::<Interfaces>().id_of(&name)?.into())
}

fn rewrite(control: &Control, request: L2InterfaceVlanTagRewrite) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let Some(place) = request.vtr_op.checked_sub(1) else { return Ok(leave(control, &interface)?) };
    let Some((pop, push)) = OPERATIONS.get(place as usize) else {
        let what = format!("vtr_op: {} is none of 0 to {}", request.vtr_op, OPERATIONS.len());
        return Err(Refusal::new(Retval::INVALID_VALUE, what));
    };
    let mut rewrite = TagRewrite::new(interface);
    rewrite.pop = *pop;
    for (field, tag) in [("tag1", request.tag1), ("tag2", request.tag2)].into_iter().take(*push) {
        let tag = u16::try_from(tag).map_err(|_| no_vlan(field, tag))?;
        rewrite.push.push(vlan_id(field, tag)?);
    }
    rewrite.tag_type = if request.push_dot1q != 0 { TagType::Dot1q } else { TagType::Dot1ad };
    Ok(control.put(rewrite)?)
}

/// Fills in the fields of an interface that this room knows.
fn describe(control: &Control, interface: &Interface, details: &mut SwInterfaceDetails) {
    let name = SubInterfaceName::parse(&interface.name);
    if let Some(sub) = name.and_then(|name| control.objects().get::<SubInterface>(&name)) {
        let vlan = |vlan| match vlan {
            Some(AnyVlan::Vlan(vlan)) => vlan.get(),
            Some(AnyVlan::Any) | None => 0,
        };
        details.sub_id = sub.name.number;
        details.sub_number_of_tags = u8::from(sub.outer.is_some()) + u8::from(sub.inner.is_some());
        (details.sub_outer_vlan_id, details.sub_inner_vlan_id) = (vlan(sub.outer), vlan(sub.inner));
        details.sub_if_flags = flags(&sub);
    }
    let name = InterfaceName(interface.name.clone());
    if let Some(rewrite) = control.objects().get::<TagRewrite>(&name) {
        let (pop, push) = (rewrite.pop, &rewrite.push);
        let place = OPERATIONS.iter().position(|operation| *operation == (pop, push.len()));
        let tag = |place: usize| push.get(place).map_or(0, |vlan| vlan.get().into());
        details.vtr_op = place.map_or(0, |place| place as u32 + 1);
        details.vtr_push_dot1q = u32::from(rewrite.tag_type == TagType::Dot1q && !push.is_empty());
        (details.vtr_tag1, details.vtr_tag2) = (tag(0), tag(1));
    }
}

fn flags(sub: &SubInterface) -> SubIfFlags {
    let flag = |on, flag| if on { flag } else { SubIfFlags::default() };
    match sub.takes {
        Takes::Untagged => SubIfFlags::NO_TAGS,
        Takes::Default => SubIfFlags::DEFAULT,
        Takes::Dot1q | Takes::Dot1ad => {
            let tags = if sub.inner.is_some() { SubIfFlags::TWO_TAGS } else { SubIfFlags::ONE_TAG };
            tags | flag(sub.takes == Takes::Dot1ad, SubIfFlags::DOT1AD)
                | flag(sub.exact, SubIfFlags::EXACT_MATCH)
                | flag(sub.outer == Some(AnyVlan::Any), SubIfFlags::OUTER_VLAN_ID_ANY)
                | flag(sub.inner == Some(AnyVlan::Any), SubIfFlags::INNER_VLAN_ID_ANY)
        }
    }
}

#[cfg(test)]
mod tests;
