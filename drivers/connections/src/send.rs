//! Which packet a connection sends next, and which connections are opened.

use std::sync::atomic::Ordering::Relaxed;

use quiver_engine::buffer::SEGMENT_MAX;
use quiver_engine::{Frame, RxContext};
use quiver_wire::TcpFlags;

use crate::input::Next;
use crate::plan::Tuple;
use crate::record::{ACK, ACK_ALONE, AGAIN, FIN_SENT, FREE, OPEN, OPENING, Record};
use crate::run::Run;
use crate::template::Out;

/// Segments on their way at most: fewer than any stack's smallest window has.
const WINDOW: u32 = 16;
/// Connections that are tried for one that is not open.
const LOOKS: u32 = 16;
const ACK_FLAG: TcpFlags = TcpFlags::ACK;

impl Run {
    /// Whether a connection has a packet to send.
    #[inline(always)]
    pub(crate) fn has_to_send(&self, id: u32, record: &Record) -> bool {
        record.flags() & (ACK | ACK_ALONE) != 0 && self.is_tcp()
            || self.sendable(id, record) > 0
            || self.is_fin_due(id, record)
    }
    /// Bytes of payload that may be sent now.
    #[inline(always)]
    fn sendable(&self, id: u32, record: &Record) -> u32 {
        if record.state() != OPEN || record.has(FIN_SENT) {
            return 0;
        }
        if let Some(replay) = &self.replay {
            return self.is_flow_due(replay, id, record).into();
        }
        let sent = self.sent(id, record);
        let left = self.written(record).saturating_sub(sent);
        if !self.is_tcp() {
            return left;
        }
        let on_their_way = record.next().wrapping_sub(record.unacknowledged());
        left.min((WINDOW * self.load.profile.segment).saturating_sub(on_their_way))
    }
    /// Bytes of payload that were sent.
    #[inline(always)]
    fn sent(&self, id: u32, record: &Record) -> u32 {
        record.next().wrapping_sub(self.first(id, record)).wrapping_sub(1)
    }
    #[inline(always)]
    fn is_fin_due(&self, id: u32, record: &Record) -> bool {
        self.is_tcp()
            && record.state() == OPEN
            && !record.has(FIN_SENT)
            && self.may_close(record)
            && self.sent(id, record) == self.written(record)
    }

