//! VPP's message about counters of frames, which stands in `interface.api`.

use quiver_compat::Message;
use quiver_compat::types::InterfaceIndex;
use quiver_control::Control;
use quiver_interface::api::{FILE, name};

use crate::casts::put;

/// Enables or disables separate unicast, multicast and broadcast counters of an interface.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub struct CollectDetailedInterfaceStats {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Whether to count.
    pub enable_disable: bool,
}

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        file.request(|control, request: CollectDetailedInterfaceStats| {
            Ok(put(control, name(control, request.sw_if_index)?, request.enable_disable)?)
        });
    });
}
