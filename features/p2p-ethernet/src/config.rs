//! Which stations have a part of an interface for themselves.

use std::collections::HashMap;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Publisher, Snapshot};
use quiver_ethernet::DEVICE_INPUT;
use quiver_interface::{
    InterfaceEvent, InterfaceId, InterfaceName, Interfaces, NewInterface, create, remove, set_peer, watch,
};
use quiver_vlan::sub_interface::SubInterfaceName;
use quiver_wire::{MacAddress, UnicastMac};

use crate::node::{Known, NAME, Part};

/// The kind of these interfaces.
pub(crate) const KIND: &str = "p2p-ethernet";

/// Sub-interface for one station on a link: it receives that station's frames, and transmits to it alone.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "p2p-ethernets", provides = "interface")]
pub struct P2pEthernet {
    /// Name: the parent interface, a dot and a number.
    #[key]
    pub name: SubInterfaceName,
    /// MAC address of the station.
    #[fixed]
    pub station: UnicastMac,
}

/// The stations that workers know.
pub(crate) struct Stations {
    /// By part: the interface that it is a part of, and its station.
    all: HashMap<InterfaceId, (InterfaceId, MacAddress)>,
    /// By interface: how many parts it has.
    counts: HashMap<InterfaceId, usize>,
    published: Publisher<Known>,
}

impl Stations {
    pub fn new(domain: &Domain) -> Stations {
        let published = Publisher::new(domain, Known::default());
        Stations { all: HashMap::new(), counts: HashMap::new(), published }
    }
    /// The stations that workers read.
    pub fn snapshot(&self) -> Snapshot<Known> {
        self.published.snapshot()
    }
    /// The part of a station behind an interface.
    pub fn part(&self, parent: InterfaceId, station: MacAddress) -> Option<InterfaceId> {
        self.published.current().get(&(parent.0, station)).map(|part| part.interface)
    }
    fn change(&mut self, change: impl FnOnce(&mut Known)) {
        let mut known = self.published.current().clone();
        change(&mut known);
        self.published.publish(known);
    }
    fn add(&mut self, parent: InterfaceId, station: MacAddress, interface: InterfaceId) {
        self.all.insert(interface, (parent, station));
        *self.counts.entry(parent).or_default() += 1;
        self.change(|known| _ = known.insert((parent.0, station), Part { interface, up: false }));
    }
    /// Forgets a part; whether it was the last one of its interface.
    fn remove(&mut self, interface: InterfaceId) -> bool {
        let Some((parent, station)) = self.all.remove(&interface) else { return false };
        self.change(|known| _ = known.remove(&(parent.0, station)));
        let count = self.counts.entry(parent).or_default();
        *count = count.saturating_sub(1);
        let is_last = *count == 0;
        if is_last {
            self.counts.remove(&parent);
        }
        is_last
    }
    fn set_up(&mut self, interface: InterfaceId, up: bool) {
        if let Some((parent, station)) = self.all.get(&interface).copied() {
            self.change(|known| _ = known.insert((parent.0, station), Part { interface, up }));
        }
    }
}

/// Checks a part on its own, regardless of other objects.
pub(crate) fn check(part: &P2pEthernet) -> Result<(), ObjectError> {
    match part.name.number {
        0 => Err(ObjectError::field("name", "0 is the whole interface").remedy("choose another number")),
        _ => Ok(()),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, P2pEthernet>) -> Result<(), ObjectError> {
    match change {
        Change::Create(part) => add(control, part),
        // Every field is fixed.
        Change::Update { .. } => Ok(()),
        Change::Delete(part) => {
            let (parent, id) = {
                let interfaces = control.room::<Interfaces>();
                (interfaces.id_of(&part.name.parent.0)?, interfaces.id_of(&part.name.to_string())?)
            };
            let is_last = control.room_mut::<Stations>().remove(id);
            if is_last {
                enable(control, parent, false)?;
            }
            remove(control, id);
            Ok(())
        }
    }
}

fn enable(control: &Control, parent: InterfaceId, on: bool) -> Result<(), ObjectError> {
    let enabled = control.room_mut::<Dataplane>().enable(DEVICE_INPUT, NAME, parent.0, on);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}

fn add(control: &Control, part: &P2pEthernet) -> Result<(), ObjectError> {
    let station = part.station.get();
    let (parent, mac, mtu) = {
        let interfaces = control.room::<Interfaces>();
        let id = interfaces.id_of(&part.name.parent.0)?;
        let is_whole = control.room::<Dataplane>().has_port(id.0);
        let Some(parent) = interfaces.get(id).filter(|parent| parent.parent.is_none() && is_whole) else {
            let what = format!("{} has no wire of its own", part.name.parent);
            return Err(ObjectError::field("name", what).remedy("name an interface of a driver"));
        };
        if let Some(other) = control.room::<Stations>().part(id, station) {
            let what = format!("{} is its part already", interfaces.name(other));
            return Err(ObjectError::field("station", what).remedy("delete that one first"));
        }
        (id, parent.mac, parent.mtu)
    };
    let new = NewInterface { name: part.name.to_string(), kind: KIND, mac, mtu, parent: Some(parent), queues: None };
    let id = create(control, new)?;
    set_peer(control, id, station);
    control.room_mut::<Stations>().add(parent, station, id);
    enable(control, parent, true)
}

pub(crate) fn register(control: &Control) {
    let help = "Create a sub-interface for one station, by its MAC address.";
    let grammar = "p2p_ethernet <interface> <station:mac> sub-id <number:u32>";
    let make = Command::new(grammar, help, make).arguments_of::<P2pEthernet>();
    control.commands().add(make.argument("number", "number after the dot in its name"));
    let help = "Delete the sub-interface of a station.";
    let delete = Command::waiting("p2p_ethernet <interface> <station:mac> del", help, delete);
    control.commands().add(delete.arguments_of::<P2pEthernet>());
    watch(control, |control, event| {
        let InterfaceEvent::AdminState(id) = event else { return };
        let up = {
            let interfaces = control.room::<Interfaces>();
            interfaces.get(id).filter(|interface| interface.kind == KIND).map(|interface| interface.up)
        };
        if let Some(up) = up {
            control.room_mut::<Stations>().set_up(id, up);
        }
    });
}

fn make(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (parent, number) = (matches.get("interface")?, matches.get("number")?);
    let name = SubInterfaceName { parent, number };
    if control.objects().get::<P2pEthernet>(&name).is_some() {
        return Err(CommandError::new(format!("there is {name} already")).at(matches.place("number")));
    }
    control.put(P2pEthernet { name: name.clone(), station: matches.get("station")? })?;
    Ok(Reply::text(name.to_string()))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let (interface, station): (InterfaceName, UnicastMac) = (matches.get("interface")?, matches.get("station")?);
    let Some(name) = named(&control, &interface, station.get()) else {
        let what = format!("{station} has no part of {interface}");
        return Err(CommandError::new(what).at(matches.place("station")));
    };
    control.delete_in_turns::<P2pEthernet>(&name).await?;
    Ok(Reply::done())
}

/// The name of a station's part of an interface.
pub(crate) fn named(control: &Control, parent: &InterfaceName, station: MacAddress) -> Option<SubInterfaceName> {
    let parts = control.objects().all::<P2pEthernet>();
    let mut of_it = parts.iter().filter(|part| part.name.parent == *parent && part.station.get() == station);
    of_it.next().map(|part| part.name.clone())
}
