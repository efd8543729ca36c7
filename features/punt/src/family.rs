//! Differences between IPv4 and IPv6.

use quiver_icmp::family::Icmp;
use quiver_ip::Family;
use quiver_udp::Udp;
use quiver_wire::{V4, V6};

use crate::reason::Reason;

/// A family whose packets are punted.
pub trait Punted: Family + Icmp + Udp {
    /// The kind of what is punted.
    const PUNTS: &'static str;
    /// The kind of where it goes.
    const REDIRECTS: &'static str;
    /// The kind of what limits it.
    const POLICERS: &'static str;
    /// The node behind `ip4-local`.
    const LISTENER: &'static str;
    /// The node of answers to echo requests that nobody has sent.
    const UNAWAITED: &'static str;
    /// Why nobody takes packets of a protocol.
    const UNKNOWN_PROTOCOL: Reason;
    /// Why nobody takes packets for a port.
    const UNKNOWN_PORT: Reason;
    /// Why nobody takes answers to an echo request.
    const UNAWAITED_ECHO: Reason;
    /// The node that limits them, a feature of the arc of punted packets.
    const POLICER: &'static str;
    /// The node that sends packets elsewhere, a feature of the arc of punted packets.
    const REDIRECT: &'static str;
}

impl Punted for V4 {
    const PUNTS: &'static str = "punts";
    const REDIRECTS: &'static str = "punt-redirects";
    const POLICERS: &'static str = "punt-policers";
    const LISTENER: &'static str = "ip4-punt-listener";
    const UNAWAITED: &'static str = "ip4-punt-echo-reply";
    const UNKNOWN_PROTOCOL: Reason = Reason::Ip4UnknownProtocol;
    const UNKNOWN_PORT: Reason = Reason::Ip4UnknownPort;
    const UNAWAITED_ECHO: Reason = Reason::Ip4UnawaitedEcho;
    const POLICER: &'static str = "ip4-punt-policer";
    const REDIRECT: &'static str = "ip4-punt-redirect";
}

impl Punted for V6 {
    const PUNTS: &'static str = "ip6-punts";
    const REDIRECTS: &'static str = "ip6-punt-redirects";
    const POLICERS: &'static str = "ip6-punt-policers";
    const LISTENER: &'static str = "ip6-punt-listener";
    const UNAWAITED: &'static str = "ip6-punt-echo-reply";
    const UNKNOWN_PROTOCOL: Reason = Reason::Ip6UnknownProtocol;
    const UNKNOWN_PORT: Reason = Reason::Ip6UnknownPort;
    const UNAWAITED_ECHO: Reason = Reason::Ip6UnawaitedEcho;
    const POLICER: &'static str = "ip6-punt-policer";
    const REDIRECT: &'static str = "ip6-punt-redirect";
}
