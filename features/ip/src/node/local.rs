//! `ip4-local`, `ip6-local`: packets for us, by protocol.
//!
//! A room that speaks a protocol claims it for its node ([`crate::claim`]). Senders of others are told that the protocol is
//! unreachable (RFC 1122, 3.2.2.1; RFC 4443, 3.4). Packets that name us as their sender and come from elsewhere are
//! dropped, and so are those of senders to whom no route leads back: nobody could answer them.

use quiver_engine::{ArcSpec, Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_wire::{Header, IpHeader};

use crate::family::{Family, Refusal};
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRows;
use crate::ingress::Ingress;
use crate::node::lookup::first_hop;

arcs! {
    /// Where packets go from `ip4-local`; behind these arcs come those of the nodes that claim protocols.
    pub enum Next of F: Family {
        UnknownProtocol => node (F::NAMES.error),
        Punt => features (F::NAMES.punt),
        Fragment => node (F::NAMES.reassembly),
        Spoofed => drop "spoofed-local-packets",
        Unrouted => drop "no-route-to-sender",
        /// Of IPv6 alone, and what is for an address that is not to be used.
        UnknownOption => drop "unknown-option",
        Withheld => drop "unusable-address",
    }
}

/// The arcs of a family, which may not have the last ones.
pub(crate) const fn arcs_of<F: Family>() -> &'static [ArcSpec] {
    Next::arcs::<F>().split_at(F::LOCAL_ARCS).0
}

/// The arcs by which packets of each protocol leave.
pub type Protocols = [u16; 256];

/// The protocols while no room speaks any.
pub const UNCLAIMED: Protocols = [Next::UnknownProtocol as u16; 256];

/// The node.
pub struct Local<F: Family> {
    /// The arcs of protocols.
    pub protocols: Snapshot<Protocols>,
    /// The tables, and which one is an interface's.
    pub ingress: Snapshot<Ingress<F>>,
    /// The groups that leaves lead to.
    pub groups: Snapshot<GroupRows>,
}

impl<F: Family> Node for Local<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let protocols = self.protocols.read(cx.guard);
        let (ingress, groups) = (self.ingress.read(cx.guard), self.groups.read(cx.guard));
        let guard = cx.guard;
        // By which hop packets would go to a sender.
        let sender = |rx, header: &F::Header| match header.source() {
            own if ingress.is_own(InterfaceId(rx), own) => hop::LOCAL,
            source => first_hop(ingress, groups, guard, rx, source),
        };
        // PERF: the sender of the packet before is often that of the next one: the other end of tunnels, for instance.
        let mut before = None;
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i);
            let header = F::Header::parse(bytes).map(|(header, _)| header);
            let payload = F::payload(bytes);
            // What we have sent ourselves needs no way back.
            let foreign = header.filter(|_| !frame.flags(i).has(Flags::LOCAL));
            let from = foreign.map(|header| {
                let this = (frame.rx[i], header.source());
                match before {
                    Some((same, from)) if same == this => from,
                    _ => {
                        let from = sender(frame.rx[i], header);
                        before = Some((this, from));
                        from
                    }
                }
            });
            let next = match header.zip(payload) {
                // `icmp4-error` and `icmp6-error` look again, and tell nobody about what is malformed.
                None => Ok(Next::UnknownProtocol.into()),
                // RFC 1122, 3.2.1.3: our addresses are sources of ours alone, and nobody else is to be answered there.
                Some(_) if from == Some(hop::LOCAL) && !F::is_discovery(bytes) => Err(Next::Spoofed),
                // RFC 4862, 5.4: what is for an address that may be another's is not for us.
                Some((header, _))
                    if !ingress.unusable.is_empty()
                        && ingress.is_withheld(InterfaceId(frame.rx[i]), header.destination()) =>
                {
                    Err(Next::Withheld)
                }
                // It comes here again when it is whole.
                Some((_, payload)) if payload.fragment.is_some() => Err(Next::Fragment),
                Some((header, payload))
                    if from.is_some_and(|from| from < hop::LINK_LOCAL && from != hop::LOCAL)
                        && F::needs_way_back(header, &payload) =>
                {
                    Err(Next::Unrouted)
                }
                Some((_, payload)) => Ok(protocols[usize::from(payload.protocol.0)]),
            };
            let mut fault = None;
            let next = match (next, F::refusal(bytes)) {
                (Err(next), _) => next.into(),
                (Ok(_), Some(Refusal::Silent)) => Next::UnknownOption.into(),
                (Ok(_), Some(Refusal::Told(told))) => {
                    fault = Some(told);
                    Next::UnknownProtocol.into()
                }
                (Ok(arc), None) => {
                    let pointer = payload.map_or(0, |payload| payload.pointer);
                    fault = (arc == Next::UnknownProtocol as u16).then(|| Fault::protocol(pointer));
                    arc
                }
            };
            fault.into_iter().for_each(|fault| frame.hop[i] = fault.0);
            // What we answer is our own, whoever made the question.
            frame.clear_flag(i, Flags::LOCAL);
            frame.next[i] = next;
        }
    }
}
