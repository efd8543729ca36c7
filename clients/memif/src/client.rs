//! All interfaces of a program, and what happens to them.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quiver_memif_protocol::{
    Address, Channel, ChannelError, End, Established, Handshake, Interrupt, Listener, Peer, Progress, Refusal, Role,
    Terms, Waker,
};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

use crate::queue::{QueueError, RxQueue, Shared, TxQueue};
use crate::{Settings, SettingsError};

/// Slaves that have connected and not said yet which interface they want; more are let in as the oldest goes.
const STRANGERS_MAX: usize = 64;

/// Kind of a readable file descriptor: an eventfd of a queue, or any other.
const QUEUE: u64 = 1;
const CONTROL: u64 = 0;

/// Reason that peers receive when the program closes an interface.
const CLOSED: &str = "interface closed";

/// Errors of a client or an interface.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The settings.
    #[error("interface {id}: {source}")]
    Settings {
        /// The interface's number on its socket.
        id: u32,
        /// The error.
        source: SettingsError,
    },
    /// The socket.
    #[error("socket {socket}: {source}")]
    Socket {
        /// Its name.
        socket: Address,
        /// The error.
        source: ChannelError,
    },
    /// Two masters of one number.
    #[error("socket {socket}: interface {id} is open already; take another id")]
    InUse {
        /// The socket.
        socket: Address,
        /// The number.
        id: u32,
    },
    /// The system.
    #[error("the system refused to {0}: {1}")]
    System(&'static str, Errno),
}

fn system(what: &'static str) -> impl Fn(Errno) -> ClientError {
    move |error| ClientError::System(what, error)
}

/// An interface of a client. Numbers are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InterfaceId(pub u32);

/// An event of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Packets can pass.
    Connected(Peer),
    /// Packets cannot pass: the connection ended, or the handshake failed. A slave tries again; a master waits for the
    /// next peer.
    Disconnected(String),
}

/// An event and its interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The interface.
    pub interface: InterfaceId,
    /// The interface's name.
    pub name: String,
    /// The event.
    pub what: EventKind,
}
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            EventKind::Connected(peer) => {
                write!(f, "{} is connected with {} of {}", self.name, peer.interface, peer.name)
            }
            EventKind::Disconnected(why) => write!(f, "{} is disconnected: {why}", self.name),
        }
    }
}

enum State {
    /// Of a slave: connects at this moment; of a master: waits.
    Waiting(Instant),
    Shaking(Handshake),
    Connected(Handshake, Queues),
}

struct Queues {
    shared: Arc<Shared>,
    rx: Vec<RxQueue>,
    tx: Vec<TxQueue>,
}

struct Interface {
    settings: Settings,
    state: State,
}

/// All interfaces of a program. It is readable ([`AsFd`]) when [`Client::wait`] has something to do.
pub struct Client {
    epoll: OwnedFd,
    /// Readable when a slave wants to connect again.
    timer: OwnedFd,
    /// Rung by queues that have met the end of their connection.
    bell: Arc<OwnedFd>,
    waker: Arc<Waker>,
    listeners: BTreeMap<Address, Listener>,
    /// Oldest first.
    strangers: Vec<(Address, Handshake)>,
    interfaces: BTreeMap<InterfaceId, Interface>,
    next: u32,
}

