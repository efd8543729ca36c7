//! Effects of a received packet on its connection.

use quiver_wire::TcpFlags;

use crate::load::Side;
use crate::profile::Close;
use crate::record::{ACK, ACK_ALONE, AGAIN, ANSWERED, FIN_SENT, FREE, OPEN, OPENING, PEER_FIN, Record};
use crate::run::Run;
use crate::segment::{Numbers, Segment, Unread, read, read_bare};

/// A blank line ends the header of HTTP (RFC 9112, section 2.1).
const BLANK: &[u8; 4] = b"\r\n\r\n";

/// Whether a sequence number comes before another one (RFC 9293, section 3.4).
#[inline(always)]
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

impl Run {
    /// Takes a frame in. `now` is in nanoseconds of the fine clock, `engine` of the engine's.
    pub(crate) fn receive(&self, frame: &[u8], now: u64, engine: u64) {
        let counts = &self.counts;
        let segment = match read_bare(frame, self.load.verify).map_or_else(|| read(frame, self.load.verify), Ok) {
            Ok(segment) if segment.tcp.is_some() == self.has_tcp_headers() => segment,
            Ok(_) | Err(Unread::Other) => return counts.foreign.add(1),
            Err(Unread::Checksum) => return counts.bad_checksums.add(1),
        };
        let opens = segment.tcp.is_none_or(|tcp| tcp.flags.contains(TcpFlags::SYN)) || self.replay.is_some();
        let Some(id) = self.find(&segment.tuple, opens, now) else { return counts.unexpected.add(1) };
        let Some(record) = self.record(id) else { return };
        counts.packets_received.add(1);
        match segment.tcp {
            _ if self.replay.is_some() => self.receive_of_flow(id, record, &segment, (now, engine)),
            Some(numbers) => self.receive_tcp(id, record, &segment, numbers, (now, engine)),
            None => self.receive_udp(id, record, &segment, (now, engine)),
        }
    }

    fn receive_udp(&self, id: u32, record: &Record, segment: &Segment<'_>, (now, engine): (u64, u64)) {
        if record.state() == FREE {
            if self.is_client() {
                return self.counts.unexpected.add(1);
            }
            self.begin(id, record, now);
            self.wait(id, record, engine);
        }
        self.note_answer(record, now);
        let length = segment.payload.len() as u32;
        record.set_expected(record.expected().wrapping_add(length));
        // As behind a SYN whose number is 0.
        self.digest(record, segment.payload);
        self.counts.bytes_received.add(length.into());
        self.progress(id, record, now);
    }

    fn receive_tcp(&self, id: u32, record: &Record, segment: &Segment<'_>, tcp: Numbers, (now, engine): (u64, u64)) {
        let counts = &self.counts;
        let [is_syn, is_ack, is_reset] =
            [TcpFlags::SYN, TcpFlags::ACK, TcpFlags::RST].map(|flag| tcp.flags.contains(flag));
        match (self.load.side, record.state()) {
            (_, FREE) if is_reset => return counts.unexpected.add(1),
            (_, OPENING | OPEN) if is_reset => {
                // In the window: of a peer that means this connection (RFC 5961, section 3.2).
                let is_ours = if record.state() == OPENING && self.is_client() {
                    is_ack && tcp.acknowledgment == record.next()
                } else {
                    tcp.sequence.wrapping_sub(record.expected()) < 1 << 16
                };
                if !is_ours {
                    return counts.unexpected.add(1);
                }
                counts.reset.add(1);
                return self.end(record, now, false);
            }
            (Side::Client, OPENING) => {
                if !(is_syn && is_ack && tcp.acknowledgment == record.next()) {
                    return counts.unexpected.add(1);
                }
                record.set_peer_first(tcp.sequence);
                record.set_expected(tcp.sequence.wrapping_add(1));
                record.set_unacknowledged(record.next());
                record.set_state(OPEN);
                record.set_tries(0);
                record.clear(AGAIN);
                record.set(ACK_ALONE);
                counts.established.add(1);
                self.times.connect.record(record.age(now));
                self.wait(id, record, engine);
                return self.to_send.push(&self.records, id);
            }
            (Side::Server, FREE) if is_syn => return self.accept(id, record, tcp, (now, engine)),
            (Side::Server, FREE) => return counts.unexpected.add(1),
            (Side::Server, OPENING) if is_syn => {
                if tcp.sequence != record.peer_first() {
                    counts.superseded.add(1);
                    counts.open.less();
                    return self.accept(id, record, tcp, (now, engine));
                }
                // The SYN-ACK is lost, or late.
                counts.duplicates.add(1);
                record.set(AGAIN);
                record.set_next(record.unacknowledged());
                return self.to_send.push(&self.records, id);
            }
            (Side::Server, OPENING) => {
                if !is_ack || tcp.acknowledgment != record.next() {
                    return counts.unexpected.add(1);
                }
                record.set_state(OPEN);
                counts.established.add(1);
                self.times.connect.record(record.age(now));
            }
            (Side::Server, OPEN) if is_syn && tcp.sequence != record.peer_first() => {
                counts.superseded.add(1);
                counts.open.less();
                return self.accept(id, record, tcp, (now, engine));
            }
            // Late packets of the last connection: its peer has not heard of the end.
            (Side::Client, FREE) => {
                if record.expected() == 0 || !is_before(tcp.sequence, record.expected()) {
                    return counts.unexpected.add(1);
                }
                counts.duplicates.add(1);
                record.set(ACK_ALONE);
                return self.to_send.push(&self.records, id);
            }
            _ => {}
        }
        if is_syn {
            counts.duplicates.add(1);
            record.set(ACK_ALONE);
            return self.to_send.push(&self.records, id);
        }
        if is_ack {
            self.acknowledge(id, record, tcp.acknowledgment, engine);
        }
        self.take(id, record, segment, tcp, (now, engine));
        self.progress(id, record, now);
    }

