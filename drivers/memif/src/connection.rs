//! One control channel: what the peer says, and what comes of it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use quiver_control::Time;
use quiver_engine::{Buffers, Lent};
use quiver_memif_protocol::layout::{Layout, SlaveMemory};
use quiver_memif_protocol::message::{Init, Message};
use quiver_memif_protocol::receiver::Place;
use quiver_memif_protocol::slave::Agreed;
use quiver_memif_protocol::{
    Channel, ChannelError, Interrupt, Link, Master, Queue, Receiver, Refusal, Request, Role, Slave, Terms, Transmitter,
    master, slave,
};

use crate::room::{ConnectionId, Established, Port};
use crate::rx::{RxRing, RxRings, place};
use crate::tx::{SharedRing, TxRing};

/// What we tell peers that we are.
pub(crate) fn name() -> String {
    format!("Quiver {}", env!("CARGO_PKG_VERSION"))
}

/// A control channel.
pub(crate) struct Connection {
    pub channel: Channel,
    pub side: Side,
    /// The socket that it was accepted on, or connected to.
    pub socket: u32,
    /// When a peer that has said too little is given up.
    pub deadline: Time,
    /// Who the peer says it is.
    peer: String,
}

/// What we are on a channel.
pub(crate) enum Side {
    Master(Master<OwnedFd>),
    Slave(Slave<Arc<OwnedFd>>, Option<Box<SlaveMemory>>),
}

/// Why a channel is closed.
pub(crate) enum End {
    /// The peer is gone, or talks nonsense.
    Channel(ChannelError),
    /// We refuse, or the peer does.
    Refused(Refusal),
}

impl From<ChannelError> for End {
    fn from(error: ChannelError) -> End {
        End::Channel(error)
    }
}
impl From<Refusal> for End {
    fn from(refusal: Refusal) -> End {
        End::Refused(refusal)
    }
}
impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Channel(error) => error.fmt(f),
            End::Refused(Refusal::ByPeer(reason)) => write!(f, "the peer says: {reason}"),
            End::Refused(refusal) => refusal.fmt(f),
        }
    }
}

fn memory(error: impl std::fmt::Display) -> End {
    End::Refused(Refusal::Memory(error.to_string()))
}

impl Connection {
    /// A slave that was accepted: greets it.
    pub fn accepted(channel: Channel, socket: u32, deadline: Time) -> Result<Connection, ChannelError> {
        let (master, hello) = Master::new(&name());
        channel.send(&hello, None)?;
        Ok(Connection { channel, side: Side::Master(master), socket, deadline, peer: String::new() })
    }
    /// A master that was connected to for an interface.
    pub fn connected(channel: Channel, port: &Port, workers: usize, deadline: Time) -> Connection {
        let config = &port.config;
        let request = Request {
            id: port.number,
            mode: config.mode(),
            secret: config.secret(),
            name: name(),
            interface: config.name.clone(),
            s2m_rings: config.tx_queues.unwrap_or(u16::try_from(workers).unwrap_or(u16::MAX)),
            m2s_rings: config.rx_queues,
            log2_ring_size: config.log2_ring_size(),
        };
        let side = Side::Slave(Slave::new(request), None);
        Connection { channel, side, socket: config.socket(), deadline, peer: String::new() }
    }
    /// Whether packets may pass.
    pub fn is_connected(&self) -> bool {
        match &self.side {
            Side::Master(master) => master.is_connected(),
            Side::Slave(slave, _) => slave.is_connected(),
        }
    }
    /// Whether it is that of a slave of this socket which has no interface yet.
    pub fn is_undecided_on(&self, socket: u32) -> bool {
        self.socket == socket && self.peer.is_empty() && matches!(self.side, Side::Master(_))
    }
    /// Tells the peer why the channel is closed. It may be gone already.
    pub fn say_goodbye(&mut self, reason: &str) {
        let _ = self.channel.send(&Message::disconnect(reason), None);
    }
    /// Tells the peer that we end it, unless it is the one that does.
    pub fn refuse(&mut self, end: &End) {
        match end {
            End::Channel(ChannelError::Closed) | End::Refused(Refusal::ByPeer(_)) => {}
            end => self.say_goodbye(&end.to_string()),
        }
    }
    /// A master's part in a message: `admit` finds the interface and claims it, `port` gives it.
    pub fn master_takes(
        &mut self,
        message: &Message,
        file: Option<OwnedFd>,
        admit: impl FnOnce(&Init) -> Result<Terms, Refusal>,
    ) -> Result<Option<Link<Arc<OwnedFd>>>, End> {
        let Side::Master(master) = &mut self.side else { return Ok(None) };
        if let Message::Init(init) = message {
            self.peer = init.name.to_string();
        }
        match master.received(message, file, admit)? {
            master::Step::Send(answer) => {
                self.channel.send(&answer, None)?;
                Ok(None)
            }
            master::Step::Map { offer, mode, .. } => Ok(Some(Link::map(offer, mode).map_err(memory)?.shared())),
        }
    }
    /// Tells the slave that packets may pass.
    pub fn master_is_ready(&mut self, interface: &str) -> Result<(), ChannelError> {
        let Side::Master(master) = &mut self.side else { return Ok(()) };
        match master.connected(interface) {
            Some(message) => self.channel.send(&message, None),
            None => Ok(()),
        }
    }
    /// A slave's part in a message. The name of the master's interface when packets may pass.
    pub fn slave_takes(&mut self, message: &Message, port: &Port, buffers: &Buffers) -> Result<Option<String>, End> {
        let Side::Slave(slave, made) = &mut self.side else { return Ok(None) };
        let mut step = slave.received(message)?;
        if let slave::Step::Make(agreed) = step {
            self.peer = agreed.master.to_string();
            let memory = make(port, &agreed, buffers)?;
            step = slave.offer(&memory.offer);
            *made = Some(Box::new(memory));
        }
        match step {
            slave::Step::Send(answer, file) => {
                self.channel.send(&answer, file.as_ref().map(|file| file.as_fd()))?;
                Ok(None)
            }
            slave::Step::Connected(interface) => Ok(Some(interface.to_string())),
            slave::Step::Wait | slave::Step::Make(_) => Ok(None),
        }
    }
    /// Gives the rings to the workers: of a master those that were mapped, of a slave those that it made.
    pub fn establish(
        &mut self,
        id: ConnectionId,
        port: &mut Port,
        mapped: Option<Link<Arc<OwnedFd>>>,
        interface: String,
        buffers: &Buffers,
    ) -> Result<(), End> {
        let made = match &mut self.side {
            Side::Slave(_, made) => made.take(),
            Side::Master(_) => None,
        };
        let (link, layout) = match (mapped, made) {
            (Some(link), _) => (link, None),
            (None, Some(made)) => (made.link, Some(made.layout)),
            (None, None) => return Err(memory("there is no memory")),
        };
        let (receivers, senders) = if link.role == Role::Slave && link.regions.len() > 1 {
            lend(&link, buffers)?
        } else {
            ends(&link, layout.as_ref())
        };
        let mut spread: Vec<Vec<RxRing>> = port.rx.iter().map(|_| vec![]).collect();
        let queues = spread.len();
        for (index, mut ring) in receivers.into_iter().enumerate() {
            ring.receiver.start();
            spread[index % queues].push(ring);
        }
        let spread = spread.into_iter().zip(&port.rx);
        let rings = spread.map(|(rings, (_, changed))| RxRings::new(rings, changed));
        let rings: Vec<_> = rings.collect::<Result<_, _>>().map_err(memory)?;
        for ((giver, changed), rings) in port.rx.iter().zip(rings) {
            giver.give(Some(rings));
            Interrupt::notify(&**changed);
        }
        for (worker, giver) in port.tx.iter().enumerate() {
            giver.give(senders.get(worker % senders.len().max(1)).cloned());
        }
        port.connection = Some(id);
        port.trouble.clear();
        let credentials = self.channel.credentials();
        port.link = Some(Established { link, senders, peer: self.peer.clone(), interface, credentials });
        Ok(())
    }
}

