//! The commands about how flows are told apart and spread over paths.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Reply};
use quiver_wire::{V4, V6};

use super::table_word::wanted;
use crate::config::flow_hash::{FlowHash, put_fields, put_router};
use crate::config::objects::IpTable;
use crate::family::Family;
use crate::flows::FlowField;

pub(super) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<FlowField>());
    register_family::<V4>(control);
    register_family::<V6>(control);
    let set = "set ip flow-hash router-id <router-id:u32>";
    let help =
        "Set a router id that is mixed into the flow hash, so that consecutive routers spread flows differently.";
    let set = Command::new(set, help, |control, given| {
        put_router(control, given.get("router-id")?)?;
        Ok(Reply::done())
    });
    commands.add(set.arguments_of::<FlowHash>());
}

fn register_family<F: Family>(control: &Control) {
    let (command, name) = (F::NAMES.command, F::NAME);
    let set = format!("set {command} flow-hash table <table:{name}-table> (default | <flow-hash:flow-field>...)");
    let help = format!("Set the flow hash fields of an {} table.", F::TITLE);
    let set = Command::new(set, help, set_flow_hash::<F>).argument("table", "id of the table");
    control.commands().add(set.argument("default", "addresses, ports and protocol").arguments_of::<IpTable<F>>());
}

fn set_flow_hash<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put_fields::<F>(control, wanted::<F>(control, given)?, given.all("flow-hash")?)?;
    Ok(Reply::done())
}
