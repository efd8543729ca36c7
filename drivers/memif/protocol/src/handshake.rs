//! A control connection of either role over a real channel: from the greeting to mapped rings, and on to its end. Nothing
//! here waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::layout::{Layout, LayoutError, SlaveMemory};
use crate::message::{Init, Message, Mode};
use crate::slave::Agreed;
use crate::{Channel, ChannelError, Credentials, Link, Master, Refusal, Request, Slave, Terms, master, slave};

/// Why a connection ends.
#[derive(Debug, Clone, thiserror::Error)]
pub enum End {
    /// The peer is gone, or talks nonsense.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// We refuse, or the peer does.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Where a slave's packets lie.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Bytes of each buffer that it makes behind the rings.
    pub buffer: u32,
    /// Memory that it has already, and its bytes: used in place of buffers of its own, as region 1, by masters that take a
    /// second region, and as far as descriptors can tell places in it.
    pub shared: Option<(Arc<OwnedFd>, u64)>,
}

/// The other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Name of the program.
    pub name: String,
    /// The program's name of the interface.
    pub interface: String,
    /// Its process and user, where the system tells.
    pub credentials: Option<Credentials>,
}

/// Result of a finished handshake.
pub struct Established {
    /// The rings of both directions.
    pub link: Link<Arc<OwnedFd>>,
    /// Memory layout of a slave with buffers of its own.
    pub layout: Option<Layout>,
    /// The peer.
    pub peer: Peer,
}

/// Result of reading the channel.
pub enum Progress {
    /// The peer has said nothing.
    Quiet,
    /// It has said something, and was answered. There may be more.
    Answered,
    /// Packets may pass.
    Established(Box<Established>),
}

enum Side {
    Master(Master<OwnedFd>),
    Slave { slave: Slave<Arc<OwnedFd>>, storage: Storage, memory: Option<Box<SlaveMemory>> },
}

/// A connection and where it stands. The channel closes when this is dropped.
pub struct Handshake {
    channel: Channel,
    side: Side,
    /// The peer's name, once it has told one.
    peer: String,
}

impl Handshake {
    /// A slave has connected to us, and is greeted by this name.
    pub fn master(channel: Channel, name: &str) -> Result<Handshake, ChannelError> {
        let (master, hello) = Master::new(name);
        channel.send(&hello, None)?;
        Ok(Handshake { channel, side: Side::Master(master), peer: String::new() })
    }
    /// We have connected to a master.
    pub fn slave(channel: Channel, request: Request, storage: Storage) -> Handshake {
        let side = Side::Slave { slave: Slave::new(request), storage, memory: None };
        Handshake { channel, side, peer: String::new() }
    }
    /// Whether a master still waits for the slave's init message.
    pub fn awaits_init(&self) -> bool {
        matches!(&self.side, Side::Master(master) if master.awaits_init())
    }
    /// Whether packets may pass.
    pub fn is_connected(&self) -> bool {
        match &self.side {
            Side::Master(master) => master.is_connected(),
            Side::Slave { slave, .. } => slave.is_connected(),
        }
    }
    /// Reads one message and answers it. `admit` is asked by a master on which terms the slave may have its interface. On
    /// an error call [`Handshake::refuse`].
    pub fn advance(&mut self, admit: impl FnOnce(&Init) -> Result<Terms, Refusal>) -> Result<Progress, End> {
        let Some((message, file)) = self.channel.receive()? else { return Ok(Progress::Quiet) };
        let established = match &mut self.side {
            Side::Master(_) => self.master_takes(&message, file, admit)?,
            Side::Slave { .. } => self.slave_takes(&message)?,
        };
        Ok(established.map_or(Progress::Answered, |established| Progress::Established(Box::new(established))))
    }
    fn master_takes(
        &mut self,
        message: &Message,
        file: Option<OwnedFd>,
        admit: impl FnOnce(&Init) -> Result<Terms, Refusal>,
    ) -> Result<Option<Established>, End> {
        let Side::Master(master) = &mut self.side else { return Ok(None) };
        if let Message::Init(init) = message {
            self.peer = init.name.to_string();
        }
        match master.received(message, file, admit)? {
            master::Step::Send(answer) => {
                self.channel.send(&answer, None)?;
                Ok(None)
            }
            master::Step::Map { offer, mode, interface } => {
                let link = Link::map(offer, mode).map_err(|error| Refusal::Memory(error.to_string()))?;
                if let Some(connected) = master.connected() {
                    self.channel.send(&connected, None)?;
                }
                let peer = self.peer(interface.to_string());
                Ok(Some(Established { link: link.shared(), layout: None, peer }))
            }
        }
    }
    fn slave_takes(&mut self, message: &Message) -> Result<Option<Established>, End> {
        let Side::Slave { slave, storage, memory } = &mut self.side else { return Ok(None) };
        let mut step = slave.received(message)?;
        if let slave::Step::Make(agreed) = step {
            self.peer = agreed.master.to_string();
            let made = make(storage, &agreed, slave.mode()).map_err(|error| Refusal::Memory(error.to_string()))?;
            step = slave.offer(&made.offer);
            *memory = Some(Box::new(made));
        }
        match step {
            slave::Step::Send(answer, file) => {
                self.channel.send(&answer, file.as_ref().map(|file| file.as_fd()))?;
                Ok(None)
            }
            slave::Step::Connected(interface) => {
                let Some(SlaveMemory { link, layout, .. }) = memory.take().map(|made| *made) else { return Ok(None) };
                let peer = self.peer(interface.to_string());
                Ok(Some(Established { link, layout: layout.has_buffers().then_some(layout), peer }))
            }
            slave::Step::Wait | slave::Step::Make(_) => Ok(None),
        }
    }
    fn peer(&self, interface: String) -> Peer {
        Peer { name: self.peer.clone(), interface, credentials: self.channel.credentials() }
    }
    /// Closes the channel, and tells the peer why, unless it is the one that ends it.
    pub fn refuse(self, end: &End) {
        match end {
            End::Channel(ChannelError::Closed) | End::Refused(Refusal::ByPeer(_)) => {}
            end => self.disconnect(&end.to_string()),
        }
    }
    /// Closes the channel because we want to, and tells the peer why.
    pub fn disconnect(self, reason: &str) {
        // It may be gone already.
        let _ = self.channel.send(&Message::disconnect(reason), None);
    }
}
impl AsFd for Handshake {
    /// The channel: readable when the peer has said something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn make(storage: &Storage, agreed: &Agreed, mode: Mode) -> Result<SlaveMemory, LayoutError> {
    // Descriptors tell places in 32 bits.
    let fits = |bytes: u64| u32::try_from(bytes).is_ok() && agreed.max_region > 0;
    match storage.shared.as_ref().filter(|(_, bytes)| fits(*bytes)) {
        Some((file, bytes)) => SlaveMemory::make(agreed, None, mode, vec![(file.clone(), *bytes)]),
        None => SlaveMemory::make(agreed, Some(storage.buffer), mode, vec![]),
    }
}
