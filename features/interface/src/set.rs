//! The commands that change interfaces.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_engine::Dataplane;

use crate::interfaces::{InterfaceId, Interfaces};
use crate::settings::{AdminState, InterfaceName, InterfaceSettings};
use crate::warnings::warnings;

pub(crate) fn register(control: &Control) {
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(Command::new(grammar, help, run).arguments_of::<InterfaceSettings>());
    };
    add("set interface state <interface> (up|down)", "Set the admin state of an interface.", state);
    let grammar = "set interface mtu [packet|ip4|ip6|mpls] <mtu:u16> <interface>";
    let set = Command::new(grammar, "Set the MTU of an interface, for all packets or for one protocol.", mtu);
    let set = set.arguments_of::<InterfaceSettings>().argument("packet", "MTU of protocols without one of their own");
    let set = set
        .argument("ip4", "MTU of IPv4; 0 selects the interface's")
        .argument("ip6", "MTU of IPv6; 0 selects the interface's");
    control.commands().add(set.argument("mpls", "MTU of MPLS; 0 selects the interface's"));
    add("set interface mac address <interface> <mac>", "Set the MAC address of an interface.", mac);
    add("set interface tag <interface> <tag:text>", "Set the tag of an interface.", tag);
    add("clear interface tag <interface>", "Clear the tag of an interface.", clear_tag);
    let grammar = "set interface description <interface> <description:text>";
    add(grammar, "Describe an interface for people; quote a description of several words.", description);
    add("clear interface description <interface>", "Clear the description of an interface.", clear_description);
    add("clear interfaces", "Clear the counters of all interfaces.", clear);
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
    })?;
    let InterfaceName(name) = matches.get("interface")?;
    let (id, most) = {
        let interfaces = control.room::<Interfaces>();
        let id = interfaces.id_of(&name)?;
        (id, interfaces.get(id).map_or(u16::MAX, |interface| interface.link_mtu.most))
    };
    let short = || format!("{name}: the MTU is {most}, for its link takes no more; {mtu} is saved");
    let said: Vec<String> = (mtu > most).then(short).into_iter().chain(warnings(control, id)).collect();
    Ok(if said.is_empty() { Reply::done() } else { Reply::text(said.join("\n")) })
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

fn description(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let description = matches.get("description")?;
    edit(control, matches, |settings| settings.description = Some(description))
}

fn clear_description(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    edit(control, matches, |settings| settings.description = None)
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
