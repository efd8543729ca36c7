//! `udp-encap-ip4`, `udp-encap-ip6`: encapsulate packets whose route leads into an encapsulation, which
//! `ip4-lookup-again` and `ip6-lookup-again` hand on with its number. The datagrams are our own packets, and go to the
//! rewrite node of their family. Flows are spread over the paths to the destination like those of a route.
//!
//! Pending offloads of a packet are completed here, as the sender of the datagram would not see them. The packet keeps
//! its hop limit: hops on the way count for the datagram.
//!
//! Drops: `unresolved-encapsulation`, where there is no way to the other end; `too-long` for a datagram; `no-headroom` for one
//! more header in front; `not-completed`, where an offload cannot be carried out, or buffers are missing.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{Context, Frame, Node, Paged, Row, Snapshot, arcs};
use quiver_ip::Family;
use quiver_ip::fib::hop::{self, Continuation};
use quiver_ip::fib::rows::{GroupRow, GroupRows};
use quiver_tunnel::Ends;
use quiver_tunnel::put::{Inner, NextStep, Putter, Unfit, flow_port};

use crate::config::Encap;

arcs! {
    /// Where packets go from here.
    pub enum Next {
        Rewrite4 => node "ip4-rewrite",
        Rewrite6 => node "ip6-rewrite",
        Unresolved => drop "unresolved-encapsulation",
        TooLong => drop "too-long",
        NoHeadroom => drop "no-headroom",
        NotCompleted => drop "not-completed",
    }
}

/// The node.
pub struct Encapsulate<F: Family> {
    encaps: Snapshot<Paged<Option<Encap>>>,
    rows: (Snapshot<GroupRows>, Snapshot<GroupRows>),
    sent: Arc<Row>,
    putter: Putter,
    family: PhantomData<F>,
}

impl<F: Family> Encapsulate<F> {
    /// The node, with the encapsulations, what groups of IPv4 and IPv6 come to, and this worker's counters by number.
    pub fn new(
        encaps: Snapshot<Paged<Option<Encap>>>,
        rows: (Snapshot<GroupRows>, Snapshot<GroupRows>),
        sent: Arc<Row>,
        worker: usize,
    ) -> Encapsulate<F> {
        Encapsulate { encaps, rows, sent, putter: Putter::new(worker), family: PhantomData }
    }
}

impl<F: Family> Node for Encapsulate<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the encapsulation was published.
        let encaps = self.encaps.read(cx.guard);
        let rows = (self.rows.0.read(cx.guard), self.rows.1.read(cx.guard));
        self.putter.begin();
        for i in 0..frame.len() {
            let number = match Continuation::of(frame.hop[i]) {
                Some(Continuation::Kind(of_kind)) => of_kind.index() as usize,
                _ => usize::MAX,
            };
            let encap = encaps.get(number).and_then(Option::as_ref);
            let way = encap.and_then(|encap| way_of::<F>(encap, &rows.0[..], &rows.1[..], frame.bytes(cx.pool, i)));
            let Some(way) = way else {
                frame.next[i] = Next::Unresolved.into();
                continue;
            };
            let length = frame.length[i];
            match self.putter.put(cx, frame, i, &way) {
                Ok(()) => self.sent.add(number as u32, 1, length.into()),
                Err(Unfit::TooLong) => frame.next[i] = Next::TooLong.into(),
                Err(Unfit::NoHeadroom) => frame.next[i] = Next::NoHeadroom.into(),
                Err(Unfit::NotCompleted) => frame.next[i] = Next::NotCompleted.into(),
            }
        }
    }
}

/// The path of a packet, by its flow; None if there is none at present.
fn way_of<'e, F: Family>(
    encap: &'e Encap,
    rows4: &[GroupRow],
    rows6: &[GroupRow],
    packet: &[u8],
) -> Option<NextStep<'e>> {
    let (rows, next) = match encap.ends {
        Ends::V4(..) => (rows4, Next::Rewrite4),
        Ends::V6(..) => (rows6, Next::Rewrite6),
    };
    let hash = F::flow_hash_of(packet);
    let hop = rows.get(encap.group as usize)?.hop(hash);
    let source_port = if encap.source_port == 0 { flow_port(hash) } else { encap.source_port };
    // Class of service and ECN are not copied from the payload: the decapsulator may not know RFC 6040, whose
    // compatibility mode this is (4.3).
    let way = NextStep {
        inner: Inner::Packet(F::ETHERTYPE),
        outer: &encap.outer,
        source_port,
        ecn: 0,
        hop,
        next: next.into(),
    };
    (hop >= hop::FIRST_ADJACENCY).then_some(way)
}
