//! The room's state: sockets, interfaces, and open control channels.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quiver_control::{Control, ObjectError, Time};
use quiver_engine::graph::NodeId;
use quiver_engine::{Buffers, Dataplane, DataplaneError, RxQueue, TxQueue};
use quiver_interface::interfaces::Queues;
use quiver_interface::{NewInterface, create, remove, set_link, set_point_to_point};
use quiver_linux::{Namespace, random_mac};
use quiver_memif_protocol::{Address, Channel, Interrupt, Listener, Mode, Role, Waker};
use rustix::event::epoll;

use crate::config::{DEFAULT_FOLDER, DEFAULT_SOCKET, Memif, default_address};
use crate::connection::Connection;
use crate::handover::handover;
use crate::port::{ConnectionId, Port};
use crate::rx::Rx;
use crate::tx::Tx;

/// The MTU of an interface while none is configured: jumbo frames pass as chains of buffers.
const MTU: u16 = 9000;

/// A file that the control task watches: a listener by its socket's number, or a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Watched {
    Listener(u32),
    Connection(ConnectionId),
}

impl Watched {
    pub fn to_word(self) -> u64 {
        match self {
            Watched::Listener(socket) => u64::from(socket),
            Watched::Connection(ConnectionId(number)) => 1 << 32 | u64::from(number),
        }
    }
    pub fn from_word(word: u64) -> Watched {
        let number = word as u32;
        if word >> 32 == 0 { Watched::Listener(number) } else { Watched::Connection(ConnectionId(number)) }
    }
}

/// A socket.
pub(crate) struct Socket {
    pub address: Address,
    /// There while some interface is a master on it.
    pub listener: Option<Listener>,
    masters: u32,
}

/// The room.
pub(crate) struct Memifs {
    input: NodeId,
    pub buffers: Buffers,
    /// The daemon's folder, in which sockets are whose names are no whole paths.
    pub folder: PathBuf,
    /// Made for the first connection.
    waker: OnceCell<Arc<Waker>>,
    pub poll: OwnedFd,
    pub sockets: BTreeMap<u32, Socket>,
    pub ports: BTreeMap<String, Port>,
    pub connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u32,
}

impl Memifs {
    pub fn new(input: NodeId, buffers: &Buffers) -> Result<Memifs, DataplaneError> {
        let system = |error: rustix::io::Errno| DataplaneError::System(error.into());
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        let folder = PathBuf::from(DEFAULT_FOLDER);
        let default = Socket { address: default_address(&folder), listener: None, masters: 0 };
        Ok(Memifs {
            input,
            buffers: buffers.clone(),
            folder,
            waker: OnceCell::new(),
            poll,
            sockets: BTreeMap::from([(DEFAULT_SOCKET, default)]),
            ports: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_connection: 0,
        })
    }
    /// Lets the control task look at a descriptor; closing it ends that.
    pub fn watch(&self, fd: impl AsFd, as_what: Watched) -> Result<(), rustix::io::Errno> {
        epoll::add(&self.poll, fd, epoll::EventData::new_u64(as_what.to_word()), epoll::EventFlags::IN)
    }
    /// Wakes peers.
    pub fn waker(&self) -> Arc<Waker> {
        self.waker.get_or_init(|| Arc::new(Waker::new())).clone()
    }
    /// A number for a new control channel.
    pub fn number(&mut self) -> ConnectionId {
        self.next_connection = self.next_connection.wrapping_add(1);
        ConnectionId(self.next_connection)
    }
    /// The interface of this number on a socket, if we are its master.
    pub fn master_mut(&mut self, socket: u32, number: u32) -> Option<&mut Port> {
        let mut ports = self.ports.values_mut();
        ports.find(|port| port.config.role() == Role::Master && port.config.socket() == socket && port.number == number)
    }
    /// The interface that a control channel has.
    pub fn port_of(&mut self, connection: ConnectionId) -> Option<&mut Port> {
        self.ports.values_mut().find(|port| port.connection == Some(connection))
    }
}

/// Lets workers that sleep take what they were given.
pub(crate) fn wake_workers(control: &Control) {
    control.room::<Dataplane>().post_all(|_| |_| ());
}

/// Says in which folder the daemon runs, before there is any socket but the default one.
pub fn sockets_in(control: &Control, folder: &Path) {
    let mut room = control.room_mut::<Memifs>();
    folder.clone_into(&mut room.folder);
    if let Some(socket) = room.sockets.get_mut(&DEFAULT_SOCKET) {
        socket.address = default_address(folder);
    }
}

/// Opens a listener in the namespace of its address. Folders below the daemon's own come into being with it.
fn listen(address: &Address, own: &Path) -> Result<Listener, ObjectError> {
    let refused = |what: String| ObjectError::field("socket", what);
    let bound = match address {
        Address::Abstract { namespace: Some(name), .. } => {
            let namespace = Namespace::find(Some(name)).map_err(|error| error.of_field("socket"))?;
            namespace.within(|| Listener::bind(address)).map_err(|error| error.of_field("socket"))?
        }
        Address::Path(path) => {
            if let Some(folder) = path.parent().filter(|folder| folder.starts_with(own)) {
                // A failure is told by binding.
                let _ = std::fs::create_dir_all(folder);
            }
            Listener::bind(address)
        }
        Address::Abstract { .. } => Listener::bind(address),
    };
    bound.map_err(|error| refused(format!("{address}: {error}")).remedy("choose a socket that can be made"))
}

