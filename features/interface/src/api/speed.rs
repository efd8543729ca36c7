//! Messages about the speed of a link.

use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal};
use quiver_control::Control;

use super::find;
use crate::speed::{SPEEDS, fixed};

/// Sets the link speed in kbit/s; no driver supports it yet.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetLinkSpeed {
    pub sw_if_index: InterfaceIndex,
    pub link_speed: u32,
}

/// Asks for the link speeds that an interface can be set to.
#[derive(Message, Clone, Debug)]
#[message(request, reply = SwInterfaceGetSpeedCapaReply)]
pub(super) struct SwInterfaceGetSpeedCapa {
    pub sw_if_index: InterfaceIndex,
}

/// Link speeds in kbit/s.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct SwInterfaceGetSpeedCapaReply {
    #[count(u32, "count")]
    pub speeds: Vec<u32>,
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control: &Control, request: SwInterfaceSetLinkSpeed| -> Result<(), Refusal> {
        Err(Refusal::unimplemented(fixed(&find(control, request.sw_if_index)?.name)))
    });
    file.request(|control, request: SwInterfaceGetSpeedCapa| {
        find(control, request.sw_if_index)?;
        Ok(SwInterfaceGetSpeedCapaReply { speeds: SPEEDS.to_vec() })
    });
}
