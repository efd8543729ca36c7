//! Messages about interfaces without hardware.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_interface::Interfaces;
use quiver_interface::api::find;
use quiver_wire::{MacAddress, UnicastMac};

use crate::loopback::{Loopback, free_name, vpp_mac};

/// Creates a loopback interface; a zero MAC address selects one derived from its number, as in VPP.
#[derive(Message, Clone, Debug)]
#[message(request, reply = CreateLoopbackReply)]
pub(super) struct CreateLoopback {
    pub mac_address: MacAddress,
}

/// Index of the new loopback interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct CreateLoopbackReply {
    pub sw_if_index: InterfaceIndex,
}

/// Creates a loopback interface with the given instance number, or with the first free one.
#[derive(Message, Clone, Debug)]
#[message(request, reply = CreateLoopbackInstanceReply)]
pub(super) struct CreateLoopbackInstance {
    pub mac_address: MacAddress,
    pub is_specified: bool,
    pub user_instance: u32,
}

/// Index of the new loopback interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct CreateLoopbackInstanceReply {
    pub sw_if_index: InterfaceIndex,
}

/// Deletes a loopback interface and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct DeleteLoopback {
    pub sw_if_index: InterfaceIndex,
}

/// Creates a bridge virtual interface (BVI).
#[derive(Message, Clone, Debug)]
#[message(request, reply = BviCreateReply)]
pub(super) struct BviCreate {
    pub mac: MacAddress,
    #[default(4294967295)]
    pub user_instance: u32,
}

/// Index of the new bridge virtual interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct BviCreateReply {
    pub sw_if_index: InterfaceIndex,
}

/// Deletes a bridge virtual interface and all configuration that refers to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct BviDelete {
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, request: CreateLoopback| {
        Ok(CreateLoopbackReply { sw_if_index: create(control, "loop", None, request.mac_address)? })
    });
    file.request(|control, request: CreateLoopbackInstance| {
        let instance = request.is_specified.then_some(request.user_instance);
        Ok(CreateLoopbackInstanceReply { sw_if_index: create(control, "loop", instance, request.mac_address)? })
    });
    file.waiting(|control, request: DeleteLoopback| delete(control, request.sw_if_index));
}

pub(super) fn add_virtual_messages(file: &mut Adding<'_>) {
    file.request(|control, request: BviCreate| {
        let instance = Some(request.user_instance).filter(|instance| *instance != NONE);
        Ok(BviCreateReply { sw_if_index: create(control, "bvi", instance, request.mac)? })
    });
    file.waiting(|control, request: BviDelete| delete(control, request.sw_if_index));
}

fn create(control: &Control, stem: &str, instance: Option<u32>, mac: MacAddress) -> Result<InterfaceIndex, Refusal> {
    let name = free_name(control, stem, instance);
    if control.room::<Interfaces>().find(&name).is_some() {
        return Err(Refusal::new(Retval::INSTANCE_IN_USE, format!("user_instance: there is {name} already")));
    }
    // VPP's clients know the address that it makes of the number.
    let mac = if mac == MacAddress::ZERO { vpp_mac(&name).unwrap_or_default() } else { mac };
    let mac = UnicastMac::new(mac);
    let mac = mac.map_err(|error| Refusal::new(Retval::INVALID_VALUE, format!("mac_address: {error}")))?;
    control.put(Loopback { name: name.clone(), mac: Some(mac) })?;
    Ok(control.room::<Interfaces>().id_of(&name)?.into())
}

async fn delete(control: Control, index: InterfaceIndex) -> Result<(), Refusal> {
    let name = find(&control, index)?.name;
    match control.objects().get::<Loopback>(&name) {
        Some(_) => Ok(control.delete_in_turns::<Loopback>(&name).await?),
        None => Err(Refusal::new(Retval::INVALID_SW_IF_INDEX, format!("sw_if_index: {name} is no loopback"))),
    }
}
