//! The states of a TCP connection, as its session follows them (RFC 9293, 3.3.2).
//!
//! This follows the flags and the numbers of FINs, and drops nothing that an end would have to judge by its window: a reset ends a
//! session at once, as in VPP. Of tenants whose checks are strict, `windows` judges segments before.

pub use crate::record::{CLOSING, NO_SYN};

use crate::record::{BLOCKED, Direction, PROXIED, REFUSED, Record, State, Status};
use crate::segment::{ACK, FIN, RST, SYN, Segment};
use crate::sessions::Mark;
use crate::timeouts::{CLOSED, EMBRYONIC, NOW, SECURITY, TCP_ESTABLISHED};

/// Flags of a session: the responder's SYN has come.
pub const SYN_REVERSE: u16 = 1 << 0;
/// The responder has acknowledged the initiator's SYN.
pub const SYN_ACKED: u16 = 1 << 1;
/// The FIN of the initiator has come.
pub const FIN_FORWARD: u16 = 1 << 2;
/// The FIN of the responder has come.
pub const FIN_REVERSE: u16 = 1 << 3;
/// The responder has acknowledged the initiator's FIN.
pub const FIN_FORWARD_ACKED: u16 = 1 << 4;
/// The initiator has acknowledged the responder's FIN.
pub const FIN_REVERSE_ACKED: u16 = 1 << 5;
/// The initiator has acknowledged something: of connections that are watched.
pub const ACK_FORWARD: u16 = 1 << 8;

/// The flags of a session, with their names for people.
pub const FLAGS: &[(u16, &str)] = &[
    (SYN_REVERSE, "responder-syn"),
    (SYN_ACKED, "syn-acknowledged"),
    (FIN_FORWARD, "initiator-fin"),
    (FIN_REVERSE, "responder-fin"),
    (FIN_FORWARD_ACKED, "initiator-fin-acknowledged"),
    (FIN_REVERSE_ACKED, "responder-fin-acknowledged"),
    (CLOSING, "closing"),
    (NO_SYN, "first-without-syn"),
    (ACK_FORWARD, "initiator-ack"),
    (PROXIED, "proxied"),
    (REFUSED, "refused"),
    (BLOCKED, "blocked"),
];

/// Action for sessions whose first packet is no SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstWithoutSyn {
    /// The packet is forwarded, and the session ends in the next round.
    #[default]
    Remove,
    /// The packet is dropped, and so are those that follow until the security timeout has passed.
    Security,
}

/// Follows a segment of a session that has not been blocked. The session may have another timeout afterwards.
pub fn follow(record: &Record, mark: Mark, segment: Segment, first: FirstWithoutSyn) {
    let (before, direction) = (record.status(), mark.direction());
    let mut status = before;
    if mark.is_first() && !segment.has(SYN) {
        let (timeout, flags) = match first {
            FirstWithoutSyn::Remove => (NOW, NO_SYN),
            FirstWithoutSyn::Security => (SECURITY, NO_SYN | BLOCKED),
        };
        record.set_status(Status { timeout, flags, ..before });
        return;
    }
    let forward = direction == Direction::Forward;
    if before.flags & NO_SYN != 0 {
        // RFC 9293, 3.6.1: the ports are used for a connection whose beginning is seen. Until it is answered, its session ends as soon as it would have.
        if forward && segment.opens() && before.flags & BLOCKED == 0 {
            record.set_status(Status { fields: before.fields, timeout: NOW, ..Status::NEW });
        }
        return;
    }
    if segment.has(RST) {
        status = Status { timeout: NOW, flags: before.flags | CLOSING, ..before };
    } else if before.flags & CLOSING != 0 {
        // What is late of the old connection changes nothing. RFC 9293, 3.6.1: the ports may be used again.
        if !forward || !segment.has(SYN) {
            return;
        }
        status = Status { fields: before.fields, ..Status::NEW };
    } else {
        status.flags |= noted(record, direction, segment, before.flags);
        if status.timeout == NOW && status.flags & SYN_REVERSE != 0 {
            status.timeout = EMBRYONIC;
        }
        let are_open = SYN_REVERSE | SYN_ACKED;
        let is_answered = forward && segment.has(ACK) && before.flags & are_open == are_open;
        if before.state == State::Embryonic && is_answered {
            (status.state, status.timeout) = (State::Established, TCP_ESTABLISHED);
        }
        let are_closed = FIN_FORWARD_ACKED | FIN_REVERSE_ACKED;
        if status.flags & are_closed == are_closed {
            status = Status { state: State::TimeWait, timeout: CLOSED, flags: status.flags | CLOSING, ..before };
        }
    }
    if status != before {
        record.set_status(status);
    }
}

