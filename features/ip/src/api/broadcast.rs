//! Messages about directed broadcasts.

use quiver_compat::Message;
use quiver_compat::api::Adding;
use quiver_compat::types::InterfaceIndex;
use quiver_interface::api::name;

use crate::config::broadcast::put;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, SwInterfaceSetIpDirectedBroadcast { sw_if_index, enable }| {
        Ok(put(control, name(control, sw_if_index)?, enable)?)
    });
}

/// Enables or disables forwarding of directed broadcasts to the IPv4 subnets of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SwInterfaceSetIpDirectedBroadcast {
    pub sw_if_index: InterfaceIndex,
    pub enable: bool,
}
