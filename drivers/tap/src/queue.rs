//! Receiving from a TAP device: a packet for each read.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::{Frame, RxContext, RxQueue};
use quiver_linux::PacketReader;
use rustix::io::Errno;

/// Bytes received in a turn at most, so that they are still in the cache when they are sent.
const TURN_BYTES: usize = 128 << 10;

/// A receive queue.
pub struct Rx {
    fd: Arc<OwnedFd>,
    reader: PacketReader,
    /// Whether the device was deleted.
    gone: bool,
}

impl Rx {
    pub fn new(fd: Arc<OwnedFd>) -> Rx {
        Rx { fd, reader: PacketReader::default(), gone: false }
    }
}

impl RxQueue for Rx {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let (before, most, mut bytes) = (frame.len(), cx.most.min(frame.room()), 0);
        while !self.gone && frame.len() - before < most && bytes < TURN_BYTES {
            match self.reader.read(&self.fd, cx) {
                Ok((length, packet)) => {
                    // A packet that was dropped has its cost, too.
                    bytes += length.max(1024);
                    // There is room, as the loop saw.
                    packet.into_iter().for_each(|packet| drop(frame.push(packet)));
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    // EBADFD: the device was deleted, or its namespace was.
                    tracing::debug!("interface {}: its TAP device is gone ({error})", cx.interface);
                    self.gone = true;
                }
            }
        }
        frame.len() - before
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
    fn wake_at(&self) -> Option<u64> {
        self.gone.then_some(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_engine::{Dataplane, FeatureArcSpec, Settings, Side};
    use quiver_linux::PACKET_MAX;
    use quiver_testkit::wire::Wire;
    use quiver_wire::VirtioNetHeader;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

    const HEADER: usize = size_of::<VirtioNetHeader>();

    /// Linux never hands over such packets, so the test takes its place: a datagram is a packet for each read, too.
    #[test]
    fn what_is_no_whole_packet_is_dropped_by_name() {
        let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
        let graph = dataplane.blueprint();
        let input = graph.input("tap-input").expect("new");
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: "drop", side: Side::Rx }).expect("new");
        let mut worker = dataplane.start().expect("it fits").remove(0);
        let (linux, ours) =
            socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::NONBLOCK, None).expect("sockets");
        let rx = Box::new(Rx::new(Arc::new(ours)));
        dataplane.attach(1, input, vec![rx], vec![Wire::new().tx()]).expect("one each");
        dataplane.set_up(1, true);

        // Virtio's header, then bytes; the last checksum would begin behind all that a packet's places can say.
        let packet = |header: [u8; HEADER], length| [&header[..], &vec![0; length]].concat();
        let whole = [0; HEADER];
        let malformed = [1, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0];
        for packet in
            [packet(whole, 60), packet(whole, PACKET_MAX), packet(whole, PACKET_MAX + 1), packet(malformed, 60)]
        {
            send(&linux, &packet, SendFlags::empty()).expect("it fits");
        }
        while worker.turn(0) > 0 {}
        let counts = || {
            let counters = dataplane.graph().counters(input).next().expect("one worker");
            let arcs = dataplane.graph().arcs(input).iter().zip(&counters.arcs);
            arcs.map(|(arc, count)| (arc.name, count.get())).collect::<Vec<_>>()
        };
        assert_eq!(counts(), [("device-input", 2), ("no-buffer", 0), ("truncated", 2)]);
    }
}
