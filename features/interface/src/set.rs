//! The commands that change interfaces.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::Dataplane;

use crate::interfaces::{InterfaceId, Interfaces};
use crate::settings::{AdminState, InterfaceSettings};

pub(crate) fn register(control: &Control) {
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run).arguments_of::<InterfaceSettings>());
    };
    add("set interface state <interface> (up|down)", "Set an interface up or down.", state);
    let grammar = "set interface mtu [packet|ip4|ip6|mpls] <mtu:u16> <interface>";
    let set = Command::new(grammar, "Set the MTU of an interface, or that of a protocol.", mtu);
    let set = set.arguments_of::<InterfaceSettings>().argument("packet", "of whatever has none of its own");
    let set = set.argument("ip4", "of IPv4; 0 leaves it to the interface's").argument("ip6", "of IPv6; the same");
    control.commands().add(set.argument("mpls", "of MPLS; the same"));
    add("set interface mac address <interface> <mac>", "Set the address of an interface.", mac);
    add("set interface tag <interface> <tag:text>", "Give an interface a name of its owner's.", tag);
    add("clear interface tag <interface>", "Take such a name away.", clear_tag);
    add("clear interfaces", "Set the counters of all interfaces to zero.", clear);
}

fn state(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let state = if matches.has("up") { AdminState::Up } else { AdminState::Down };
    edit(control, matches, |settings| settings.state = state)
}

fn mtu(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mtu = matches.get::<u16>("mtu")?;
    let own = (mtu > 0).then_some(mtu);
    edit(control, matches, |settings| match () {
        () if matches.has("ip4") => settings.mtu_ip4 = own,
        () if matches.has("ip6") => settings.mtu_ip6 = own,
        () if matches.has("mpls") => settings.mtu_mpls = own,
        () => settings.mtu = Some(mtu),
    })
}

fn mac(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mac = matches.get("mac")?;
    edit(control, matches, |settings| settings.mac = Some(mac))
}

fn tag(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let tag = matches.get("tag")?;
    edit(control, matches, |settings| settings.tag = Some(tag))
}

fn clear_tag(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    edit(control, matches, |settings| settings.tag = None)
}

fn edit(
    control: &Control,
    matches: &Matches,
    change: impl FnOnce(&mut InterfaceSettings),
) -> Result<Reply, CommandError> {
    control.edit(InterfaceSettings::new(matches.get("interface")?), change)?;
    Ok(Reply::done())
}

fn clear(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    clear_counters(control, |_| true);
    Ok(Reply::done())
}

/// Sets the counters of these interfaces to zero.
pub(crate) fn clear_counters(control: &Control, of: impl Fn(InterfaceId) -> bool) {
    let (interfaces, dataplane) = (control.room::<Interfaces>(), control.room::<Dataplane>());
    let chosen = interfaces.iter().filter(|interface| of(interface.id));
    chosen.for_each(|interface| dataplane.clear_interface_counters(interface.id.0));
}
