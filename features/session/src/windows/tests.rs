//! Segments of connections, and the verdicts about them.

use super::*;
use Direction::{Forward, Reverse};
use Verdict::{Flags, Follow, OutOfWindow, Pass};

/// A connection, and its state as a session would have it.
struct Connection {
    windows: Windows,
    status: Status,
}

/// A segment: flags, sequence number, acknowledgment, bytes.
type Sent = (u8, u32, u32, u32);

impl Connection {
    fn new() -> Connection {
        let status = Status::NEW;
        Connection { windows: Windows::default(), status }
    }
    fn segment((flags, sequence, acknowledgment, length): Sent, window: u16, scale: Option<u8>) -> Segment {
        Segment { flags, sequence, acknowledgment, length, window, scale }
    }
    fn sends_with(&self, direction: Direction, sent: Sent, (window, scale): (u16, Option<u8>)) -> Verdict {
        let segment = Connection::segment(sent, window, scale);
        self.windows.judge((1, direction), &segment, self.status).expect("its SYN was seen")
    }
    fn sends(&self, direction: Direction, sent: Sent) -> Verdict {
        self.sends_with(direction, sent, (1000, None))
    }
    /// An open connection: the initiator's next number is 101, the responder's 501; both offer 1,000 bytes, shifted so.
    fn open(base: u32, scales: [Option<u8>; 2]) -> Connection {
        let mut connection = Connection::new();
        let (client, server) = (base.wrapping_add(100), base.wrapping_add(500));
        let handshake = [
            (Forward, (SYN, client, 0, 0), scales[0]),
            (Reverse, (SYN | ACK, server, client.wrapping_add(1), 0), scales[1]),
            (Forward, (ACK, client.wrapping_add(1), server.wrapping_add(1), 0), None),
        ];
        for (direction, sent, scale) in handshake {
            assert_eq!(connection.sends_with(direction, sent, (1000, scale)), Follow, "{sent:?}");
        }
        connection.status.state = State::Established;
        connection
    }
}

#[test]
fn data_in_the_window_passes_and_other_data_does_not() {
    // Also where numbers come round.
    for base in [0, 0u32.wrapping_sub(300), 1 << 31] {
        let connection = Connection::open(base, [None; 2]);
        let at = |number: u32| base.wrapping_add(number);
        let sends = |direction, (flags, sequence, acknowledgment, length): Sent| {
            connection.sends(direction, (flags, at(sequence), at(acknowledgment), length))
        };
        assert_eq!(sends(Forward, (ACK, 101, 501, 600)), Follow);
        // It comes twice, and the next segment before the one between.
        assert_eq!(sends(Forward, (ACK, 101, 501, 600)), Follow);
        assert_eq!(sends(Forward, (ACK, 901, 501, 200)), Follow);
        // Beyond the window, and long before it.
        assert_eq!(sends(Forward, (ACK, 1200, 501, 10)), OutOfWindow);
        assert_eq!(sends(Forward, (ACK, 101u32.wrapping_sub(2000), 501, 10)), OutOfWindow);
        // Bytes are acknowledged that were not sent, and some from long ago.
        assert_eq!(sends(Reverse, (ACK, 501, 1102, 0)), OutOfWindow);
        assert_eq!(sends(Reverse, (ACK, 501, 101u32.wrapping_sub(100_000), 0)), OutOfWindow);
        // The window moves with the acknowledgment.
        assert_eq!(sends(Reverse, (ACK, 501, 701, 0)), Follow);
        assert_eq!(sends(Forward, (ACK, 1200, 501, 10)), Follow);
        // A keepalive repeats the last byte.
        assert_eq!(sends(Forward, (ACK, 1209, 501, 1)), Follow);
    }
}

#[test]
fn a_closed_window_may_be_probed() {
    let connection = Connection::open(0, [None; 2]);
    assert_eq!(connection.sends(Forward, (ACK, 101, 501, 1000)), Follow);
    assert_eq!(connection.sends_with(Reverse, (ACK, 501, 1101, 0), (0, None)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, 1101, 501, 1)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, 1200, 501, 1)), OutOfWindow);
    assert_eq!(connection.sends_with(Reverse, (ACK, 501, 1101, 0), (500, None)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, 1200, 501, 1)), Follow);
}

