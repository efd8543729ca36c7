//! The command about special prefixes.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, Reply};
use quiver_wire::{V4, V6};

use crate::config::special::{SpecialAction, SpecialPrefix};
use crate::family::Family;

pub(super) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<SpecialAction>());
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Family>(control: &Control) {
    let set =
        format!("set {} special-prefix <prefix:{}-prefix> (<action:special-action> | del)", F::NAMES.command, F::NAME);
    let help = "Set the action of all tables for a special prefix, or delete it.";
    let set = Command::new(set, help, |control, given| {
        let prefix = given.get("prefix")?;
        match given.find("action")? {
            Some(action) => control.put(SpecialPrefix { action, ..SpecialPrefix::<F>::new(prefix) })?,
            None => control.delete::<SpecialPrefix<F>>(&prefix)?,
        }
        Ok(Reply::done())
    });
    control.commands().add(set.arguments_of::<SpecialPrefix<F>>());
}