    /// The next packet of a connection; None if it has nothing to send.
    #[inline(always)]
    pub(crate) fn next(&self, id: u32, record: &Record) -> Option<Out> {
        let sequence = record.next();
        let acknowledgment = record.expected();
        let out = |flags: u8| Out { flags: TcpFlags(flags), sequence, acknowledgment, at: 0, length: 0 };
        match record.state() {
            OPENING if sequence == record.unacknowledged() => {
                let flags = if self.is_client() { TcpFlags::SYN.0 } else { TcpFlags::SYN.0 | ACK_FLAG.0 };
                return Some(out(flags));
            }
            FREE | OPENING => {
                let is_late = record.state() == FREE && record.has(ACK_ALONE);
                record.clear(ACK | ACK_ALONE);
                return is_late.then(|| out(ACK_FLAG.0));
            }
            _ => {}
        }
        if record.has(ACK_ALONE) {
            return Some(out(ACK_FLAG.0));
        }
        let most = self.sendable(id, record);
        if most > 0 {
            let length = most.min(self.load.profile.segment);
            let at = match self.asked() {
                0 | 1 => 0,
                asked => self.sent(id, record) % asked,
            };
            let push = if length == most { TcpFlags::PSH.0 } else { 0 };
            let flags = if self.is_tcp() { ACK_FLAG.0 | push } else { 0 };
            return Some(Out { at, length, ..out(flags) });
        }
        if self.is_fin_due(id, record) {
            return Some(out(ACK_FLAG.0 | TcpFlags::FIN.0));
        }
        (record.has(ACK) && self.is_tcp()).then(|| out(ACK_FLAG.0))
    }
    /// Bytes that are sent in a round.
    #[inline(always)]
    fn asked(&self) -> u32 {
        if self.is_client() { self.load.profile.request } else { self.load.profile.response }
    }
    /// Notes that a packet was sent.
    #[inline(always)]
    fn note_sent(&self, id: u32, record: &Record, out: &Out, (now, engine): (u64, u64)) {
        let counts = &self.counts;
        counts.packets_sent.add(1);
        counts.bytes_sent.add(out.length.into());
        if out.flags.contains(ACK_FLAG) {
            record.clear(if out.length == 0 && !out.flags.contains(TcpFlags::FIN) { ACK | ACK_ALONE } else { ACK });
        }
        let [is_syn, is_fin] = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| out.flags.contains(flag));
        let numbers = out.length + u32::from(is_syn) + u32::from(is_fin);
        if numbers > 0 && record.state() != FREE {
            record.set_next(out.sequence.wrapping_add(numbers));
            if is_fin {
                record.set(FIN_SENT);
            }
            if record.has(AGAIN) {
                counts.retransmitted.add(1);
            }
            self.wait(id, record, engine);
        }
        self.end_if_over(id, record, now);
    }

    /// Adds packets to the frame: answers first, then connections that are due. False if there was no buffer for one.
    pub(crate) fn send(&self, cx: &mut RxContext, frame: &mut Frame) -> bool {
        let (now, engine) = (self.moment(cx.now), cx.now);
        self.look_at_waiting(engine);
        if !self.send_waiting(cx, frame, (now, engine)) {
            return false;
        }
        if !self.is_opening() {
            return true;
        }
        if self.start.load(Relaxed) == u64::MAX {
            self.start.store(engine, Relaxed);
        }
        let due = self.pace.due(engine - self.start.load(Relaxed).min(engine));
        self.counts.due.set(if self.pace.rate > 0.0 || self.pace.limit > 0 {
            due
        } else {
            self.counts.attempted.get()
        });
        while frame.len() < cx.most
            && frame.room() > 0
            && self.counts.attempted.get() < due
            && self.counts.open.get() < self.open_max
        {
            let Some(id) = self.choose() else {
                self.counts.busy.add(1);
                break;
            };
            let Some(record) = self.record(id) else { break };
            if self.load.flood {
                if !self.flood(id, record, cx, frame) {
                    return false;
                }
                continue;
            }
            self.begin(id, record, now);
            self.to_send.push(&self.records, id);
            if !self.send_waiting(cx, frame, (now, engine)) {
                return false;
            }
        }
        if self.pace.limit > 0 && self.counts.attempted.get() >= self.pace.limit {
            self.stop();
        }
        true
    }
    /// The connection that is opened next.
    #[inline(always)]
    fn choose(&self) -> Option<u32> {
        let count = self.places.count();
        for _ in 0..LOOKS.min(count) {
            let attempt = self.attempt.load(Relaxed);
            self.attempt.store(if attempt + 1 < count { attempt + 1 } else { 0 }, Relaxed);
            let id = match &self.shuffle {
                Some(shuffle) => shuffle.of(attempt),
                None => self.places.in_order(attempt),
            };
            if self.record(id).is_some_and(|record| record.state() == FREE) {
                return Some(id);
            }
        }
        None
    }
    /// Sends what connections have to send, as far as there is room.
    #[inline(always)]
    fn send_waiting(&self, cx: &mut RxContext, frame: &mut Frame, times: (u64, u64)) -> bool {
        if let Some(replay) = &self.replay {
            return self.send_flows(replay, cx, frame, times);
        }
        while frame.len() < cx.most
            && frame.room() > 0
            && let Some(id) = self.to_send.first()
            && let Some(record) = self.record(id)
        {
            let Some(out) = self.next(id, record) else {
                self.to_send.pop(&self.records);
                continue;
            };
            if !self.push(cx, frame, &self.tuple(id, record), &out, id) {
                return false;
            }
            self.note_sent(id, record, &out, times);
        }
        true
    }
    /// A SYN that no record remembers.
    fn flood(&self, id: u32, record: &Record, cx: &mut RxContext, frame: &mut Frame) -> bool {
        record.set_incarnation(record.incarnation().wrapping_add(1));
        let sequence = self.first(id, record);
        let out = Out { flags: TcpFlags::SYN, sequence, acknowledgment: 0, at: 0, length: 0 };
        if !self.push(cx, frame, &self.tuple(id, record), &out, id) {
            return false;
        }
        self.counts.attempted.add(1);
        self.counts.packets_sent.add(1);
        if self.counts.first_at.get() == 0 {
            self.counts.first_at.set(self.moment(cx.now).max(1));
        }
        true
    }
    /// Adds a packet to the frame.
    #[inline(always)]
    fn push(&self, cx: &mut RxContext, frame: &mut Frame, tuple: &Tuple, out: &Out, id: u32) -> bool {
        let write = |bytes: &mut [u8]| self.template.write(bytes, tuple, out, id);
        self.push_written(cx, frame, self.template.length(out), write)
    }
    /// Adds a packet of so many bytes to the frame, which `write` writes.
    #[inline(always)]
    pub(crate) fn push_written(
        &self,
        cx: &mut RxContext,
        frame: &mut Frame,
        length: usize,
        write: impl Fn(&mut [u8]) -> bool,
    ) -> bool {
        let is_made = match length <= SEGMENT_MAX {
            true => frame.push_filled(cx.pool, length, cx.interface, write),
            false => {
                let mut bytes = vec![0; length];
                write(&mut bytes) && frame.push_bytes(cx.pool, &bytes, cx.interface)
            }
        };
        if !is_made {
            // It is sent when there is a buffer; it is late, not lost.
            self.counts.no_buffer.add(1);
            cx.lose(Next::NoBuffer, 1);
        }
        is_made
    }
    /// The next time with something to do; `u64::MAX` is never.
    pub(crate) fn wake_at(&self) -> u64 {
        if self.to_send.first().is_some() {
            return 0;
        }
        let start = self.start.load(Relaxed);
        let next = match self.is_opening() {
            false => u64::MAX,
            true if start == u64::MAX => 0,
            // One has to end first: its last packet wakes the worker.
            true if self.counts.open.get() >= self.open_max => u64::MAX,
            true => self.pace.due_at(self.counts.attempted.get()).map_or(0, |after| start.saturating_add(after)),
        };
        next.min(self.look_at())
    }
}
