//! Simulated ports as a room of the daemon: objects of kind `simulated-ports`, so that configurations, valid and not,
//! create and delete them like any other interface.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::graph::NodeId;
use quiver_engine::{Dataplane, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{InterfaceId, InterfaceName, NewInterface};

use crate::traffic::port_mac;
use crate::wire::{self, Journal, Receiver, Sender, Wire};

/// A port whose wire is the simulation's.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "simulated-ports", provides = "interface")]
pub struct SimulatedPort {
    /// The name of the interface: p and a digit.
    #[key]
    pub name: String,
    /// Queues for receiving, served by different workers.
    #[fixed]
    #[default(1)]
    pub rx_queues: u16,
}

/// The wires of the ports that there are, for the peers.
pub type Wires = Rc<RefCell<BTreeMap<String, Arc<Wire>>>>;

/// The room's state.
pub struct Ports {
    input: NodeId,
    ids: BTreeMap<String, InterfaceId>,
    /// The wires.
    pub wires: Wires,
    /// Events on the ports.
    pub journal: Journal,
}

/// Adds the room to a daemon that has all others.
pub fn register(control: &Control) -> Result<(), String> {
    let input = control
        .room_mut::<Dataplane>()
        .blueprint()
        .input("simulated-input", wire::Next::ARCS)
        .map_err(|e| e.to_string())?;
    control.insert_room(Ports { input, ids: BTreeMap::new(), wires: Wires::default(), journal: Journal::default() });
    control.objects().add(Kind::new(apply).check(check));
    let create = "create simulated-port <name:text> [rx-queues <rx-queues:u16>]";
    let create = Command::new(create, "Create a port of the simulation.", create_port);
    control.commands().add(create.arguments_of::<SimulatedPort>());
    let delete = "delete simulated-port <interface>";
    control.commands().add(Command::new(delete, "Delete a port of the simulation.", delete_port));
    Ok(())
}

fn create_port(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut port = SimulatedPort::new(matches.get("name")?);
    port.rx_queues = matches.find("rx-queues")?.unwrap_or(1);
    control.put(port)?;
    Ok(Reply::done())
}

fn delete_port(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    control.delete_with_users::<SimulatedPort>(&name.0)?;
    Ok(Reply::done())
}

/// The number in a port's name.
pub fn number(name: &str) -> Option<usize> {
    name.strip_prefix('p')?.parse().ok().filter(|number| *number < 10)
}

fn check(port: &SimulatedPort) -> Result<(), ObjectError> {
    match (number(&port.name), port.rx_queues) {
        (None, _) => Err(ObjectError::field("name", "it is no port's name").remedy("p0 to p9")),
        (_, 1..=8) => Ok(()),
        _ => Err(ObjectError::field("rx-queues", "there are 1 to 8")),
    }
}

fn apply(control: &Control, change: Change<'_, SimulatedPort>) -> Result<(), ObjectError> {
    match change {
        Change::Create(port) => open(control, port),
        // Every field is fixed.
        Change::Update { .. } => Ok(()),
        Change::Delete(port) => {
            let mut room = control.room_mut::<Ports>();
            room.wires.borrow_mut().remove(&port.name);
            let id = room.ids.remove(&port.name);
            drop(room);
            id.into_iter().for_each(|id| quiver_interface::remove(control, id));
            Ok(())
        }
    }
}

fn open(control: &Control, port: &SimulatedPort) -> Result<(), ObjectError> {
    let (wire, queues) = {
        let (room, dataplane) = (control.room::<Ports>(), control.room::<Dataplane>());
        let wire = Wire::new(&port.name, port.rx_queues.into(), &room.journal);
        let wire = wire.map_err(|error| ObjectError::whole(format!("no interrupts: {error}")))?;
        let rx = |queue| Box::new(Receiver::new(&wire, queue)) as Box<dyn RxQueue>;
        let rx = (0..wire.queues()).map(rx).collect();
        let tx = (0..dataplane.workers()).map(|_| Box::new(Sender(wire.clone())) as Box<dyn TxQueue>).collect();
        (wire, Queues { input: room.input, rx, tx })
    };
    let id = quiver_interface::create(
        control,
        NewInterface {
            name: port.name.clone(),
            kind: "simulated",
            mac: port_mac(number(&port.name).unwrap_or(0)),
            mtu: 9000,
            parent: None,
            queues: Some(queues),
        },
    )?;
    let mut room = control.room_mut::<Ports>();
    room.ids.insert(port.name.clone(), id);
    room.wires.borrow_mut().insert(port.name.clone(), wire);
    Ok(())
}
