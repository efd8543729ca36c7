//! Effects of packets on the state of their session, as far as their headers show.
//!
//! Most packets have none. They bypass the services at the beginning of their chain that only follow states.

use quiver_engine::{Context, Flags, Frame};
use quiver_wire::IpProtocol;

use crate::record::{BLOCKED, CLOSING, Direction, NO_SYN, PROXIED, REFUSED, Record, State};
use crate::segment::{ACK, FIN, RST, SYN};
use crate::tcp::{FIN_FORWARD, FIN_FORWARD_ACKED, FIN_REVERSE, FIN_REVERSE_ACKED};

/// Effect of a packet on the state of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Any.
    Any,
    /// None on an open connection: a segment that acknowledges, and neither opens nor closes.
    Segment,
    /// None but that a responder's packet establishes a session: another packet than one of TCP.
    Datagram,
}

/// Bytes of an IPv4 header without options, and of TCP's up to its flags.
const FLAGS4: usize = 34;
/// The same of an IPv6 header.
const FLAGS6: usize = 54;

/// Flags of connections that close.
const CLOSED: u16 = FIN_FORWARD | FIN_REVERSE | FIN_FORWARD_ACKED | FIN_REVERSE_ACKED;
/// The same, and flags of sessions whose packets do not simply pass their chain.
const UNSETTLED: u16 = BLOCKED | PROXIED | REFUSED | CLOSING | NO_SYN | CLOSED;

impl Effect {
    /// The effect of a row's packet of IPv4 that has no options and is no fragment.
    #[inline(always)]
    pub fn ip4(cx: &Context<'_>, frame: &Frame, i: usize, protocol: IpProtocol) -> Effect {
        Effect::of::<FLAGS4>(cx, frame, i, protocol)
    }
    /// The same of IPv6 without extension headers.
    #[inline(always)]
    pub(crate) fn ip6(cx: &Context<'_>, frame: &Frame, i: usize, protocol: IpProtocol) -> Effect {
        Effect::of::<FLAGS6>(cx, frame, i, protocol)
    }
    /// The effect of a row's plain packet, whose flags of TCP are the last of the first `N` bytes. In a rehearsal and in a trace, packets
    /// show all services.
    #[inline(always)]
    fn of<const N: usize>(cx: &Context<'_>, frame: &Frame, i: usize, protocol: IpProtocol) -> Effect {
        if cx.is_rehearsal() || frame.flags(i).has(Flags::TRACED) {
            return Effect::Any;
        }
        if protocol != IpProtocol::TCP {
            return Effect::Datagram;
        }
        match frame.first::<N>(cx.pool, i).map(|header| header[N - 1] & (SYN | FIN | RST | ACK)) {
            Some(ACK) => Effect::Segment,
            _ => Effect::Any,
        }
    }
    /// Whether it leaves the state of a session as it is, for a packet of this direction.
    #[inline(always)]
    pub(crate) fn leaves_state(self, record: &Record, direction: Direction) -> bool {
        match record.state_without(UNSETTLED) {
            Some(State::Established) => self != Effect::Any,
            Some(State::Embryonic) => self == Effect::Datagram && direction == Direction::Forward,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{End, Format, Key};
    use crate::record::Status;
    use crate::segment::Segment;
    use crate::sessions::Mark;
    use crate::tcp::{FLAGS, FirstWithoutSyn, SYN_ACKED, SYN_REVERSE, follow};

    #[test]
    fn following_a_segment_without_effect_changes_nothing() {
        let (low, high) = (End { address: 1, port: 2 }, End { address: 3, port: 4 });
        let (key, _) = Key::new((low, high), 0, (IpProtocol::TCP, Format::IP4));
        let record = Record::default();
        record.begin(&key, 0, (0, false), 0);
        let mut without = 0;
        for (state, subset) in
            State::ALL.into_iter().flat_map(|state| (0..1 << FLAGS.len()).map(move |bits| (state, bits)))
        {
            let has = |(at, flag): (usize, &(u16, &str))| if subset >> at & 1 != 0 { flag.0 } else { 0 };
            let flags: u16 = FLAGS.iter().enumerate().map(has).sum();
            // An established connection has seen the responder's SYN, and acknowledgment.
            let opened = if state == State::Established { SYN_REVERSE | SYN_ACKED } else { 0 };
            let status = Status { state, timeout: 1, flags: flags | opened, ..Status::NEW };
            for direction in Direction::ALL {
                record.set_status(status);
                if !Effect::Segment.leaves_state(&record, direction) {
                    continue;
                }
                without += 1;
                let segment = Segment { flags: ACK, acknowledgment: subset, ..Segment::UNKNOWN };
                follow(&record, Mark::new(0, 1, direction), segment, FirstWithoutSyn::Security);
                assert_eq!(record.status(), status);
            }
        }
        assert!(without > 0);
    }

    #[test]
    fn a_datagram_has_none_but_the_first_of_the_responder() {
        let record = Record::default();
        for (state, flags, expected) in [
            (State::Embryonic, 0, [true, false]),
            (State::Established, 0, [true, true]),
            (State::Embryonic, BLOCKED, [false, false]),
            (State::Established, PROXIED, [false, false]),
            (State::TimeWait, 0, [false, false]),
        ] {
            record.set_status(Status { state, flags, ..Status::NEW });
            let found = Direction::ALL.map(|direction| Effect::Datagram.leaves_state(&record, direction));
            assert_eq!(found, expected, "{state:?} {flags:x}");
            assert!(Direction::ALL.iter().all(|direction| !Effect::Any.leaves_state(&record, *direction)));
        }
    }
}
