//! VPP's messages about MSS clamping: `mss_clamp.api`.

use std::marker::PhantomData;

use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, flags};
use quiver_control::Control;
use quiver_interface::InterfaceName;
use quiver_interface::api::{dump, find, name};
use quiver_wire::{V4, V6};

use crate::config::{Clamped, Mss, MssClamp, Side};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "mss_clamp", (1, 0, 0), |file| {
        file.request(set);
        file.stream(get);
    });
}

flags! {
    /// Which packets of an interface are meant.
    struct MssClampDir(u8) as "mss_clamp_dir" Flags {
        /// None.
        NONE = 0 => "MSS_CLAMP_DIR_NONE",
        /// Those that it receives.
        RX = 1 => "MSS_CLAMP_DIR_RX",
        /// Those that it sends.
        TX = 2 => "MSS_CLAMP_DIR_TX",
    }
}

/// Sets the TCP MSS clamp of an interface by family and direction, or disables it.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct MssClampEnableDisable {
    sw_if_index: InterfaceIndex,
    ipv4_mss: u16,
    ipv6_mss: u16,
    ipv4_direction: MssClampDir,
    ipv6_direction: MssClampDir,
}

/// Asks for the MSS clamp of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(stream, details = MssClampDetails, reply = MssClampGetReply)]
struct MssClampGet {
    cursor: u32,
    sw_if_index: InterfaceIndex,
}

/// Ends the list of MSS clamps; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct MssClampGetReply {
    cursor: u32,
}

impl Default for MssClampGetReply {
    fn default() -> MssClampGetReply {
        MssClampGetReply { cursor: NONE }
    }
}

/// Describes the MSS clamp of one interface: segment size and direction by family.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct MssClampDetails {
    sw_if_index: InterfaceIndex,
    ipv4_mss: u16,
    ipv6_mss: u16,
    ipv4_direction: MssClampDir,
    ipv6_direction: MssClampDir,
}

fn set(control: &Control, request: MssClampEnableDisable) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    // Both are read before the first is done.
    let ip4 = wanted::<V4>(&interface, request.ipv4_mss, request.ipv4_direction)?;
    let ip6 = wanted::<V6>(&interface, request.ipv6_mss, request.ipv6_direction)?;
    control.assign(&interface, ip4)?;
    Ok(control.assign(&interface, ip6)?)
}

fn wanted<F: Clamped>(interface: &InterfaceName, mss: u16, dir: MssClampDir) -> Result<Option<MssClamp<F>>, Refusal> {
    let side = match (dir.has(MssClampDir::RX), dir.has(MssClampDir::TX)) {
        (false, false) => return Ok(None),
        (true, false) => Side::Rx,
        (false, true) => Side::Tx,
        (true, true) => Side::Both,
    };
    let wrong = || Refusal::new(Retval::INVALID_VALUE, format!("mss: {mss} is out of range; give 1 to 65534"));
    let mss = Mss::new(mss).ok_or_else(wrong)?;
    Ok(Some(MssClamp { interface: interface.clone(), mss, side, family: PhantomData }))
}

fn get(
    control: &Control,
    request: MssClampGet,
) -> Result<(impl Iterator<Item = Option<MssClampDetails>> + use<>, MssClampGetReply), Refusal> {
    if request.sw_if_index.0 != NONE {
        find(control, request.sw_if_index)?;
    }
    let all = dump(control, request.sw_if_index, |control, id, interface| {
        let (ip4, ip6) = (known::<V4>(control, &interface), known::<V6>(control, &interface));
        let is_known = ip4.is_some() || ip6.is_some();
        let ((ipv4_mss, ipv4_direction), (ipv6_mss, ipv6_direction)) =
            (ip4.unwrap_or_default(), ip6.unwrap_or_default());
        let sw_if_index = id.into();
        let details = MssClampDetails { sw_if_index, ipv4_mss, ipv6_mss, ipv4_direction, ipv6_direction };
        is_known.then_some(details)
    });
    Ok((all, MssClampGetReply::default()))
}

fn known<F: Clamped>(control: &Control, interface: &InterfaceName) -> Option<(u16, MssClampDir)> {
    let clamp = control.objects().get::<MssClamp<F>>(interface)?;
    let direction = match clamp.side {
        Side::Rx => MssClampDir::RX,
        Side::Tx => MssClampDir::TX,
        Side::Both => MssClampDir::RX | MssClampDir::TX,
    };
    Some((clamp.mss.get(), direction))
}

#[cfg(test)]
mod tests;
