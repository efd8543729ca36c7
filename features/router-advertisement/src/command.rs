//! `ip6 nd`, `show ip6 ra`, `show ip6 routers`.

use std::time::Duration;

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_control::{Control, Time, one_by_one};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces, chosen};
use quiver_ip::Ip6;
use quiver_neighbor::Timers;

use crate::advertiser::Advertisers;
use crate::autoconfiguration::AddressAutoconfiguration;
use crate::config::{AdvertisedPrefix, INFINITE};
use crate::routers::{Learned, Routers};
use crate::setting::{Setting, lifetimes, restart};

pub(crate) fn register(control: &Control) {
    let set = "ip6 nd <interface> [no] {ra-managed-config-flag | ra-other-config-flag | ra-suppress \
               | ra-suppress-link-layer | ra-send-unicast | ra-cease | ra-lifetime <lifetime:u32> \
               | ra-initial <initial-count:u32> <initial-interval:u32> \
               | ra-interval <max-interval:u32> [<min-interval:u32>]}";
    let set = Command::new(set, "Enable router advertisements on an interface, or change their fields.", set_router);
    let set = set.arguments_of::<crate::RouterAdvertisements>();
    let set = set.argument("no", "reset the given fields").argument("ra-suppress", "send no advertisements");
    let set = set.argument("ra-suppress-link-layer", "omit the interface's MAC address");
    let set = set.argument("ra-cease", "stop sending advertisements");
    control.commands().add(set);
    let prefix = "ip6 nd <interface> [no] prefix <prefix:ip6-address> [default | infinite | <valid:u32> <preferred:u32>] \
                  {no-advertise | off-link | no-autoconfig | no-onlink}";
    let prefix =
        Command::new(prefix, "Add a prefix to the router advertisements of an interface, or delete it.", set_prefix);
    let prefix = prefix.arguments_of::<AdvertisedPrefix>().argument("no", "delete the prefix");
    let prefix = prefix.argument("default", "valid for 30 days, preferred for 7");
    let prefix = prefix.argument("infinite", "infinite lifetimes");
    let prefix = prefix
        .argument("no-advertise", "keep the prefix without advertising it")
        .argument("off-link", "the prefix is not on the link");
    let prefix = prefix.argument("no-onlink", "the prefix is not on the link");
    control.commands().add(prefix.argument("no-autoconfig", "hosts derive no addresses from it"));
    let show = Command::waiting("show ip6 ra [<interface>]", "Show the router advertisements of interfaces.", show);
    control.commands().add(show);
    let learn = "ip6 nd address autoconfig <interface> [default-route | disable]";
    let help = "Enable or disable stateless address autoconfiguration on an interface.";
    let learn = Command::new(learn, help, set_learning).arguments_of::<AddressAutoconfiguration>();
    control.commands().add(learn.argument("disable", "delete learned addresses, and learn no more"));
    let show = Command::waiting(
        "show ip6 routers",
        "Show routers and prefixes learned from router advertisements.",
        show_routers,
    );
    control.commands().add(show);
}

fn set_learning(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    match given.has("disable") {
        true => control.delete::<AddressAutoconfiguration>(&interface)?,
        false => control.put(AddressAutoconfiguration { interface, default_route: given.has("default-route") })?,
    }
    Ok(Reply::done())
}

async fn show_routers(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Interface", "Learned", "Address", "Left"]);
    let all = one_by_one(|last| {
        let room = control.room::<Routers>();
        room.behind(last).map(|(id, own)| (*id, learned(&control, *id, own)))
    });
    for of_interface in all {
        rows.step().await;
        of_interface.into_iter().for_each(|row| rows.row(row));
    }
    Ok(rows.end())
}

