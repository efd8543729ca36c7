//! `show fusion`, `set fusion`: which fused product serves which receive queue, and why not where none does.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::Dataplane;

pub(crate) fn register(control: &Control) {
    let show = "Show which fused product serves each receive queue, or why none does.";
    control.commands().add(Command::new("show fusion", show, show_fusion));
    let set = Command::new("set fusion (on|off)", "Use fused products, or let all packets pass the nodes.", set_fusion);
    control.commands().add(set);
}

fn show_fusion(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let mut table = Table::new(["Interface", "Queue", "Worker", "Product", "Carried", "Why none"]);
    for queue in dataplane.queues() {
        let (product, why) = match &queue.product {
            Ok(name) => (Cell::from(*name), Cell::empty()),
            Err(why) => (Cell::empty(), Cell::from(why.as_str())),
        };
        let name = crate::interface_name(control, queue.interface);
        let (index, carried) = (Cell::from(queue.index), Cell::from(queue.carried.get()));
        table.row([Cell::from(name), index, Cell::from(queue.worker), product, carried, why]);
    }
    Ok(table.into())
}

fn set_fusion(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    control.room_mut::<Dataplane>().set_fusion(matches.has("on"));
    Ok(Reply::done())
}
