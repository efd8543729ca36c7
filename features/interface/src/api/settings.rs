//! Messages that do what the commands of the room do.

use quiver_compat::api::Adding;
use quiver_compat::types::{IfStatusFlags, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text};
use quiver_control::Control;
use quiver_wire::{MacAddress, UnicastMac};

use super::{find, name, too_much};
use crate::set::clear_counters;
use crate::settings::{AdminState, InterfaceName, InterfaceSettings};

/// Sets the admin state of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetFlags {
    pub sw_if_index: InterfaceIndex,
    pub flags: IfStatusFlags,
}

/// Sets the MTUs of an interface: packet, IPv4, IPv6, MPLS. A packet MTU of 0 selects the driver's, another MTU of 0
/// the packet MTU.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetMtu {
    pub sw_if_index: InterfaceIndex,
    pub mtu: [u32; 4],
}

/// Sets the MTU of a hardware interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct HwInterfaceSetMtu {
    pub sw_if_index: InterfaceIndex,
    pub mtu: u16,
}

/// Sets the MAC address of an interface; for a sub-interface, that of its parent.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetMacAddress {
    pub sw_if_index: InterfaceIndex,
    pub mac_address: MacAddress,
}

/// Asks for the MAC address of an interface.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SwInterfaceGetMacAddressReply)]
pub(super) struct SwInterfaceGetMacAddress {
    pub sw_if_index: InterfaceIndex,
}

/// MAC address of the interface.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SwInterfaceGetMacAddressReply {
    pub mac_address: MacAddress,
}

/// Sets or clears the tag of an interface: a name that its owner chooses.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceTagAddDel {
    pub is_add: bool,
    pub sw_if_index: InterfaceIndex,
    pub tag: Text<64>,
}

/// Clears the counters of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceClearStats {
    pub sw_if_index: InterfaceIndex,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, request: SwInterfaceSetFlags| {
        let up = request.flags.has(IfStatusFlags::ADMIN_UP);
        let state = if up { AdminState::Up } else { AdminState::Down };
        edit(control, name(control, request.sw_if_index)?, |settings| settings.state = state)
    });
    file.request(set_mtu);
    file.request(set_whole_mtu);
    file.request(set_mac);
    file.request(|control, request: SwInterfaceGetMacAddress| {
        Ok(SwInterfaceGetMacAddressReply { mac_address: find(control, request.sw_if_index)?.mac })
    });
    file.request(|control, request: SwInterfaceTagAddDel| {
        let tag = request.is_add.then_some(request.tag.0);
        edit(control, name(control, request.sw_if_index)?, |settings| settings.tag = tag)
    });
    file.request(|control, request: SwInterfaceClearStats| {
        let only = match request.sw_if_index {
            InterfaceIndex(NONE) => None,
            index => Some(find(control, index)?.id),
        };
        clear_counters(control, |id| only.is_none_or(|only| only == id));
        Ok(())
    });
}

fn edit(control: &Control, name: InterfaceName, change: impl FnOnce(&mut InterfaceSettings)) -> Result<(), Refusal> {
    Ok(control.edit(InterfaceSettings::new(name), change)?)
}

fn set_mtu(control: &Control, request: SwInterfaceSetMtu) -> Result<(), Refusal> {
    let name = name(control, request.sw_if_index)?;
    let mut mtus = [None; 4];
    for (mtu, wanted) in mtus.iter_mut().zip(request.mtu) {
        let wanted = u16::try_from(wanted).map_err(|_| too_much("mtu", wanted))?;
        *mtu = (wanted != 0).then_some(wanted);
    }
    edit(control, name, |settings| {
        [settings.mtu, settings.mtu_ip4, settings.mtu_ip6, settings.mtu_mpls] = mtus;
    })
}

fn set_whole_mtu(control: &Control, request: HwInterfaceSetMtu) -> Result<(), Refusal> {
    let interface = find(control, request.sw_if_index)?;
    if interface.parent.is_some() {
        let what = format!("sw_if_index: {} is a part of an interface; name the whole one", interface.name);
        return Err(Refusal::new(Retval::INVALID_VALUE, what));
    }
    edit(control, InterfaceName(interface.name), |settings| settings.mtu = Some(request.mtu))
}

fn set_mac(control: &Control, request: SwInterfaceSetMacAddress) -> Result<(), Refusal> {
    let interface = find(control, request.sw_if_index)?;
    let whole = match interface.parent {
        Some(parent) => find(control, parent.into())?.name,
        None => interface.name,
    };
    let mac = UnicastMac::new(request.mac_address);
    let mac = mac.map_err(|error| Refusal::new(Retval::INVALID_VALUE, format!("mac_address: {error}")))?;
    edit(control, InterfaceName(whole), |settings| settings.mac = Some(mac))
}
