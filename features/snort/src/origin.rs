//! The nodes that offer packets to inspectors, and where packets go on behind them.

use quiver_interface::Direction;
use quiver_ip::family::BACK;

/// A node that offers packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// IPv4 packets that an interface has received.
    Ip4Input,
    /// IPv6 packets that an interface has received.
    Ip6Input,
    /// IPv4 packets that an interface is about to send.
    Ip4Output,
    /// IPv6 packets that an interface is about to send.
    Ip6Output,
}

impl Origin {
    /// All of them.
    pub const ALL: [Origin; 4] = [Origin::Ip4Input, Origin::Ip6Input, Origin::Ip4Output, Origin::Ip6Output];

    /// The node.
    pub const fn node(self) -> &'static str {
        match self {
            Origin::Ip4Input => "snort-ip4-input",
            Origin::Ip6Input => "snort-ip6-input",
            Origin::Ip4Output => "snort-ip4-output",
            Origin::Ip6Output => "snort-ip6-output",
        }
    }
    /// The node from which packets go on that an inspector has let pass.
    pub const fn next(self) -> &'static str {
        match self {
            Origin::Ip4Input => "snort-ip4-input-next",
            Origin::Ip6Input => "snort-ip6-input-next",
            Origin::Ip4Output => "snort-ip4-output-next",
            Origin::Ip6Output => "snort-ip6-output-next",
        }
    }
    /// The feature arc of both.
    pub const fn arc(self) -> &'static str {
        match self {
            Origin::Ip4Input => "ip4-unicast",
            Origin::Ip6Input => "ip6-unicast",
            Origin::Ip4Output => "ip4-output",
            Origin::Ip6Output => "ip6-output",
        }
    }
    /// Whether packets are about to be sent.
    pub const fn is_output(self) -> bool {
        matches!(self, Origin::Ip4Output | Origin::Ip6Output)
    }
    /// The direction of its packets.
    pub const fn direction(self) -> Direction {
        Direction::received(!self.is_output())
    }
    /// Bytes of a packet in front of the IP header: on the way out that of the link.
    pub const fn skipped(self) -> usize {
        if self.is_output() { BACK as usize } else { 0 }
    }
}
