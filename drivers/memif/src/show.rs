//! `show memif`: sockets and interfaces, peers, rings and their descriptors.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_control::{Control, behind, one_by_one};
use quiver_interface::InterfaceName;
use quiver_memif_protocol::{Queue, Role, Store};

use crate::port::{Attached, Port};
use crate::room::Memifs;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let what = "show memif [<interface>] [descriptors]";
    let show = Command::waiting(what, "Show memif interfaces and their peers, and for one interface its rings.", show)
        .argument("descriptors", "include ring descriptors");
    commands.add(show);
    commands.add(Command::waiting("show memif sockets", "Show the memif sockets.", show_sockets));
}

async fn show_sockets(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut rows = Rows::new(&control, &output, ["Id", "Filename", "Listening", "Interfaces"]);
    let mut users: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let ports = one_by_one(|last| {
        let room = control.room::<Memifs>();
        behind(&room.ports, last).map(|(name, port)| (name.clone(), (port.config.socket(), name.clone())))
    });
    for (socket, name) in ports {
        rows.step().await;
        users.entry(socket).or_default().push(name);
    }
    let sockets = one_by_one(|last| {
        let room = control.room::<Memifs>();
        let (id, socket) = behind(&room.sockets, last)?;
        let users = users.get(id).map(|names| names.join(" ")).unwrap_or_default();
        let listening = socket.listener.is_some();
        Some((*id, [Cell::from(*id), Cell::of(&socket.address), Cell::from(listening), Cell::from(users)]))
    });
    rows.each(sockets, Some).await;
    Ok(rows.end())
}

async fn show(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let Some(InterfaceName(name)) = matches.find("interface")? else {
        if matches.has("descriptors") {
            return Err(CommandError::new("descriptors are those of one interface; name it"));
        }
        let mut rows = Rows::new(&control, &output, INTERFACE);
        let ports = one_by_one(|last| {
            let room = control.room::<Memifs>();
            behind(&room.ports, last).map(|(name, port)| (name.clone(), interface(port)))
        });
        rows.each(ports, Some).await;
        return Ok(rows.end());
    };
    let other = || CommandError::new(format!("{name} is no memif interface")).at(matches.place("interface"));
    if matches.has("descriptors") {
        control.room::<Memifs>().ports.get(&name).ok_or_else(other)?;
        return Ok(descriptors(&control, &name, &output).await);
    }
    let room = control.room::<Memifs>();
    let port = room.ports.get(&name).ok_or_else(other)?;
    let mut table = Table::new(INTERFACE);
    table.row(interface(port));
    let rings = rings(port);
    let json = quiver_control::serde_json::json!({"interface": table.to_json(), "rings": rings.to_json()});
    Ok(Reply::new(format!("{}\n{}", table.to_text(), rings.to_text()), json))
}

const INTERFACE: [&str; 12] = [
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

fn interface(port: &Port) -> [Cell; 12] {
    let link = port.link.as_ref();
    let state = match link {
        Some(_) => "connected".to_owned(),
        None if port.connection.is_some() => "connecting".to_owned(),
        None if port.trouble.is_empty() => "waiting".to_owned(),
        None => format!("waiting: {}", port.trouble),
    };
    let credentials = link.and_then(|link| link.peer.credentials);
    [
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
    ]
}

/// The rings of a connection: our direction, which of the protocol's, number, ring.
fn all(link: &Attached) -> impl Iterator<Item = (&'static str, usize, &Queue<Arc<OwnedFd>>)> {
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

async fn descriptors(control: &Control, name: &str, output: &Output) -> Reply {
    let titles = ["Ring", "Descriptor", "Region", "Offset", "Length", "Continued"];
    let mut rows = Rows::new(control, output, titles);
    for place in 0.. {
        let Some(size) = of_ring(control, name, place, |_, _, queue| queue.ring.size()) else { break };
        let row = |at| {
            of_ring(control, name, place, |direction, index, queue| {
                let descriptor = (at < queue.ring.size()).then(|| queue.ring.descriptor(at))?;
                Some([
                    Cell::from(format!("{direction} {index}")),
                    Cell::from(at),
                    Cell::from(descriptor.region),
                    Cell::from(descriptor.offset),
                    Cell::from(descriptor.length),
                    Cell::from(descriptor.has_next),
                ])
            })
            .flatten()
        };
        rows.each(0..size, row).await;
    }
    rows.end()
}

/// Looks at the ring at this place among those of a connection. None if it is gone.
fn of_ring<T>(
    control: &Control,
    name: &str,
    place: usize,
    look: impl FnOnce(&'static str, usize, &Queue<Arc<OwnedFd>>) -> T,
) -> Option<T> {
    let room = control.room::<Memifs>();
    let link = room.ports.get(name)?.link.as_ref()?;
    let (direction, index, queue) = all(link).nth(place)?;
    Some(look(direction, index, queue))
}