impl Client {
    /// A client without interfaces.
    pub fn new() -> Result<Client, ClientError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("open an epoll"))?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags).map_err(system("open a timer"))?;
        let bell = Interrupt::make().map_err(system("open an eventfd"))?;
        let client = Client {
            epoll,
            timer,
            bell,
            waker: Arc::new(Waker::new()),
            listeners: BTreeMap::new(),
            strangers: vec![],
            interfaces: BTreeMap::new(),
            next: 0,
        };
        watch(&client.epoll, &client.timer, CONTROL)?;
        watch(&client.epoll, &client.bell, CONTROL)?;
        Ok(client)
    }
    /// Opens an interface. A master listens from now on; a slave connects in [`Client::wait`], and does so again whenever
    /// the connection ends.
    pub fn open(&mut self, settings: Settings) -> Result<InterfaceId, ClientError> {
        settings.check().map_err(|source| ClientError::Settings { id: settings.id, source })?;
        if settings.role == Role::Master {
            let Settings { socket, id, .. } = &settings;
            if self.interfaces.values().any(|other| other.is_master_of(socket, *id)) {
                return Err(ClientError::InUse { socket: socket.clone(), id: *id });
            }
            if !self.listeners.contains_key(socket) {
                let error = |source| ClientError::Socket { socket: socket.clone(), source };
                let listener = Listener::bind(socket).map_err(error)?;
                watch(&self.epoll, &listener, CONTROL)?;
                self.listeners.insert(socket.clone(), listener);
            }
        }
        let id = InterfaceId(self.next);
        self.next += 1;
        self.interfaces.insert(id, Interface { settings, state: State::Waiting(Instant::now()) });
        self.set_timer();
        Ok(id)
    }
    /// Closes an interface and tells the peer. False if there is none.
    pub fn close(&mut self, interface: InterfaceId) -> bool {
        let Some(mut gone) = self.interfaces.remove(&interface) else { return false };
        if let Some(handshake) = gone.end(&self.epoll) {
            handshake.disconnect(CLOSED);
        }
        let socket = &gone.settings.socket;
        if !self
            .interfaces
            .values()
            .any(|other| other.settings.role == Role::Master && other.settings.socket == *socket)
        {
            self.listeners.remove(socket);
            self.strangers.retain(|(at, _)| at != socket);
        }
        true
    }
    /// Waits until something happened to an interface or a queue has packets, `timeout` at most (None: without end), and
    /// deals with it. An empty list says that there may be packets, or that time is over.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Vec<Event>, ClientError> {
        let mut events = vec![];
        let sleeps = timeout != Some(Duration::ZERO);
        let timeout = if sleeps && !self.arm() { Some(Duration::ZERO) } else { timeout };
        let timeout = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: t.subsec_nanos().into() });
        let mut ready = Vec::with_capacity(16);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(system("wait")(error)),
        }
        if ready.iter().any(|event| event.data.u64() == CONTROL) {
            self.control(&mut events)?;
        }
        self.disarm();
        Ok(events)
    }
    /// For programs that wait by themselves: asks the peers to make this client readable when packets come. False if some
    /// wait already. [`Client::wait`] with no time undoes it.
    pub fn arm(&mut self) -> bool {
        // A queue that is of no use has rung the bell.
        let mut nothing_waits = true;
        for rx in self.rx() {
            nothing_waits &= rx.arm().unwrap_or(true);
        }
        nothing_waits
    }
    fn disarm(&mut self) {
        self.rx().for_each(RxQueue::disarm);
    }
    fn rx(&mut self) -> impl Iterator<Item = &mut RxQueue> {
        self.interfaces.values_mut().filter_map(Interface::queues).flat_map(|queues| &mut queues.rx)
    }
    /// Whether packets can pass.
    pub fn is_connected(&self, interface: InterfaceId) -> bool {
        matches!(self.interfaces.get(&interface), Some(Interface { state: State::Connected(..), .. }))
    }
    /// Queues of each direction, receiving ones first; none while the interface is not connected.
    pub fn queue_counts(&self, interface: InterfaceId) -> (usize, usize) {
        match self.interfaces.get(&interface).map(|found| &found.state) {
            Some(State::Connected(_, queues)) => (queues.rx.len(), queues.tx.len()),
            _ => (0, 0),
        }
    }
    /// Both ends of queue `index`; None while the interface is not connected, or has none of that number.
    pub fn queues(&mut self, interface: InterfaceId, index: usize) -> Option<(&mut RxQueue, &mut TxQueue)> {
        let queues = self.interfaces.get_mut(&interface)?.queues()?;
        Some((queues.rx.get_mut(index)?, queues.tx.get_mut(index)?))
    }
    /// A queue to receive by.
    pub fn rx_queue(&mut self, interface: InterfaceId, index: usize) -> Option<&mut RxQueue> {
        self.interfaces.get_mut(&interface)?.queues()?.rx.get_mut(index)
    }
    /// A queue to send by.
    pub fn tx_queue(&mut self, interface: InterfaceId, index: usize) -> Option<&mut TxQueue> {
        self.interfaces.get_mut(&interface)?.queues()?.tx.get_mut(index)
    }
    /// All queues of a connection, for threads of their own. They say [`QueueError::Disconnected`] when it has ended; the
    /// next one has new queues. None while the interface is not connected.
    pub fn take_queues(&mut self, interface: InterfaceId) -> Option<(Vec<RxQueue>, Vec<TxQueue>)> {
        let queues = self.interfaces.get_mut(&interface)?.queues()?;
        let (rx, tx) = (std::mem::take(&mut queues.rx), std::mem::take(&mut queues.tx));
        rx.iter().for_each(|rx| unwatch(&self.epoll, rx));
        Some((rx, tx))
    }

    fn control(&mut self, events: &mut Vec<Event>) -> Result<(), ClientError> {
        Interrupt::clear(&*self.bell);
        Interrupt::clear(&self.timer);
        self.accept()?;
        self.greet(events);
        let now = Instant::now();
        for (id, interface) in &mut self.interfaces {
            if let Err(end) = interface.advance(&self.epoll, now, *id, (&self.bell, &self.waker), events) {
                if let Some(handshake) = interface.end(&self.epoll) {
                    handshake.refuse(&end);
                }
                interface.state = State::Waiting(now + interface.settings.retry);
                events.push(interface.event(*id, EventKind::Disconnected(end.to_string())));
            }
        }
        self.set_timer();
        Ok(())
    }
    fn accept(&mut self) -> Result<(), ClientError> {
        for (socket, listener) in &self.listeners {
            while let Some(channel) =
                listener.accept().map_err(|source| ClientError::Socket { socket: socket.clone(), source })?
            {
                watch(&self.epoll, &channel, CONTROL)?;
                if self.strangers.len() == STRANGERS_MAX {
                    self.strangers.remove(0).1.disconnect("others wait");
                }
                let mut masters = self.interfaces.values().filter(|i| i.settings.socket == *socket);
                let name = masters.next().map_or("", |interface| &interface.settings.name);
                // One that has gone already is none.
                if let Ok(handshake) = Handshake::master(channel, name) {
                    self.strangers.push((socket.clone(), handshake));
                }
            }
        }
        Ok(())
    }
    /// Hears which interfaces the strangers want.
    fn greet(&mut self, events: &mut Vec<Event>) {
        for (socket, mut stranger) in std::mem::take(&mut self.strangers) {
            let mut chosen = None;
            let answered = stranger.advance(|init| {
                let mut all = self.interfaces.iter_mut();
                let (id, interface) =
                    all.find(|(_, i)| i.is_master_of(&socket, init.id.get())).ok_or(Refusal::UnknownId)?;
                let Settings { mode, secret, .. } = interface.settings;
                let terms = Terms { mode, secret, interface: interface.settings.interface.clone() };
                let is_free = matches!(interface.state, State::Waiting(_));
                chosen = Some((*id, interface, is_free));
                if is_free { Ok(terms) } else { Err(Refusal::AlreadyConnected) }
            });
            match (answered, chosen) {
                (Ok(Progress::Quiet), _) => self.strangers.push((socket, stranger)),
                (Ok(_), Some((_, interface, _))) => interface.state = State::Shaking(stranger),
                (Ok(_), None) => {}
                (Err(end), chosen) => {
                    if let (End::Refused(_), Some((id, interface, true))) = (&end, chosen) {
                        events.push(interface.event(id, EventKind::Disconnected(end.to_string())));
                    }
                    stranger.refuse(&end);
                }
            }
        }
    }
    /// Lets the timer go off when the first slave wants to connect.
    fn set_timer(&self) {
        let slaves = self.interfaces.values().filter(|interface| interface.settings.role == Role::Slave);
        let moments = slaves.filter_map(|slave| match slave.state {
            State::Waiting(at) => Some(at),
            _ => None,
        });
        // A time of zero would stop the timer.
        let left = moments
            .min()
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1)));
        let it_value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        // The time is valid, and the file is a timer.
        let _ = rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec);
    }
}
impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
impl Drop for Client {
    fn drop(&mut self) {
        for interface in self.interfaces.values_mut() {
            if let Some(handshake) = interface.end(&self.epoll) {
                handshake.disconnect(CLOSED);
            }
        }
    }
}