    /// A server's record begins with a client's SYN.
    fn accept(&self, id: u32, record: &Record, tcp: Numbers, (now, engine): (u64, u64)) {
        self.begin(id, record, now);
        record.set_peer_first(tcp.sequence);
        record.set_expected(tcp.sequence.wrapping_add(1));
        self.wait(id, record, engine);
        self.to_send.push(&self.records, id);
    }

    /// The peer has all bytes before this number.
    #[inline(always)]
    fn acknowledge(&self, id: u32, record: &Record, number: u32, engine: u64) {
        let fresh = number.wrapping_sub(record.unacknowledged());
        if fresh == 0 {
            return;
        }
        // All that is ever sent: what went again may be acknowledged beyond what has gone again.
        let end = self.first(id, record).wrapping_add(1).wrapping_add(self.written(record));
        let most = end.wrapping_add(1).wrapping_sub(record.unacknowledged());
        if fresh > most {
            return self.counts.unexpected.add(1);
        }
        record.set_unacknowledged(number);
        if is_before(record.next(), number) {
            record.set_next(number);
        }
        if number == end.wrapping_add(1) {
            record.set(FIN_SENT);
        }
        record.set_tries(0);
        record.clear(AGAIN);
        self.wait(id, record, engine);
    }

    /// Takes payload and FIN, if it is their turn.
    #[inline(always)]
    fn take(&self, id: u32, record: &Record, segment: &Segment<'_>, tcp: Numbers, (now, engine): (u64, u64)) {
        let counts = &self.counts;
        let is_fin = tcp.flags.contains(TcpFlags::FIN);
        let (mut payload, expected) = (segment.payload, record.expected());
        if payload.is_empty() && !is_fin {
            return;
        }
        let end = tcp.sequence.wrapping_add(payload.len() as u32);
        let had = expected.wrapping_sub(tcp.sequence);
        if is_before(expected, tcp.sequence) {
            counts.out_of_order.add(1);
            record.set(ACK_ALONE);
            return self.to_send.push(&self.records, id);
        }
        if had > 0 {
            let last = end.wrapping_add(u32::from(is_fin));
            if !is_before(expected, last) {
                counts.duplicates.add(1);
                record.set(ACK_ALONE);
                return self.to_send.push(&self.records, id);
            }
            payload = payload.get(had as usize..).unwrap_or_default();
        }
        if !payload.is_empty() {
            self.note_answer(record, now);
            self.digest(record, payload);
            counts.bytes_received.add(payload.len() as u64);
            // The peer goes on, so the connection is not given up.
            if record.unacknowledged() == record.next() {
                record.set_tries(0);
                self.wait(id, record, engine);
            }
        }
        record.set_expected(end.wrapping_add(u32::from(is_fin)));
        record.set(if is_fin { PEER_FIN | ACK } else { ACK });
        if is_fin && !self.is_client() && self.load.profile.close == Close::Separate {
            record.set(ACK_ALONE);
        }
    }

    /// The first byte of payload has come.
    #[inline(always)]
    pub(crate) fn note_answer(&self, record: &Record, now: u64) {
        if !record.has(ANSWERED) {
            record.set(ANSWERED);
            self.times.first_byte.record(record.age(now));
        }
    }

    /// Something has come: there may be something to send, or it was the end.
    #[inline(always)]
    pub(crate) fn progress(&self, id: u32, record: &Record, now: u64) {
        if self.has_to_send(id, record) {
            self.to_send.push(&self.records, id);
        } else {
            self.end_if_over(id, record, now);
        }
    }

    /// Adds payload to the connection's CRC-32, without an HTTP header.
    #[inline(always)]
    fn digest(&self, record: &Record, payload: &[u8]) {
        if self.load.digest {
            self.digest_all(record, payload);
        }
    }
    #[inline(never)]
    fn digest_all(&self, record: &Record, mut payload: &[u8]) {
        if self.load.profile.get.is_some() && self.is_client() {
            let mut blank = usize::from(record.blank());
            while blank < BLANK.len()
                && let Some((byte, rest)) = payload.split_first()
            {
                blank = if BLANK.get(blank) == Some(byte) { blank + 1 } else { usize::from(*byte == b'\r') };
                payload = rest;
            }
            record.set_blank(blank as u8);
        }
        let mut crc = crc32fast::Hasher::new_with_initial(record.checksum());
        crc.update(payload);
        record.set_checksum(crc.finalize());
    }
}
