//! The commands that change bridges, in VPP's grammar.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Reply};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::UnicastMac;

use crate::bridges::Bridges;
use crate::objects::{BridgeDomain, DomainId, Layer2Interface, MemberName, StaticMac};
use crate::station::{Place, Station};

pub(crate) fn register(control: &Control) {
    // A number that may not be a domain yet, completed from those that are.
    let any_domain = ArgumentKind::of::<u32>().named("bridge-domain", "the number of a bridge domain");
    control.commands().add_kind(any_domain.completed_by(|control| control.objects().names_in("bridge-domains")));
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).arguments_of::<BridgeDomain>();
        control.commands().add(command.arguments_of::<Layer2Interface>());
    };
    add(
        "create bridge-domain <id:bridge-domain> {learn <learn:bool> | forward <forward:bool> | \
         uu-flood <uu-flood:bool> | flood <flood:bool> | mac-age <mac-age:u8> | learn-limit <learn-limit:u32>}",
        "Create a bridge domain, or change one.",
        create,
    );
    add("create bridge-domain <id:bridge-domains> del", "Delete a bridge domain.", delete);
    add(
        "set bridge-domain (learn|forward|uu-flood|flood) <id:bridge-domains> [disable]",
        "Let a bridge domain do something, or not.",
        set_flag,
    );
    add(
        "set bridge-domain mac-age <id:bridge-domains> <mac-age:u8>",
        "Set when unseen addresses are forgotten.",
        |c, m| {
            let age = m.get("mac-age")?;
            edit(c, m, |domain| domain.mac_age = age)
        },
    );
    add("set bridge-domain learn-limit <id:bridge-domains> <learn-limit:u32>", "Limit learned addresses.", |c, m| {
        let limit = m.get("learn-limit")?;
        edit(c, m, |domain| domain.learn_limit = limit)
    });
    add(
        "set interface l2 bridge <interface> <domain:bridge-domain> [bvi] [<group:u8>]",
        "Make an interface a member of a bridge domain.",
        bridge,
    );
    add(
        "set interface l2 xconnect <interface> <peer:interface>",
        "Send all that an interface receives by another.",
        connect,
    );
    add("set interface l3 <interface>", "Give an interface back to layer 3.", layer3);
    add(
        "l2fib add <mac> <domain:bridge-domains> (filter | <interface> [static])",
        "Say where an address is: for good, or until it moves or ages.",
        add_mac,
    );
    add("l2fib del <mac> <domain:bridge-domains>", "Forget an address.", delete_mac);
    add(
        "l2fib flush-mac (all | interface <interface> | bridge-domain <domain:bridge-domains>)",
        "Forget learned addresses.",
        flush,
    );
    add("clear l2fib", "Forget all learned addresses.", flush);
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let flags = ["learn", "forward", "uu-flood", "flood"];
    let mut given = vec![];
    for flag in flags {
        given.push((flag, matches.find::<bool>(flag)?));
    }
    let (age, limit) = (matches.find("mac-age")?, matches.find("learn-limit")?);
    edit(control, matches, |domain| {
        for (flag, on) in given {
            on.into_iter().for_each(|on| *field(domain, flag) = on);
        }
        domain.mac_age = age.unwrap_or(domain.mac_age);
        domain.learn_limit = limit.unwrap_or(domain.learn_limit);
    })
}

fn field<'d>(domain: &'d mut BridgeDomain, flag: &str) -> &'d mut bool {
    match flag {
        "learn" => &mut domain.learn,
        "forward" => &mut domain.forward,
        "uu-flood" => &mut domain.uu_flood,
        _ => &mut domain.flood,
    }
}

fn edit(control: &Control, matches: &Matches, change: impl FnOnce(&mut BridgeDomain)) -> Result<Reply, CommandError> {
    control.edit(BridgeDomain::new(matches.get("id")?), change)?;
    Ok(Reply::done())
}

fn delete(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    control.delete::<BridgeDomain>(&matches.get("id")?)?;
    Ok(Reply::done())
}

fn set_flag(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let flags = ["learn", "forward", "uu-flood", "flood"];
    let on = !matches.has("disable");
    edit(control, matches, |domain| {
        flags.iter().filter(|flag| matches.has(flag)).for_each(|flag| *field(domain, flag) = on);
    })
}

fn bridge(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let domain: u32 = matches.get("domain")?;
    // As in VPP, naming a domain is enough to have it.
    if control.objects().get::<BridgeDomain>(&domain).is_none() {
        control.put(BridgeDomain::new(domain))?;
    }
    let mut member = Layer2Interface::new(matches.get("interface")?);
    member.domain = Some(DomainId(domain));
    member.bvi = matches.has("bvi");
    member.group = matches.find("group")?.unwrap_or(0);
    control.put(member)?;
    Ok(Reply::done())
}

fn connect(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut end = Layer2Interface::new(matches.get("interface")?);
    end.connect = Some(matches.get("peer")?);
    control.put(end)?;
    Ok(Reply::done())
}

fn layer3(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = matches.get("interface")?;
    if control.objects().get::<Layer2Interface>(&interface).is_some() {
        control.delete_with_users::<Layer2Interface>(&interface)?;
    }
    Ok(Reply::done())
}

fn add_mac(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (mac, domain): (UnicastMac, DomainId) = (matches.get("mac")?, matches.get("domain")?);
    let interface: Option<InterfaceName> = matches.find("interface")?;
    match interface {
        Some(interface) if !matches.has("static") => {
            let id = control.room::<Interfaces>().id_of(&interface.0)?;
            let mut bridges = control.room_mut::<Bridges>();
            let Some(index) = bridges.domains().get(&domain.0).map(|domain| domain.index) else {
                return Err(CommandError::new("there is no such domain").at(matches.place("domain")));
            };
            if !bridges.members(domain.0).any(|member| member.interface == id) {
                let what = format!("{interface} is no member of bridge domain {domain}");
                return Err(CommandError::new(what).at(matches.place("interface")));
            }
            bridges.macs.put(Station { mac: mac.get(), domain: index }, Place::learned(id))?;
        }
        interface => {
            let interface = interface.map(|InterfaceName(name)| MemberName(name));
            control.put(StaticMac { domain, mac, interface })?;
        }
    }
    Ok(Reply::done())
}

fn delete_mac(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (mac, domain): (UnicastMac, DomainId) = (matches.get("mac")?, matches.get("domain")?);
    let key = (domain.clone(), mac);
    if control.objects().get::<StaticMac>(&key).is_some() {
        control.delete::<StaticMac>(&key)?;
        return Ok(Reply::done());
    }
    match control.room_mut::<Bridges>().remove_learned(domain.0, mac.get()) {
        true => Ok(Reply::done()),
        false => {
            let what = format!("bridge domain {domain} has learned no address {mac}");
            Err(CommandError::new(what).at(matches.place("mac")))
        }
    }
}

fn flush(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let interface = matches.find::<InterfaceName>("interface")?;
    let interface = interface.map(|name| control.room::<Interfaces>().id_of(&name.0)).transpose()?;
    let mut bridges = control.room_mut::<Bridges>();
    let domain = matches.find::<DomainId>("domain")?.and_then(|id| bridges.domains().get(&id.0).map(|d| d.index));
    bridges.macs.forget(|station, place| {
        !place.fixed
            && interface.is_none_or(|interface| place.interface == interface)
            && domain.is_none_or(|domain| station.domain == domain)
    });
    Ok(Reply::done())
}
