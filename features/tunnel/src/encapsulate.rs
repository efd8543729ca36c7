//! `vxlan4-encap` and the like, features of tunnels on `interface-output`, the last ones there: what a tunnel is to send becomes the payload of
//! a datagram. That is our own, and goes on at the rewrite of its family by the way to the other end, which flows are spread over
//! like those of a route; one for a group leaves by one interface.
//!
//! Drops: `interface-down`; `unresolved-tunnel`, where there is no way to the other end; `too-long` for a datagram; `no-headroom` for
//! one more header in front; `not-completed`, where an offload cannot be carried out, or buffers are missing;
//! `not-ip`, of tunnels without Ethernet headers.

use std::marker::PhantomData;
use std::sync::Arc;

use quiver_engine::{Context, Frame, Node, Paged, Row, Snapshot, arcs};
use quiver_ip::fib::hop;
use quiver_ip::fib::rows::GroupRows;
use quiver_wire::{EtherType, EthernetHeader, Header, flow};

use crate::ecn;
use crate::ends::Ends;
use crate::outer::Outer;
use crate::put::{Inner, Putter, Unfit, Way, flow_port};
use crate::underlay::Underlay;

arcs! {
    /// Where datagrams go from here.
    pub enum Next of F: Underlay {
        Rewrite => node (F::NAMES.rewrite),
        Multicast => node (F::REWRITE),
        Down => drop "interface-down",
        Unresolved => drop "unresolved-tunnel",
        TooLong => drop "too-long",
        NoHeadroom => drop "no-headroom",
        NotCompleted => drop "not-completed",
        NotIp => drop "not-ip",
    }
}

/// A tunnel as workers read it.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// Both ends.
    pub ends: Ends,
    /// The headers of its datagrams.
    pub outer: Outer,
    /// What the way to the other end comes to, of its family.
    pub group: u32,
    /// Whether it is up.
    pub up: bool,
    /// Where packets go without an Ethernet header: the headers of datagrams with packets of IPv6, in place of those.
    pub layer3: Option<Arc<Outer>>,
}

/// Tunnels by the numbers of their interfaces.
pub type Rows = Paged<Option<Tunnel>>;

/// The node.
pub struct Encapsulate<F: Underlay> {
    rows: Snapshot<Rows>,
    groups: Snapshot<GroupRows>,
    sent: Arc<Row>,
    putter: Putter,
    family: PhantomData<F>,
}

impl<F: Underlay> Encapsulate<F> {
    /// The node, with the tunnels, what groups of the family come to, and this worker's counters of sent packets by interface.
    pub(crate) fn new(
        rows: Snapshot<Rows>,
        groups: Snapshot<GroupRows>,
        sent: Arc<Row>,
        worker: usize,
    ) -> Encapsulate<F> {
        Encapsulate { rows, groups, sent, putter: Putter::new(worker), family: PhantomData }
    }
    #[inline(always)]
    fn put(&self, rows: &Rows, groups: &GroupRows, cx: &mut Context, frame: &mut Frame, i: usize) -> Result<(), Next> {
        let tx = frame.tx[i];
        let tunnel = rows.get(tx as usize).and_then(Option::as_ref).filter(|tunnel| tunnel.up).ok_or(Next::Down)?;
        let bytes = frame.bytes(cx.pool, i);
        let hash = flow::hash(bytes, false);
        let hop = groups.get(tunnel.group as usize).map_or(hop::DROP, |row| row.hop(hash));
        let next = match tunnel.ends.is_multicast() {
            // The link to which a group's datagrams go is there, or is not.
            true if hop != hop::DROP => Next::Multicast,
            false if hop >= hop::FIRST_ADJACENCY => Next::Rewrite,
            _ => return Err(Next::Unresolved),
        };
        let ecn = ecn::of(Inner::Frame, bytes);
        let (mut inner, mut outer, length) = (Inner::Frame, &tunnel.outer, frame.length[i]);
        if let Some(of_ip6) = &tunnel.layer3 {
            let ethertype = EthernetHeader::parse(bytes).map(|(link, _)| link.ethertype);
            match ethertype {
                Some(EtherType::IP4) => {}
                Some(EtherType::IP6) => outer = of_ip6,
                _ => return Err(Next::NotIp),
            }
            inner = ethertype.map_or(Inner::Frame, Inner::Packet);
            frame.advance(cx.pool, i, EthernetHeader::LENGTH as isize);
        }
        let way = Way { inner, outer, source_port: flow_port(hash), ecn, hop, next: next.into() };
        self.putter.put(cx, frame, i, &way).map_err(|unfit| match unfit {
            Unfit::TooLong => Next::TooLong,
            Unfit::NoHeadroom => Next::NoHeadroom,
            Unfit::NotCompleted => Next::NotCompleted,
        })?;
        self.sent.add(tx, 1, length.into());
        Ok(())
    }
}

impl<F: Underlay> Node for Encapsulate<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        // In this order: a group's row was there before the tunnel was published.
        let (rows, groups) = (self.rows.read(cx.guard), self.groups.read(cx.guard));
        self.putter.begin();
        for i in 0..frame.len() {
            if let Err(dropped) = self.put(rows, groups, cx, frame, i) {
                frame.next[i] = dropped.into();
            }
        }
    }
}
