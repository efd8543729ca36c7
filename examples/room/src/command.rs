//! `set interface hop-floor`, `show hop-floor`.

use std::marker::PhantomData;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::api::{ALL, details_at, dump};
use quiver_interface::{InterfaceId, InterfaceName};
use quiver_ip::api::by_family;
use quiver_wire::{V4, V6};

use crate::config::{Floored, HopFloor, Hops};

pub(crate) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<Hops>());
    let set = "set interface hop-floor {<interface> | (ip4 | ip6) | <hops:hops> | del}";
    let help =
        "Drop packets of IPv4, unless said otherwise, that an interface receives with fewer hops left; or no longer.";
    let set = Command::new(set, help, set_floor).arguments_of::<HopFloor<V4>>();
    control.commands().add(set.argument("del", "disable it"));
    control.commands().add(Command::waiting("show hop-floor", "Show how many hops packets must have left.", show));
}

fn set_floor(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(given.has("ip6"), set_family(control, given))
}

fn set_family<F: Floored>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let floor = match given.has("del") {
        true => None,
        false => Some(HopFloor::<F> { interface: interface.clone(), hops: given.get("hops")?, family: PhantomData }),
    };
    control.assign(&interface, floor)?;
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Family", "Hops"]);
    let floors = dump(&control, ALL, |control, id, name| {
        let at = (id, &name);
        [details_at(control, at, row::<V4>), details_at(control, at, row::<V6>)].concat()
    });
    rows.each(floors, |row| row).await;
    Ok(rows.end())
}

fn row<F: Floored>(_: &Control, _: InterfaceId, floor: &HopFloor<F>) -> [Cell; 3] {
    [Cell::of(&floor.interface), Cell::from(F::NAME), Cell::from(u64::from(floor.hops.get()))]
}
