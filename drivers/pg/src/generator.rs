//! Makes the packets of a stream, on the worker that polls its interface.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_engine::buffer::SEGMENT_MAX;
use quiver_engine::channel::{Doorbell, Outbox};
use quiver_engine::thread::FineClock;
use quiver_engine::{Frame, Offload, RxContext};
use quiver_wire::VirtioNetHeader;

use crate::capture::Sent;
use crate::input::Next;
use crate::offload::Offloads;
use crate::output::Output;
use crate::recording::Recording;
use crate::sequence::{Score, Scoreboard};
use crate::stream::PgStream;
use crate::tag::{Stamp, StampedTag, Tag};
use crate::template::Template;

/// A stream that falls further behind than this, because its interface was down, does not catch up.
const LAG_MAX: u64 = 100_000_000;
const SECOND: u128 = 1_000_000_000;
/// Copies of a packet that are reckoned with: interfaces of the generator in a bridge domain.
const COPIES: usize = 64;

/// The packets of a stream, one after the other.
pub(crate) struct Generator {
    slot: u16,
    run: u16,
    board: Arc<Scoreboard>,
    copies: Outbox<Sent>,
    bell: Doorbell,
    packets: Packets,
    /// Where packets are sent rather than received.
    output: Option<Output>,
    /// Packets made in one turn at most.
    maxframe: usize,
    rate: u64,
    burst: u64,
    limit: u64,
    window: u64,
    sent: u64,
    /// When the first packet was due.
    start: Option<u64>,
    /// When it was asked for packets last.
    asked: u64,
    /// Whether packets carry stamps.
    has_stamps: bool,
    /// Whether times between packets are counted, and when the last one was made.
    gaps: Option<Option<u64>>,
}

/// Source of a stream's packets.
pub(crate) enum Packets {
    Made(Box<Template>),
    Recorded(Recorded),
}

/// The packets of a file, as an interface receives them.
pub(crate) struct Recorded {
    recording: Arc<Recording>,
    /// Header that is put before each of them.
    header: Vec<u8>,
    offloads: Offloads,
    /// Room for a packet that is not taken as it is.
    room: Vec<u8>,
}

impl Recorded {
    pub fn new(recording: Arc<Recording>, header: Vec<u8>, offloads: Offloads) -> Recorded {
        Recorded { recording, header, offloads, room: vec![] }
    }
    /// Adds packet `number` to the frame. False if there is no buffer for it.
    fn receive(&mut self, number: u64, cx: &mut RxContext, frame: &mut Frame) -> bool {
        let packet = self.recording.packet(number);
        if self.header.is_empty() && self.offloads == Offloads::default() {
            return frame.push_bytes(cx.pool, packet, cx.interface);
        }
        self.room.clear();
        self.room.extend_from_slice(&self.header);
        self.room.extend_from_slice(packet);
        let left = self.offloads.of(&mut self.room);
        if !frame.push_bytes(cx.pool, &self.room, cx.interface) {
            return false;
        }
        if let Some(left) = &left {
            leave(left, cx, frame);
        }
        true
    }
}

impl Generator {
    /// The packets of a run, and where they go if they are not received; `copies` are those of captures, and `bell` is rung when the last packet was made.
    pub fn new(
        stream: &PgStream,
        (packets, output): (Packets, Option<Output>),
        (slot, run): (u16, u16),
        board: Arc<Scoreboard>,
        copies: Outbox<Sent>,
        bell: Doorbell,
    ) -> Self {
        let PgStream { rate, burst, limit, window, .. } = *stream;
        let (burst, window, maxframe) = (burst.into(), window.into(), stream.maxframe.into());
        Generator {
            slot,
            run,
            board,
            copies,
            bell,
            packets,
            output,
            maxframe,
            rate,
            burst,
            limit,
            window,
            sent: 0,
            start: None,
            asked: 0,
            has_stamps: stream.latency,
            gaps: stream.gaps.then_some(None),
        }
    }
    /// Sets the clock of the worker that makes the packets.
    pub fn set_clock(&self, clock: FineClock) {
        let score = self.board.scores.get(usize::from(self.slot));
        score.and_then(Score::timing).into_iter().for_each(|timing| timing.set_clock(clock));
    }
    /// Whether it is the one of this place on the scoreboard.
    pub fn is(&self, slot: u16) -> bool {
        self.slot == slot
    }
    /// Adds what is due to the frame.
    pub fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) {
        let Some(score) = self.board.scores.get(usize::from(self.slot)) else { return };
        let start = *self.start.get_or_insert(cx.now);
        self.asked = cx.now;
        if let Some(lag) = due_at(start, self.sent, self.rate, self.burst).and_then(|due| cx.now.checked_sub(due))
            && lag > LAG_MAX
        {
            self.start = Some(start + lag);
        }
        // No copy of a packet is to be lost, however many interfaces send it: the generator waits for captures.
        let room = cx.most.saturating_sub(frame.len()).min(self.maxframe).min(self.copies.room() / COPIES);
        let most = allowed(self, score, cx.now).min(room as u64);
        let timing = score.timing().filter(|_| self.has_stamps || self.gaps.is_some());
        let mut made = 0;
        while made < most {
            let number = self.sent + made;
            let moment = timing.map(|timing| timing.moment(cx.now));
            let is_made = match &mut self.packets {
                Packets::Made(template) => {
                    let (slot, run) = (self.slot, self.run);
                    let tag = match moment.filter(|_| self.has_stamps).map(Stamp::new) {
                        None => Tag { slot, run, number }.to_bytes(),
                        Some(stamp) => StampedTag { slot: slot as u8, run, number: number as u32, stamp }.to_bytes(),
                    };
                    make(template, number, tag, cx, frame)
                }
                Packets::Recorded(packets) => packets.receive(number, cx, frame),
            };
            if !is_made {
                // The packet is made when there is a buffer; it is late, not lost.
                cx.lose(Next::NoBuffer, 1);
                break;
            }
            if let Some(output) = &self.output {
                output.mark(frame);
            }
            if let (Some(last), Some(moment), Some(timing)) = (&mut self.gaps, moment, timing)
                && let Some(before) = last.replace(moment)
            {
                timing.gaps.record(moment.saturating_sub(before));
            }
            made += 1;
        }
        self.sent += made;
        score.sent.store(self.sent, Relaxed);
        if made > 0 && self.has_ended() {
            self.bell.ring();
        }
    }
    fn has_ended(&self) -> bool {
        self.limit > 0 && self.sent >= self.limit
    }
    /// The next time with something to do. A full window is looked at again after a while: its packets may leave by
    /// another worker, which does not wake this one.
    pub fn wake_at(&self) -> u64 {
        let score = self.board.scores.get(usize::from(self.slot));
        let ended = self.has_ended();
        let full = self.window > 0 && score.is_some_and(|score| score.missing() >= self.window);
        match self.start {
            _ if ended => u64::MAX,
            _ if full => self.asked.saturating_add(LOOK_EVERY),
            Some(start) => due_at(start, self.sent, self.rate, self.burst).unwrap_or(0),
            None => 0,
        }
    }
}