/// The status of a connection behind a segment with these flags, where it is watched and not followed: packets pass whatever it is, and
/// numbers do not matter. As in VPP's access lists it is established once both ends have sent SYN and ACK, until one sends FIN or RST;
/// before and then, the timeout is that of embryonic sessions.
pub(crate) fn watched(before: Status, (direction, is_first): (Direction, bool), flags: u8) -> Status {
    let has = |flag| flags & flag != 0;
    let forward = direction == Direction::Forward;
    // RFC 9293, 3.6.1: the ports may be used again.
    let is_again = before.flags & CLOSING != 0 && forward && has(SYN) && !has(ACK);
    let mut seen = match is_first || is_again {
        true => NO_SYN,
        false => before.flags,
    };
    if forward && has(SYN) {
        seen &= !NO_SYN;
    }
    let (syn, ack, fin) = match direction {
        Direction::Forward => (0, ACK_FORWARD, FIN_FORWARD),
        Direction::Reverse => (SYN_REVERSE, SYN_ACKED, FIN_REVERSE),
    };
    for (flag, noted) in [(SYN, syn), (ACK, ack), (FIN, fin | CLOSING), (RST, CLOSING)] {
        if has(flag) {
            seen |= noted;
        }
    }
    let open = SYN_REVERSE | SYN_ACKED | ACK_FORWARD;
    let (state, timeout) = match seen & (open | NO_SYN | CLOSING) {
        seen if seen & CLOSING != 0 => (State::TimeWait, EMBRYONIC),
        seen if seen == open => (State::Established, TCP_ESTABLISHED),
        _ => (State::Embryonic, EMBRYONIC),
    };
    Status { state, timeout, flags: seen, ..before }
}

