//! `abf-input-ip4`, `abf-input-ip6`: the lists of the policies of an interface are asked one after the other. The first rule that
//! meets a packet decides: permitted, it goes by the paths of the policy; denied, it goes on, and so it does where none meets it.
//!
//! What concerns its link alone goes on unasked: neighbours are spoken to whatever the lists say.

use std::marker::PhantomData;

use quiver_acl::{Action, Fields, Lists, decide};
use quiver_engine::{Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_ip::Fault;
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::{GroupRow, GroupRows};
use quiver_ip::upper::Upper;
use quiver_wire::{Header, IpHeader};

use crate::Forwarded;
use crate::state::{Attached, AttachedTo};

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Forwarded {
        Pass => next_feature,
        Rewrite => node (F::NAMES.rewrite),
        Local => features (F::NAMES.local),
        Unreachable => node (F::NAMES.error),
        Prohibited => node (F::NAMES.error),
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
    family: PhantomData<F>,
}

impl<F: Forwarded> AbfInput<F> {
    /// With policies by interface, their lists, and what their paths come to.
    pub fn new(attached: Snapshot<AttachedTo>, lists: Snapshot<Lists>, rows: Snapshot<GroupRows>) -> AbfInput<F> {
        AbfInput { attached, lists, rows, family: PhantomData }
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
    let decided = attached.iter().find_map(|policy| {
        let rules = lists.get(policy.acl as usize)?.as_ref()?;
        decide(rules, &fields).map(|action| (action, policy))
    });
    decided.filter(|(action, _)| *action == Action::Permit).map(|(_, policy)| policy)
}

impl<F: Forwarded> Node for AbfInput<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the group was published.
        let (attached, lists) = (self.attached.read(cx.guard), self.lists.read(cx.guard));
        let rows = self.rows.read(cx.guard);
        // Of the group that the last packet went by, which the next one's mostly is.
        let mut last = (u32::MAX, None);
        for i in 0..frame.len() {
            let Some(attached) = attached.get(usize::from(frame.rx[i])) else { continue };
            let packet = frame.bytes(cx.pool, i);
            // RFC 1812, 5.3.4: what a table does with one host's packet in a frame for many the lookup knows.
            if frame.flags(i).has(Flags::LINK_GROUP) {
                continue;
            }
            let noted = Upper::of_row(cx.pool, frame, i);
            let Some(policy) = permitted::<F>(attached, lists, packet, noted) else { continue };
            let row = rows.get(policy.group as usize);
            if last.0 != policy.group {
                last = (policy.group, row.map_or(Some(hop::UNRESOLVED), GroupRow::only_hop));
            }
            let hop = last.1.or_else(|| Some(row?.hop(F::flow_hash_of(packet)))).unwrap_or(hop::UNRESOLVED);
            let (next, hop) = match hop {
                hop::FIRST_ADJACENCY.. => (Next::Rewrite, hop),
                hop::LOCAL => (Next::Local, hop),
                hop::UNREACHABLE => (Next::Unreachable, Fault::HOST.0),
                hop::PROHIBIT => (Next::Prohibited, Fault::PROHIBITED.0),
                hop::DROP => (Next::Drop, hop),
                _ => (Next::Unresolved, hop),
            };
            frame.hop[i] = hop;
            frame.next[i] = next.into();
        }
    }
}