/// Rows of an interface: what it has learned is bounded.
fn learned(control: &Control, id: InterfaceId, own: &Learned) -> Vec<[Cell; 4]> {
    let (interfaces, now) = (control.room::<Interfaces>(), control.now());
    let left = |until: Option<Time>| Cell::from(until.map(|until| until.since(now).as_secs_f64()));
    let (name, mut rows) = (|| Cell::from(interfaces.name(id)), vec![]);
    for (router, until) in &own.routers {
        rows.push([name(), Cell::from("router"), Cell::of(router), left(Some(*until))]);
    }
    for (address, until) in &own.addresses {
        let is_deprecated = control.room::<Ip6>().current().deprecated.contains(&(id, address.address()));
        let kind = if is_deprecated { "deprecated" } else { "address" };
        rows.push([name(), Cell::from(kind), Cell::of(address), left(*until)]);
    }
    let ms = |time: Duration| format!("{} ms", time.as_millis());
    let Timers { reachable, retransmission } = own.timers;
    let said = [
        ("mtu", own.mtu.map(|mtu| mtu.to_string())),
        ("reachable", reachable.map(ms)),
        ("retransmission", retransmission.map(ms)),
    ];
    for (what, value) in said {
        if let Some(value) = value {
            rows.push([name(), Cell::from(what), Cell::from(value), Cell::from("")]);
        }
    }
    rows
}

fn set_router(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let number = |name: &str| Ok::<u32, CommandError>(given.find(name)?.unwrap_or(0));
    let setting = Setting {
        no: given.has("no"),
        suppress: given.has("ra-suppress") || given.has("ra-cease"),
        managed: given.has("ra-managed-config-flag"),
        other: given.has("ra-other-config-flag"),
        hide_link_layer: given.has("ra-suppress-link-layer"),
        send_unicast: given.has("ra-send-unicast"),
        lifetime: given.find("lifetime")?,
        max_interval: number("max-interval")?,
        min_interval: number("min-interval")?,
        initial_count: number("initial-count")?,
        initial_interval: number("initial-interval")?,
    };
    setting.apply(control, given.get("interface")?)?;
    Ok(Reply::done())
}

fn set_prefix(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (interface, prefix): (InterfaceName, _) = (given.get("interface")?, given.get("prefix")?);
    if given.has("no") {
        control.delete::<AdvertisedPrefix>(&(interface, prefix))?;
        return Ok(Reply::done());
    }
    let mut wanted = AdvertisedPrefix::new(interface.clone(), prefix);
    let lived = given.find("valid")?.zip(given.find("preferred")?);
    (wanted.valid, wanted.preferred) = lifetimes(lived.or(given.has("infinite").then_some((INFINITE, INFINITE))));
    wanted.advertise = !given.has("no-advertise");
    wanted.on_link = !given.has("off-link") && !given.has("no-onlink");
    wanted.autonomous = !given.has("no-autoconfig");
    control.put(wanted)?;
    restart(control, &interface)?;
    Ok(Reply::done())
}

async fn show(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Interface", "State", "Next", "Interval", "Lifetime", "Sent", "Heard", "Dropped", "Prefixes"];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |id: InterfaceId| {
        let (room, now) = (control.room::<Advertisers>(), control.now());
        let own = room.get(id).filter(|own| own.config.is_some() || !own.prefixes.is_empty())?;
        let prefixes: Vec<String> = own.prefixes.iter().map(|prefix| prefix.prefix.to_string()).collect();
        Some([
            Cell::from(control.room::<Interfaces>().name(id)),
            Cell::from(if own.told.is_some() { "advertising" } else { "silent" }),
            Cell::from(own.next.map(|next| next.since(now).as_secs_f64())),
            Cell::from(own.config.as_ref().map(|of| format!("{}-{}", of.min_interval, of.max_interval))),
            Cell::from(own.config.as_ref().map(|of| u64::from(of.lifetime))),
            Cell::from(u64::from(own.sent)),
            Cell::from(u64::from(own.solicited)),
            Cell::from(u64::from(own.dropped)),
            Cell::from(prefixes.join(" ")),
        ])
    };
    rows.each(chosen(&control, &given)?, row).await;
    Ok(rows.end())
}
