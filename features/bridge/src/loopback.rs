//! Interfaces without hardware: loopbacks, and the virtual interfaces of bridge domains.

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceName, Interfaces, NewInterface, create, remove};
use quiver_wire::{MacAddress, UnicastMac};

/// The kind of these interfaces.
pub(crate) const KIND: &str = "loopback";
const MTU: u16 = 9000;

/// An interface without hardware: its addresses are reached through others, or through a bridge domain.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "loopbacks", provides = "interface")]
pub struct Loopback {
    /// Its name: loop0, loop1 and so on, or bvi0, bvi1 and so on.
    #[key]
    pub name: String,
    /// Its address; without it, one made of its number.
    #[fixed]
    pub mac: Option<UnicastMac>,
}

/// The two families of names, and the first octets of the addresses that follow from their numbers.
const FAMILIES: [(&str, [u8; 2]); 2] = [("loop", [0xde, 0xad]), ("bvi", [0xb0, 0xb0])];

/// The address that goes with a name; None if there is no such name.
fn mac_of(name: &str) -> Option<MacAddress> {
    FAMILIES.iter().find_map(|(stem, [a, b])| {
        let digits = name.strip_prefix(stem)?;
        let number: u32 = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
        let [c, d, e, f] = number.to_be_bytes();
        Some(MacAddress([*a, *b, c, d, e, f]))
    })
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check));
    let add = |command: Command| control.commands().add(command.arguments_of::<Loopback>());
    // VPP has two commands for each, which do the same.
    for grammar in ["create loopback interface", "loopback create-interface"] {
        let grammar = format!("{grammar} {{mac <mac> | instance <instance:u32>}}");
        let make = |control: &Control, matches: &Matches| make(control, matches, "loop");
        add(Command::new(grammar, "Create an interface without hardware.", make));
    }
    for grammar in ["delete loopback interface", "loopback delete-interface"] {
        add(Command::waiting(format!("{grammar} intfc <interface>"), "Delete a loopback.", delete));
    }
    add(Command::new(
        "bvi create {mac <mac> | instance <instance:u32>}",
        "Create an interface to be the virtual one of a bridge domain.",
        |control, matches| make(control, matches, "bvi"),
    ));
    add(Command::waiting("bvi delete <interface>", "Delete a virtual interface.", delete));
}

fn check(loopback: &Loopback) -> Result<(), ObjectError> {
    match mac_of(&loopback.name) {
        Some(_) => Ok(()),
        None => Err(ObjectError::field("name", format!("'{}' is no name of a loopback", loopback.name))
            .remedy("choose one such as loop0 or bvi0")),
    }
}

fn apply(control: &Control, change: Change<'_, Loopback>) -> Result<(), ObjectError> {
    match change {
        Change::Create(loopback) => {
            let mac = loopback.mac.map(UnicastMac::get).or_else(|| mac_of(&loopback.name)).unwrap_or_default();
            let name = loopback.name.clone();
            create(control, NewInterface { name, kind: KIND, mac, mtu: MTU, parent: None, queues: None }).map(|_| ())
        }
        // Every field is fixed.
        Change::Update { .. } => Ok(()),
        Change::Delete(loopback) => {
            let id = control.room::<Interfaces>().id_of(&loopback.name)?;
            remove(control, id);
            Ok(())
        }
    }
}

/// The name of an instance, or the first that is free.
pub(crate) fn free_name(control: &Control, stem: &str, instance: Option<u32>) -> String {
    if let Some(instance) = instance {
        return format!("{stem}{instance}");
    }
    control.room_mut::<Interfaces>().free_name(stem)
}

fn make(control: &Control, matches: &Matches, stem: &str) -> Result<Reply, CommandError> {
    let name = free_name(control, stem, matches.find("instance")?);
    if control.objects().get::<Loopback>(&name).is_some() {
        return Err(CommandError::new(format!("there is {name} already")).at(matches.place("instance")));
    }
    control.put(Loopback { name: name.clone(), mac: matches.find("mac")? })?;
    Ok(Reply::text(name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    if control.objects().get::<Loopback>(&name).is_none() {
        return Err(CommandError::new(format!("{name} is no loopback")).at(matches.place("interface")));
    }
    control.delete_in_turns::<Loopback>(&name).await?;
    Ok(Reply::done())
}
