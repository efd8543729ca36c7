//! The commands that change bridges, in VPP's grammar.

use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, ObjectError};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_wire::UnicastMac;

use crate::bridges::Bridges;
use crate::learning;
use crate::objects::{BridgeDefaults, BridgeDomain, DomainId, Layer2Interface, MemberName, StaticMac};
use crate::station::{Place, Station};

pub(crate) fn register(control: &Control) {
    // A number that may not be a domain yet, completed from those that are.
    let any_domain = ArgumentKind::of::<u32>().named("bridge-domain", "the number of a bridge domain");
    control.commands().add_kind(any_domain.completed_by(|control| control.objects().names_in("bridge-domains")));
    let texts = |command: Command| command.arguments_of::<BridgeDomain>().arguments_of::<Layer2Interface>();
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        control.commands().add(texts(Command::new(grammar, help, run)));
    };
    add(
        "create bridge-domain <id:bridge-domain> (del | {learn <learn:bool> | forward <forward:bool> | \
         uu-flood <uu-flood:bool> | flood <flood:bool> | arp-term <arp-term:bool> | mac-age <mac-age:u8> | learn-limit <learn-limit:u32>})",
        "Create, change or delete a bridge domain.",
        create,
    );
    add(
        "set bridge-domain (learn|forward|uu-flood|flood) <id:bridge-domains> [disable]",
        "Enable or disable a bridge-domain flag.",
        set_flag,
    );
    add(
        "set bridge-domain mac-age <id:bridge-domains> <mac-age:u8>",
        "Set the MAC aging time of a bridge domain in minutes.",
        |c, m| {
            let age = m.get("mac-age")?;
            edit(c, m, |domain| domain.mac_age = age)
        },
    );
    add(
        "set bridge-domain learn-limit <id:bridge-domains> <learn-limit:u32>",
        "Set the learn limit of a bridge domain.",
        |c, m| {
            let limit = m.get("learn-limit")?;
            edit(c, m, |domain| domain.learn_limit = limit)
        },
    );
    add(
        "set interface l2 bridge <interface> <domain:bridge-domain> [bvi|uu-fwd] [<group:u8>]",
        "Add an interface to a bridge domain.",
        bridge,
    );
    add(
        "set interface l2 (learn|forward|flood|uu-flood|stp-blocked|line-down) <interface> [disable]",
        "Enable or disable a flag of a layer-2 interface.",
        set_member_flag,
    );
    add(
        "set bridge-domain default-learn-limit <learn-limit:u32>",
        "Set the learn limit of bridge domains that are created later.",
        default_limit,
    );
    add(
        "set interface l2 xconnect <interface> <peer:interface>",
        "Cross-connect an interface: transmit all that it receives by another one.",
        connect,
    );
    add("set interface l3 <interface>", "Return an interface to layer-3 mode.", layer3);
    add(
        "l2fib add <mac> <domain:bridge-domains> (filter | <interface> [static])",
        "Add a MAC table entry: static, or subject to moves and aging.",
        add_mac,
    );
    add("l2fib del <mac> <domain:bridge-domains>", "Delete a MAC table entry.", delete_mac);
    let add = |grammar, help| control.commands().add(texts(Command::waiting(grammar, help, flush)));
    add(
        "l2fib flush-mac (all | interface <interface> | bridge-domain <domain:bridge-domains>)",
        "Flush learned MAC addresses.",
    );
    add("clear l2fib", "Clear all learned MAC addresses.");
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    if matches.has("del") {
        control.delete::<BridgeDomain>(&matches.get("id")?)?;
        return Ok(Reply::done());
    }
    let flags = ["learn", "forward", "uu-flood", "flood", "arp-term"];
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
        "arp-term" => &mut domain.arp_term,
        _ => &mut domain.flood,
    }
}

fn edit(control: &Control, matches: &Matches, change: impl FnOnce(&mut BridgeDomain)) -> Result<Reply, CommandError> {
    control.edit(BridgeDomain::with_defaults(control, matches.get("id")?), change)?;
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
    let mut member = Layer2Interface::new(matches.get("interface")?);
    member.domain = Some(DomainId(matches.get("domain")?));
    member.bvi = matches.has("bvi");
    member.uu_forward = matches.has("uu-fwd");
    member.group = matches.find("group")?.unwrap_or(0);
    join(control, member)?;
    Ok(Reply::done())
}

/// Makes an interface a member of a domain. As in VPP, naming a domain is enough to have it.
pub(crate) fn join(control: &Control, member: Layer2Interface) -> Result<(), ObjectError> {
    if let Some(DomainId(domain)) = member.domain
        && control.objects().get::<BridgeDomain>(&domain).is_none()
    {
        control.put(BridgeDomain::with_defaults(control, domain))?;
    }
    control.put(member)
}

