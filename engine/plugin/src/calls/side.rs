//! The control side, as a plugin gets it.

use quiver_control::Control;
use quiver_plugin_abi as abi;

/// The control side, as one plugin sees it for the time of a call.
pub(crate) struct Side {
    pub control: Control,
    /// The number of the plugin.
    pub plugin: usize,
}

impl Side {
    /// As it crosses.
    pub fn handle(&mut self) -> *mut abi::Control {
        std::ptr::from_mut(self).cast()
    }
}
