//! MTUs of paths to hosts (RFC 1191, RFC 8201), below those of the links that lead to them: what is longer is fragmented or reported
//! as if the link took no more. A neighbour's holds of all packets that go by it.

use std::collections::HashSet;
use std::marker::PhantomData;

use quiver_compat::api::Adding;
use quiver_compat::types::{Address, NONE};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::cli::{Command, CommandError, Matches, Reply, Table};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_wire::{V4, V6};

use crate::api::by_family;
use crate::family::Family;
use crate::fib::TableId;
use crate::objects::TableNumber;
use crate::room::Ip;
use crate::table_word::table;

/// The longest packet that a host gets, where that is less than the links take that lead to it. A neighbour's holds of all packets
/// that go by it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.path_mtus)]
pub struct PathMtu<F: Family> {
    /// The table in which the host is looked up.
    #[key]
    #[default(TableNumber::DEFAULT)]
    pub table: TableNumber<F>,
    /// The host.
    #[key]
    pub peer: F::Address,
    /// Bytes of a packet at most, from the IP header on: 68 or more of IPv4, 1280 or more of IPv6.
    #[default(1500)]
    pub mtu: u16,
}

/// What was there when a client began to replace all, and has not been said again since.
struct Marked<F: Family>(HashSet<(TableNumber<F>, F::Address)>, PhantomData<F>);

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    let show = "show ip pmtu";
    control.commands().add(Command::new(show, "Show the MTUs of paths, of both families.", |control, _| {
        let mut columns = Table::new(["Table", "Peer", "MTU"]);
        rows::<V4>(control, &mut columns);
        rows::<V6>(control, &mut columns);
        Ok(columns.into())
    }));
}

fn register_family<F: Family>(control: &Control) {
    control.insert_room(Marked::<F>(HashSet::new(), PhantomData));
    control.objects().add(Kind::new(apply::<F>).check(check::<F>));
    let name = F::NAME;
    let set = format!("set ip pmtu [table <table:{name}-table>] <peer:{name}> (<mtu:u16> | del)");
    let help = "Set how long packets for a host are at most, or leave that to the links that lead to it.";
    control.commands().add(Command::new(set, help, set_mtu::<F>).arguments_of::<PathMtu<F>>());
}

fn check<F: Family>(wanted: &PathMtu<F>) -> Result<(), ObjectError> {
    let least = F::MTU_MIN;
    match (F::is_host(wanted.peer), wanted.mtu >= least) {
        (false, _) => Err(ObjectError::field("peer", format!("{} is not one host's", wanted.peer))
            .remedy("give the host's own address")),
        (_, false) => {
            let what = format!("{} takes packets of {least} bytes at least, not {}", F::TITLE, wanted.mtu);
            Err(ObjectError::field("mtu", what).remedy(format!("give {least} or more")))
        }
        _ => Ok(()),
    }
}

fn apply<F: Family>(control: &Control, change: Change<'_, PathMtu<F>>) -> Result<(), ObjectError> {
    let (path, mtu) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, Some(new.mtu)),
        Change::Delete(old) => (old, None),
    };
    control.room_mut::<Ip<F>>().set_path_mtu(path.table.into(), path.peer, mtu);
    Ok(())
}

fn set_mtu<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let table = TableNumber::<F>::new(table::<F>(control, given, "table")?.unwrap_or(0));
    let peer = given.get("peer")?;
    match given.find("mtu")? {
        Some(mtu) => control.put(PathMtu { mtu, ..PathMtu::<F>::new(table, peer) })?,
        None => control.delete::<PathMtu<F>>(&(table, peer))?,
    }
    Ok(Reply::done())
}

fn rows<F: Family>(control: &Control, columns: &mut Table) {
    for path in control.objects().all::<PathMtu<F>>() {
        columns.row([path.table.0.into(), path.peer.to_string().into(), path.mtu.into()]);
    }
}

pub(crate) fn add_messages(file: &mut Adding<'_>) {
    file.request(|control, IpPathMtuUpdate { pmtu }| by_family!(pmtu.nh.is_ip6(), update(control, &pmtu)));
    file.stream(|control, IpPathMtuGet { .. }| {
        let all: Vec<_> = known::<V4>(control).chain(known::<V6>(control)).collect();
        Ok((all.into_iter().map(|pmtu| IpPathMtuDetails { pmtu }), IpPathMtuGetReply { cursor: NONE }))
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

fn known<F: Family>(control: &Control) -> impl Iterator<Item = IpPathMtu> {
    let all = control.objects().all::<PathMtu<F>>();
    all.into_iter().map(|path| {
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

/// How long packets for a host are at most.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub(crate) struct IpPathMtu {
    /// Of no meaning here.
    pub client_index: u32,
    /// Of no meaning here.
    pub context: u32,
    pub table_id: u32,
    pub nh: Address,
    pub path_mtu: u16,
}

/// Set how long packets for a host are at most; with 0, leave that to the links that lead to it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(crate) struct IpPathMtuUpdate {
    pub pmtu: IpPathMtu,
}

/// Which MTUs do paths have?
#[derive(Message, Clone, Debug)]
#[message(stream, details = IpPathMtuDetails, reply = IpPathMtuGetReply)]
pub(crate) struct IpPathMtuGet {
    pub cursor: u32,
}

/// All have been named.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
pub(crate) struct IpPathMtuGetReply {
    pub cursor: u32,
}

/// The MTU of a path.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(crate) struct IpPathMtuDetails {
    pub pmtu: IpPathMtu,
}

/// Mark all MTUs of paths; those that are not said again until `ip_path_mtu_replace_end` are forgotten then.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(crate) struct IpPathMtuReplaceBegin;

/// Forget the MTUs that have a mark.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(crate) struct IpPathMtuReplaceEnd;
