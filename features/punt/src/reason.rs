//! Reasons for which packets for us are punted that no protocol or port stands for: nobody here can do anything with them.

use quiver_control::Object;

quiver_control::choice! {
    /// Why packets for us are punted.
    pub enum Reason {
        /// Nobody speaks their protocol.
        Ip4UnknownProtocol = "ip4-unknown-protocol",
        /// Nobody listens on their port.
        Ip4UnknownPort = "ip4-unknown-port",
        /// They answer an echo request that nobody here has sent.
        Ip4UnawaitedEcho = "ip4-unawaited-echo-reply",
        /// Nobody speaks their protocol.
        Ip6UnknownProtocol = "ip6-unknown-protocol",
        /// Nobody listens on their port.
        Ip6UnknownPort = "ip6-unknown-port",
        /// They answer an echo request that nobody here has sent.
        Ip6UnawaitedEcho = "ip6-unawaited-echo-reply",
    } as "punt-reason", "the name of a reason, which `show punt reasons` lists";
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Reason; 6] = [
        Reason::Ip4UnknownProtocol,
        Reason::Ip4UnknownPort,
        Reason::Ip4UnawaitedEcho,
        Reason::Ip6UnknownProtocol,
        Reason::Ip6UnknownPort,
        Reason::Ip6UnawaitedEcho,
    ];
    /// The number by which VPP's clients know it; theirs begin with 1, too.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }
    /// The reason of a number.
    pub fn of_number(number: u32) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.number() == number)
    }
    /// Whether its packets are of IPv6.
    pub fn is_ip6(self) -> bool {
        matches!(self, Reason::Ip6UnknownProtocol | Reason::Ip6UnknownPort | Reason::Ip6UnawaitedEcho)
    }
}

/// Punting of local packets by reason, if no object matches their protocol or port.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "punt-reasons")]
pub struct PuntReason {
    /// Reason of the punted packets.
    #[key]
    pub reason: Reason,
    /// Path of a program's datagram socket that receives the packets as whole frames. Without it, the punt redirect
    /// of their interface applies.
    pub socket: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_reasons() {
        assert_eq!(Reason::ALL.map(Reason::number), [1, 2, 3, 4, 5, 6]);
        for number in 0..8 {
            assert_eq!(Reason::of_number(number).map(Reason::number), (1..=6).contains(&number).then_some(number));
        }
        for reason in Reason::ALL {
            assert_eq!(reason.to_string().starts_with("ip6-"), reason.is_ip6());
        }
    }
}
