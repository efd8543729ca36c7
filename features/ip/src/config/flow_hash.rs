//! The router's number, by which it spreads flows otherwise than the routers before it; and by what a table tells flows apart.

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::config::objects::IpTable;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;
use crate::flows::FlowField;

/// Flow hash settings of all tables of both families.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "flow-hash")]
pub struct FlowHash {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Router id mixed into the flow hash, so that consecutive routers spread flows differently. Any value but 0
    /// disables the fast hash.
    #[default(0)]
    pub router_id: u32,
}

impl FlowHash {
    /// The only name.
    pub const NAME: &str = "default";
}

pub(super) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
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
