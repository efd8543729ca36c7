//! The commands that change addresses of interfaces, and the tables in which their packets are looked up.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_interface::InterfaceName;
use quiver_wire::{InterfaceAddress as Address, V4, V6};

use super::table_word::wanted;
use crate::config::edits::{clear_addresses, put_table};
use crate::config::objects::{InterfaceAddress, InterfaceTable};
use crate::family::Family;

pub(super) fn register(control: &Control) {
    let all = "set interface ip address del <interface> all";
    control.commands().add(Command::new(all, "Delete all addresses of an interface.", |control, given| {
        let interface = given.get("interface")?;
        clear_addresses::<V4>(control, &interface)?;
        clear_addresses::<V6>(control, &interface)?;
        Ok(Reply::done())
    }));
}

pub(super) fn register_family<F: Family>(control: &Control) {
    let (commands, name, command) = (control.commands(), F::NAME, F::NAMES.command);
    let address = format!("set interface ip address [del] <interface> <address:{name}-address>");
    let help = "Add or delete an interface address.";
    commands.add(Command::new(address, help, set_address::<F>).arguments_of::<InterfaceAddress<F>>());
    let table = format!("set interface {command} table <interface> <table:{name}-table>");
    let help = format!("Bind an interface to an {} table.", F::TITLE);
    commands.add(Command::new(table, help, set_table::<F>).arguments_of::<InterfaceTable<F>>());
}

fn set_address<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let address = given.get::<Address<F>>("address")?;
    match given.has("del") {
        true => control.delete::<InterfaceAddress<F>>(&(interface, address))?,
        false => control.put(InterfaceAddress::new(interface, address))?,
    }
    Ok(Reply::done())
}

fn set_table<F: Family>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    put_table::<F>(control, given.get("interface")?, wanted::<F>(control, given)?)?;
    Ok(Reply::done())
}
