//! The router's number, by which it spreads flows otherwise than those before it; and the commands about flows.

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::family::Family;
use crate::fib::TableId;
use crate::flows::FlowField;
use crate::objects::IpTable;
use crate::room::Ip;

/// What all tables of both families have in common in how they spread flows over paths.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "flow-hash")]
pub struct FlowHash {
    /// `default`, which is all there is.
    #[key]
    pub name: String,
    /// A number that makes this router choose otherwise than others that the same flows come from. With any but 0 the fast
    /// hash is not used.
    #[default(0)]
    pub router_id: u32,
}

impl FlowHash {
    /// The only name.
    pub const NAME: &str = "default";
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<FlowField>());
    register_family::<V4>(control);
    register_family::<V6>(control);
    let set = "set ip flow-hash router-id <router-id:u32>";
    let help = "Have this router spread flows otherwise than those that they come from.";
    let set = Command::new(set, help, |control, given| {
        put_router(control, given.get("router-id")?)?;
        Ok(Reply::done())
    });
    commands.add(set.arguments_of::<FlowHash>());
}

fn register_family<F: Family>(control: &Control) {
    let (command, name) = (F::NAMES.command, F::NAME);
    let set = format!("set {command} flow-hash table <table:{name}-table> (default | <flow-hash:flow-field>...)");
    let help = format!("Choose by what the flows of an {} table are told apart.", F::TITLE);
    let set = Command::new(set, help, set_flow_hash::<F>).argument("table", "a table");
    control.commands().add(set.argument("default", "addresses, ports and protocol").arguments_of::<IpTable<F>>());
}

fn set_flow_hash<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put_fields::<F>(control, crate::command::wanted::<F>(control, given)?, given.all("flow-hash")?)?;
    Ok(Reply::done())
}

/// Has a table tell flows apart by these fields, or by the usual ones if there are none.
pub(crate) fn put_fields<F: Family>(control: &Control, table: u32, fields: Vec<FlowField>) -> Result<(), ObjectError> {
    if control.room::<Ip<F>>().fib.table(TableId(table)).is_none() {
        let what = format!("there is no {} table {table}", F::TITLE);
        return Err(
            ObjectError::field("id", what).remedy(format!("add it with `{} table add {table}`", F::NAMES.command))
        );
    }
    control.edit(IpTable::<F>::new(table), |table| table.flow_hash = fields)
}

/// Gives the router a number.
pub(crate) fn put_router(control: &Control, router_id: u32) -> Result<(), ObjectError> {
    control.put(FlowHash { name: FlowHash::NAME.into(), router_id })
}

fn check(hash: &FlowHash) -> Result<(), ObjectError> {
    match hash.name.as_str() {
        FlowHash::NAME => Ok(()),
        other => Err(ObjectError::field("name", format!("there is no {other}")).remedy("call it `default`")),
    }
}

fn apply(control: &Control, change: Change<'_, FlowHash>) -> Result<(), ObjectError> {
    let router = match change {
        Change::Create(new) | Change::Update { new, .. } => new.router_id,
        Change::Delete(_) => 0,
    };
    control.room_mut::<Ip<V4>>().set_router(router);
    control.room_mut::<Ip<V6>>().set_router(router);
    Ok(())
}
