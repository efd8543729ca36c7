//! One control channel, and what comes of it: the rings, given to the workers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_control::Time;
use quiver_engine::{Buffers, Lent};
use quiver_memif_protocol::layout::Layout;
use quiver_memif_protocol::{
    Channel, ChannelError, End, Established, Handshake, Interrupt, Link, Places, Queue, Receiver, Refusal, Request,
    Role, Storage, Transmitter, Waker,
};

use crate::config::MemifQueues;
use crate::port::{Attached, ConnectionId, Port};
use crate::rx::{BUFFERS, LentBuffers, RxRing, RxRings, place};
use crate::tx::{SharedRing, TxRing};

/// Our name for peers.
fn name() -> String {
    format!("Quiver {}", env!("CARGO_PKG_VERSION"))
}

/// A control channel.
pub(crate) struct Connection {
    pub handshake: Handshake,
    /// The socket that it was accepted on, or connected to.
    pub socket: u32,
    /// When a peer that has said too little is given up.
    pub deadline: Time,
}

fn memory(error: impl std::fmt::Display) -> End {
    End::Refused(Refusal::Memory(error.to_string()))
}

impl Connection {
    /// A slave that was accepted: greets it.
    pub fn accepted(channel: Channel, socket: u32, deadline: Time) -> Result<Connection, ChannelError> {
        Ok(Connection { handshake: Handshake::master(channel, &name())?, socket, deadline })
    }
    /// A master that was connected to for an interface, with one ring for sending for each worker where nothing else is
    /// said.
    pub fn connected(channel: Channel, port: &Port, workers: usize, buffers: &Buffers, deadline: Time) -> Connection {
        let config = &port.config;
        let request = Request {
            id: port.number,
            mode: config.mode(),
            secret: config.secret(),
            name: name(),
            interface: config.name.clone(),
            s2m_rings: config.tx_queues.map_or(u16::try_from(workers).unwrap_or(u16::MAX), MemifQueues::get),
            m2s_rings: config.rx_queues.get(),
            log2_ring_size: config.log2_ring_size(),
        };
        let shared = buffers.shared_file().filter(|_| config.zero_copy);
        // Without a descriptor of a file to spare, packets are copied.
        let shared = shared.and_then(|(file, bytes)| Some((Arc::new(file.try_clone_to_owned().ok()?), bytes)));
        let storage = Storage { buffer: config.buffer_size, shared };
        Connection { handshake: Handshake::slave(channel, request, storage), socket: config.socket(), deadline }
    }
}
impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handshake.as_fd()
    }
}

impl Port {
    /// Gives the rings of a connection to the workers.
    pub fn attach(
        &mut self,
        id: ConnectionId,
        established: Established,
        buffers: &Buffers,
        waker: &Arc<Waker>,
    ) -> Result<(), End> {
        let Established { link, layout, peer } = established;
        let (receivers, senders) = if link.role == Role::Slave && layout.is_none() {
            lend(&link, buffers, waker)?
        } else {
            ends(&link, layout.as_ref(), waker)
        };
        let mut spread: Vec<Vec<RxRing>> = self.rx.iter().map(|_| vec![]).collect();
        let queues = spread.len();
        for (index, mut ring) in receivers.into_iter().enumerate() {
            ring.receiver.start();
            spread[index % queues].push(ring);
        }
        let spread = spread.into_iter().zip(&self.rx);
        let rings = spread.map(|(rings, (_, changed))| RxRings::new(rings, changed));
        let rings: Vec<_> = rings.collect::<Result<_, _>>().map_err(memory)?;
        for ((giver, changed), rings) in self.rx.iter().zip(rings) {
            giver.give(Some(rings));
            Interrupt::notify(&**changed);
        }
        for (worker, giver) in self.tx.iter().enumerate() {
            giver.give(senders.get(worker % senders.len().max(1)).cloned());
        }
        self.connection = Some(id);
        self.trouble.clear();
        self.link = Some(Attached { link, senders, peer });
        Ok(())
    }
}

/// Both directions' ends of a link whose packets are copied.
fn ends(link: &Link<Arc<OwnedFd>>, layout: Option<&Layout>, waker: &Arc<Waker>) -> (Vec<RxRing>, Vec<SharedRing>) {
    let receivers = link.receivers(layout).into_iter().zip(&link.receive);
    let senders = link.transmitters(layout).into_iter().zip(&link.transmit);
    let rx = |(receiver, queue): (Receiver, &Queue<Arc<OwnedFd>>)| {
        let interrupt = queue.interrupt.clone();
        RxRing { receiver, interrupt, lent: None }
    };
    let tx = |(ring, queue): (Transmitter, &Queue<Arc<OwnedFd>>)| {
        TxRing::new(ring, waker.clone(), queue.interrupt.clone(), None)
    };
    (receivers.map(rx).collect(), senders.map(tx).collect())
}

/// The same for a slave that lends its packet buffers.
fn lend(
    link: &Link<Arc<OwnedFd>>,
    buffers: &Buffers,
    waker: &Arc<Waker>,
) -> Result<(Vec<RxRing>, Vec<SharedRing>), End> {
    let mut rx = vec![];
    for queue in &link.receive {
        let mut lent = Lent::new(queue.ring.size().into(), buffers);
        let spans: Option<Vec<_>> = (0..usize::from(queue.ring.size())).map(|slot| lent.lend(slot)).collect();
        let spans = spans.ok_or_else(|| memory("there are too few packet buffers for the rings"))?;
        let length = spans.first().map_or(0, |span| span.length);
        let offset = |slot| place(spans[usize::from(slot)]).offset;
        let receiver = Receiver::slave(queue.ring.clone(), Places::of(&queue.ring, BUFFERS, length, offset));
        rx.push(RxRing { receiver, interrupt: queue.interrupt.clone(), lent: Some(LentBuffers::new(lent)) });
    }
    let tx = link.transmit.iter().map(|queue| {
        let lent = Lent::new(queue.ring.size().into(), buffers);
        let transmitter = Transmitter::slave(queue.ring.clone(), Places::none());
        TxRing::new(transmitter, waker.clone(), queue.interrupt.clone(), Some(lent))
    });
    Ok((rx, tx.collect()))
}
