//! `tcp-mss-clamping-ip4-in`, `tcp-mss-clamping-ip4-out`, and the same of IPv6: segments that open connections say at most what
//! is configured of the segments that their senders take (RFC 9293, 3.7.1). Those that said more go on by an arc of their own,
//! which counts them. Later fragments have no TCP header, and pass.

use std::marker::PhantomData;

use quiver_engine::{ArcSpec, Context, Flags, Frame, Node, Snapshot, To, arcs};
use quiver_ip::family::BACK;
use quiver_wire::IpProtocol;

use crate::config::Clamped;
use crate::segment::clamp;

/// Behind it packets go where the others do.
const CLAMPED: ArcSpec = ArcSpec { name: "clamped", to: To::NextFeature };

arcs! {
    /// Where packets go from here.
    pub enum Next of F: Clamped {
        Pass => next_feature,
        Clamped => arc (CLAMPED),
    }
}

/// What the checksum's bit of an offload says: it is still to be computed.
const UNFINISHED: u8 = 1;

/// A node.
#[derive(Clone)]
pub struct Clamp<F: Clamped> {
    is_output: bool,
    largest: Snapshot<Vec<u16>>,
    family: PhantomData<F>,
}

impl<F: Clamped> Clamp<F> {
    /// For what interfaces send or receive, with the largest size by interface: 0 where there is none.
    pub fn new(is_output: bool, largest: Snapshot<Vec<u16>>) -> Clamp<F> {
        Clamp { is_output, largest, family: PhantomData }
    }
}

impl<F: Clamped> Node for Clamp<F> {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let largest = self.largest.read(cx.guard);
        // On the way out there is another header in front.
        let start = if self.is_output { BACK as usize } else { 0 };
        for i in 0..frame.len() {
            let interface = if self.is_output { frame.tx[i] } else { frame.rx[i] };
            let Some(largest) = largest.get(usize::from(interface)).copied().filter(|largest| *largest > 0) else {
                continue;
            };
            let packet = frame.bytes(cx.pool, i).get(start..).unwrap_or_default();
            let tcp = F::payload(packet).filter(|payload| payload.protocol == IpProtocol::TCP);
            let Some(tcp) = tcp.filter(|tcp| tcp.fragment.unwrap_or(0) == 0) else { continue };
            let has_checksum = !frame.flags(i).has(Flags::OFFLOAD)
                || frame.offload(cx.pool, i).is_none_or(|offload| offload.flags & UNFINISHED == 0);
            let Some(segment) = frame.bytes_mut(cx.pool, i).get_mut(start + tcp.offset..) else { continue };
            if clamp(segment, largest, has_checksum) {
                frame.next[i] = Next::Clamped.into();
            }
        }
    }
}