/// Connects to a listener in the namespace of its address. None if there is no listener.
pub(crate) fn connect(address: &Address) -> Result<Option<Channel>, String> {
    let told = |error: quiver_memif_protocol::ChannelError| error.to_string();
    match address {
        Address::Abstract { namespace: Some(name), .. } => {
            let namespace = Namespace::find(Some(name)).map_err(|error| error.to_string())?;
            let connected = namespace.within(|| Channel::connect(address)).map_err(|error| error.to_string())?;
            connected.map_err(told)
        }
        _ => Channel::connect(address).map_err(told),
    }
}

pub(crate) fn add_socket(control: &Control, id: u32, address: Address) -> Result<(), ObjectError> {
    let mut room = control.room_mut::<Memifs>();
    if let Some((other, _)) = room.sockets.iter().find(|(_, socket)| socket.address == address) {
        let what = format!("{address} is socket {other} already");
        return Err(ObjectError::field("filename", what).remedy(format!("use socket {other}, or another name")));
    }
    room.sockets.insert(id, Socket { address, listener: None, masters: 0 });
    Ok(())
}

pub(crate) fn remove_socket(control: &Control, id: u32) {
    control.room_mut::<Memifs>().sockets.remove(&id);
}

pub(crate) fn add_interface(control: &Control, config: &Memif) -> Result<(), ObjectError> {
    if config.role() == Role::Master {
        add_master(&mut control.room_mut::<Memifs>(), config.socket())?;
    }
    let made = make(control, config);
    if made.is_err() && config.role() == Role::Master {
        remove_master(&mut control.room_mut::<Memifs>(), config.socket());
    }
    made
}

/// Adds an interface whose master listens nowhere.
pub(crate) fn add_unserved(control: &Control, config: &Memif) -> Result<(), ObjectError> {
    make(control, config)?;
    if config.role() == Role::Master
        && let Some(socket) = control.room_mut::<Memifs>().sockets.get_mut(&config.socket())
    {
        socket.masters += 1;
    }
    Ok(())
}

fn make(control: &Control, config: &Memif) -> Result<(), ObjectError> {
    let number = config.number().ok_or_else(|| ObjectError::field("id", "it has none"))?;
    let is_same = |port: &&Port| port.config.socket() == config.socket() && port.number == number;
    if let Some(other) = control.room::<Memifs>().ports.values().find(is_same) {
        let what = format!("{} has the id {number} on socket {}", other.config.name, config.socket());
        return Err(ObjectError::field("id", what).remedy("choose another id, or another socket"));
    }
    let mac = match config.mac {
        Some(mac) => mac.get(),
        None => random_mac().map_err(|error| error.of_field("mac"))?,
    };
    let input = control.room::<Memifs>().input;
    let is_ip = config.mode() == Mode::Ip;
    let level = control.room::<Dataplane>().settings().level;
    let (mut rx, mut rx_queues) = (vec![], vec![]);
    for _ in 0..config.rx_queues.get() {
        let (giver, holder) = handover();
        let changed = Interrupt::make().map_err(|error| ObjectError::whole(format!("no eventfd: {error}")))?;
        rx.push((giver, changed.clone()));
        rx_queues.push(Box::new(Rx::new(holder, changed, is_ip.then_some(mac), level)) as Box<dyn RxQueue>);
    }
    let (mut tx, mut tx_queues) = (vec![], vec![]);
    for _ in 0..control.room::<Dataplane>().workers() {
        let (giver, holder) = handover();
        tx.push(giver);
        tx_queues.push(Box::new(Tx::new(holder, is_ip, level)) as Box<dyn TxQueue>);
    }
    let new = NewInterface {
        name: config.name.clone(),
        kind: "memif",
        mac,
        mtu: MTU,
        parent: None,
        queues: Some(Queues { input, rx: rx_queues, tx: tx_queues }),
    };
    let id = create(control, new)?;
    if is_ip {
        set_point_to_point(control, id);
    }
    set_link(control, id, false);
    let port = Port {
        id,
        config: config.clone(),
        number,
        connection: None,
        link: None,
        rx,
        tx,
        retry_at: Time::default(),
        trouble: String::new(),
    };
    control.room_mut::<Memifs>().ports.insert(config.name.clone(), port);
    Ok(())
}

pub(crate) fn remove_interface(control: &Control, name: &str) {
    let mut room = control.room_mut::<Memifs>();
    let Some(mut port) = room.ports.remove(name) else { return };
    if let Some(id) = port.connection
        && let Some(connection) = room.connections.remove(&id)
    {
        connection.handshake.disconnect("interface deleted");
    }
    port.disconnect(String::new());
    if port.config.role() == Role::Master {
        remove_master(&mut room, port.config.socket());
    }
    drop(room);
    remove(control, port.id);
}

fn add_master(room: &mut Memifs, number: u32) -> Result<(), ObjectError> {
    let missing = || ObjectError::field("socket", format!("there is no socket {number}")).remedy("create it first");
    let socket = room.sockets.get_mut(&number).ok_or_else(missing)?;
    if socket.listener.is_none() {
        let listener = listen(&socket.address, &room.folder)?;
        let watched = epoll::add(
            &room.poll,
            &listener,
            epoll::EventData::new_u64(Watched::Listener(number).to_word()),
            epoll::EventFlags::IN,
        );
        watched.map_err(|error| ObjectError::field("socket", format!("it cannot be listened on: {error}")))?;
        socket.listener = Some(listener);
    }
    socket.masters += 1;
    Ok(())
}

fn remove_master(room: &mut Memifs, number: u32) {
    let Some(socket) = room.sockets.get_mut(&number) else { return };
    socket.masters -= 1;
    if socket.masters == 0 {
        socket.listener = None;
        // Slaves that have not said which interface they want have none to ask for any more.
        room.connections.retain(|_, connection| connection.socket != number || !connection.handshake.awaits_init());
    }
}
