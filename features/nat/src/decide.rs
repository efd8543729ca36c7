//! Decisions about a packet that belongs to no session yet.

use quiver_session::second::Ip4End;

use crate::egress::Egress;
use crate::mappings::Shared;
use crate::rules::{Rules, TwiceNat};
use crate::sides;
use crate::tuple::Tuple;

/// The outside end of a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// A fixed one, of a mapping.
    Fixed(Ip4End),
    /// One of the pool.
    Pool,
}

/// The inside's view of the far end of a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// As it is.
    Plain,
    /// An address of the second pool: twice NAT.
    Pool,
}

/// A session to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// From the inside: its packets' tuple is the one there.
    Outbound(Near),
    /// From the outside: the host's end, the slot of its table, and what it sees of the client.
    Inbound {
        /// The host.
        host: Ip4End,
        /// Slot of its table.
        table: u32,
        /// The client, as it sees it.
        far: Far,
        /// Whether a mapping says so; else it is forwarded as it is.
        is_static: bool,
    },
    /// From the outside, to the outside end of a mapping of endpoint-independent mode.
    Mapped(Shared),
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on as without NAT.
    Pass,
    /// It is dropped: no rule is for it.
    NoTranslation,
    /// A session begins.
    Begin(Plan),
}

/// Decides about a packet from the inside that would leave by an interface with these sides. `is_shared`: whether its destination is the outside
/// end of a mapping of endpoint-independent mode.
pub fn outbound(
    rules: &Rules,
    packet: &Tuple,
    table: u32,
    ((egress, by), is_shared): ((Egress, u32), impl FnOnce() -> bool),
) -> Decision {
    // To a host behind this NAT, by its outside address: translated, and then once more (hairpinning, RFC 4787, REQ-9).
    let is_hairpin = rules.is_outside(packet.destination.address)
        && (egress != Egress::Local || rules.is_mapped(packet.destination, packet.protocol) || is_shared());
    let leaves = matches!(egress, Egress::Interface(_)) && by & sides::OUTSIDE != 0;
    if is_hairpin || leaves { source(rules, packet, table) } else { Decision::Pass }
}

/// Decides about a packet that leaves by an interface which translates then.
pub fn output(rules: &Rules, packet: &Tuple, table: u32) -> Decision {
    // Our own, and what was translated when it came in.
    if rules.is_outside(packet.source.address) { Decision::Pass } else { source(rules, packet, table) }
}

/// Decides about the source of a packet that is to be translated.
fn source(rules: &Rules, packet: &Tuple, table: u32) -> Decision {
    match rules.from(packet.source, packet.protocol, table) {
        Some(mapping) => Decision::Begin(Plan::Outbound(Near::Fixed(mapping.outside_of(packet.source)))),
        None if rules.addresses_for(packet.source.address, table).next().is_some() => {
            Decision::Begin(Plan::Outbound(Near::Pool))
        }
        None if rules.forwards => Decision::Pass,
        None => Decision::NoTranslation,
    }
}

