//! Strict checks of TCP: segments of a connection that no end would accept are dropped, and no other segment ends it.
//!
//! Numbers are checked as in "Real Stateful TCP Packet Filtering in IP Filter" (van Rooij, 2001): a segment lies between the oldest byte
//! that its receiver may still want and the highest one that the receiver allows, and acknowledges bytes that have been sent. Resets and
//! SYNs of open connections are judged as their receiver does by RFC 5961; those that make it send a challenge pass, and change nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zerocopy::FromZeros;

use crate::record::{CLOSING, Direction, NO_SYN, State, Status};
use crate::segment::{ACK, FIN, RST, SYN, Segment};

/// Judgment about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is part of the connection.
    Follow,
    /// It passes, and its receiver judges it: it changes nothing.
    Pass,
    /// It has a combination of flags that no end sends.
    Flags,
    /// Its receiver would not accept it.
    OutOfWindow,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct End {
    /// The number behind the highest byte that it has sent.
    end: u32,
    /// The number behind the highest byte that the other end allows.
    limit: u32,
    /// The largest window that it has offered, in bytes.
    window: u32,
    /// Its highest acknowledgment.
    acked: u32,
    /// Shift of its windows (RFC 7323, 2.2); None if its SYN had none.
    scale: Option<u8>,
    /// Whether its SYN has come.
    is_known: bool,
    /// Whether it has acknowledged anything.
    has_acked: bool,
}

/// Acknowledgments may be this far behind, as they may have been overtaken (as in the Linux kernel).
const ACK_BEHIND: u32 = 66_000;
/// Highest shift of a window (RFC 7323, 2.3).
const SCALE_MAX: u8 = 14;

/// Whether a number comes before another one (RFC 9293, 3.4).
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// The later one of two numbers.
fn later(one: u32, other: u32) -> u32 {
    if is_before(one, other) { other } else { one }
}

/// Whether an end sends these flags together; PSH, URG, ECE and CWR come with any (RFC 9293, 3.10).
fn are_valid(flags: u8) -> bool {
    let flags = flags & (SYN | ACK | FIN | RST);
    [SYN, SYN | ACK, RST, RST | ACK, FIN | ACK, ACK].contains(&flags)
}

/// Both ends of a connection: the initiator first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends([End; 2]);

impl Ends {
    /// Begins with the initiator's SYN.
    fn of(segment: &Segment) -> Ends {
        let mut ends = Ends::default();
        ends.0[0].begin(segment);
        ends
    }
    /// Whether the initiator's SYN begins the connection anew: the former one has been closed, or nothing has answered its SYN and the
    /// initiator begins with another number.
    fn begin_anew(&self, segment: &Segment, status: Status) -> bool {
        let Ends([initiator, responder]) = self;
        let is_other = !responder.is_known && segment.sequence.wrapping_add(1) != initiator.begin_of(segment);
        status.flags & CLOSING != 0 || (status.state == State::Embryonic && is_other)
    }
    fn judge(&mut self, direction: Direction, segment: &Segment, status: Status) -> Verdict {
        if !are_valid(segment.flags) {
            return Verdict::Flags;
        }
        let [initiator, responder] = &mut self.0;
        let (sender, receiver) = match direction {
            Direction::Forward => (initiator, responder),
            Direction::Reverse => (responder, initiator),
        };
        if segment.has(RST) {
            return sender.judge_reset(receiver, segment);
        }
        if segment.has(SYN) && status.state != State::Embryonic {
            // RFC 5961, 4.2: the receiver answers with a challenge.
            return Verdict::Pass;
        }
        if !sender.is_known {
            if !segment.has(SYN) {
                // RFC 9293, 3.5.1: the responder has an old connection, and its answer makes the initiator reset that.
                sender.acked = segment.acknowledgment;
                sender.has_acked = segment.has(ACK);
                return Verdict::Pass;
            }
            if segment.has(ACK) && segment.acknowledgment != receiver.end {
                return Verdict::OutOfWindow;
            }
            sender.begin(segment);
            // Until the first acknowledgment, the window of the receiver's SYN is what it allows.
            sender.limit = later(sender.limit, segment.sequence.wrapping_add(1).wrapping_add(receiver.window));
        } else if segment.has(SYN) && segment.sequence.wrapping_add(1) != sender.begin_of(segment) {
            return Verdict::Pass;
        }
        if !sender.accepts(receiver, segment) {
            return Verdict::OutOfWindow;
        }
        sender.note(receiver, segment);
        Verdict::Follow
    }
}