#[test]
fn windows_are_scaled_if_both_ends_say_so() {
    for (scales, is_scaled) in [([Some(4), Some(4)], true), ([Some(4), None], false), ([None, Some(4)], false)] {
        let connection = Connection::open(0, scales);
        // The window of a SYN is not scaled; this one is.
        assert_eq!(connection.sends(Reverse, (ACK, 501, 101, 0)), Follow);
        let verdict = connection.sends(Forward, (ACK, 15_000, 501, 100));
        assert_eq!(verdict, if is_scaled { Follow } else { OutOfWindow }, "{scales:?}");
    }
    // RFC 7323, 2.3: a larger shift counts as 14.
    let connection = Connection::open(0, [Some(15), Some(255)]);
    assert_eq!(connection.sends(Reverse, (ACK, 501, 101, 0)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, (1000 << 14) + 100, 501, 100)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, (1000 << 14) + 3000, 501, 100)), OutOfWindow);
}

#[test]
fn a_reset_ends_the_connection_by_its_exact_number_alone() {
    let old = 101u32.wrapping_sub(1500);
    for (sequence, verdict) in
        [(101, Follow), (102, Pass), (99, Pass), (1100, Pass), (1200, OutOfWindow), (old, OutOfWindow)]
    {
        let connection = Connection::open(0, [None; 2]);
        assert_eq!(connection.sends(Forward, (RST, sequence, 0, 0)), verdict, "{sequence}");
    }
    let connection = Connection::open(0, [None; 2]);
    assert_eq!(connection.sends(Forward, (ACK, 101, 501, 600)), Follow);
    // With bytes on their way: behind them, or where the receiver is.
    assert_eq!(connection.sends(Forward, (RST, 701, 0, 0)), Follow);
    assert_eq!(connection.sends(Forward, (RST | ACK, 101, 501, 0)), Follow);
    assert_eq!(connection.sends(Forward, (RST, 400, 0, 0)), Pass);
}

#[test]
fn a_closed_port_answers_the_syn_with_a_reset_that_acknowledges_it() {
    let connection = Connection::new();
    assert_eq!(connection.sends(Forward, (SYN, 100, 0, 0)), Follow);
    for (flags, acknowledgment) in [(RST | ACK, 100), (RST | ACK, 102), (RST, 101)] {
        assert_eq!(connection.sends(Reverse, (flags, 0, acknowledgment, 0)), OutOfWindow);
    }
    assert_eq!(connection.sends(Reverse, (RST | ACK, 0, 101, 0)), Follow);
}

#[test]
fn a_syn_neither_ends_nor_changes_an_open_connection() {
    let connection = Connection::open(0, [None; 2]);
    for (direction, flags) in [(Forward, SYN), (Reverse, SYN), (Reverse, SYN | ACK)] {
        assert_eq!(connection.sends(direction, (flags, 50_000, 101, 0)), Pass);
    }
    assert_eq!(connection.sends(Forward, (ACK, 101, 501, 100)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, 50_001, 501, 100)), OutOfWindow);
}

#[test]
fn a_syn_comes_again_or_with_another_number_until_it_is_answered() {
    let connection = Connection::new();
    for sequence in [100, 100, 7000] {
        assert_eq!(connection.sends(Forward, (SYN, sequence, 0, 0)), Follow);
    }
    // An answer to the former SYN is none to this one.
    assert_eq!(connection.sends(Reverse, (SYN | ACK, 500, 101, 0)), OutOfWindow);
    assert_eq!(connection.sends(Reverse, (SYN | ACK, 500, 7001, 0)), Follow);
    assert_eq!(connection.sends(Reverse, (SYN | ACK, 500, 7001, 0)), Follow);
    assert_eq!(connection.sends(Forward, (SYN, 7000, 0, 0)), Follow);
    assert_eq!(connection.sends(Forward, (SYN, 9000, 0, 0)), Pass);
    // The responder sends within the window of the SYN, before its own is acknowledged.
    assert_eq!(connection.sends(Reverse, (ACK, 501, 7001, 600)), Follow);
    assert_eq!(connection.sends(Reverse, (ACK, 1101, 7001, 400)), Follow);
    assert_eq!(connection.sends(Reverse, (ACK, 1600, 7001, 400)), OutOfWindow);
}

