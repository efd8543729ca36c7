//! Why one end refuses the other.

use crate::message::MessageError;

/// Why a handshake ends. The text is what the peer is told; its words are those that other implementations use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The master has no such interface.
    #[error("unmatched interface id")]
    UnknownId,
    /// Another slave has it.
    #[error("already connected")]
    AlreadyConnected,
    /// One carries Ethernet frames, the other IP packets.
    #[error("mode mismatch")]
    Mode,
    /// The slave sent none.
    #[error("secret required")]
    SecretRequired,
    /// The slave sent another one.
    #[error("incorrect secret")]
    SecretWrong,
    /// The versions do not meet.
    #[error("incompatible version")]
    Version,
    /// A message that does not belong here.
    #[error("unexpected message {0}")]
    Unexpected(&'static str),
    /// Regions come in order, and not without end.
    #[error("unexpected region index")]
    RegionIndex,
    /// A message came without its file.
    #[error("missing file descriptor")]
    NoFile,
    /// Rings come in order, and no more than were told.
    #[error("unexpected ring index")]
    RingIndex,
    /// A ring that does not lie in its region, or with a size that is too large.
    #[error("invalid ring")]
    Ring,
    /// No rings.
    #[error("no rings")]
    NoRings,
    /// Bytes that are no message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The agreed memory cannot be mapped, or the rings are not initialized.
    #[error("{0}")]
    Memory(String),
    /// The peer said so, and needs not be told.
    #[error("the peer says: {0}")]
    ByPeer(String),
}
