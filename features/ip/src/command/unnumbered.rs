//! The commands about interfaces that use the addresses of others.

use quiver_control::Control;
use quiver_control::cli::{Command, Reply};

use crate::config::unnumbered::UnnumberedInterface;

pub(super) fn register(control: &Control) {
    let commands = control.commands();
    let set = "set interface unnumbered <interface> use <lender:interface>";
    let set = Command::new(set, "Make an interface use the addresses of another one.", |control, given| {
        control.put(UnnumberedInterface { interface: given.get("interface")?, lender: given.get("lender")? })?;
        Ok(Reply::done())
    });
    commands.add(set.argument("lender", "interface whose addresses it uses"));
    let del = "set interface unnumbered del <interface>";
    commands.add(Command::new(del, "Make an interface use its own addresses again.", |control, given| {
        control.delete::<UnnumberedInterface>(&given.get("interface")?)?;
        Ok(Reply::done())
    }));
}