/// Decides about a packet from the outside in the table of a slot, whose destination has this egress, and this mapping of endpoint-independent
/// mode.
pub fn inbound(
    rules: &Rules,
    packet: &Tuple,
    table: u32,
    (egress, mapped): (impl FnOnce() -> Egress, impl FnOnce() -> Option<Shared>),
) -> Decision {
    if let Some(mapping) = rules.to(packet.destination, packet.protocol) {
        let Some(local) = mapping.local(packet.source) else { return Decision::NoTranslation };
        let far = match mapping.twice {
            TwiceNat::On => Far::Pool,
            TwiceNat::Own if local.end.address == packet.source.address => Far::Pool,
            _ => Far::Plain,
        };
        let host = mapping.inside_of(local, packet.destination);
        return Decision::Begin(Plan::Inbound { host, table: local.table, far, is_static: true });
    }
    if rules.is_outside(packet.destination.address)
        && let Some(mapped) = mapped()
    {
        return Decision::Begin(Plan::Mapped(mapped));
    }
    // Traffic to our own addresses is ours.
    if egress() == Egress::Local {
        return Decision::Pass;
    }
    if rules.forwards && !rules.is_outside(packet.destination.address) {
        let host = packet.destination;
        return Decision::Begin(Plan::Inbound { host, table, far: Far::Plain, is_static: false });
    }
    Decision::NoTranslation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mappings::{Filtering, Inside, MappingMode};
    use crate::rules::{Local, Mapping, Pooled};

    const HOST: Ip4End = Ip4End { address: 10, port: 1000 };
    const CLIENT: Ip4End = Ip4End { address: 77, port: 5000 };
    const MAPPED: Ip4End = Ip4End { address: 99, port: 80 };
    const POOL: Ip4End = Ip4End { address: 98, port: 4000 };

    fn rules() -> Rules {
        let local = Local { end: Ip4End { address: 10, port: 8080 }, table: 3, weight: 1 };
        let mapping = Mapping {
            outside: MAPPED,
            protocol: 6,
            locals: [local].into(),
            twice: TwiceNat::Off,
            is_inbound_only: false,
            is_sticky: false,
        };
        let mut rules = Rules::default();
        rules.add(mapping);
        let (mode, filtering) = (MappingMode::EndpointIndependent, Filtering::EndpointIndependent);
        rules.set_pools(vec![Pooled { address: POOL.address, table: None, mode, filtering }], vec![]);
        rules
    }
    fn tuple(source: Ip4End, destination: Ip4End) -> Tuple {
        Tuple { source, destination, protocol: 6 }
    }

    #[test]
    fn only_packets_that_leave_outside_are_translated() {
        let (rules, packet) = (rules(), tuple(HOST, CLIENT));
        let outside = (Egress::Interface(1), sides::OUTSIDE);
        let begun = Decision::Begin(Plan::Outbound(Near::Pool));
        let outbound = |rules: &Rules, packet: &Tuple, table, to| outbound(rules, packet, table, (to, || false));
        assert_eq!(outbound(&rules, &packet, 0, outside), begun);
        for egress in [(Egress::Interface(1), sides::INSIDE), (Egress::Local, 0), (Egress::Other, sides::OUTSIDE)] {
            assert_eq!(outbound(&rules, &packet, 0, egress), Decision::Pass, "{egress:?}");
        }
        assert_eq!(outbound(&rules, &tuple(HOST, MAPPED), 0, (Egress::Local, 0)), begun, "hairpinning");
        let to_us = tuple(HOST, Ip4End { port: 22, ..MAPPED });
        assert_eq!(outbound(&rules, &to_us, 0, (Egress::Local, 0)), Decision::Pass);
        assert_eq!(super::outbound(&rules, &to_us, 0, ((Egress::Local, 0), || true)), begun, "hairpinning");
        let mapped = tuple(Ip4End { address: 10, port: 8080 }, CLIENT);
        let fixed = Decision::Begin(Plan::Outbound(Near::Fixed(MAPPED)));
        assert_eq!(outbound(&rules, &mapped, 3, outside), fixed);
        assert_eq!(outbound(&Rules::default(), &packet, 0, outside), Decision::NoTranslation);
        assert_eq!(output(&rules, &tuple(MAPPED, CLIENT), 0), Decision::Pass);
    }

    #[test]
    fn packets_from_outside_match_a_mapping_or_are_ours() {
        let mut rules = rules();
        let inbound = |rules: &Rules, to, egress| inbound(rules, &tuple(CLIENT, to), 0, (|| egress, || None));
        let host = Ip4End { address: 10, port: 8080 };
        let mapped = Decision::Begin(Plan::Inbound { host, table: 3, far: Far::Plain, is_static: true });
        assert_eq!(inbound(&rules, MAPPED, Egress::Local), mapped);
        assert_eq!(inbound(&rules, Ip4End { port: 22, ..MAPPED }, Egress::Local), Decision::Pass);
        assert_eq!(inbound(&rules, HOST, Egress::Interface(1)), Decision::NoTranslation);
        rules.forwards = true;
        let forwarded = Decision::Begin(Plan::Inbound { host: HOST, table: 0, far: Far::Plain, is_static: false });
        assert_eq!(inbound(&rules, HOST, Egress::Interface(1)), forwarded);
        assert_eq!(inbound(&rules, POOL, Egress::Other), Decision::NoTranslation);
    }

    #[test]
    fn packets_to_a_mapping_are_for_its_host_even_if_the_address_is_ours() {
        let rules = rules();
        let inside = Inside { end: HOST, context: 2, protocol: 6 };
        let shared = Shared { inside, outside: POOL, filtering: Filtering::EndpointIndependent };
        let to = |end| inbound(&rules, &tuple(CLIENT, end), 0, (|| Egress::Local, || Some(shared)));
        assert_eq!(to(POOL), Decision::Begin(Plan::Mapped(shared)));
        assert_eq!(to(HOST), Decision::Pass, "it is no outside address");
        assert!(matches!(to(MAPPED), Decision::Begin(Plan::Inbound { .. })), "static mappings come first");
    }
}
