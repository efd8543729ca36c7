//! Messages about tables of routes.

use quiver_compat::api::Adding;
use quiver_compat::types::{AddressFamily, NONE};
use quiver_compat::{Message, Refusal, Retval, Text, flags};
use quiver_control::Control;

use super::fields::IpTable;
use super::leaving::{Leaving, delete, settled, sweep};
use super::no_ip6;
use super::replacing::Replacing;
use super::routes::{keys, only_ip4, remove};
use crate::fib::TableId;
use crate::objects::{self, Route, TableNumber};
use crate::room::Ip4;

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.to_the_end(|control, IpTableAddDel { is_add, table }| change(control, is_add, table));
    // There are no routes of groups, and so no tables of them.
    file.to_the_end(|control, IpTableAddDelV2 { is_add, table, .. }| change(control, is_add, table));
    file.to_the_end(ip_table_allocate);
    file.dump(ip_table_dump);
    file.to_the_end(|control, IpTableFlush { table }| async move {
        let id = existing(&control, &table)?;
        remove(&control, keys(&control, id), |_| true).await
    });
    file.request(ip_table_replace_begin);
    file.to_the_end(ip_table_replace_end);
    file.request(|control, request: SetIpFlowHash| {
        let SetIpFlowHash { src, dst, sport, dport, proto, reverse, symmetric, .. } = request;
        let bits = [src, dst, sport, dport, proto, reverse, symmetric].into_iter().enumerate();
        let wanted = bits.map(|(bit, is_set)| u32::from(is_set) << bit).sum();
        set_flow_hash(control, request.vrf_id, request.is_ipv6, wanted)
    });
    file.request(|control, request: SetIpFlowHashV2| {
        set_flow_hash(control, request.table_id, request.af == AddressFamily::Ip6, request.flow_hash_config.0)
    });
    file.request(|control, request: SetIpFlowHashV3| {
        set_flow_hash(control, request.table_id, request.af == AddressFamily::Ip6, request.flow_hash_config.0)
    });
    file.request(|_, request: SetIpFlowHashRouterId| -> Result<(), Refusal> {
        let router_id = request.router_id;
        Err(Refusal::unimplemented(format!(
            "router_id: flows are spread without a router's number, and not by {router_id}"
        )))
    });
}

/// Add a table, or delete it with its routes.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableAddDel {
    pub is_add: bool,
    pub table: IpTable,
}

/// Add a table, or delete it with its routes.
#[derive(Message, Clone, Debug)]
#[message(request, name = "ip_table_add_del_v2")]
pub(super) struct IpTableAddDelV2 {
    pub table: IpTable,
    pub create_mfib: bool,
    pub is_add: bool,
}

async fn change(control: Control, is_add: bool, table: IpTable) -> Result<(), Refusal> {
    let (control, id) = (&control, only_ip4(&table)?);
    // What follows a deletion is done behind it, whoever has asked for that.
    settled(control, id).await;
    match is_add {
        // It is always there.
        _ if id == TableId::DEFAULT => Ok(()),
        true => add(control, id, &table.name),
        // VPP's clients may delete what is not there.
        false if control.objects().get::<objects::IpTable>(&id.0).is_none() => Ok(()),
        false => delete(control, id).await,
    }
}

fn add(control: &Control, id: TableId, name: &Text<64>) -> Result<(), Refusal> {
    control.room_mut::<Leaving>().keep(id.0);
    let name = Some(name.0.clone()).filter(|name| !name.is_empty());
    Ok(control.edit(objects::IpTable::new(id.0), |table| table.name = name.or(table.name.take()))?)
}

/// The table that a message names.
fn existing(control: &Control, table: &IpTable) -> Result<TableId, Refusal> {
    let id = only_ip4(table)?;
    match control.room::<Ip4>().fib.table(id) {
        Some(_) => Ok(id),
        None => Err(Refusal::new(Retval::NO_SUCH_FIB, format!("table.table_id: there is no table {id}"))),
    }
}

/// Add a table; where its number is all ones, one that is free is chosen.
#[derive(Message, Clone, Debug)]
#[message(request, reply = IpTableAllocateReply)]
pub(super) struct IpTableAllocate {
    pub table: IpTable,
}

/// The table that was added.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct IpTableAllocateReply {
    pub table: IpTable,
}

