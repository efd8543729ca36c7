//! `show interface brief`: one line for each interface.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply, Rows};
use quiver_engine::Dataplane;

use crate::interfaces::Interfaces;
use crate::show::{chosen, description};

pub(crate) fn register(control: &Control) {
    let help = "Show one line per interface: states, MTU, packets, drops and description.";
    control.commands().add(Command::waiting("show interface brief [<interface>...]", help, brief));
}

async fn brief(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Name", "State", "Link", "MTU", "Rx packets", "Tx packets", "Drops", "Description"];
    let mut rows = Rows::new(&control, &output, titles);
    for id in chosen(&control, &matches)? {
        rows.step().await;
        let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
        let Some(interface) = interfaces.get(id) else { continue };
        let counted = dataplane.interface_counters(id.0);
        let word = |is_up| if is_up { "up" } else { "down" };
        rows.row([
            interface.name.clone().into(),
            word(interface.up).into(),
            word(interface.link).into(),
            interface.mtu.into(),
            counted.rx.packets.into(),
            counted.tx.packets.into(),
            counted.drops.into(),
            description(&control, &interface.name).into(),
        ]);
    }
    Ok(rows.end())
}
