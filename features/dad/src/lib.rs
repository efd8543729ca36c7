//! Duplicate address detection (RFC 4862, 5.4): whether another host uses an IPv6 address of ours. It reports; the
//! configuration stays.
//!
//! - [`check`]: the addresses that are looked at, and the task that asks; [`address`]: one of them. [`objects`]: how often it does.
//! - `command`: the command line; `api`: VPP's messages and their event.
#![forbid(unsafe_code)]

pub mod address;
mod api;
pub mod check;
mod command;
pub mod objects;

pub use objects::DuplicateAddressDetection;

use quiver_control::{Control, Kind};

/// Registers the room. That of neighbours is registered before.
pub fn register(control: &Control) {
    control.objects().add(Kind::new(check::apply).check(objects::check));
    check::register(control);
    command::register(control);
    api::register(control);
}
