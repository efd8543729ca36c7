//! Messages about tables of routes.

use quiver_compat::api::Adding;
use quiver_compat::types::{AddressFamily, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, flags};
use quiver_control::Control;
use quiver_wire::{V4, V6};

use super::emptying::{keys, remove};
use super::fields::IpTable;
use super::leaving::{delete, settled, sweep};
use super::replacing::{Replacing, Sweep, lead};
use crate::command::show::tables;
use crate::config::flow_hash::{put_fields, put_router};
use crate::config::leaving::Leaving;
use crate::config::objects::{self, Route, TableNumber};
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;
use crate::flows::FlowField;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.to_the_end(
        async |control, IpTableAddDel { is_add, table }| by_family!(await table.is_ip6, change(control, is_add, table, true)),
    );
    file.to_the_end(async |control, IpTableAddDelV2 { is_add, table, create_mfib }| {
        by_family!(await table.is_ip6, change(control, is_add, table, create_mfib))
    });
    file.to_the_end(async |control, request: IpTableAllocate| {
        by_family!(await request.table.is_ip6, allocate(control, request.table))
    });
    file.dump(|control, _: IpTableDump| {
        sweep::<V4>(control);
        sweep::<V6>(control);
        all::<V4>(control).chain(all::<V6>(control)).map(|table| IpTableDetails { table })
    });
    file.to_the_end(async |control, IpTableFlush { table }| by_family!(await table.is_ip6, flush(control, table)));
    file.request(|control, IpTableReplaceBegin { table }| by_family!(table.is_ip6, replace_begin(control, &table)));
    file.to_the_end(
        async |control, IpTableReplaceEnd { table }| by_family!(await table.is_ip6, replace_end(control, table)),
    );
    file.request(|control, request: SetIpFlowHash| {
        let SetIpFlowHash { src, dst, sport, dport, proto, reverse, symmetric, .. } = request;
        let bits = [src, dst, sport, dport, proto, reverse, symmetric].into_iter().enumerate();
        let wanted = bits.map(|(bit, is_set)| u32::from(is_set) << bit).sum();
        by_family!(request.is_ipv6, set_flow_hash(control, request.vrf_id, wanted))
    });
    file.request(|control, request: SetIpFlowHashV2| {
        let wanted = request.flow_hash_config.0;
        by_family!(request.af == AddressFamily::Ip6, set_flow_hash(control, request.table_id, wanted))
    });
    file.request(|control, request: SetIpFlowHashV3| {
        let wanted = request.flow_hash_config.0;
        by_family!(request.af == AddressFamily::Ip6, set_flow_hash(control, request.table_id, wanted))
    });
    file.request(|control, request: SetIpFlowHashRouterId| Ok(put_router(control, request.router_id)?));
}

/// Adds an IP table, or deletes it with its routes.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableAddDel {
    pub is_add: bool,
    pub table: IpTable,
}

/// Adds an IP table, with or without multicast routes, or deletes it with its routes.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip_table_add_del_v2")]
pub(super) struct IpTableAddDelV2 {
    pub table: IpTable,
    pub create_mfib: bool,
    pub is_add: bool,
}

async fn change<F: Family>(control: Control, is_add: bool, table: IpTable, groups: bool) -> Result<(), Refusal> {
    let (control, id) = (&control, TableId(table.table_id));
    // What follows a deletion is done behind it, whoever has asked for that.
    settled::<F>(control, id).await;
    match is_add {
        // It is always there.
        _ if id == TableId::DEFAULT => Ok(()),
        true => add::<F>(control, id, &table.name, groups),
        // VPP's clients may delete what is not there.
        false if control.objects().get::<objects::IpTable<F>>(&id.0).is_none() => Ok(()),
        false => delete::<F>(control, id).await,
    }
}

fn add<F: Family>(control: &Control, id: TableId, name: &Text<64>, groups: bool) -> Result<(), Refusal> {
    control.room_mut::<Leaving<F>>().keep(id.0);
    let name = Some(name.0.clone()).filter(|name| !name.is_empty());
    let table = objects::IpTable::<F>::before_it_is_added(id.0);
    Ok(control.edit(table, |table| {
        table.name = name.or(table.name.take());
        table.multicast |= groups;
    })?)
}

