//! Differences between IPv4 and IPv6 in the nodes. Everything else is written once, over a [`Family`].
//!
//! - `v4`, `v6`: the families: where fields lie, what a router accepts, flows, fragments.

use quiver_control::ObjectError;
use quiver_control::object::Scalar;
use quiver_engine::{ArcSpec, Field, Isa, LANES, Lanes, Mask, PacketLanes, Quarters, Windows};
use quiver_wire::{InterfaceAddress, IpProtocol, MacAddress};

use crate::fault::Fault;
use crate::fib::{Forwarding, Special};

pub(crate) mod flow;
pub mod v4;
pub(crate) mod v6;

pub use flow::FlowKey;

/// Declares a trait of the constants in which a room's families differ, and those of IPv4 and IPv6 side by side:
/// `const NAME: Type = OF_IP4, OF_IP6;`.
#[macro_export]
macro_rules! of_families {
    ($(#[$meta:meta])* $vis:vis trait $name:ident: $base:path {
        $($(#[$doc:meta])* const $constant:ident: $type:ty = $ip4:expr, $ip6:expr;)+
    }) => {
        $(#[$meta])*
        $vis trait $name: $base {
            $($(#[$doc])* const $constant: $type;)+
        }
        impl $name for quiver_wire::V4 {
            $(const $constant: $type = $ip4;)+
        }
        impl $name for quiver_wire::V6 {
            $(const $constant: $type = $ip6;)+
        }
    };
}

/// Bytes of a layer 3 stage's window before the IP header.
pub const BACK: u32 = 14;

/// IPv4 or IPv6, as the nodes of forwarding need it.
pub trait Family: Forwarding<Address: Scalar> {
    /// The other family.
    type Other: Family<Other = Self>;
    /// Names of nodes and objects.
    const NAMES: &'static Names;
    /// Where packets go from the first node. The first arc is the way on, feature arc [`Names::unicast`].
    const INPUT: &'static [ArcSpec];
    /// Where those go from the lookup that are for a link and not for a host beyond it.
    const ON_LINK: ArcSpec;
    /// Routes that each table has from the beginning.
    const SPECIAL: &'static [(&'static str, Special)];
    /// Whether the first and the last address of a subnet stand for all its hosts.
    const HAS_BROADCASTS: bool;
    /// Bytes of a packet that every link of the family takes (RFC 791, 3.2; RFC 8200, 5).
    const MTU_MIN: u16;
    /// Bytes of a packet that a link has to take to be one of the family's.
    const LINK_MTU_MIN: u16;
    /// Whether a packet that is too long for a link is quoted to its sender a hop older, as it would have gone there: so VPP's
    /// users know it.
    const REPORTED_OLDER: bool;
    /// Fault for routes with the action `unreachable`.
    const UNREACHABLE: Fault;
    /// Protocol number of a packet without a payload, if the family has one.
    const NOTHING: Option<IpProtocol>;
    /// Number of arcs of `ip6-local` that the family has.
    const LOCAL_ARCS: usize;
    /// The groups that every router is in, on all links by which it speaks the family.
    const GROUPS: &'static [Self::Address];

    /// The bytes of the window that the checks and the hash of flows read.
    const HEADER: Quarters;
    /// Packets that [`Family::check`] looks at more closely.
    fn is_odd<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// Lets those packets leave that a router must not accept; `enabled` are those of interfaces that speak the family.
    /// Cuts what the link added behind packets. Addresses that no router forwards of itself are looked at more closely if they are
    /// `ordinary` somewhere.
    fn check<I: Isa>(p: &mut PacketLanes<I>, enabled: Mask<I>, ordinary: bool);
    /// The destinations.
    fn destinations<I: Isa>(p: &PacketLanes<I>) -> [Self::Bits; LANES];
    /// The senders.
    fn sources<I: Isa>(p: &PacketLanes<I>) -> [Self::Bits; LANES];
    /// The packets of this sender.
    fn are_from<I: Isa>(p: &PacketLanes<I>, sender: Self::Bits) -> Mask<I>;
    /// The packets for this destination.
    fn are_for<I: Isa>(p: &PacketLanes<I>, destination: Self::Bits) -> Mask<I>;
    /// The destination of a packet, given its window.
    fn destination_in(window: &[u8; 64]) -> Self::Bits;
    /// The sender of a packet, given its window.
    fn source_in(window: &[u8; 64]) -> Self::Bits;
    /// The hash of each packet; its low four bits choose a bucket, the same for all packets of a flow.
    fn flow_hash<I: Isa>(p: &PacketLanes<I>) -> Lanes<I>;
    /// The same for one packet, from its header on: for control, and for tests.
    fn flow_hash_of(packet: &[u8]) -> u32;
    /// Flow keys of eight packets, for tables that choose the fields.
    fn flow_key<I: Isa>(p: &PacketLanes<I>, windows: &mut Windows<'_>) -> FlowKey<Lanes<I>>;
    /// The same for one packet, from its header on.
    fn flow_key_of(packet: &[u8]) -> Option<FlowKey<u32>>;
    /// Bytes from the IP header on, as it says.
    fn length<I: Isa>(p: &PacketLanes<I>) -> Lanes<I>;
    /// Hops that packets have left.
    fn hop_limit<I: Isa>(p: &PacketLanes<I>) -> Lanes<I>;
    /// Where the word is that changes as hops are taken off, in the window.
    const HOPS: Field;
    /// Takes hops off that word; the limit is above them.
    fn take_hops<I: Isa>(word: Lanes<I>, hops: Lanes<I>) -> Lanes<I>;
    /// The packets that must not leave the link that they came from, because of their senders' addresses.
    fn of_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// The packets that are for a single host ([`Family::is_host`]).
    fn for_hosts<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// The packets that concern their link alone, whatever is configured: those of and for its addresses, and about neighbours.
    fn stays_on_link<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// The packets whose payload follows a header without options or extension headers, later fragments excepted.
    fn is_plain<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// The plain packets that are no fragments.
    fn is_whole<I: Isa>(p: &PacketLanes<I>) -> Mask<I>;
    /// The protocol number in the fixed header; that of the payload, if the packet is plain.
    fn protocol<I: Isa>(p: &PacketLanes<I>) -> Lanes<I>;
    /// Where both ports of TCP and UDP lie behind such a header.
    const PORTS: Field;
    /// Takes a hop off one packet's header.
    fn take_hop(header: &mut Self::Header);

    /// Payload behind the IP header. None if the packet is malformed.
    fn payload(packet: &[u8]) -> Option<Payload>;
    /// Why a packet for us is not taken, whatever it carries.
    fn refusal(packet: &[u8]) -> Option<Refusal>;
    /// Whether a packet for us is taken only if a route leads to its sender (RFC 1812, 4.2.2.11): not where senders may have no
    /// address yet that anybody could answer to.
    fn needs_way_back(header: &Self::Header, payload: &Payload) -> bool;
    /// Whether a packet is a message about neighbours, among which others may name our addresses as theirs.
    fn is_discovery(packet: &[u8]) -> bool;
    /// Whether a packet that is too long may be cut by us, who `forwarded` it or made it.
    fn may_fragment(packet: &[u8], forwarded: bool) -> bool;
    /// Cuts a packet into fragments of at most `mtu` bytes, each one hop older if `forwarded`, and gives each out in three
    /// stretches that follow one another. None if it cannot be cut; some fragments may have been given out by then.
    fn cut(packet: &[u8], mtu: usize, forwarded: bool, give: impl FnMut([&[u8]; 3])) -> Option<()>;
    /// Text of a header in `show trace`.
    fn describe(header: &Self::Header) -> String;

    /// Whether the address may be a single host's, at least on a link of ours.
    fn is_host(address: Self::Address) -> bool;
    /// Checks an address of an interface on its own, regardless of other objects.
    fn check_address(address: &InterfaceAddress<Self>) -> Result<(), ObjectError>;
    /// The address that an interface has for its link alone, if it has one.
    fn link_local(mac: MacAddress) -> Option<Self::Address>;
    /// Whether an address is for a link alone.
    fn is_link_local(address: Self::Address) -> bool;
    /// The solicited-node group of an address, if the family has such groups.
    fn own_group(address: Self::Address) -> Option<Self::Address>;
    /// The MAC address to which frames for a group go.
    fn group_mac(group: Self::Address) -> MacAddress;
}

/// Payload behind an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Protocol of the payload.
    pub protocol: IpProtocol,
    /// Offset of the payload in bytes, from the IP header on.
    pub offset: usize,
    /// Offset of the protocol field in bytes, from the IP header on.
    pub pointer: usize,
    /// Offset of the fragment in the whole packet, if this is a fragment.
    pub fragment: Option<usize>,
}

/// Refusal of a packet for this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The sender receives this error.
    Told(Fault),
    /// No error is sent.
    Silent,
}

/// Names of nodes, feature arcs and kinds of objects of a family.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub struct Names {
    pub input: &'static str,
    pub lookup: &'static str,
    pub again: &'static str,
    /// The node of packets whose next hop is of the other family.
    pub crossing: &'static str,
    pub rewrite: &'static str,
    pub resolve: &'static str,
    pub error: &'static str,
    pub reassembly: &'static str,
    /// Feature arcs, and the nodes of the same names at their ends.
    pub unicast: &'static str,
    pub multicast: &'static str,
    pub local: &'static str,
    pub punt: &'static str,
    pub output: &'static str,
    /// Drop reason for packets of interfaces without the family.
    pub not_enabled: &'static str,
    /// First word of commands.
    pub command: &'static str,
    /// The prefix of default names of tables.
    pub vrf: &'static str,
    /// Name of the family and of its flow hash in `show ip fib`.
    pub protocol: &'static str,
    pub flow_hash: &'static str,
    /// Kinds of objects.
    pub tables: &'static str,
    pub interface_tables: &'static str,
    pub addresses: &'static str,
    pub routes: &'static str,
    pub source_routes: &'static str,
    pub path_mtus: &'static str,
    pub special_prefixes: &'static str,
}
