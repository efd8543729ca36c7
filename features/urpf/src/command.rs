//! `set urpf`, `show urpf`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::api::{ALL, details_at, dump};
use quiver_interface::{Direction, InterfaceId, InterfaceName};
use quiver_ip::api::by_family;
use quiver_ip::objects::TableNumber;
use quiver_ip::table_word::table;
use quiver_wire::{V4, V6};

use crate::config::{Checked, Mode, ReversePathCheck};

pub(crate) fn register(control: &Control) {
    let set = "set urpf {(ip4 | ip6) | (rx | tx) | (off | strict | loose) | <interface> | table <table>}";
    let help = "Set the uRPF check of source addresses. Default: IPv4, received packets, strict.";
    let set = Command::new(set, help, set_check).arguments_of::<ReversePathCheck<V4>>();
    let set = set.argument("rx", "received packets").argument("tx", "transmitted packets");
    let set = set.argument("strict", "the route to the source is through this interface (rx), or is not (tx)");
    control
        .commands()
        .add(set.argument("loose", "there is any route to the source").argument("off", "disable the check"));
    control.commands().add(Command::waiting("show urpf", "Show the uRPF checks of interfaces.", show));
}

fn set_check(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(given.has("ip6"), set_family(control, given))
}

fn set_family<F: Checked>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let direction = Direction::received(!given.has("tx"));
    if given.has("off") {
        // As VPP: what is off may be put off.
        control.assign::<ReversePathCheck<F>>(&(interface, direction), None)?;
        return Ok(Reply::done());
    }
    let mode = if given.has("loose") { Mode::Loose } else { Mode::Strict };
    let table = table::<F>(control, given, "table")?.map(TableNumber::new);
    control.put(ReversePathCheck::<F> { interface, direction, mode, table })?;
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Family", "Direction", "Mode", "Table"]);
    let checks = dump(&control, ALL, |control, id, name| {
        let at = (id, &name);
        [details_at(control, at, row::<V4>), details_at(control, at, row::<V6>)].concat()
    });
    rows.each(checks, |row| row).await;
    Ok(rows.end())
}

fn row<F: Checked>(_: &Control, _: InterfaceId, check: &ReversePathCheck<F>) -> [Cell; 5] {
    let of = check.table.map_or(Cell::from("its own"), |table| Cell::from(u64::from(table.0)));
    let (direction, mode) = (Cell::of(check.direction), Cell::of(check.mode));
    [Cell::of(&check.interface), Cell::from(F::NAME), direction, mode, of]
}