/// A slave's memory: with buffers of its own, or with those of our packets where they can be shared.
fn make(port: &Port, agreed: &Agreed, buffers: &Buffers) -> Result<SlaveMemory, End> {
    let (config, mode) = (&port.config, port.config.mode());
    // Descriptors tell places in 32 bits.
    let fits = |bytes: u64| u32::try_from(bytes).is_ok() && agreed.max_region > 0;
    let shared = buffers.shared_file().filter(|(_, bytes)| config.zero_copy && fits(*bytes));
    let (own, more) = match shared {
        Some((file, bytes)) => {
            let file = file.try_clone_to_owned().map_err(memory)?;
            (None, vec![(Arc::new(file), bytes)])
        }
        None => (Some(config.buffer_size), vec![]),
    };
    SlaveMemory::make(agreed, own, mode, more).map_err(memory)
}

/// Both directions' ends of a link whose packets are copied.
fn ends(link: &Link<Arc<OwnedFd>>, layout: Option<&Layout>) -> (Vec<RxRing>, Vec<SharedRing>) {
    let receivers = link.receivers(layout).into_iter().zip(&link.receive);
    let senders = link.transmitters(layout).into_iter().zip(&link.transmit);
    let rx = |(receiver, queue): (Receiver, &Queue<Arc<OwnedFd>>)| {
        let interrupt = queue.interrupt.clone();
        RxRing { receiver, interrupt, lent: None }
    };
    let tx = |(ring, queue): (Transmitter, &Queue<Arc<OwnedFd>>)| TxRing::new(ring, queue.interrupt.clone(), None);
    (receivers.map(rx).collect(), senders.map(tx).collect())
}

/// The same for a slave that lends its packet buffers.
fn lend(link: &Link<Arc<OwnedFd>>, buffers: &Buffers) -> Result<(Vec<RxRing>, Vec<SharedRing>), End> {
    let mut rx = vec![];
    for queue in &link.receive {
        let mut lent = Lent::new(queue.ring.size().into(), buffers);
        let spans: Option<Vec<_>> = (0..usize::from(queue.ring.size())).map(|slot| lent.lend(slot)).collect();
        let spans = spans.ok_or_else(|| memory("there are too few packet buffers for the rings"))?;
        let receiver = Receiver::slave(queue.ring.clone(), |slot| place(spans[usize::from(slot)]));
        rx.push(RxRing { receiver, interrupt: queue.interrupt.clone(), lent: Some(lent) });
    }
    let tx = link.transmit.iter().map(|queue| {
        let lent = Lent::new(queue.ring.size().into(), buffers);
        let transmitter = Transmitter::slave(queue.ring.clone(), |_| Place::default());
        TxRing::new(transmitter, queue.interrupt.clone(), Some(lent))
    });
    Ok((rx, tx.collect()))
}
