//! VPP's messages about IP: `ip.api`, and those of `interface.api` that are about addresses and tables. Most speak of either
//! family; [`by_family`] chooses.
//!
//! - `fields`: what they consist of (`fib_types.api`); `routes`, `tables`, `addresses`, `broadcast`, `link_local`, `path_mtu`, `sources`,
//!   `unnumbered`: the messages themselves.
//! - `replacing`: changes by marking everything, saying what shall be, and sweeping the rest; `leaving`: tables that are deleted;
//!   `emptying`: deleting many routes.

use quiver_control::Control;
use quiver_wire::{V4, V6};

use crate::family::Family;

/// Calls a function for the family that a message speaks of: `by_family!(is_ip6, function(arguments))`.
#[macro_export]
macro_rules! by_family {
    (await $is_ip6:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $is_ip6 {
            false => $function::<quiver_wire::V4>($($argument),*).await,
            true => $function::<quiver_wire::V6>($($argument),*).await,
        }
    };
    ($is_ip6:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $is_ip6 {
            false => $function::<quiver_wire::V4>($($argument),*),
            true => $function::<quiver_wire::V6>($($argument),*),
        }
    };
}

mod addresses;
mod broadcast;
mod emptying;
mod fields;
mod leaving;
mod link_local;
mod path_mtu;
mod replacing;
mod routes;
mod sources;
mod tables;
mod unnumbered;

pub use crate::by_family;
pub use fields::{IpTable, configured, known};
pub use replacing::{Sweep, follow};

/// The file of messages about IP, and its version in VPP: for all rooms that add to it.
pub const FILE: (&str, (u32, u32, u32)) = ("ip", (3, 2, 0));

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    quiver_compat::add(control, "fib_types", (0, 0, 1), fields::add_types);
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        tables::add_messages(file);
        routes::add_messages(file);
        addresses::add_messages(file);
        link_local::add_messages(file);
        path_mtu::add_messages(file);
        unnumbered::add_messages(file);
    });
    quiver_compat::add(control, "fib", (1, 0, 0), sources::add_messages);
    let (name, version) = quiver_interface::api::FILE;
    quiver_compat::add(control, name, version, |file| {
        addresses::add_messages_of_interfaces(file);
        broadcast::add_messages(file);
        unnumbered::add_messages_of_interfaces(file);
    });
}

fn register_family<F: Family>(control: &Control) {
    control.insert_room(replacing::Replacing::<F>::default());
    control.insert_room(replacing::Followers::<F>::default());
    control.insert_room(path_mtu::Marked::<F>::default());
    control.spawn("ip-leaving-tables", leaving::sweep_on::<F>(control.clone()));
}

#[cfg(test)]
mod tests;
