//! VPP's messages about IP: `ip.api`, and those of `interface.api` that are about addresses and tables.
//!
//! - `fields`: what they consist of (`fib_types.api`); `routes`, `tables`, `addresses`: the messages themselves.
//! - `replacing`: changes by marking everything, saying what shall be, and sweeping the rest; `leaving`: tables that are deleted.

use quiver_compat::types::NONE;
use quiver_compat::{Refusal, Retval};
use quiver_control::Control;
use quiver_interface::InterfaceId;

mod addresses;
mod fields;
mod leaving;
mod replacing;
mod routes;
mod tables;

pub use fields::{configured, known};
pub(crate) use leaving::Leaving;

pub(crate) fn register(control: &Control) {
    control.insert_room(replacing::Replacing::default());
    control.insert_room(Leaving::default());
    control.spawn("ip-leaving-tables", leaving::sweep_on(control.clone()));
    quiver_compat::add(control, "fib_types", (0, 0, 1), fields::add_types);
    quiver_compat::add(control, "ip", (3, 2, 0), |file| {
        tables::add_messages(file);
        routes::add_messages(file);
        addresses::add_messages(file);
    });
    let (name, version) = quiver_interface::api::FILE;
    quiver_compat::add(control, name, version, addresses::add_messages_of_interfaces);
}

/// The number of an interface in a message that may name none.
fn index_of(id: Option<InterfaceId>) -> u32 {
    id.map_or(NONE, |id| id.0.into())
}

fn no_ip6(what: &str) -> Refusal {
    Refusal::new(Retval::INVALID_ADDRESS_FAMILY, format!("{what}: there is no IPv6 yet"))
}

#[cfg(test)]
mod tests;