/// The table that a message names.
fn existing<F: Family>(control: &Control, number: u32) -> Result<TableId, Refusal> {
    match control.room::<Ip<F>>().fib.table(TableId(number)) {
        Some(table) => Ok(table.id),
        None => Err(Refusal::new(Retval::NO_SUCH_FIB, format!("table.table_id: there is no table {number}"))),
    }
}

async fn flush<F: Family>(control: Control, table: IpTable) -> Result<(), Refusal> {
    let id = existing::<F>(&control, table.table_id)?;
    lead::<F>(&control, id, Sweep::Flush)?;
    remove(&control, keys::<F>(&control, id), |_| true).await
}

/// Adds an IP table; the id 0xffffffff selects a free one.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpTableAllocateReply)]
pub(super) struct IpTableAllocate {
    pub table: IpTable,
}

/// Describes the table that was added.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct IpTableAllocateReply {
    pub table: IpTable,
}

async fn allocate<F: Family>(control: Control, table: IpTable) -> Result<IpTableAllocateReply, Refusal> {
    let (control, mut id) = (&control, TableId(table.table_id));
    settled::<F>(control, id).await;
    sweep::<F>(control);
    if id.0 == NONE {
        let ip = control.room::<Ip<F>>();
        let free = (1..NONE).map(TableId).find(|id| ip.fib.table(*id).is_none());
        id = free.ok_or_else(|| Refusal::new(Retval::LIMIT_EXCEEDED, "table.table_id: all numbers are taken"))?;
    }
    if id != TableId::DEFAULT {
        add::<F>(control, id, &table.name, true)?;
    }
    Ok(IpTableAllocateReply { table: described::<F>(control, id) })
}

/// Dumps all IP tables.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpTableDetails)]
pub(super) struct IpTableDump;

/// Describes one IP table: its id, family and name.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct IpTableDetails {
    pub table: IpTable,
}

/// A family's tables.
fn all<F: Family>(control: &Control) -> impl Iterator<Item = IpTable> + use<F> {
    sweep::<F>(control);
    let control = control.clone();
    tables::<F>(&control.clone()).map(move |id| described::<F>(&control, id))
}

/// A table, as clients know it.
fn described<F: Family>(control: &Control, id: TableId) -> IpTable {
    let named = control.objects().get::<objects::IpTable<F>>(&id.0).and_then(|table| table.name.clone());
    let name = named.unwrap_or_else(|| format!("{}:{id}", F::NAMES.vrf)).into();
    IpTable { table_id: id.0, is_ip6: F::VERSION == 6, name }
}

/// Deletes the routes of a table that clients and commands have added. Routes of clients' own FIB sources stay.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableFlush {
    pub table: IpTable,
}

/// Marks the routes of a table; `ip_table_replace_end` deletes those not added again.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableReplaceBegin {
    pub table: IpTable,
}

fn replace_begin<F: Family>(control: &Control, table: &IpTable) -> Result<(), Refusal> {
    let id = existing::<F>(control, table.table_id)?;
    let routes = control.objects().all::<Route<F>>();
    let marked = routes.iter().filter(|route| route.table.0 == id.0).map(|route| route.prefix).collect();
    control.room_mut::<Replacing<F>>().routes.insert(id, marked);
    lead::<F>(control, id, Sweep::Begin)
}

/// Deletes the routes of a table that are still marked.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableReplaceEnd {
    pub table: IpTable,
}

async fn replace_end<F: Family>(control: Control, table: IpTable) -> Result<(), Refusal> {
    let id = existing::<F>(&control, table.table_id)?;
    lead::<F>(&control, id, Sweep::End)?;
    let marked = control.room_mut::<Replacing<F>>().routes.remove(&id).unwrap_or_default();
    let keys = marked.iter().map(|prefix| (TableNumber::new(id.0), *prefix)).collect();
    control.room_mut::<Replacing<F>>().going.entry(id).or_default().extend(marked);
    // Another client may want one of them meanwhile.
    remove(&control, keys, |prefix| control.room_mut::<Replacing<F>>().goes(id, prefix)).await
}