impl End {
    /// The end's SYN comes.
    fn begin(&mut self, segment: &Segment) {
        let end = segment.end();
        *self = End {
            end,
            limit: end,
            window: u32::from(segment.window).max(1),
            scale: segment.scale.map(|scale| scale.min(SCALE_MAX)),
            is_known: true,
            ..End::default()
        };
    }
    /// The number behind a SYN that is sent again, if nothing was sent behind it.
    fn begin_of(&self, segment: &Segment) -> u32 {
        self.end.wrapping_sub(segment.length)
    }
    /// The window that a segment of this end offers, in bytes.
    fn window(&self, receiver: &End, segment: &Segment) -> u32 {
        // RFC 7323, 2.2: windows are scaled if both SYNs said so, and that of a SYN never is.
        let scale = self.scale.filter(|_| receiver.scale.is_some() && !segment.has(SYN)).unwrap_or_default();
        u32::from(segment.window) << scale
    }
    /// Whether a segment of this end lies in the receiver's window.
    fn is_in_window(&self, receiver: &End, segment: &Segment) -> bool {
        let oldest = self.end.wrapping_sub(receiver.window.max(1)).wrapping_sub(1);
        !is_before(self.limit, segment.sequence) && is_before(oldest, segment.end())
    }
    fn accepts(&self, receiver: &End, segment: &Segment) -> bool {
        let acknowledges = |acknowledgment| {
            let oldest = receiver.end.wrapping_sub(self.window.max(ACK_BEHIND)).wrapping_sub(1);
            !is_before(receiver.end, acknowledgment) && is_before(oldest, acknowledgment)
        };
        self.is_in_window(receiver, segment) && (!segment.has(ACK) || acknowledges(segment.acknowledgment))
    }
    /// Notes a segment that this end has sent.
    fn note(&mut self, receiver: &mut End, segment: &Segment) {
        let (end, window) = (segment.end(), self.window(receiver, segment));
        self.window = self.window.max(window);
        if is_before(self.limit, end) {
            // The receiver has a larger window than was seen.
            receiver.window = receiver.window.saturating_add(end.wrapping_sub(self.limit));
        }
        self.end = later(self.end, end);
        if segment.has(ACK) {
            let acked = segment.acknowledgment;
            self.acked = if self.has_acked { later(self.acked, acked) } else { acked };
            self.has_acked = true;
            // One byte may probe a window that is closed.
            receiver.limit = later(receiver.limit, acked.wrapping_add(window.max(1)));
        }
    }
    /// Judges a reset by this end (RFC 5961, 3.2): it ends the connection if it has the number that the receiver expects.
    fn judge_reset(&self, receiver: &End, segment: &Segment) -> Verdict {
        if !self.is_known {
            // RFC 9293, 3.10.7.3: an answer to the SYN.
            let is_answer = segment.has(ACK) && segment.acknowledgment == receiver.end;
            return if is_answer { Verdict::Follow } else { Verdict::OutOfWindow };
        }
        let is_expected = receiver.has_acked && segment.sequence == receiver.acked;
        match segment.sequence == self.end || is_expected {
            true => Verdict::Follow,
            false if self.is_in_window(receiver, segment) => Verdict::Pass,
            false => Verdict::OutOfWindow,
        }
    }
}

/// Whether a SYN of the initiator begins the connection of a session: others go on without these checks, such as those that began before.
fn may_begin(status: Status) -> bool {
    status.flags & CLOSING != 0 || (status.flags & NO_SYN == 0 && status.state == State::Embryonic)
}

/// The ends of a session's connection in memory, of atomic words, as a record. They belong to the session of a generation.
#[derive(Default, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Windows {
    /// End and limit of each end, then its window and highest acknowledgment.
    numbers: [AtomicU64; 4],
    /// Generation 32 bits, flags of both ends 8 bits each, live 1.
    of: AtomicU64,
}

const LIVE: u64 = 1 << 63;
const KNOWN: u64 = 1 << 4;
const HAS_ACKED: u64 = 1 << 5;
const SCALED: u64 = 1 << 6;

impl Windows {
    /// Judges a segment of a session of the owner with this generation. None if the session's SYN has not been seen by these checks.
    pub(crate) fn judge(
        &self,
        (generation, direction): (u32, Direction),
        segment: &Segment,
        status: Status,
    ) -> Option<Verdict> {
        let begins = direction == Direction::Forward && segment.flags & (SYN | ACK | FIN | RST) == SYN;
        let known = self.load(generation).filter(|ends| !(begins && ends.begin_anew(segment, status)));
        let (ends, verdict) = match known {
            Some(mut ends) => {
                let verdict = ends.judge(direction, segment, status);
                (ends, verdict)
            }
            None if begins && may_begin(status) => (Ends::of(segment), Verdict::Follow),
            None => return None,
        };
        self.store(generation, &ends);
        Some(verdict)
    }
    /// Whether they are those of a session of the owner with this generation.
    pub(crate) fn has(&self, generation: u32) -> bool {
        self.load(generation).is_some()
    }
    fn load(&self, generation: u32) -> Option<Ends> {
        let of = self.of.load(Relaxed);
        if of & LIVE == 0 || of as u32 != generation {
            return None;
        }
        let end = |at: usize| {
            let (first, second) = (self.numbers[at * 2].load(Relaxed), self.numbers[at * 2 + 1].load(Relaxed));
            let flags = of >> (32 + 8 * at);
            End {
                end: (first >> 32) as u32,
                limit: first as u32,
                window: (second >> 32) as u32,
                acked: second as u32,
                scale: (flags & SCALED != 0).then_some(flags as u8 & 0xf),
                is_known: flags & KNOWN != 0,
                has_acked: flags & HAS_ACKED != 0,
            }
        };
        Some(Ends([end(0), end(1)]))
    }
    fn store(&self, generation: u32, Ends(ends): &Ends) {
        let mut of = LIVE | u64::from(generation);
        for (at, end) in ends.iter().enumerate() {
            self.numbers[at * 2].store(u64::from(end.end) << 32 | u64::from(end.limit), Relaxed);
            self.numbers[at * 2 + 1].store(u64::from(end.window) << 32 | u64::from(end.acked), Relaxed);
            let flag = |is: bool, flag: u64| if is { flag } else { 0 };
            let flags = u64::from(end.scale.unwrap_or_default())
                | flag(end.is_known, KNOWN)
                | flag(end.has_acked, HAS_ACKED)
                | flag(end.scale.is_some(), SCALED);
            of |= flags << (32 + 8 * at);
        }
        self.of.store(of, Relaxed);
    }
}

#[cfg(test)]
mod tests;
