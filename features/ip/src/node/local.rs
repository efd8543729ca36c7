//! `ip4-local`, `ip6-local`: packets for us, by protocol.
//!
//! ICMP has its own node. Nobody else listens yet: senders of UDP are told that the port is unreachable, others that the
//! protocol is (RFC 1122, 3.2.2.1; RFC 4443, 3.1 and 3.4). Packets that name us as their sender and come from elsewhere are
//! dropped, and so are those of senders to whom no route leads back: nobody could answer them. A room that speaks a protocol leads its arc elsewhere, or to control by [`crate::set_local`].

use quiver_engine::{ArcSpec, Context, Flags, Frame, Node, Snapshot, arcs};
use quiver_interface::InterfaceId;
use quiver_wire::{Header, IpHeader, IpProtocol};

use crate::family::{Family, Refusal};
use crate::fault::Fault;
use crate::fib::hop;
use crate::fib::rows::GroupRows;
use crate::ingress::Ingress;
use crate::node::lookup::first_hop;

arcs! {
    /// Where packets go from `ip4-local`.
    pub enum Next of F: Family {
        Icmp => node (F::NAMES.icmp),
        UnknownPort => node (F::NAMES.error),
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

/// Where packets of each protocol go.
pub type Protocols = [Next; 256];

/// The protocols while no room speaks more.
pub fn protocols<F: Family>() -> Protocols {
    let mut protocols = [Next::UnknownProtocol; 256];
    protocols[usize::from(F::ICMP.0)] = Next::Icmp;
    protocols[usize::from(IpProtocol::UDP.0)] = Next::UnknownPort;
    protocols
}

/// The node.
pub struct Local<F: Family> {
    /// Where packets of each protocol go.
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
        for i in 0..frame.len() {
            let bytes = frame.bytes(cx.pool, i);
            let header = F::Header::parse(bytes).map(|(header, _)| header);
            // What we have sent ourselves needs no way back.
            let foreign = header.filter(|_| !frame.flags(i).has(Flags::LOCAL));
            let from = foreign.map(|header| sender(frame.rx[i], header));
            let next = match header.zip(F::payload(bytes)) {
                // `icmp4-error` and `icmp6-error` look again, and tell nobody about what is malformed.
                None => Next::UnknownProtocol,
                // RFC 1122, 3.2.1.3: our addresses are sources of ours alone, and nobody else is to be answered there.
                Some(_) if from == Some(hop::LOCAL) && !F::is_discovery(bytes) => Next::Spoofed,
                // RFC 4862, 5.4: what is for an address that may be another's is not for us.
                Some((header, _))
                    if !ingress.unusable.is_empty()
                        && ingress.is_withheld(InterfaceId(frame.rx[i]), header.destination()) =>
                {
                    Next::Withheld
                }
                // It comes here again when it is whole.
                Some((_, payload)) if payload.fragment.is_some() => Next::Fragment,
                Some((header, payload))
                    if from.is_some_and(|from| from < hop::LINK_LOCAL && from != hop::LOCAL)
                        && F::needs_way_back(header, &payload) =>
                {
                    Next::Unrouted
                }
                Some((_, payload)) => protocols[usize::from(payload.protocol.0)],
            };
            let refusal = Some(F::refusal(bytes))
                .filter(|_| !matches!(next, Next::Spoofed | Next::Unrouted | Next::Fragment | Next::Withheld))
                .flatten();
            let next = match refusal {
                Some(Refusal::Silent) => Next::UnknownOption,
                Some(Refusal::Told(_)) => Next::UnknownProtocol,
                None => next,
            };
            match (refusal, next) {
                (Some(Refusal::Told(fault)), _) => frame.hop[i] = fault.0,
                (_, Next::UnknownPort) => frame.hop[i] = Fault::PORT.0,
                (_, Next::UnknownProtocol) => {
                    frame.hop[i] = Fault::protocol(F::payload(bytes).map_or(0, |payload| payload.pointer)).0;
                }
                _ => {}
            }
            // What we answer is our own, whoever made the question.
            frame.clear_flag(i, Flags::LOCAL);
            frame.next[i] = next.into();
        }
    }
}
