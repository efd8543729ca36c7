//! The commands about MTUs of paths to hosts.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_wire::{V4, V6};

use super::table_word::table;
use crate::config::objects::TableNumber;
use crate::config::path_mtu::PathMtu;
use crate::family::Family;

pub(super) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    let show = "show ip pmtu";
    control.commands().add(Command::waiting(show, "Show the path MTUs of both families.", show_mtus));
}

fn register_family<F: Family>(control: &Control) {
    let name = F::NAME;
    let set = format!("set ip pmtu [table <table:{name}-table>] <peer:{name}> (<mtu:u16> | del)");
    let help = "Set or delete the path MTU to a host.";
    control.commands().add(Command::new(set, help, set_mtu::<F>).arguments_of::<PathMtu<F>>());
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

async fn show_mtus(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Table", "Peer", "MTU"]);
    rows.each(control.walk::<PathMtu<V4>>(), |path| Some(row(&path))).await;
    rows.each(control.walk::<PathMtu<V6>>(), |path| Some(row(&path))).await;
    Ok(rows.end())
}

fn row<F: Family>(path: &PathMtu<F>) -> [Cell; 3] {
    [path.table.0.into(), path.peer.to_string().into(), path.mtu.into()]
}
