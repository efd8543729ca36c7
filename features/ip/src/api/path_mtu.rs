//! Messages about MTUs of paths to hosts.

use std::collections::HashSet;
use std::marker::PhantomData;

use quiver_compat::api::Adding;
use quiver_compat::types::{Address, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::Control;
use quiver_wire::{V4, V6};

use crate::config::objects::TableNumber;
use crate::config::path_mtu::PathMtu;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::TableId;

/// Path MTUs that were present when a client began to replace all, and that the client has not set again.
pub(super) struct Marked<F: Family>(HashSet<(TableNumber<F>, F::Address)>, PhantomData<F>);

impl<F: Family> Default for Marked<F> {
    fn default() -> Marked<F> {
        Marked(HashSet::new(), PhantomData)
    }
}

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, IpPathMtuUpdate { pmtu }| by_family!(pmtu.nh.is_ip6(), update(control, &pmtu)));
    file.stream(|control, IpPathMtuGet { .. }| {
        let all = known::<V4>(control).chain(known::<V6>(control));
        Ok((all.map(|pmtu| IpPathMtuDetails { pmtu }), IpPathMtuGetReply { cursor: NONE }))
    });
    file.request(|control, IpPathMtuReplaceBegin| {
        mark::<V4>(control);
        mark::<V6>(control);
        Ok(())
    });
    file.request(|control, IpPathMtuReplaceEnd| {
        sweep::<V4>(control)?;
        sweep::<V6>(control)
    });
}

fn update<F: Family>(control: &Control, said: &IpPathMtu) -> Result<(), Refusal> {
    let peer = said.nh.in_family::<F>()?;
    if control.room::<Ip<F>>().fib.table(TableId(said.table_id)).is_none() {
        let what = format!("pmtu.table_id: there is no table {}", said.table_id);
        return Err(Refusal::new(Retval::NO_SUCH_FIB, what));
    }
    let key = (TableNumber::<F>::new(said.table_id), peer);
    control.room_mut::<Marked<F>>().0.remove(&key);
    let is_there = control.objects().get::<PathMtu<F>>(&key).is_some();
    match said.path_mtu {
        0 if is_there => Ok(control.delete::<PathMtu<F>>(&key)?),
        // VPP's clients may delete what is not there.
        0 => Ok(()),
        mtu => Ok(control.put(PathMtu { mtu, ..PathMtu::<F>::new(key.0, key.1) })?),
    }
}

fn known<F: Family>(control: &Control) -> impl Iterator<Item = IpPathMtu> + use<F> {
    control.walk::<PathMtu<F>>().map(|path| {
        let nh: std::net::IpAddr = path.peer.into();
        IpPathMtu { table_id: path.table.0, nh: nh.into(), path_mtu: path.mtu, ..IpPathMtu::default() }
    })
}

fn mark<F: Family>(control: &Control) {
    let all = control.objects().all::<PathMtu<F>>();
    control.room_mut::<Marked<F>>().0 = all.iter().map(|path| (path.table, path.peer)).collect();
}

fn sweep<F: Family>(control: &Control) -> Result<(), Refusal> {
    let marked = std::mem::take(&mut control.room_mut::<Marked<F>>().0);
    for key in marked {
        if control.objects().get::<PathMtu<F>>(&key).is_some() {
            control.delete::<PathMtu<F>>(&key)?;
        }
    }
    Ok(())
}

/// Path MTU of a host.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub(super) struct IpPathMtu {
    /// Of no meaning here.
    pub client_index: u32,
    /// Of no meaning here.
    pub context: u32,
    pub table_id: u32,
    pub nh: Address,
    pub path_mtu: u16,
}

/// Sets the path MTU to a host; 0 deletes it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpPathMtuUpdate {
    pub pmtu: IpPathMtu,
}

/// Asks for all path MTUs.
#[derive(Message, Clone, Debug)]
#[message(stream, details = IpPathMtuDetails, reply = IpPathMtuGetReply)]
pub(super) struct IpPathMtuGet {
    pub cursor: u32,
}

/// Ends the list of path MTUs; the cursor is 0xffffffff.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(super) struct IpPathMtuGetReply {
    pub cursor: u32,
}

/// Describes one path MTU: its host, table and size.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpPathMtuDetails {
    pub pmtu: IpPathMtu,
}

/// Marks all path MTUs; `ip_path_mtu_replace_end` deletes those not set again.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpPathMtuReplaceBegin;

/// Deletes the path MTUs that are still marked.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpPathMtuReplaceEnd;
