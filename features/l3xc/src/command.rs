//! `l3xc`, `show l3xc`.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_ip::command::paths;
use quiver_ip::show::{forwarding, forwarding_json};
use quiver_wire::{V4, V6};
use serde_json::json;

use crate::config::{Connected, L3CrossConnect, group_of};

pub(crate) fn register(control: &Control) {
    register_family::<V4>(control, "[ip4]");
    register_family::<V6>(control, "ip6");
    control.commands().add(Command::waiting("show l3xc", "Show the layer-3 cross-connects.", show));
}

fn register_family<F: Connected>(control: &Control, word: &str) {
    let add = format!(
        "l3xc [add] <interface> {word} (via (<next-hop:{}> [<interface>] | <interface> | drop | local \
         | null-send-unreach | null-send-prohibit) {{next-hop-table <next-hop-table:{}-table> | weight <weight:u8>}})...",
        F::NAME,
        F::NAME
    );
    let help = format!(
        "Cross-connect an interface at layer 3: forward its {} packets by these paths without a lookup.",
        F::TITLE
    );
    control.commands().add(Command::new(add, help, self::add::<F>).arguments_of::<L3CrossConnect<F>>());
    let (del, help) = (format!("l3xc del <interface> {word}"), "Delete a layer-3 cross-connect.");
    control.commands().add(Command::new(del, help, delete::<F>).arguments_of::<L3CrossConnect<F>>());
}

fn add<F: Connected>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    control.put(L3CrossConnect::<F> { interface, paths: paths(control, given)? })?;
    Ok(Reply::done())
}

fn delete<F: Connected>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    control.delete::<L3CrossConnect<F>>(&given.get("interface")?)?;
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    show_family::<V4>(&control, &mut listing).await;
    show_family::<V6>(&control, &mut listing).await;
    Ok(listing.end())
}

async fn show_family<F: Connected>(control: &Control, listing: &mut Listing) {
    for connect in control.walk::<L3CrossConnect<F>>() {
        listing.step().await;
        let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
        let group = group_of::<F>(control, &connect.interface);
        let Some(group) = ip.fib.groups.get(group) else { continue };
        // A text that is a String takes everything.
        let _ =
            write!(listing.text(), "{}\n  {}\n{}", connect.interface, F::NAME, forwarding(&ip.fib, &interfaces, group));
        let buckets = || forwarding_json(&ip.fib, &interfaces, group);
        listing.element(|| json!({"interface": connect.interface.0, "family": F::NAME, "buckets": buckets()}));
    }
}
