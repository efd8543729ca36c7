//! `arping`: asks for an address on a link by ARP and counts the answers, or announces an address there, as often as is
//! wanted. It changes nothing; what answers is learned as neighbours are.
//!
//! - [`run`]: asking and announcing. `command`: the command line; `joined`: what it takes without blanks; `api`: VPP's messages.
#![forbid(unsafe_code)]

mod api;
mod command;
mod joined;
pub mod run;

use quiver_control::Control;

/// Registers the room. That of neighbours is registered before.
pub fn register(control: &Control) {
    run::register(control);
    command::register(control);
    api::register(control);
}