/// The flags that a segment adds.
fn noted(record: &Record, direction: Direction, segment: Segment, flags: u16) -> u16 {
    let forward = direction == Direction::Forward;
    let mut added = 0;
    if !forward && segment.has(SYN) {
        added |= SYN_REVERSE;
    }
    if !forward && segment.has(ACK) {
        added |= SYN_ACKED;
    }
    let (fin, other_fin, acked) = match direction {
        Direction::Forward => (FIN_FORWARD, FIN_REVERSE, FIN_REVERSE_ACKED),
        Direction::Reverse => (FIN_REVERSE, FIN_FORWARD, FIN_FORWARD_ACKED),
    };
    if segment.has(FIN) {
        added |= fin;
        // The FIN has a number of its own, behind the payload.
        record.set_end_of(direction, segment.sequence.wrapping_add(segment.length).wrapping_add(1));
    }
    if segment.has(ACK) && flags & other_fin != 0 {
        let end = record.end_of(if forward { Direction::Reverse } else { Direction::Forward });
        if segment.acknowledgment.wrapping_sub(end) as i32 >= 0 {
            added |= acked;
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{End, Format, Key};
    use crate::timeouts::ESTABLISHED;
    use Direction::{Forward, Reverse};
    use quiver_wire::IpProtocol;

    /// A new session, and packets of it.
    struct Connection(Record);

    impl Connection {
        fn new() -> Connection {
            let record = Record::default();
            let (low, high) = (End { address: 1, port: 2 }, End { address: 3, port: 4 });
            let (key, _) = Key::new((low, high), 0, (IpProtocol::TCP, Format::IP4));
            record.begin(&key, 0, (0, false), 0);
            record.set_status(Status::NEW);
            Connection(record)
        }
        fn sends(&self, direction: Direction, flags: u8, numbers: (u32, u32), length: u32) {
            self.passes((direction, flags, numbers, length), FirstWithoutSyn::Remove);
        }
        fn passes(&self, of: (Direction, u8, (u32, u32), u32), first: FirstWithoutSyn) {
            let (direction, flags, (sequence, acknowledgment), length) = of;
            let is_first = Direction::ALL.iter().all(|direction| self.0.traffic(*direction).0 == 0);
            self.0.touch(direction, 40 + length, 0);
            let segment = Segment { flags, sequence, acknowledgment, length, ..Segment::UNKNOWN };
            let mark = Mark::new(0, 1, direction).first(is_first);
            follow(&self.0, mark, segment, first);
        }
        fn timeout(&self) -> u8 {
            self.0.status().timeout
        }
        fn state(&self) -> State {
            self.0.status().state
        }
        fn open() -> Connection {
            let connection = Connection::new();
            connection.sends(Forward, SYN, (1000, 0), 0);
            connection.sends(Reverse, SYN | ACK, (2000, 1001), 0);
            assert_eq!(connection.state(), State::Embryonic);
            connection.sends(Forward, ACK, (1001, 2001), 0);
            assert_eq!((connection.state(), connection.0.status().timeout), (State::Established, TCP_ESTABLISHED));
            connection
        }
    }

    #[test]
    fn a_handshake_establishes_and_a_repeated_syn_does_no_harm() {
        let connection = Connection::new();
        for _ in 0..3 {
            connection.sends(Forward, SYN, (1000, 0), 0);
        }
        connection.sends(Forward, ACK, (1001, 2001), 0);
        assert_eq!((connection.state(), connection.0.status().timeout), (State::Embryonic, EMBRYONIC));
        connection.sends(Reverse, SYN | ACK, (2000, 1001), 0);
        connection.sends(Forward, ACK, (1001, 2001), 0);
        assert_eq!(connection.state(), State::Established);
        assert_ne!(connection.0.status().timeout, ESTABLISHED);
    }

    #[test]
    fn both_ends_close_in_either_order() {
        for [first, second] in [[Forward, Reverse], [Reverse, Forward]] {
            for length in [0, 50] {
                let connection = Connection::open();
                // Sequence number of each end, and the number behind its FIN.
                let number = |direction| if direction == Forward { 1001 } else { 2001 };
                connection.sends(first, FIN | ACK, (number(first), number(second)), length);
                let behind = number(first) + length + 1;
                // One that acknowledges less than the FIN.
                connection.sends(second, ACK, (number(second), behind - 1), 0);
                connection.sends(second, FIN | ACK, (number(second), behind), 0);
                assert_eq!(connection.state(), State::Established);
                // The last ACK comes twice.
                for _ in 0..2 {
                    connection.sends(first, ACK, (behind, number(second) + 1), 0);
                    assert_eq!((connection.state(), connection.timeout()), (State::TimeWait, CLOSED));
                }
            }
        }
    }

    #[test]
    fn an_acknowledgment_below_the_fin_does_not_close() {
        let connection = Connection::open();
        connection.sends(Forward, FIN | ACK, (1001, 2001), 0);
        connection.sends(Reverse, FIN | ACK, (2001, 1001), 0);
        connection.sends(Forward, ACK, (1002, 2002), 0);
        assert_eq!(connection.state(), State::Established);
        connection.sends(Reverse, ACK, (2002, 1002), 0);
        assert_eq!(connection.state(), State::TimeWait);
    }

    #[test]
    fn a_reset_ends_it_and_a_syn_opens_it_anew() {
        for from in Direction::ALL {
            let connection = Connection::open();
            connection.sends(from, RST, (1001, 0), 0);
            assert_eq!(connection.timeout(), NOW);
            // RFC 9293, 3.6.1.
            connection.sends(Forward, SYN, (5000, 0), 0);
            assert_eq!((connection.state(), connection.0.status().timeout), (State::Embryonic, EMBRYONIC));
            connection.sends(Reverse, SYN | ACK, (2000, 5001), 0);
            connection.sends(Forward, ACK, (5001, 2001), 0);
            assert_eq!(connection.state(), State::Established);
        }
    }

    #[test]
    fn what_is_late_of_a_reset_connection_does_not_open_it() {
        let connection = Connection::new();
        connection.sends(Forward, SYN, (1000, 0), 0);
        connection.sends(Reverse, SYN | ACK, (2000, 1001), 0);
        connection.sends(Reverse, RST, (2001, 0), 0);
        connection.sends(Forward, ACK, (1001, 2001), 0);
        connection.sends(Reverse, SYN | ACK, (2000, 1001), 0);
        assert_eq!((connection.state(), connection.timeout()), (State::Embryonic, NOW));
    }

    #[test]
    fn a_first_packet_without_syn_is_forwarded_once_or_blocks() {
        let connection = Connection::new();
        for (direction, flags) in [(Forward, ACK), (Reverse, SYN), (Forward, SYN | ACK)] {
            connection.sends(direction, flags, (1000, 1), 0);
            assert_eq!(connection.timeout(), NOW);
        }
        // RFC 9293, 3.6.1: the ports are used again.
        connection.sends(Forward, SYN, (2000, 0), 0);
        assert_eq!(connection.0.status(), Status { timeout: NOW, ..Status::NEW });
        connection.sends(Reverse, SYN | ACK, (3000, 2001), 0);
        assert_eq!((connection.state(), connection.timeout()), (State::Embryonic, EMBRYONIC));
        connection.sends(Forward, ACK, (2001, 3001), 0);
        assert_eq!((connection.state(), connection.timeout()), (State::Established, TCP_ESTABLISHED));
        let connection = Connection::new();
        connection.passes((Forward, ACK, (1000, 1), 0), FirstWithoutSyn::Security);
        assert_eq!(connection.0.status(), Status { timeout: SECURITY, flags: NO_SYN | BLOCKED, ..Status::NEW });
    }

    #[test]
    fn a_watched_connection_is_established_between_handshake_and_fin() {
        let mut status = Status::NEW;
        let mut is_first = true;
        let mut sends = |direction, flags| {
            status = watched(status, (direction, is_first), flags);
            is_first = false;
            (status.state, status.timeout)
        };
        let (transient, established) = ((State::Embryonic, EMBRYONIC), (State::Established, TCP_ESTABLISHED));
        let closing = (State::TimeWait, EMBRYONIC);
        for last in [FIN | ACK, RST] {
            assert_eq!(sends(Forward, SYN), transient);
            assert_eq!(sends(Reverse, SYN | ACK), transient);
            assert_eq!(sends(Forward, ACK), established);
            assert_eq!(sends(Reverse, ACK), established);
            assert_eq!(sends(Reverse, last), closing);
            assert_eq!(sends(Forward, ACK), closing);
            // The other end cannot open it anew.
            assert_eq!(sends(Reverse, SYN), closing);
        }
    }

    #[test]
    fn a_watched_connection_without_handshake_is_never_established() {
        let mut status = watched(Status::NEW, (Forward, true), ACK);
        for direction in [Reverse, Forward, Reverse] {
            status = watched(status, (direction, false), ACK);
            assert_eq!((status.state, status.timeout), (State::Embryonic, EMBRYONIC));
        }
    }
}
