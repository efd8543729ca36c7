//! VPP's messages about EtherTypes that interfaces pass.

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal};
use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_interface::api::{dump, name};

use super::parted;
use crate::ethertype::{AclEthertypes, EtherTypeNumber};

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(set);
    file.dump(|control, request: AclInterfaceEtypeWhitelistDump| {
        dump(control, request.sw_if_index, |control, id, name| {
            control.objects().get::<AclEthertypes>(&name).map(|at| details(id, &at))
        })
    });
}

/// Sets the EtherTypes that an interface passes in layer 2 beside IP: the first `n_input` of received frames, the others of
/// transmitted ones. All pass in a direction without any.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct AclInterfaceSetEtypeWhitelist {
    pub sw_if_index: InterfaceIndex,
    pub n_input: u8,
    #[count(u8, "count", n_input)]
    pub whitelist: Vec<u16>,
}

/// Dumps the passed EtherTypes of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = AclInterfaceEtypeWhitelistDetails)]
pub(super) struct AclInterfaceEtypeWhitelistDump {
    pub sw_if_index: InterfaceIndex,
}

/// Lists the passed EtherTypes of one interface; the first `n_input` are those of received frames.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct AclInterfaceEtypeWhitelistDetails {
    pub sw_if_index: InterfaceIndex,
    pub n_input: u8,
    #[count(u8, "count", n_input)]
    pub whitelist: Vec<u16>,
}

fn set(control: &Control, request: AclInterfaceSetEtypeWhitelist) -> Result<(), Refusal> {
    let interface = name(control, request.sw_if_index)?;
    let (input, output) = parted(&request.whitelist, request.n_input)?;
    let numbers = |ethertypes: &[u16]| ethertypes.iter().copied().map(EtherTypeNumber).collect();
    let at = AclEthertypes { interface, input: numbers(input), output: numbers(output) };
    Ok(control.assign(&at.interface.clone(), at.wanted())?)
}

fn details(id: InterfaceId, at: &AclEthertypes) -> AclInterfaceEtypeWhitelistDetails {
    let whitelist = at.input.iter().chain(&at.output).map(|ethertype| ethertype.0).collect();
    // There are at most 255 in all.
    AclInterfaceEtypeWhitelistDetails { sw_if_index: id.into(), n_input: at.input.len() as u8, whitelist }
}