#[test]
fn both_ends_may_open_it() {
    let connection = Connection::new();
    assert_eq!(connection.sends(Forward, (SYN, 100, 0, 0)), Follow);
    assert_eq!(connection.sends(Reverse, (SYN, 500, 0, 0)), Follow);
    assert_eq!(connection.sends(Forward, (SYN | ACK, 100, 501, 0)), Follow);
    assert_eq!(connection.sends(Reverse, (SYN | ACK, 500, 101, 0)), Follow);
    assert_eq!(connection.sends(Forward, (ACK, 101, 501, 100)), Follow);
}

#[test]
fn an_old_connection_of_the_responder_is_reset() {
    let connection = Connection::new();
    assert_eq!(connection.sends(Forward, (SYN, 100, 0, 0)), Follow);
    assert_eq!(connection.sends(Reverse, (ACK, 9000, 70_000, 0)), Pass);
    assert_eq!(connection.sends(Forward, (RST, 70_001, 0, 0)), OutOfWindow);
    assert_eq!(connection.sends(Forward, (RST, 70_000, 0, 0)), Follow);
}

#[test]
fn a_closed_connection_is_opened_anew_and_a_record_of_another_session_is_none() {
    let mut connection = Connection::open(0, [None; 2]);
    // After both FINs, and after a reset.
    for state in [State::TimeWait, State::Established] {
        connection.status = Status { state, flags: CLOSING, ..Status::NEW };
        assert_eq!(connection.sends(Forward, (SYN, 90_000, 0, 0)), Follow);
        connection.status = Status::NEW;
        assert_eq!(connection.sends(Reverse, (SYN | ACK, 1, 90_001, 0)), Follow);
        assert_eq!(connection.sends(Forward, (ACK, 90_001, 2, 100)), Follow);
    }
    let judge = |generation, sent: Sent| {
        let segment = Connection::segment(sent, 1000, None);
        connection.windows.judge((generation, Forward), &segment, connection.status)
    };
    assert_eq!(judge(2, (ACK, 90_001, 2, 0)), None);
    assert_eq!(judge(2, (SYN, 5, 0, 0)), Some(Follow));
}

#[test]
fn flags_that_no_end_sends_are_named() {
    let connection = Connection::open(0, [None; 2]);
    for flags in [0, FIN, SYN | FIN, SYN | RST, FIN | RST, FIN | RST | ACK, SYN | FIN | ACK, 0x3f] {
        assert_eq!(connection.sends(Forward, (flags, 101, 501, 0)), Flags, "{flags:#x}");
    }
    // PSH and URG, ECE and CWR.
    for more in [8, 32, 64 | 128] {
        assert_eq!(connection.sends(Forward, (ACK | more, 101, 501, 0)), Follow);
    }
}

#[test]
fn ends_are_kept_in_memory() {
    let mut random = fastrand::Rng::with_seed(1);
    let windows = Windows::default();
    for _ in 0..1000 {
        let mut end = || End {
            end: random.u32(..),
            limit: random.u32(..),
            window: random.u32(..),
            acked: random.u32(..),
            scale: random.bool().then(|| random.u8(..15)),
            is_known: random.bool(),
            has_acked: random.bool(),
        };
        let ends = Ends([end(), end()]);
        let generation = random.u32(..crate::record::GENERATION);
        windows.store(generation, &ends);
        assert_eq!((windows.load(generation), windows.load(generation + 1)), (Some(ends), None));
    }
}
