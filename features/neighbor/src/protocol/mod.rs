//! What differs between the protocols by which neighbours are found: ARP for IPv4, Neighbour Discovery for IPv6.

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
    /// Those by which messages are dropped that are no good, whatever is configured.
    const MALFORMED: &'static [&'static str];
    /// The part of names of counters that says which protocol it is.
    const COUNTED: &'static str;
    /// What frames with messages say that they carry.
    const CARRIED: EtherType;
    /// Who hears what is for all.
    const ALL: MacAddress;
    /// What is said about an address that comes to us, and how long after the first of it.
    const SAYINGS: &'static [(Duration, Saying)];

    /// The message in a packet, if it is worth telling; else the arc that the packet takes.
    /// Who `is_guest` is on the link, whatever its address.
    fn read(
        bytes: &[u8],
        ingress: &Ingress<Self>,
        interface: InterfaceId,
        is_guest: impl Fn(Self::Address) -> bool,
    ) -> Result<Self::Message, u16>;
    /// What a message is, to be counted.
    fn sort(message: &Self::Message) -> Sort;
    /// What the trace says of a packet.
    fn trace(record: &Record) -> String;
    /// Does what a message wants, on the control side; its frame came from `station`.
    fn hear(control: &Control, interface: InterfaceId, station: Option<MacAddress>, message: &Self::Message);

    /// What a message asks, if it is a question of somebody who has an address, about another one.
    fn question_in(message: &Self::Message) -> Option<Question<Self>>;
    /// The answer to a question, in place of whom it asks for.
    fn answer_for(own: MacAddress, question: &Self::Message) -> Message;
    /// Who has to hear that somebody is asked for.
    fn group_of(address: Self::Address) -> MacAddress;
    /// Asks for a neighbour; everybody, or the neighbour `itself`.
    fn question(own: MacAddress, source: Self::Address, wanted: Self::Address, itself: bool) -> Message;
    /// Asks whether anybody has an address already.
    fn probe(own: MacAddress, address: Self::Address) -> Message;
    /// Says to all that an address is ours.
    fn claim(own: MacAddress, address: Self::Address) -> Message;
}

/// Where is an address?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<F: Protocol> {
    /// Who asks.
    pub sender: F::Address,
    /// Where it says that it is.
    pub mac: Option<MacAddress>,
    /// Who is asked for.
    pub target: F::Address,
    /// Whether the target alone is asked, whose MAC address is known already.
    pub of_itself: bool,
}

/// What is said about an address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// Who else has it?
    Probe,
    /// It is ours.
    Claim,
}

/// What is counted of a message: gratuitous are those whose sender speaks of its own address to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Who has an address?
    Request,
    /// Who asked is told.
    Reply,
    /// Who did not ask is told.
    Gratuitous,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it is, to be counted.
    pub sort: Sort,
    /// Its bytes, behind the link layer's header.
    pub bytes: Vec<u8>,
}
