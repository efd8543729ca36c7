//! A run whose connections are flows of a capture. Numbers of records count packets, from 1 on.

use quiver_engine::{Frame, RxContext};

use super::{Packet, Replay};
use crate::record::{FREE, OPEN, Record};
use crate::run::Run;
use crate::segment::Segment;

impl Run {
    /// The next packet of a connection, and whether it is due; None if all are sent.
    fn next_of_flow<'replay>(
        &self,
        replay: &'replay Replay,
        id: u32,
        record: &Record,
    ) -> Option<(&'replay Packet, bool)> {
        let (own, _) = replay.of(id, self.load.side)?;
        let packet = own.get(record.next().wrapping_sub(1) as usize)?;
        Some((packet, packet.after < record.expected()))
    }
    /// Whether a flow has a packet to send now.
    pub(crate) fn is_flow_due(&self, replay: &Replay, id: u32, record: &Record) -> bool {
        record.state() == OPEN && self.next_of_flow(replay, id, record).is_some_and(|(_, is_due)| is_due)
    }
    /// Whether all packets of a flow are sent, and all of the peer's are here.
    pub(crate) fn is_flow_over(&self, replay: &Replay, id: u32, record: &Record) -> bool {
        let Some((own, peers)) = replay.of(id, self.load.side) else { return true };
        record.next() as usize > own.len() && record.expected() as usize > peers.len()
    }

    /// Takes a packet in.
    pub(crate) fn receive_of_flow(&self, id: u32, record: &Record, segment: &Segment<'_>, (now, engine): (u64, u64)) {
        if record.state() == FREE {
            if self.is_client() {
                return self.counts.unexpected.add(1);
            }
            self.begin(id, record, now);
        }
        self.wait(id, record, engine);
        if !segment.payload.is_empty() {
            self.note_answer(record, now);
        }
        record.set_expected(record.expected().wrapping_add(1));
        self.counts.bytes_received.add(segment.payload.len() as u64);
        self.progress(id, record, now);
    }

    /// Sends what flows have to send, as far as there is room. False if there was no buffer.
    pub(crate) fn send_flows(&self, replay: &Replay, cx: &mut RxContext, frame: &mut Frame, times: (u64, u64)) -> bool {
        while frame.len() < cx.most
            && frame.room() > 0
            && let Some(id) = self.to_send.first()
            && let Some(record) = self.record(id)
        {
            let next = self.next_of_flow(replay, id, record).filter(|(_, is_due)| *is_due && record.state() == OPEN);
            let Some((packet, _)) = next else {
                self.to_send.pop(&self.records);
                continue;
            };
            let (tuple, length) = (self.tuple(id, record), self.template.length_around(packet.bytes.len()));
            let write = |bytes: &mut [u8]| self.template.write_around(bytes, &tuple, &packet.bytes, packet.sum);
            if !self.push_written(cx, frame, length, write) {
                return false;
            }
            self.counts.packets_sent.add(1);
            self.counts.bytes_sent.add(packet.payload.into());
            record.set_next(record.next().wrapping_add(1));
            self.wait(id, record, times.1);
            self.end_if_over(id, record, times.0);
        }
        true
    }
}