impl Interface {
    fn is_master_of(&self, socket: &Address, id: u32) -> bool {
        let Settings { role, socket: own, id: own_id, .. } = &self.settings;
        *role == Role::Master && own == socket && *own_id == id
    }
    fn queues(&mut self) -> Option<&mut Queues> {
        match &mut self.state {
            State::Connected(_, queues) => Some(queues),
            _ => None,
        }
    }
    fn event(&self, interface: InterfaceId, what: EventKind) -> Event {
        Event { interface, name: self.settings.interface.clone(), what }
    }
    /// Connects if it is time to, and reads everything that the peer has said.
    fn advance(
        &mut self,
        epoll: &OwnedFd,
        now: Instant,
        id: InterfaceId,
        bells: (&Arc<OwnedFd>, &Arc<Waker>),
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        if let State::Waiting(at) = &mut self.state {
            if self.settings.role == Role::Master || now < *at {
                return Ok(());
            }
            *at = now + self.settings.retry;
            let Some(channel) = Channel::connect(&self.settings.socket)? else { return Ok(()) };
            // Without being watched it would be looked at when something else happens: no reason to give up.
            let _ = watch(epoll, &channel, CONTROL);
            self.state = State::Shaking(self.settings.handshake(channel));
        }
        if let State::Connected(_, queues) = &self.state
            && let Some(QueueError::Broken(broken)) = queues.shared.end()
        {
            return Err(Refusal::Memory(broken.to_string()).into());
        }
        loop {
            let handshake = match &mut self.state {
                State::Waiting(_) => return Ok(()),
                State::Shaking(handshake) | State::Connected(handshake, _) => handshake,
            };
            // Which interface the slave has was said before it came here.
            match handshake.advance(|_| Err(Refusal::Unexpected("INIT")))? {
                Progress::Quiet => return Ok(()),
                Progress::Answered => {}
                Progress::Established(established) => {
                    events.push(self.event(id, EventKind::Connected(established.peer.clone())));
                    self.connected(*established, epoll, bells);
                }
            }
        }
    }
    fn connected(
        &mut self,
        Established { link, layout, .. }: Established,
        epoll: &OwnedFd,
        (bell, waker): (&Arc<OwnedFd>, &Arc<Waker>),
    ) {
        let shared = Shared::new(bell.clone(), waker.clone());
        let rx = link.receivers(layout.as_ref()).into_iter().zip(&link.receive);
        let rx: Vec<_> = rx.map(|(end, queue)| RxQueue::new(end, queue.interrupt.clone(), shared.clone())).collect();
        let tx = link.transmitters(layout.as_ref()).into_iter().zip(&link.transmit);
        let tx = tx.map(|(end, queue)| TxQueue::new(end, queue.interrupt.clone(), shared.clone())).collect();
        for rx in &rx {
            // As above: a queue that is not watched is looked at whenever the program does.
            let _ = watch(epoll, rx, QUEUE);
        }
        let was = std::mem::replace(&mut self.state, State::Waiting(Instant::now()));
        if let State::Shaking(handshake) = was {
            self.state = State::Connected(handshake, Queues { shared, rx, tx });
        }
    }
    /// Ends the connection. What is returned can still tell the peer why.
    fn end(&mut self, epoll: &OwnedFd) -> Option<Handshake> {
        match std::mem::replace(&mut self.state, State::Waiting(Instant::now())) {
            State::Waiting(_) => None,
            State::Shaking(handshake) => Some(handshake),
            State::Connected(handshake, queues) => {
                queues.shared.close(QueueError::Disconnected);
                queues.rx.iter().for_each(|rx| unwatch(epoll, rx));
                Some(handshake)
            }
        }
    }
}

fn watch(epoll: &OwnedFd, file: impl AsFd, what: u64) -> Result<(), ClientError> {
    epoll::add(epoll, file, EventData::new_u64(what), EventFlags::IN).map_err(system("watch a file"))
}
/// The peer has the eventfd, too, so that closing it would not be enough.
fn unwatch(epoll: &OwnedFd, file: impl AsFd) {
    let _ = epoll::delete(epoll, file);
}
