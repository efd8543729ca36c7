//! VPP's messages about encapsulations: those of `udp.api`.

use std::net::IpAddr;

use quiver_compat::types::Address;
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_ip::fib::TableId;
use quiver_ip::objects::TableNumber;
use quiver_ip::{Family, Ip};
use quiver_wire::{V4, V6};

use crate::config::{Encaps, UdpEncap as Object};

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "udp", (1, 1, 0), |file| {
        file.request(|control, UdpEncapAdd { udp_encap }| Ok(UdpEncapAddReply { id: add(control, &udp_encap)? }));
        file.request(|control, UdpEncapDel { id }| {
            let number = u16::try_from(id).ok().filter(|id| control.objects().get::<Object>(id).is_some());
            let missing = || Refusal::new(Retval::NO_SUCH_ENTRY, format!("id: there is no encapsulation {id}"));
            Ok(control.delete::<Object>(&number.ok_or_else(missing)?)?)
        });
        file.dump(|control, _: UdpEncapDump| {
            control.walk::<Object>().map(|encap| UdpEncapDetails { udp_encap: told(&encap) })
        });
    });
}

/// An encapsulation; its number is the daemon's to choose.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
#[wire(name = "udp_encap")]
struct UdpEncap {
    table_id: u32,
    /// 0 leaves it to the flow.
    src_port: u16,
    dst_port: u16,
    src_ip: Address,
    dst_ip: Address,
    id: u32,
}

/// Adds a UDP encapsulation: addresses, ports and table.
#[derive(Message, Clone, Debug)]
#[message(request, reply = UdpEncapAddReply)]
struct UdpEncapAdd {
    udp_encap: UdpEncap,
}

/// Id of the encapsulation, by which paths and `/net/udp-encap` refer to it.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct UdpEncapAddReply {
    id: u32,
}

/// Deletes the UDP encapsulation of this id.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct UdpEncapDel {
    id: u32,
}

/// Dumps all UDP encapsulations.
#[derive(Message, Clone, Debug)]
#[message(dump, details = UdpEncapDetails)]
struct UdpEncapDump;

/// Describes one UDP encapsulation: its id, addresses, ports and table.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct UdpEncapDetails {
    udp_encap: UdpEncap,
}

fn add(control: &Control, said: &UdpEncap) -> Result<u32, Refusal> {
    let (source, destination) = (said.src_ip.get(), said.dst_ip.get());
    let table = |is_there: bool| match is_there {
        true => Ok(said.table_id),
        false => Err(Refusal::new(Retval::NO_SUCH_TABLE, format!("table_id: there is no table {}", said.table_id))),
    };
    let (of4, of6) = match destination {
        IpAddr::V4(_) => (table(has_table::<V4>(control, said.table_id))?, 0),
        IpAddr::V6(_) => (0, table(has_table::<V6>(control, said.table_id))?),
    };
    let id = control.room::<Encaps>().free();
    let id = id.ok_or_else(|| Refusal::new(Retval::LIMIT_EXCEEDED, "id: all numbers of encapsulations are taken"))?;
    control.put(Object {
        id,
        source,
        destination,
        source_port: said.src_port,
        destination_port: said.dst_port,
        table: TableNumber::new(of4),
        ip6_table: TableNumber::new(of6),
    })?;
    Ok(id.into())
}

fn has_table<F: Family>(control: &Control, table: u32) -> bool {
    control.room::<Ip<F>>().fib.table(TableId(table)).is_some()
}

fn told(encap: &Object) -> UdpEncap {
    UdpEncap {
        table_id: encap.table_id().0,
        src_port: encap.source_port,
        dst_port: encap.destination_port,
        src_ip: encap.source.into(),
        dst_ip: encap.destination.into(),
        id: encap.id.into(),
    }
}

#[cfg(test)]
mod tests;
