//! The nodes that offer packets, and what they know of a packet's flow.

use quiver_session::record::Direction;
use quiver_session::sessions::Mark;

use crate::flows::Flow;
use crate::origin::Origin;

/// Flags of packets (libdaq's `daq_common.h`): no lookup has seen it yet; it is the first of its flow; it comes from the responder.
const PRE_ROUTING: u32 = 1 << 2;
const NEW_FLOW: u32 = 1 << 12;
const REVERSE_FLOW: u32 = 1 << 13;

/// The node that offered a packet.
#[derive(Clone, Copy)]
pub(crate) enum OfferedBy {
    /// A feature of interfaces; with the packet's flow, if there is one.
    Feature(Origin, Option<Flow>),
    /// The service of chains; with the packet's mark.
    Session(Mark),
}

impl OfferedBy {
    /// Bytes in front of the IP header.
    pub fn skipped(self) -> usize {
        match self {
            OfferedBy::Feature(origin, _) => origin.skipped(),
            OfferedBy::Session(_) => 0,
        }
    }
    /// Whether packets are about to be sent.
    pub fn is_output(self) -> bool {
        matches!(self, OfferedBy::Feature(origin, _) if origin.is_output())
    }
    /// Flags for the inspector. Only a session tells who began it.
    pub fn flags(self) -> u32 {
        match self {
            OfferedBy::Feature(origin, _) if origin.is_output() => 0,
            OfferedBy::Feature(..) => PRE_ROUTING,
            OfferedBy::Session(mark) => {
                let reverse = if mark.direction() == Direction::Reverse { REVERSE_FLOW } else { 0 };
                PRE_ROUTING | reverse | if mark.is_first() { NEW_FLOW } else { 0 }
            }
        }
    }
}
