//! The part of packets that a node looks at, in layer 3 or layer 2, and the lists of interfaces that it asks.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{Flags, Isa, Mask, Mask8, PacketLanes, Paged, Quarters, arcs};
use quiver_interface::Direction;
use quiver_ip::family::BACK;
use quiver_ip::upper::Upper;
use quiver_session::key::{Ends4, plain_ip4};
use quiver_wire::{EtherType, EthernetHeader, Header, IpFamily, IpProtocol, V4, V6};

use crate::lanes::{FieldLanes, List, Ruled};
use crate::lists::Lists;
use crate::rule::{Action, Fields};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Pass => next_feature,
        Denied => drop "denied",
        /// Steps let go of packets by this arc that take the slow path.
        Full => drop "session-table-full",
    }
}

/// The numbers of lists by interface.
pub type Attached = Paged<Arc<[u32]>>;

/// Which part of packets a node looks at.
pub trait Look: Clone + Send + 'static {
    /// The nodes for received and for sent packets.
    const NODES: [&'static str; 2];
    /// VPP's names for the counts of denied packets.
    const KNOWN: [&'static str; 2];
    /// Bytes before the packet at which the windows of received packets begin; windows of sent packets begin with the
    /// link's header.
    const BACK: u32;
    /// The bytes of the window that it takes.
    const READS: Quarters;
    /// A packet's fields, from where the node's packets of this direction begin. An error if it has none but should, None where it
    /// is none of ours.
    fn fields(packet: &[u8], direction: Direction) -> Result<Option<Fields>, Unreadable>;
    /// The fields of a plain packet of IPv4 that has a session by these; None of others, also where the node has other packets.
    #[inline(always)]
    fn plain(_packet: &[u8], _direction: Direction) -> Option<Plain> {
        None
    }
    /// Its nodes, and how they find fields.
    fn look() -> ([&'static str; 2], FindFields) {
        (Self::NODES, Self::fields)
    }
    /// Checks `those` packets, whose length counts from the window's start. Returns the permitted ones, and those whose
    /// windows end too early.
    fn ask<I: Isa>(p: &PacketLanes<I>, those: Mask<I>, lists: ListsOf<'_>) -> [Mask<I>; 2];
}

/// Fields of a plain packet: TCP or UDP over IPv4 without options, and no fragment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plain {
    /// Addresses and ports.
    pub ends: Ends4,
    /// Protocol.
    pub protocol: IpProtocol,
    /// Flags of TCP.
    pub tcp_flags: u8,
}

impl Plain {
    /// Those of a packet that begins with its IP header.
    #[inline(always)]
    fn of(packet: &[u8]) -> Option<Plain> {
        /// Where TCP has its flags, behind an IP header without options (RFC 9293, 3.1).
        const FLAGS: usize = 33;
        let (ends, protocol) = packet.first_chunk().and_then(plain_ip4)?;
        let tcp_flags = if protocol == IpProtocol::TCP { *packet.get(FLAGS)? } else { 0 };
        Some(Plain { ends, protocol, tcp_flags })
    }
}

/// Where packets of layer 3 begin, of those that a node of this direction gets.
#[inline(always)]
fn routed_start(direction: Direction) -> usize {
    if direction == Direction::Tx { BACK as usize } else { 0 }
}

/// See [`Look::fields`].
pub type FindFields = fn(&[u8], Direction) -> Result<Option<Fields>, Unreadable>;

/// A packet that is cut off before its fields end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The lists of an interface.
#[derive(Clone, Copy)]
pub struct ListsOf<'f> {
    attached: &'f [u32],
    lists: &'f Lists,
}

impl<'f> ListsOf<'f> {
    /// Lists by their numbers.
    pub(crate) fn new(attached: &'f [u32], lists: &'f Lists) -> ListsOf<'f> {
        ListsOf { attached, lists }
    }
    #[inline(always)]
    fn each(self) -> impl Iterator<Item = (u32, &'f List)> {
        self.attached.iter().filter_map(move |number| Some((*number, self.lists.get(*number)?)))
    }
    /// Asks about packets of a family. Returns those that a rule permits before another denies them, and those of which the windows do not
    /// say enough.
    #[inline(always)]
    fn pass<F: Ruled, I: Isa>(self, p: &PacketLanes<I>, those: Mask<I>) -> [Mask<I>; 2] {
        let mut at_header = *p;
        at_header.length = p.length - BACK;
        let fields = FieldLanes::of::<F>(&at_header);
        let known = fields.known().without(p.length.lt(BACK));
        let (mut open, mut unsaid) = (those & known, those.without(known));
        let mut passed = open.with(Mask8(0));
        for (_, list) in self.each() {
            passed = passed | fields.decide::<F>(list, &mut open, &mut unsaid);
        }
        [passed, unsaid]
    }
    /// Whether a single packet passes. `matched` learns of the rule that decides.
    pub(crate) fn passes<L: Look>(
        self,
        packet: &[u8],
        direction: Direction,
        noted: Option<Upper>,
        matched: impl Fn((u32, usize)),
    ) -> bool {
        let fields = match L::fields(packet, direction) {
            Ok(Some(fields)) => fields.or(noted),
            Ok(None) => return true,
            Err(Unreadable) => return false,
        };
        self.decide(&fields, matched).permits()
    }
    /// The action for a packet. `matched` learns of the rule that decides: the numbers of its list and of the rule.
    pub(crate) fn decide(self, fields: &Fields, matched: impl Fn((u32, usize))) -> Action {
        let first = self.each().find_map(|(list, rules)| Some((list, rules.first(fields)?)));
        let Some((list, (number, rule))) = first else { return Action::Deny };
        matched((list, number));
        rule.action
    }
    /// Counts a packet for a rule of a list.
    pub(crate) fn count(self, worker: usize, rule: (u32, usize), bytes: u32) {
        self.lists.count(worker, rule, bytes);
    }
    /// The lists of an interface. There are none where it is not checked any more, or not yet.
    #[inline(always)]
    pub(crate) fn of(attached: &'f Attached, lists: &'f Lists, interface: u32) -> ListsOf<'f> {
        ListsOf { attached: attached.get(interface as usize).map_or(&[], |lists| lists), lists }
    }
    /// Whether there are none.
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.attached.is_empty()
    }
}