async fn ip_table_allocate(control: Control, request: IpTableAllocate) -> Result<IpTableAllocateReply, Refusal> {
    let (control, mut id) = (&control, only_ip4(&request.table)?);
    settled(control, id).await;
    sweep(control);
    if id.0 == NONE {
        let ip = control.room::<Ip4>();
        let free = (1..NONE).map(TableId).find(|id| ip.fib.table(*id).is_none());
        id = free.ok_or_else(|| Refusal::new(Retval::LIMIT_EXCEEDED, "table.table_id: all numbers are taken"))?;
    }
    if id != TableId::DEFAULT {
        add(control, id, &request.table.name)?;
    }
    Ok(IpTableAllocateReply { table: described(control, id) })
}

/// The tables, one after the other.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpTableDetails)]
pub(super) struct IpTableDump;

/// A table.
#[derive(Message, Clone, Debug)]
#[message(details)]
pub(super) struct IpTableDetails {
    pub table: IpTable,
}

fn ip_table_dump(control: &Control, _: IpTableDump) -> Vec<IpTableDetails> {
    sweep(control);
    let ids: Vec<TableId> = control.room::<Ip4>().fib.tables().map(|table| table.id).collect();
    ids.into_iter().map(|id| IpTableDetails { table: described(control, id) }).collect()
}

fn described(control: &Control, id: TableId) -> IpTable {
    let named = control.objects().get::<objects::IpTable>(&id.0).and_then(|table| table.name.clone());
    IpTable { table_id: id.0, is_ip6: false, name: named.unwrap_or_else(|| format!("ipv4-VRF:{id}")).into() }
}

/// Delete the routes of a table, but for those of interfaces and neighbours.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableFlush {
    pub table: IpTable,
}

/// Mark the routes of a table; those that are not added again until `ip_table_replace_end` are deleted then.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableReplaceBegin {
    pub table: IpTable,
}

fn ip_table_replace_begin(control: &Control, request: IpTableReplaceBegin) -> Result<(), Refusal> {
    let id = existing(control, &request.table)?;
    let routes = control.objects().all::<Route>();
    let marked = routes.iter().filter(|route| route.table.0 == id.0).map(|route| route.prefix).collect();
    control.room_mut::<Replacing>().routes.insert(id, marked);
    Ok(())
}

/// Delete the routes of a table that have a mark.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpTableReplaceEnd {
    pub table: IpTable,
}

async fn ip_table_replace_end(control: Control, request: IpTableReplaceEnd) -> Result<(), Refusal> {
    let id = existing(&control, &request.table)?;
    let marked = control.room_mut::<Replacing>().routes.remove(&id).unwrap_or_default();
    let keys = marked.iter().map(|prefix| (TableNumber(id.0), *prefix)).collect();
    control.room_mut::<Replacing>().going.entry(id).or_default().extend(marked);
    // Another client may want one of them meanwhile.
    remove(&control, keys, |prefix| control.room_mut::<Replacing>().goes(id, prefix)).await
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

/// By what flows are told apart: addresses, ports and protocol.
const FLOW_HASH: u32 = 1 | 2 | 4 | 8 | 16;

/// Choose by what the flows of a table are told apart.
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

/// Choose by what the flows of a table are told apart.
#[derive(Message, Clone, Debug)]
#[message(request, name = "set_ip_flow_hash_v2")]
pub(super) struct SetIpFlowHashV2 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfig,
}

/// Choose by what the flows of a table are told apart.
#[derive(Message, Clone, Debug)]
#[message(request, name = "set_ip_flow_hash_v3")]
pub(super) struct SetIpFlowHashV3 {
    pub table_id: u32,
    pub af: AddressFamily,
    pub flow_hash_config: IpFlowHashConfigV2,
}

/// Have this router choose otherwise than those before it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct SetIpFlowHashRouterId {
    pub router_id: u32,
}

fn set_flow_hash(control: &Control, table: u32, is_ip6: bool, wanted: u32) -> Result<(), Refusal> {
    if is_ip6 {
        return Err(no_ip6("af"));
    }
    existing(control, &IpTable { table_id: table, ..IpTable::default() })?;
    match wanted {
        FLOW_HASH => Ok(()),
        _ => {
            Err(Refusal::unimplemented("flow_hash_config: flows are told apart by addresses, ports and protocol only"))
        }
    }
}
