//! Packets that somebody else is to complete, as a driver's receive queue gives them, without a driver: features of
//! `ip4-unicast`, to be registered behind IP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use quiver_control::Control;
use quiver_engine::{Context, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Offload, Phase, arcs};
use quiver_wire::offload::{GsoType, NEEDS_CHECKSUM};
use quiver_wire::{Header, Ip4Header, IpFamily, V4};

use crate::daemon::Daemon;
use crate::packet::Packet;

/// The feature that lets packets be cut as they can be.
pub const OFFLOADER: &str = "offloader";
/// The one that says of packets of IPv4 that they are of IPv6: nobody can cut them.
pub const LIAR: &str = "liar";

/// Shorter packets are complete, as where Linux has joined some packets of a flow and others not.
const LONG: u32 = 1000;

arcs! {
    /// Goes on.
    enum Next {
        Next => next_feature,
    }
}

/// Bytes of a segment's payload; 0 leaves only the checksum to be filled in.
#[derive(Clone, Default)]
struct SegmentSize(Arc<AtomicU16>);

/// Leaves the checksum of long TCP packets open, and lets them be cut.
struct Offloader(SegmentSize, GsoType);
impl Node for Offloader {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let segment_size = self.0.0.load(Relaxed);
        for i in 0..frame.len() {
            let bytes = frame.bytes_mut(cx.pool, i);
            let (header, _) = Ip4Header::parse(bytes).expect("the tests' packets are long enough");
            let length = u32::from(header.total_length.get()) - 20;
            if length < LONG {
                continue;
            }
            let sum = V4::pseudo_header(header.source(), header.destination(), header.protocol, length).folded();
            bytes[36..38].copy_from_slice(&sum.to_be_bytes());
            let segmentation = if segment_size > 0 { self.1.0 } else { 0 };
            let checksum_start = frame.offset[i] + 20;
            let offload =
                Offload { flags: NEEDS_CHECKSUM, segmentation, segment_size, checksum_start, checksum_offset: 16 };
            frame.set_offload(cx.pool, i, offload);
        }
    }
}

/// Registers the features; they are enabled by name.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let size = SegmentSize::default();
    control.insert_room(size.clone());
    let mut dataplane = control.room_mut::<Dataplane>();
    let graph = dataplane.blueprint();
    for (name, kind) in [(OFFLOADER, GsoType::TCP4), (LIAR, GsoType::TCP6)] {
        let size = size.clone();
        graph.node(NodeSpec::new(name, Next::ARCS, move |_| Offloader(size.clone(), kind)))?;
        graph.feature(FeatureSpec::new("ip4-unicast", name, Phase::Policy))?;
    }
    Ok(())
}

/// Into segments of how many bytes of payload packets may be cut from now on; 0 leaves only the checksum to be filled in.
pub fn set_segment_size(control: &Control, bytes: u16) {
    control.room::<SegmentSize>().0.store(bytes, Relaxed);
}

/// Sends two TCP packets of one flow to 20.0.0.9 into pg0: one with `payload` bytes to be cut into segments of `segment_size` bytes,
/// then a short one. Returns the packets that leave.
pub fn forward(daemon: &mut Daemon, segment_size: u16, payload: usize) -> Vec<Vec<u8>> {
    set_segment_size(daemon.control(), segment_size);
    for (seq, payload) in [(1, payload), (9, 10)] {
        let packet = format!(
            "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 20.0.0.9 ttl 64 id 7 / \
             tcp 1000 > 80 ack seq {seq} ack 2 window 100 / payload {payload}"
        );
        daemon.send("pg0", &packet.parse::<Packet>().expect("a packet").to_bytes()).expect("pg0 is up");
    }
    daemon.settle().expect("nothing circles");
    daemon.sent().into_iter().map(|(_, bytes)| bytes).collect()
}