/// Packets of one family.
#[derive(Clone)]
pub struct Routed<F>(PhantomData<F>);

/// Frames.
#[derive(Clone)]
pub struct Bridged;

impl<F: Ruled> Look for Routed<F> {
    const NODES: [&'static str; 2] = match F::VERSION {
        V6::VERSION => ["acl-input-ip6", "acl-output-ip6"],
        _ => ["acl-input-ip4", "acl-output-ip4"],
    };
    const KNOWN: [&'static str; 2] = match F::VERSION {
        V6::VERSION => ["acl-plugin-in-ip6-fa", "acl-plugin-out-ip6-fa"],
        _ => ["acl-plugin-in-ip4-fa", "acl-plugin-out-ip4-fa"],
    };
    const BACK: u32 = BACK;
    const READS: Quarters = quiver_ip::upper::reads::<F>();
    fn fields(packet: &[u8], direction: Direction) -> Result<Option<Fields>, Unreadable> {
        let packet = packet.get(routed_start(direction)..).ok_or(Unreadable)?;
        Fields::of::<F>(packet).map(Some).ok_or(Unreadable)
    }
    #[inline(always)]
    fn plain(packet: &[u8], direction: Direction) -> Option<Plain> {
        if F::VERSION != V4::VERSION {
            return None;
        }
        Plain::of(packet.get(routed_start(direction)..)?)
    }
    #[inline(always)]
    fn ask<I: Isa>(p: &PacketLanes<I>, those: Mask<I>, lists: ListsOf<'_>) -> [Mask<I>; 2] {
        lists.pass::<F, I>(p, those)
    }
}

/// Offset of the word whose high half is the ethertype of untagged frames.
pub(crate) const ETHERTYPE: usize = 12;

/// The EtherType and the payload of a frame, behind its tags. None of one that ends before.
pub(crate) fn payload(frame: &[u8]) -> Option<(EtherType, &[u8])> {
    let (ethernet, mut rest) = EthernetHeader::parse(frame)?;
    let mut kind = ethernet.ethertype;
    while kind == EtherType::DOT1Q || kind == EtherType::DOT1AD {
        let (tag, behind) = rest.split_first_chunk::<4>()?;
        (kind, rest) = (EtherType::new(u16::from_be_bytes([tag[2], tag[3]])), behind);
    }
    Some((kind, rest))
}

impl Look for Bridged {
    const NODES: [&'static str; 2] = ["acl-input-l2", "acl-output-l2"];
    const KNOWN: [&'static str; 2] = ["acl-plugin-in-ip4-l2", "acl-plugin-out-ip4-l2"];
    const BACK: u32 = 0;
    const READS: Quarters = Quarters::ALL;
    fn fields(frame: &[u8], _: Direction) -> Result<Option<Fields>, Unreadable> {
        let (kind, rest) = payload(frame).ok_or(Unreadable)?;
        match kind {
            EtherType::IP4 => Fields::of::<V4>(rest).map(Some).ok_or(Unreadable),
            EtherType::IP6 => Fields::of::<V6>(rest).map(Some).ok_or(Unreadable),
            _ => Ok(None),
        }
    }
    #[inline(always)]
    fn ask<I: Isa>(p: &PacketLanes<I>, those: Mask<I>, lists: ListsOf<'_>) -> [Mask<I>; 2] {
        let kind = p.header.word(ETHERTYPE) >> 16;
        let of = |kinds: [EtherType; 2]| kind.eq(u32::from(kinds[0].get())) | kind.eq(u32::from(kinds[1].get()));
        let (ip4, ip6) = (of([EtherType::IP4; 2]) & those, of([EtherType::IP6; 2]) & those);
        // Tags are walked one packet at a time, and so is what may end before its header.
        let odd = of([EtherType::DOT1Q, EtherType::DOT1AD]) | p.length.lt(BACK) | p.flagged(Flags::CHAINED);
        let odd = odd & those;
        let mut answer = [those.without(odd | ip4 | ip6), odd];
        if ip4.any() {
            let [passed, unsaid] = lists.pass::<V4, I>(p, ip4.without(odd));
            answer = [answer[0] | passed, answer[1] | unsaid];
        }
        if ip6.any() {
            let [passed, unsaid] = lists.pass::<V6, I>(p, ip6.without(odd));
            answer = [answer[0] | passed, answer[1] | unsaid];
        }
        answer
    }
}
