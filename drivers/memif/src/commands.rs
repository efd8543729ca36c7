//! `create memif socket`, `delete memif socket`, `create interface memif`, `delete interface memif`.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_interface::{InterfaceName, Interfaces};

use crate::config::{DEFAULT_SOCKET, Memif, MemifRole, MemifSocket, MemifSocketId};

const CREATE: &str = "create interface memif id <id:u32> { if-name <if-name:text> | socket-id <socket-id:u32> | (master | slave) \
    | mode <mode:memif-mode> | ring-size <ring-size:u32> | rx-queues <rx-queues:u16> | tx-queues <tx-queues:u16> \
    | buffer-size <buffer-size:u32> | no-zero-copy | secret <secret:text> | hw-addr <hw-addr:mac> }";

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    let create_socket = "create memif socket id <id:u32> filename <filename:text>";
    commands.add(Command::new(create_socket, "Create a memif socket.", add_socket).arguments_of::<MemifSocket>());
    commands.add(
        Command::new("delete memif socket id <id:memif-sockets>", "Delete a memif socket.", delete_socket)
            .argument("id", "id of the socket"),
    );
    let create = Command::new(CREATE, "Create a memif interface.", create)
        .arguments_of::<Memif>()
        .argument("id", "id that master and slave agree on")
        .argument("if-name", "name that you choose, such as wan; default: memif, the socket, a slash, and the id")
        .argument("socket-id", "id of the socket; default 0")
        .argument("master", "listen for a slave, and use its memory")
        .argument("slave", "connect to a master, and share memory (default)")
        .argument("no-zero-copy", "copy packets instead of sharing our packet buffers")
        .argument("hw-addr", "MAC address; default: a generated one");
    commands.add(create);
    commands.add(Command::waiting("delete interface memif <interface>", "Delete a memif interface.", delete));
}

fn add_socket(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let id = matches.get("id")?;
    if control.objects().get::<MemifSocket>(&id).is_some() {
        let error = CommandError::new(format!("there is a socket {id} already; delete it first"));
        return Err(error.at(matches.place("id")));
    }
    control.put(MemifSocket { id, filename: matches.get("filename")? })?;
    Ok(Reply::done())
}

fn delete_socket(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let MemifSocketId(id) = matches.get("id")?;
    control.delete::<MemifSocket>(&id)?;
    Ok(Reply::done())
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let socket = matches.find("socket-id")?.unwrap_or(DEFAULT_SOCKET);
    let (id, chosen) = (matches.get("id")?, matches.find::<String>("if-name")?);
    let mut memif = Memif::of(socket, id);
    if let Some(name) = chosen {
        (memif.name, memif.id) = (name, Some(id));
    }
    let name = memif.name.clone();
    if control.room::<Interfaces>().find(&name).is_some() {
        let error = CommandError::new(format!("there is an interface {name} already; delete it first"));
        return Err(error.at(matches.place("id")));
    }
    if socket != DEFAULT_SOCKET && control.objects().get::<MemifSocket>(&socket).is_none() {
        let error = CommandError::new(format!("there is no socket {socket}; `create memif socket` makes one"));
        return Err(error.at(matches.place("socket-id")));
    }
    control.put(Memif {
        role: if matches.has("master") { MemifRole::Master } else { MemifRole::Slave },
        mode: matches.find("mode")?.unwrap_or(memif.mode),
        ring_size: matches.find("ring-size")?.unwrap_or(memif.ring_size),
        rx_queues: matches.find("rx-queues")?.unwrap_or(memif.rx_queues),
        tx_queues: matches.find("tx-queues")?,
        buffer_size: matches.find("buffer-size")?.unwrap_or(memif.buffer_size),
        zero_copy: !matches.has("no-zero-copy"),
        secret: matches.find("secret")?,
        mac: matches.find("hw-addr")?,
        ..memif
    })?;
    Ok(Reply::text(name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let InterfaceName(name) = matches.get("interface")?;
    if control.objects().get::<Memif>(&name).is_none() {
        return Err(CommandError::new(format!("{name} is no memif interface")).at(matches.place("interface")));
    }
    control.delete_in_turns::<Memif>(&name).await?;
    Ok(Reply::done())
}
