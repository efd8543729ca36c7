//! `abf-input-ip4`, `abf-input-ip6`: the lists of the policies of an interface are asked one after the other. The first rule that
//! meets a packet decides: permitted, it goes by the paths of the policy; denied, it goes on, and so it does where none meets it.
//!
//! Link-local packets pass without a check: neighbors can be reached under any lists.

use std::marker::PhantomData;

use quiver_acl::{FieldLanes, Fields, Lists};
use quiver_engine::{
    ArcSpec, Body, Columns, Flags, Guard, Isa, LANES, Lanes, Mask8, MetadataKey, PacketLanes, Quarters, Slots,
    Snapshot, Stage, Windows, arcs, unlikely,
};
use quiver_ip::disposition::{self, Dispositions};
use quiver_ip::family::BACK;
use quiver_ip::fib::rows::{GroupRow, GroupRows, slots};
use quiver_ip::upper::{self, Upper};
use quiver_wire::{Header, IpHeader};

use crate::family::Forwarded;
use crate::state::{Attached, AttachedTo};

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Forwarded {
        Pass => next_feature,
        Rewrite => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        /// Senders are told why.
        Told => node (F::NAMES.error),
        Drop => drop "route-drop",
        Unresolved => drop "unresolved-path",
    }
}

/// A node.
#[derive(Clone)]
pub struct AbfInput<F: Forwarded> {
    attached: Snapshot<AttachedTo>,
    lists: Snapshot<Lists>,
    rows: Snapshot<GroupRows>,
    dispositions: Dispositions,
    upper: MetadataKey<Upper>,
    family: PhantomData<F>,
}

impl<F: Forwarded> AbfInput<F> {
    /// A node with policies by interface, their lists, the rows of their path groups, and the key of the ports of later
    /// fragments.
    pub fn new(
        attached: Snapshot<AttachedTo>,
        lists: Snapshot<Lists>,
        rows: Snapshot<GroupRows>,
        upper: MetadataKey<Upper>,
    ) -> AbfInput<F> {
        AbfInput { attached, lists, rows, dispositions: Dispositions::of::<F>(Self::ARCS), upper, family: PhantomData }
    }
}

/// The policy that permits a packet.
pub(crate) fn permitted<'a, F: Forwarded>(
    attached: &'a [Attached],
    lists: &Lists,
    packet: &[u8],
    noted: Option<Upper>,
) -> Option<&'a Attached> {
    let (header, _) = F::Header::parse(packet)?;
    if F::is_link_local(header.source()) || F::is_link_local(header.destination()) || F::is_discovery(packet) {
        return None;
    }
    let fields = Fields::of::<F>(packet)?.or(noted);
    let decided =
        attached.iter().find_map(|policy| lists.get(policy.acl)?.decide(&fields).map(|action| (action, policy)));
    decided.filter(|(action, _)| action.permits()).map(|(_, policy)| policy)
}

impl<F: Forwarded> Stage for AbfInput<F> {
    const NAME: &'static str = F::NODE;
    const ARCS: &'static [ArcSpec] = Next::arcs::<F>();
    type Body<'f> = AbfBody<'f, F>;
    #[inline(always)]
    fn enter<'f>(&'f mut self, guard: Guard<'f>) -> AbfBody<'f, F> {
        // In this order: a group's row was there before the group was published.
        let (attached, lists) = (self.attached.read(guard), self.lists.read(guard));
        let rows = slots(self.rows.read(guard));
        AbfBody { attached, lists, rows, dispositions: &self.dispositions, upper: self.upper, family: PhantomData }
    }
}

/// The node at work.
pub struct AbfBody<'f, F> {
    attached: &'f AttachedTo,
    lists: &'f Lists,
    rows: Slots<'f, GroupRow>,
    dispositions: &'f Dispositions,
    upper: MetadataKey<Upper>,
    family: PhantomData<F>,
}

/// The group of packets that go on.
const NONE: u32 = u32::MAX;

impl<'f, F: Forwarded> AbfBody<'f, F> {
    /// The policies of an interface.
    #[inline(always)]
    fn of(&self, interface: u32) -> &'f [Attached] {
        self.attached.get(interface as usize).map_or(&[], |attached| attached)
    }
    /// The groups of `packets`, each looked at by itself.
    #[cold]
    #[inline(never)]
    fn groups_of_each<I: Isa>(&self, p: &PacketLanes<I>, packets: Mask8, windows: &Windows<'_>) -> [u32; LANES] {
        let (interfaces, mut groups) = (p.rx.array(), [NONE; LANES]);
        for lane in packets {
            let (packet, noted) = (windows.packet(p, lane), windows.metadata(p, lane, self.upper));
            let policy = permitted::<F>(self.of(interfaces[lane]), self.lists, packet, noted);
            groups[lane] = policy.map_or(NONE, |policy| policy.group);
        }
        groups
    }
    /// The groups that the policies of eight packets send them to.
    #[inline(always)]
    fn groups<I: Isa>(&self, p: &PacketLanes<I>, windows: &Windows<'_>) -> Lanes<I> {
        let fields = FieldLanes::of::<F>(p);
        // RFC 1812, 5.3.4: what a table does with one host's packet in a frame for many the lookup knows.
        let asked = p.live.without(p.flagged(Flags::LINK_GROUP));
        let (mut rest, mut unsaid) = (asked & fields.known(), asked.without(fields.known()));
        rest = rest.without(F::stays_on_link(p));
        let mut groups = p.hop.same(NONE);
        // Mostly one interface has received all of them.
        while let Some(lane) = rest.bits().into_iter().next() {
            let interface = p.rx.array()[lane % LANES];
            let mut open = p.rx.eq(interface) & rest;
            rest = rest.without(open);
            for policy in self.of(interface) {
                if let Some(list) = self.lists.get(policy.acl) {
                    groups = groups.replace(fields.decide::<F>(list, &mut open, &mut unsaid), policy.group);
                }
            }
        }
        if unsaid.any() {
            unlikely();
            groups = groups.replace(unsaid, groups.with(&self.groups_of_each(p, unsaid.bits(), windows)));
        }
        groups
    }
}

impl<F: Forwarded> Body for AbfBody<'_, F> {
    const BACK: u32 = BACK;
    const WRITES: Columns = Columns::HOP;
    const READS: Quarters = F::HEADER.and(upper::reads::<F>());

    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, windows: &mut Windows<'_>) {
        let groups = self.groups(p, windows);
        let forwarded = groups.ne(NONE) & p.live;
        if forwarded.any() {
            p.hop = p.hop.replace(forwarded, disposition::hops::<F, I>(p, groups, self.rows));
            self.dispositions.part(p, forwarded);
            p.leave(forwarded, Next::Rewrite);
        }
    }
}
