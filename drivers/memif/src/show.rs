//! `show memif`: sockets and interfaces, peers, rings and their descriptors.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_interface::InterfaceName;
use quiver_memif_protocol::{Queue, Role, Store};

use crate::port::{Attached, Port};
use crate::room::Memifs;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let what = "show memif [<interface>] [descriptors]";
    let show = Command::new(what, "Show memif interfaces and their peers, and for one interface its rings.", show)
        .argument("descriptors", "include ring descriptors");
    commands.add(show);
    commands.add(Command::new("show memif sockets", "Show the memif sockets.", show_sockets));
}

fn show_sockets(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Id", "Filename", "Listening", "Interfaces"]);
    let room = control.room::<Memifs>();
    for (id, socket) in &room.sockets {
        let users = room.ports.values().filter(|port| port.config.socket() == *id);
        table.row([
            Cell::from(*id),
            Cell::of(&socket.address),
            Cell::from(socket.listener.is_some()),
            Cell::from(users.map(|port| port.config.name.clone()).collect::<Vec<_>>().join(" ")),
        ]);
    }
    Ok(table.into())
}

fn show(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let room = control.room::<Memifs>();
    let Some(InterfaceName(name)) = matches.find("interface")? else {
        if matches.has("descriptors") {
            return Err(CommandError::new("descriptors are those of one interface; name it"));
        }
        return Ok(interfaces(room.ports.values()).into());
    };
    let other = || CommandError::new(format!("{name} is no memif interface")).at(matches.place("interface"));
    let port = room.ports.get(&name).ok_or_else(other)?;
    match matches.has("descriptors") {
        false => {
            let (port, rings) = (interfaces([port].into_iter()), rings(port));
            let json = quiver_control::serde_json::json!({"interface": port.to_json(), "rings": rings.to_json()});
            Ok(Reply::new(format!("{}\n{}", port.to_text(), rings.to_text()), json))
        }
        true => Ok(descriptors(port).into()),
    }
}

fn interfaces<'p>(ports: impl Iterator<Item = &'p Port>) -> Table {
    let titles = [
        "Name",
        "Role",
        "Mode",
        "State",
        "Peer",
        "Its interface",
        "Process",
        "User",
        "Group",
        "Rx rings",
        "Tx rings",
        "Zero-copy",
    ];
    let mut table = Table::new(titles);
    for port in ports {
        let link = port.link.as_ref();
        let state = match link {
            Some(_) => "connected".to_owned(),
            None if port.connection.is_some() => "connecting".to_owned(),
            None if port.trouble.is_empty() => "waiting".to_owned(),
            None => format!("waiting: {}", port.trouble),
        };
        let credentials = link.and_then(|link| link.peer.credentials);
        table.row([
            Cell::from(port.config.name.clone()),
            Cell::of(port.config.role),
            Cell::of(port.config.mode),
            Cell::from(state),
            Cell::from(link.map(|link| link.peer.name.clone())),
            Cell::from(link.map(|link| link.peer.interface.clone())),
            credentials.map_or_else(Cell::empty, |peer| Cell::of(peer.pid)),
            Cell::from(credentials.map(|peer| peer.uid)),
            Cell::from(credentials.map(|peer| peer.gid)),
            Cell::from(link.map_or(0, |link| link.link.receive.len()) as u64),
            Cell::from(link.map_or(0, |link| link.link.transmit.len()) as u64),
            Cell::from(link.is_some_and(|link| link.link.role == Role::Slave && link.link.regions.len() > 1)),
        ]);
    }
    table
}

/// The rings of a connection: our direction, which of the protocol's, number, ring.
fn all(link: &Attached) -> impl Iterator<Item = (&'static str, usize, &Queue<std::sync::Arc<std::os::fd::OwnedFd>>)> {
    let receive = link.link.receive.iter().enumerate().map(|(index, queue)| ("rx", index, queue));
    receive.chain(link.link.transmit.iter().enumerate().map(|(index, queue)| ("tx", index, queue)))
}

fn rings(port: &Port) -> Table {
    let titles = ["Ring", "Direction", "Size", "Head", "Tail", "Interrupts", "Stores"];
    let mut table = Table::new(titles);
    let Some(link) = &port.link else { return table };
    for (direction, index, queue) in all(link) {
        let is_s2m = (direction == "tx") == (link.link.role == Role::Slave);
        let store = link.senders.get(index).filter(|_| direction == "tx").and_then(|ring| {
            // A worker that is sending right now is not disturbed.
            ring.try_lock().ok().map(|ring| match ring.store() {
                Store::Plain => "plain",
                Store::Claimed => "claimed ahead",
                Store::Streaming => "past caches",
            })
        });
        table.row([
            Cell::from(format!("{direction} {index}")),
            Cell::from(if is_s2m { "slave to master" } else { "master to slave" }),
            Cell::from(queue.ring.size()),
            Cell::from(queue.ring.head()),
            Cell::from(queue.ring.tail()),
            Cell::from(if queue.ring.is_interrupt_wanted() { "wanted" } else { "masked" }),
            Cell::from(store),
        ]);
    }
    table
}

fn descriptors(port: &Port) -> Table {
    let mut table = Table::new(["Ring", "Descriptor", "Region", "Offset", "Length", "Continued"]);
    let Some(link) = &port.link else { return table };
    for (direction, index, queue) in all(link) {
        for at in 0..queue.ring.size() {
            let descriptor = queue.ring.descriptor(at);
            table.row([
                Cell::from(format!("{direction} {index}")),
                Cell::from(at),
                Cell::from(descriptor.region),
                Cell::from(descriptor.offset),
                Cell::from(descriptor.length),
                Cell::from(descriptor.has_next),
            ]);
        }
    }
    table
}