fn set_member_flag(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let on = !matches.has("disable");
    let interface: InterfaceName = matches.get("interface")?;
    if control.objects().get::<Layer2Interface>(&interface).is_none() {
        return Err(CommandError::new(format!("{interface} is not in layer 2")).at(matches.place("interface")));
    }
    control.edit(Layer2Interface::new(interface), |member| {
        let flags = [
            ("learn", &mut member.learn),
            ("forward", &mut member.forward),
            ("flood", &mut member.flood),
            ("uu-flood", &mut member.uu_flood),
            ("stp-blocked", &mut member.stp_blocked),
            ("line-down", &mut member.line_down),
        ];
        flags.into_iter().filter(|(word, _)| matches.has(word)).for_each(|(_, flag)| *flag = on);
    })?;
    Ok(Reply::done())
}

fn connect(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut end = Layer2Interface::new(matches.get("interface")?);
    end.connect = Some(matches.get("peer")?);
    control.put(end)?;
    Ok(Reply::done())
}

fn default_limit(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let limit = matches.get("learn-limit")?;
    set_default_limit(control, limit)?;
    Ok(Reply::done())
}

/// Limits the addresses that domains learn which are made from now on.
pub(crate) fn set_default_limit(control: &Control, limit: u32) -> Result<(), ObjectError> {
    let defaults = BridgeDefaults::new(BridgeDefaults::NAME.to_owned());
    control.edit(defaults, |defaults| defaults.learn_limit = limit)
}

fn layer3(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    leave(control, &matches.get("interface")?)?;
    Ok(Reply::done())
}

/// Gives an interface back to layer 3, with all that was said of it in layer 2.
pub(crate) fn leave(control: &Control, interface: &InterfaceName) -> Result<(), ObjectError> {
    match control.objects().get::<Layer2Interface>(interface) {
        Some(_) => control.delete_with_users::<Layer2Interface>(interface),
        None => Ok(()),
    }
}

fn add_mac(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (mac, domain): (UnicastMac, DomainId) = (matches.get("mac")?, matches.get("domain")?);
    let interface: Option<InterfaceName> = matches.find("interface")?;
    put_mac(control, mac, domain, interface, matches.has("static"))?;
    Ok(Reply::done())
}

/// Says where an address is: for good, or until it moves or ages; without an interface, that frames to it are dropped.
pub(crate) fn put_mac(
    control: &Control,
    mac: UnicastMac,
    domain: DomainId,
    interface: Option<InterfaceName>,
    fixed: bool,
) -> Result<(), ObjectError> {
    let Some(interface) = interface.as_ref().filter(|_| !fixed) else {
        let interface = interface.map(|InterfaceName(name)| MemberName(name));
        return control.put(StaticMac { domain, mac, interface });
    };
    let id = control.room::<Interfaces>().id_of(&interface.0)?;
    let mut bridges = control.room_mut::<Bridges>();
    let Some(index) = bridges.domains().get(&domain.0).map(|domain| domain.index) else {
        return Err(ObjectError::field("domain", "there is no such domain"));
    };
    if !bridges.members(domain.0).any(|member| member.interface == id) {
        let what = format!("{interface} is no member of bridge domain {domain}");
        return Err(ObjectError::field("interface", what).remedy("name a member"));
    }
    bridges.macs.put(Station { mac: mac.get(), domain: index }, Place::learned(id))
}

fn delete_mac(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (mac, domain): (UnicastMac, DomainId) = (matches.get("mac")?, matches.get("domain")?);
    match remove_mac(control, mac, domain.clone())? {
        true => Ok(Reply::done()),
        false => {
            let what = format!("bridge domain {domain} has learned no address {mac}");
            Err(CommandError::new(what).at(matches.place("mac")))
        }
    }
}

/// Forgets an address, whether it was said or learned. False if it is not known.
pub(crate) fn remove_mac(control: &Control, mac: UnicastMac, domain: DomainId) -> Result<bool, ObjectError> {
    learning::settle(control);
    let key = (domain.clone(), mac);
    if control.objects().get::<StaticMac>(&key).is_some() {
        return control.delete::<StaticMac>(&key).map(|()| true);
    }
    Ok(control.room_mut::<Bridges>().remove_learned(domain.0, mac.get()))
}

async fn flush(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let interface = matches.find::<InterfaceName>("interface")?;
    let interface = interface.map(|name| control.room::<Interfaces>().id_of(&name.0)).transpose()?;
    let index = |id: DomainId| control.room::<Bridges>().domains().get(&id.0).map(|domain| domain.index);
    let domain = matches.find::<DomainId>("domain")?.and_then(index);
    learning::flush(&control, interface, domain).await;
    Ok(Reply::done())
}
