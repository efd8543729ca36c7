//! A control connection of either role, from the first message to the mapped rings.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use quiver_memif_protocol::layout::{Layout, SlaveMemory};
use quiver_memif_protocol::message::{Init, Message};
use quiver_memif_protocol::{Channel, ChannelError, Link, Master, Refusal, Request, Slave, Terms, master, slave};

use crate::{Peer, Settings};

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What came of a handshake.
pub(crate) struct Established {
    pub link: Link<Arc<OwnedFd>>,
    /// Of a slave: where its buffers lie.
    pub layout: Option<Layout>,
    pub peer: Peer,
}

enum Side {
    Master(Master<OwnedFd>),
    Slave { slave: Slave<Arc<OwnedFd>>, buffer: u32, memory: Option<Box<SlaveMemory>> },
}

/// A connection and where it stands.
pub(crate) struct Handshake {
    channel: Channel,
    side: Side,
    interface: String,
    /// What the other end calls itself, as far as it has said so.
    peer: String,
}

impl Handshake {
    /// A slave that has connected.
    pub fn slave(channel: Channel, settings: &Settings) -> Handshake {
        let request = Request {
            id: settings.id,
            mode: settings.mode,
            secret: settings.secret,
            name: settings.name.clone(),
            interface: settings.interface.clone(),
            s2m_rings: settings.tx_queues,
            m2s_rings: settings.rx_queues,
            log2_ring_size: settings.log2_ring_size,
        };
        let side = Side::Slave { slave: Slave::new(request), buffer: settings.buffer, memory: None };
        Handshake { channel, side, interface: settings.interface.clone(), peer: String::new() }
    }
    /// A master's connection, which is greeted; whose it is, its first message will say.
    pub fn master(channel: Channel, name: &str) -> Result<Handshake, ChannelError> {
        let (master, hello) = Master::new(name);
        channel.send(&hello, None)?;
        Ok(Handshake { channel, side: Side::Master(master), interface: String::new(), peer: String::new() })
    }
    /// What a master's interface is called; told at the end.
    pub fn set_interface(&mut self, name: &str) {
        self.interface = name.to_owned();
    }
    /// Reads one message and answers it. None if there is none; `Some(None)` if there is more to be said. `admit` is asked
    /// by a master for whom the slave is.
    pub fn advance(
        &mut self,
        admit: impl FnOnce(&Init) -> Result<Terms, Refusal>,
    ) -> Result<Option<Option<Established>>, End> {
        let Some((message, file)) = self.channel.receive()? else { return Ok(None) };
        self.answer(&message, file, admit).map(Some)
    }
    fn answer(
        &mut self,
        message: &Message,
        file: Option<OwnedFd>,
        admit: impl FnOnce(&Init) -> Result<Terms, Refusal>,
    ) -> Result<Option<Established>, End> {
        match &mut self.side {
            Side::Master(master) => {
                if let Message::Init(init) = message {
                    self.peer = init.name.to_string();
                }
                match master.received(message, file, admit)? {
                    master::Step::Send(answer) => self.channel.send(&answer, None)?,
                    master::Step::Map { offer, mode, interface } => {
                        let link = Link::map(offer, mode).map_err(|error| Refusal::Memory(error.to_string()))?;
                        if let Some(answer) = master.connected(&self.interface) {
                            self.channel.send(&answer, None)?;
                        }
                        let peer = self.peer(interface.to_string());
                        return Ok(Some(Established { link: link.shared(), layout: None, peer }));
                    }
                }
            }
            Side::Slave { slave, buffer, memory } => {
                let mut step = slave.received(message)?;
                if let slave::Step::Make(agreed) = step {
                    self.peer = agreed.master.to_string();
                    let made = SlaveMemory::make(&agreed, Some(*buffer), slave.mode(), vec![])
                        .map_err(|error| Refusal::Memory(error.to_string()))?;
                    step = slave.offer(&made.offer);
                    *memory = Some(Box::new(made));
                }
                match step {
                    slave::Step::Send(message, file) => {
                        self.channel.send(&message, file.as_ref().map(|file| file.as_fd()))?;
                    }
                    slave::Step::Connected(interface) => {
                        let Some(memory) = memory.take() else { return Ok(None) };
                        let layout = Some(memory.layout);
                        let peer = self.peer(interface.to_string());
                        return Ok(Some(Established { link: memory.link, layout, peer }));
                    }
                    slave::Step::Wait | slave::Step::Make(_) => {}
                }
            }
        }
        Ok(None)
    }
    fn peer(&self, interface: String) -> Peer {
        Peer { name: self.peer.clone(), interface, credentials: self.channel.credentials() }
    }
    /// Tells the peer why this is the end.
    pub fn refuse(mut self, refusal: &Refusal) {
        let message = match &mut self.side {
            Side::Master(master) => master.refuse(refusal),
            Side::Slave { slave, .. } => slave.refuse(refusal),
        };
        // It may be gone already.
        let _ = self.channel.send(&message, None);
    }
}