/// Adds packet `number` to the frame. False if there is no buffer for it.
#[inline]
fn make(template: &mut Template, number: u64, tag: [u8; Tag::LENGTH], cx: &mut RxContext, frame: &mut Frame) -> bool {
    let length = template.size(number);
    let is_made = match length <= SEGMENT_MAX {
        true => frame.push_filled(cx.pool, length, cx.interface, |packet| {
            template.fill(number, tag, packet);
            true
        }),
        false => frame.push_bytes(cx.pool, template.long(number, tag), cx.interface),
    };
    if is_made && let Some(left) = template.left() {
        leave(&left, cx, frame);
    }
    is_made
}

/// Leaves offloads of the packet that was added last to its sender.
fn leave(left: &VirtioNetHeader, cx: &mut RxContext, frame: &mut Frame) {
    let row = frame.len() - 1;
    if let Ok(Some(left)) = Offload::from_virtio(left, frame.offset[row]) {
        frame.set_offload(cx.pool, row, left);
    }
}

/// Nanoseconds between two looks at a window that is full.
const LOOK_EVERY: u64 = 100_000;

/// Packets that may be made now.
fn allowed(generator: &Generator, score: &Score, now: u64) -> u64 {
    let Generator { rate, burst, limit, window, sent, start, .. } = *generator;
    let due = due_by(now.saturating_sub(start.unwrap_or(now)), rate, burst).saturating_sub(sent);
    let within = if window > 0 { window.saturating_sub(score.missing()) } else { u64::MAX };
    let left = if limit > 0 { limit.saturating_sub(sent) } else { u64::MAX };
    due.min(within).min(left)
}

/// Packets due within so many nanoseconds of the start: burst `k` at exactly `k * burst / rate` seconds, rounded up to
/// whole nanoseconds.
fn due_by(elapsed: u64, rate: u64, burst: u64) -> u64 {
    if rate == 0 {
        return u64::MAX;
    }
    let bursts = u128::from(elapsed) * u128::from(rate) / (SECOND * u128::from(burst)) + 1;
    u64::try_from(bursts * u128::from(burst)).unwrap_or(u64::MAX)
}

/// When the packet behind `sent` others is due; at once if the rate has no bounds.
fn due_at(start: u64, sent: u64, rate: u64, burst: u64) -> Option<u64> {
    if rate == 0 {
        return None;
    }
    let packets = u128::from(sent / burst * burst);
    let after = (packets * SECOND).div_ceil(u128::from(rate));
    Some(start.saturating_add(u64::try_from(after).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_due_at_exact_times() {
        // A third of a second is no whole number of nanoseconds: the sum over a minute must not drift.
        assert_eq!((due_by(0, 3, 1), due_by(333_333_333, 3, 1), due_by(333_333_334, 3, 1)), (1, 1, 2));
        assert_eq!(due_by(60_000_000_000, 3, 1), 181);
        assert_eq!((due_by(0, 10, 5), due_by(499_999_999, 10, 5), due_by(500_000_000, 10, 5)), (5, 5, 10));
        for (rate, burst) in [(3, 1), (7, 4), (1_000_000, 1), (14_880_952, 32)] {
            for sent in [0, 1, 5, 63, 1_000_003] {
                let at = due_at(0, sent, rate, burst).expect("a rate");
                assert!(due_by(at, rate, burst) > sent, "{rate} {burst} {sent}");
                assert!(at == 0 || due_by(at - 1, rate, burst) <= sent, "{rate} {burst} {sent}: not too early");
            }
        }
        assert_eq!((due_by(5, 0, 1), due_at(5, 9, 0, 1)), (u64::MAX, None));
    }
}
