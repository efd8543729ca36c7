//! Settings of an interface.

use std::time::Duration;

use quiver_memif_protocol::layout::BUFFER_MAX;
use quiver_memif_protocol::{
    Address, Channel, Handshake, LOG2_RING_SIZE_MAX, Mode, RINGS_MAX, Request, Role, Secret, Storage,
};

/// Settings of an interface. [`Settings::master`] and [`Settings::slave`] fill in the usual values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the master listens. Interfaces of one client may share it.
    pub socket: Address,
    /// A master listens and maps the slave's memory; a slave connects, again and again.
    pub role: Role,
    /// The interface's number on the socket, the same at both ends.
    pub id: u32,
    /// Content of the packets, the same at both ends.
    pub mode: Mode,
    /// Secret that the peer must present; a master with [`Secret::NONE`] accepts every peer.
    pub secret: Secret,
    /// The program's name for the peer to show, cut to 31 bytes.
    pub name: String,
    /// The interface's name for the peer to show, cut to 31 bytes.
    pub interface: String,
    /// Receive queues. A slave requests this number; a master accepts the number that the slave offers.
    pub rx_queues: u16,
    /// Transmit queues, likewise.
    pub tx_queues: u16,
    /// Descriptors of a ring as a power of two, up to 14; a slave's choice.
    pub log2_ring_size: u8,
    /// Bytes of a buffer; a slave's choice. Longer packets take several.
    pub buffer: u32,
    /// Interval between connection attempts of a slave.
    pub retry: Duration,
}

impl Settings {
    /// A master: one queue each way, Ethernet, no secret.
    pub fn master(socket: Address, id: u32) -> Settings {
        Settings {
            socket,
            role: Role::Master,
            id,
            mode: Mode::Ethernet,
            secret: Secret::NONE,
            name: "quiver-memif-client".into(),
            interface: format!("memif{id}"),
            rx_queues: 1,
            tx_queues: 1,
            log2_ring_size: 10,
            buffer: 2048,
            retry: Duration::from_secs(2),
        }
    }
    /// A slave: one queue each way of 1,024 descriptors with buffers of 2,048 bytes, Ethernet, no secret.
    pub fn slave(socket: Address, id: u32) -> Settings {
        Settings { role: Role::Slave, ..Settings::master(socket, id) }
    }
    /// A slave's connection to its master, from the first message on.
    pub(crate) fn handshake(&self, channel: Channel) -> Handshake {
        let request = Request {
            id: self.id,
            mode: self.mode,
            secret: self.secret,
            name: self.name.clone(),
            interface: self.interface.clone(),
            s2m_rings: self.tx_queues,
            m2s_rings: self.rx_queues,
            log2_ring_size: self.log2_ring_size,
        };
        Handshake::slave(channel, request, Storage { buffer: self.buffer, shared: None })
    }
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        if let Address::Abstract { namespace: Some(_), .. } = &self.socket {
            return Err(SettingsError::Namespace(self.socket.to_string()));
        }
        if self.role == Role::Master {
            return Ok(());
        }
        if self.log2_ring_size > LOG2_RING_SIZE_MAX {
            return Err(SettingsError::RingSize(self.log2_ring_size));
        }
        if !(64..=BUFFER_MAX).contains(&self.buffer) {
            return Err(SettingsError::Buffer(self.buffer));
        }
        let most = usize::from(self.rx_queues.max(self.tx_queues));
        if most > RINGS_MAX || self.rx_queues == 0 && self.tx_queues == 0 {
            return Err(SettingsError::Queues { rx: self.rx_queues, tx: self.tx_queues });
        }
        Ok(())
    }
}

/// Errors in the settings of an interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A program is in one network namespace.
    #[error(
        "socket: '{0}' names a network namespace; run the program in it (`ip netns exec NAME ...`) and leave that out"
    )]
    Namespace(String),
    /// Rings have 16,384 descriptors at most.
    #[error("log2_ring_size: {0} is out of range; give 0 to {LOG2_RING_SIZE_MAX}")]
    RingSize(u8),
    /// Buffers hold a packet at most.
    #[error("buffer: {0} bytes are not possible; 64 to {BUFFER_MAX} are")]
    Buffer(u32),
    /// No queues, or too many.
    #[error("rx_queues, tx_queues: {rx} and {tx} are not possible; up to {RINGS_MAX} are, and one of them at least")]
    Queues {
        /// To receive by.
        rx: u16,
        /// To send by.
        tx: u16,
    },
}
