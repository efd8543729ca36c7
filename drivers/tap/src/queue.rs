//! Receiving from a TAP device: a packet for each read.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quiver_engine::{Frame, RxContext, RxQueue, arcs};
use quiver_linux::PacketReader;
use rustix::io::Errno;

arcs! {
    /// Arcs of `tap-input`.
    pub enum Next {
        Received => features "device-input",
        NoBuffer => drop "no-buffer",
        Truncated => drop "truncated",
        Failed => drop "receive-error",
    }
}

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
        Rx { fd, reader: PacketReader::new(Next::NoBuffer, Next::Truncated), gone: false }
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
                // The device was deleted, or its namespace was.
                Err(error @ (Errno::BADFD | Errno::NODEV)) => {
                    tracing::debug!("interface {}: its TAP device is gone ({error})", cx.interface);
                    self.gone = true;
                }
                // Whatever else it is may pass. It is asked again in the next turn, since it may also last.
                Err(_) => {
                    cx.lose(Next::Failed, 1);
                    break;
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
    use quiver_engine::graph::NodeId;
    use quiver_engine::{Dataplane, FeatureArcSpec, Settings, Side, Worker};
    use quiver_linux::PACKET_MAX;
    use quiver_testkit::wire::Wire;
    use quiver_wire::VirtioNetHeader;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

    const HEADER: usize = size_of::<VirtioNetHeader>();

    /// A worker that receives from a socket instead of a TAP device: a datagram is a packet for each read, too.
    fn reading(socket: OwnedFd) -> (Dataplane, NodeId, Worker) {
        let mut dataplane = Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).expect("a data plane");
        let graph = dataplane.blueprint();
        let input = graph.input("tap-input", Next::ARCS).expect("new");
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: "drop", side: Side::Rx }).expect("new");
        let worker = dataplane.start().expect("it fits").remove(0);
        let rx = Box::new(Rx::new(Arc::new(socket)));
        dataplane.attach(1, input, vec![rx], vec![Wire::new().tx()]).expect("one each");
        dataplane.set_up(1, true);
        (dataplane, input, worker)
    }
    fn counts(dataplane: &Dataplane, input: NodeId) -> Vec<(&'static str, u64)> {
        let counters = dataplane.graph().counters(input).next().expect("one worker");
        let arcs = dataplane.graph().arcs(input).iter().zip(&counters.arcs);
        arcs.map(|(arc, count)| (arc.name, count.get())).filter(|(_, count)| *count > 0).collect()
    }

    /// Linux never hands over such packets, so the test takes its place.
    #[test]
    fn what_is_no_whole_packet_is_dropped_by_name() {
        let (linux, ours) =
            socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::NONBLOCK, None).expect("sockets");
        let (dataplane, input, mut worker) = reading(ours);
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
        assert_eq!(counts(&dataplane, input), [("device-input", 2), ("truncated", 2)]);
    }

    /// A connection that is reset stands for a device with an error that passes: Linux reports it before what was sent.
    #[test]
    fn an_error_that_passes_is_counted_and_the_queue_lives_on() {
        let (linux, ours) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).expect("sockets");
        send(&linux, &[0; HEADER + 60], SendFlags::empty()).expect("it fits");
        send(&ours, b"never read", SendFlags::empty()).expect("it fits");
        drop(linux);
        let (dataplane, input, mut worker) = reading(ours);
        // Behind the packet comes the end, again and again.
        for turn in 0..5 {
            worker.turn(turn);
        }
        let counts = counts(&dataplane, input);
        assert!(counts.contains(&("receive-error", 1)), "{counts:?}");
        assert!(counts.iter().any(|(reason, count)| *reason == "device-input" && *count > 0), "{counts:?}");
    }

    #[test]
    fn an_error_that_lasts_is_met_once_in_a_turn() {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        let (dataplane, input, mut worker) = reading(writer.into());
        while worker.turn(0) > 0 {}
        let [(reason, before)] = counts(&dataplane, input)[..] else { panic!("one reason") };
        (0..5).for_each(|turn| assert_eq!(worker.turn(turn), 0));
        assert_eq!((reason, counts(&dataplane, input)), ("receive-error", vec![("receive-error", before + 5)]));
    }
}
