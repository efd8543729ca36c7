//! The commands about sources of routes.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Reply, Table};

use crate::config::sources::{RouteSource, add_source, all};

pub(super) fn register(control: &Control) {
    let show = Command::new("show fib source", "Show FIB sources and their priorities.", |control, _| {
        let mut columns = Table::new(["Name", "Number", "Priority"]);
        for (name, source) in all(control) {
            columns.row([name.into(), source.number().into(), source.priority().into()]);
        }
        Ok(columns.into())
    });
    control.commands().add(show);
    let add = "fib source add <name:text> priority <priority:u8>";
    let add = Command::new(add, "Add a FIB source.", |control, given| {
        add_source(control, given.get("name")?, given.get("priority")?)
            .map_err(|error| CommandError::new(error.to_string()).at(given.place("name")))?;
        Ok(Reply::done())
    });
    control.commands().add(add.arguments_of::<RouteSource>());
    let delete = "fib source del <name:text>";
    let delete = Command::new(delete, "Delete a FIB source without routes.", |control, given| {
        control.delete::<RouteSource>(&given.get("name")?)?;
        Ok(Reply::done())
    });
    control.commands().add(delete.arguments_of::<RouteSource>());
}
