//! Interfaces without hardware: loopbacks, and the virtual interfaces of bridge domains.

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::names::hash_of;
use quiver_interface::{InterfaceName, Interfaces, NewInterface, check_name, create, number_in, remove};
use quiver_wire::{MacAddress, UnicastMac};

/// The kind of these interfaces.
pub(crate) const KIND: &str = "loopback";
const MTU: u16 = 9000;

/// Loopback interface or BVI: an interface without hardware.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "loopbacks", provides = "interface")]
pub struct Loopback {
    /// Name: loop or bvi and a number, such as loop0 or bvi0, or one that you choose, such as lan.
    #[key]
    pub name: String,
    /// MAC address. Default: a generated one, unique among loopbacks and daemons.
    #[fixed]
    pub mac: Option<UnicastMac>,
}

/// The two families of names, and the first octets of the addresses that VPP makes of their numbers.
const FAMILIES: [(&str, [u8; 2]); 2] = [("loop", [0xde, 0xad]), ("bvi", [0xb0, 0xb0])];

/// The family of a name, by its place, and the number; None if there is no such name.
fn instance_of(name: &str) -> Option<(usize, u32)> {
    FAMILIES.iter().enumerate().find_map(|(family, (stem, _))| Some((family, number_in(name, stem)?)))
}

/// The address that VPP gives an instance: the same in every daemon.
pub(crate) fn vpp_mac(name: &str) -> Option<MacAddress> {
    let (family, number) = instance_of(name)?;
    let ((_, [a, b]), [c, d, e, f]) = (FAMILIES.get(family)?, number.to_be_bytes());
    Some(MacAddress([*a, *b, c, d, e, f]))
}

/// An address that no other instance has, and none of a daemon of another identity: a locally administered one for one station,
/// whose other 46 bits count the instances from the identity on. A chosen name counts as its hash says.
fn own_mac(identity: u128, name: &str) -> MacAddress {
    let place = match instance_of(name) {
        Some((family, number)) => u64::from(number) * FAMILIES.len() as u64 + family as u64,
        None => hash_of(name) >> 16,
    };
    let [_, _, a, b, c, d, e, f] = (identity as u64).wrapping_add(place).to_be_bytes();
    MacAddress([a << 2 | 0b10, b, c, d, e, f])
}

pub(crate) fn register(control: &Control) {
    control.objects().add(Kind::new(apply).check(check).memory(|_| quiver_interface::MEMORY));
    let add = |command: Command| {
        let command = command.arguments_of::<Loopback>();
        control.commands().add(command.argument("if-name", "name that you choose, such as lan"));
    };
    // VPP has two commands for each, which do the same.
    for grammar in ["create loopback interface", "loopback create-interface"] {
        let grammar = format!("{grammar} {{mac <mac> | (instance <instance:u32> | if-name <if-name:text>)}}");
        let make = |control: &Control, matches: &Matches| make(control, matches, "loop");
        add(Command::new(grammar, "Create a loopback interface.", make));
    }
    for grammar in ["delete loopback interface", "loopback delete-interface"] {
        add(Command::waiting(format!("{grammar} intfc <interface>"), "Delete a loopback interface.", delete));
    }
    add(Command::new(
        "bvi create {mac <mac> | (instance <instance:u32> | if-name <if-name:text>)}",
        "Create a bridge virtual interface (BVI).",
        |control, matches| make(control, matches, "bvi"),
    ));
    add(Command::waiting("bvi delete <interface>", "Delete a bridge virtual interface (BVI).", delete));
}

fn check(loopback: &Loopback) -> Result<(), ObjectError> {
    check_name(&loopback.name, "loop0")
}

fn apply(control: &Control, change: Change<'_, Loopback>) -> Result<(), ObjectError> {
    match change {
        Change::Create(loopback) => {
            let name = loopback.name.clone();
            let default = || match control.identity() {
                Some(identity) => own_mac(identity, &name),
                None => vpp_mac(&name).unwrap_or_else(|| own_mac(0, &name)),
            };
            let mac = loopback.mac.map_or_else(default, UnicastMac::get);
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
    let chosen = matches.find::<String>("if-name")?;
    let word = if chosen.is_some() { "if-name" } else { "instance" };
    let name = match chosen {
        Some(name) => name,
        None => free_name(control, stem, matches.find("instance")?),
    };
    if control.objects().get::<Loopback>(&name).is_some() {
        return Err(CommandError::new(format!("there is {name} already")).at(matches.place(word)));
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_instance_of_each_daemon_has_an_address_of_its_own() {
        let names = ["loop0", "loop1", "loop4294967295", "bvi0", "bvi1", "bvi4294967295", "lan", "wan", "loop01"];
        let identities = [0, 1 << 40, 1 << 45 | 7, 0x1234_5678_9abc_def0_1122_3344_5566_7788];
        let mut seen = HashSet::new();
        for identity in identities {
            for name in names {
                let mac = own_mac(identity, name);
                assert_eq!(mac.0[0] & 0b11, 0b10, "{mac}: one station's, administered locally");
                assert_eq!(own_mac(identity, name), mac, "the same after a restart");
                assert!(seen.insert(mac), "{identity:x} {name}: {mac} is another one's");
            }
        }
        assert_eq!(own_mac(0x5566_7788, "loop1").to_string(), "02:00:55:66:77:8a");
        assert_eq!(["loop", "loop01", "loop-1", "lo0", "loop4294967296"].map(vpp_mac), [None; 5]);
    }
}
