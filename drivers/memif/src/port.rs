//! A memif interface and its connection.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_control::Time;
use quiver_interface::InterfaceId;

use quiver_memif_protocol::{Interrupt, Link, Peer};

use crate::config::Memif;
use crate::handover::Giver;
use crate::rx::RxRings;
use crate::tx::SharedRing;

/// A control channel's number, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ConnectionId(pub u32);

/// An interface.
pub(crate) struct Port {
    pub id: InterfaceId,
    pub config: Memif,
    pub number: u32,
    /// The control channel that has it.
    pub connection: Option<ConnectionId>,
    /// The connection, while there is one.
    pub link: Option<Attached>,
    /// Handovers of rings to the receive queues, each with the eventfd by which the queue hears of a change.
    pub rx: Vec<(Giver<RxRings>, Arc<OwnedFd>)>,
    /// Handovers of rings to the workers' transmit queues.
    pub tx: Vec<Giver<SharedRing>>,
    /// When a slave tries to connect next.
    pub retry_at: Time,
    /// Why there is no connection, as far as known.
    pub trouble: String,
}

/// A connection that stands.
pub(crate) struct Attached {
    pub link: Link<Arc<OwnedFd>>,
    /// The rings that we send by.
    pub senders: Vec<SharedRing>,
    pub peer: Peer,
}

impl fmt::Display for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.peer.interface, self.peer.name)
    }
}

impl Port {
    /// Takes the rings from the workers. True if there were any.
    pub fn disconnect(&mut self, why: String) -> bool {
        self.trouble = why;
        self.connection = None;
        if self.link.take().is_none() {
            return false;
        }
        self.rx.iter().for_each(|(giver, changed)| {
            giver.give(None);
            Interrupt::notify(&**changed);
        });
        self.tx.iter().for_each(|giver| giver.give(None));
        true
    }
}
