//! The commands that add and delete tables.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};

use super::table_word::wanted;
use crate::config::leaving::Leaving;
use crate::config::objects::{IpTable, TableSize};
use crate::family::Family;

pub(super) fn register<F: Family>(control: &Control) {
    let (commands, name, command) = (control.commands(), F::NAME, F::NAMES.command);
    let add = format!(
        "{command} table add <table:{name}-table> {{name <name:text> | counters | large | no-mfib | no-route <no-route:no-route> \
         | link-layer-broadcast <link-layer-broadcast:link-layer-broadcast>}}"
    );
    let help = format!("Add an {} table.", F::TITLE);
    commands.add(Command::new(add, help, add_table::<F>).arguments_of::<IpTable<F>>());
    let help = format!("Delete an {} table.", F::TITLE);
    commands.add(Command::new(format!("{command} table del <table:{name}-table>"), help, delete_table::<F>));
}

fn add_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (name, counters, large) = (given.find("name")?, given.has("counters"), given.has("large"));
    let (no_route, broadcast) = (given.find("no-route")?, given.find("link-layer-broadcast")?);
    let id = wanted::<F>(control, given)?;
    // Whoever says that it shall be there wants it, even if it is there already.
    control.room_mut::<Leaving<F>>().keep(id);
    control.edit(IpTable::<F>::before_it_is_added(id), |table| {
        table.name = name.or(table.name.take());
        table.no_route = no_route.or(table.no_route);
        table.link_layer_broadcast = broadcast.or(table.link_layer_broadcast);
        table.multicast |= !given.has("no-mfib");
        table.counters |= counters;
        table.size = if large { TableSize::Large } else { table.size };
    })?;
    Ok(Reply::done())
}

fn delete_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let id = wanted::<F>(control, given)?;
    // Scripts written for VPP delete what is not there, and go on.
    if control.objects().get::<IpTable<F>>(&id).is_none() {
        return Ok(Reply::text(format!("there is no {} table {id}\n", F::TITLE)));
    }
    control.delete::<IpTable<F>>(&id)?;
    Ok(Reply::done())
}