flags! {
    /// By what flows are told apart.
    pub(super) struct IpFlowHashConfig(u32) as "ip_flow_hash_config" Flags {
        /// Source address.
        SRC_IP = 1 => "IP_API_FLOW_HASH_SRC_IP",
        /// Destination address.
        DST_IP = 2 => "IP_API_FLOW_HASH_DST_IP",
        /// Source port.
        SRC_PORT = 4 => "IP_API_FLOW_HASH_SRC_PORT",
        /// Destination port.
        DST_PORT = 8 => "IP_API_FLOW_HASH_DST_PORT",
        /// Protocol.
        PROTO = 16 => "IP_API_FLOW_HASH_PROTO",
        /// Source and destination change places.
        REVERSE = 32 => "IP_API_FLOW_HASH_REVERSE",
        /// Both directions are one flow.
        SYMETRIC = 64 => "IP_API_FLOW_HASH_SYMETRIC",
        /// The flow label of IPv6.
        FLOW_LABEL = 128 => "IP_API_FLOW_HASH_FLOW_LABEL",
    }
}

flags! {
    /// By what flows are told apart.
    pub(super) struct IpFlowHashConfigV2(u32) as "ip_flow_hash_config_v2" Flags {
        /// Source address.
        SRC_IP = 1 => "IP_API_V2_FLOW_HASH_SRC_IP",
        /// Destination address.
        DST_IP = 2 => "IP_API_V2_FLOW_HASH_DST_IP",
        /// Source port.
        SRC_PORT = 4 => "IP_API_V2_FLOW_HASH_SRC_PORT",
        /// Destination port.
        DST_PORT = 8 => "IP_API_V2_FLOW_HASH_DST_PORT",
        /// Protocol.
        PROTO = 16 => "IP_API_V2_FLOW_HASH_PROTO",
        /// Source and destination change places.
        REVERSE = 32 => "IP_API_V2_FLOW_HASH_REVERSE",
        /// Both directions are one flow.
        SYMETRIC = 64 => "IP_API_V2_FLOW_HASH_SYMETRIC",
        /// The flow label of IPv6.
        FLOW_LABEL = 128 => "IP_API_V2_FLOW_HASH_FLOW_LABEL",
        /// The number of a tunnel of GTP.
        GTPV1_TEID = 256 => "IP_API_V2_FLOW_HASH_GTPV1_TEID",
    }
}

/// Sets the fields that the flow hash of a table covers, one flag per field.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SetIpFlowHash {
    pub vrf_id: u32,
    pub is_ipv6: bool,
    pub src: bool,
    pub dst: bool,
    pub sport: bool,
    pub dport: bool,
    pub proto: bool,
    pub reverse: bool,
    pub symmetric: bool,
}

/// Sets the fields that the flow hash of a table covers, as a bit mask.
#[derive(Message, Clone, Debug)]
#[message(request, name = "set_ip_flow_hash_v2")]
pub(super) struct SetIpFlowHashV2 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfig,
}

/// Sets the fields that the flow hash of a table covers, as a bit mask with flow label and GTP TEID.
#[derive(Message, Clone, Debug)]
#[message(request, name = "set_ip_flow_hash_v3")]
pub(super) struct SetIpFlowHashV3 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfigV2,
}

/// Sets a router id that is mixed into the flow hash, so that consecutive routers spread flows differently.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SetIpFlowHashRouterId {
    pub router_id: u32,
}

fn set_flow_hash<F: Family>(control: &Control, table: u32, wanted: u32) -> Result<(), Refusal> {
    existing::<F>(control, table)?;
    let fields = (0..).zip(FlowField::ALL).filter(|(bit, _)| wanted >> bit & 1 != 0).map(|(_, field)| field);
    Ok(put_fields::<F>(control, table, fields.collect())?)
}
