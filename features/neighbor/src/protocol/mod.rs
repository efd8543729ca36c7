//! The differences between the resolution protocols: ARP for IPv4, Neighbor Discovery for IPv6.

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::ArcSpec;
use quiver_engine::trace::Record;
use quiver_interface::InterfaceId;
use quiver_ip::{Family, Ingress};
use quiver_wire::{EtherType, MacAddress};

pub mod arp;
pub mod nd;

/// The protocol of a family.
pub trait Protocol: Family {
    /// A message that is worth telling.
    type Message: Copy + Send + 'static;
    /// The kind of configured neighbours.
    const KIND: &'static str;
    /// The kind of the settings of one interface.
    const INTERFACE_SETTINGS: &'static str;
    /// The kind of their settings.
    const SETTINGS: &'static str;
    /// The node that hears messages, and its arcs; the first are those of [`crate::input`].
    const NODE: &'static str;
    /// See [`Protocol::NODE`].
    const ARCS: &'static [ArcSpec];
    /// Arcs that drop malformed messages, under any configuration.
    const MALFORMED: &'static [&'static str];
    /// The part of names of counters that says which protocol it is.
    const COUNTED: &'static str;
    /// Ethertype of frames with messages.
    const CARRIED: EtherType;
    /// MAC address of messages to all hosts.
    const ALL: MacAddress;
    /// Announcements of a new address, each with its delay after the first.
    const SAYINGS: &'static [(Duration, Announcement)];

    /// Parses the message of a packet that control needs; else returns the packet's arc. Hosts that `is_guest` accepts
    /// are on the link, whatever their addresses.
    fn read(
        bytes: &[u8],
        ingress: &Ingress<Self>,
        interface: InterfaceId,
        is_guest: impl Fn(Self::Address) -> bool,
    ) -> Result<Self::Message, u16>;
    /// The type of a message, for its counter.
    fn sort(message: &Self::Message) -> Sort;
    /// Trace text of a packet.
    fn trace(record: &Record) -> String;
    /// Handles a message on the control thread; its frame came from `station`.
    fn hear(control: &Control, interface: InterfaceId, station: Option<MacAddress>, message: &Self::Message);

    /// The request in a message that asks for another host's address; none in probes, whose sender has no address.
    fn question_in(message: &Self::Message) -> Option<Question<Self>>;
    /// The reply to a request on behalf of its target.
    fn answer_for(own: MacAddress, question: &Self::Message) -> Message;
    /// MAC address to which a request for an address is sent.
    fn group_of(address: Self::Address) -> MacAddress;
    /// A request for a neighbor; to all hosts, or to the neighbor `itself`.
    fn question(own: MacAddress, source: Self::Address, wanted: Self::Address, itself: bool) -> Message;
    /// A probe whether an address is in use.
    fn probe(own: MacAddress, address: Self::Address) -> Message;
    /// Says to all that an address is ours.
    fn claim(own: MacAddress, address: Self::Address) -> Message;
}

/// Where is an address?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<F: Protocol> {
    /// Sender of the request.
    pub sender: F::Address,
    /// Where it says that it is.
    pub mac: Option<MacAddress>,
    /// The requested address.
    pub target: F::Address,
    /// Whether the request is a unicast to the target, whose MAC address is known already.
    pub of_itself: bool,
}

/// An announcement of one of our addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// Probe: is the address in use?
    Probe,
    /// It is ours.
    Claim,
}

/// Type of a message, for its counter. A gratuitous message announces its sender's own address to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A request for an address.
    Request,
    /// A reply to a request.
    Reply,
    /// An unsolicited announcement.
    Gratuitous,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// Type of the message, for its counter.
    pub sort: Sort,
    /// Its bytes, behind the link layer's header.
    pub bytes: Vec<u8>,
}
