//! Clamps: interfaces, directions and sizes.

use std::marker::PhantomData;

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};
use quiver_ip::Family;

quiver_ip::of_families! {
    /// A family whose connections can be clamped.
    pub trait Clamped: Family {
        /// The kind of the clamps.
        const KIND: &'static str = "mss-clamps", "ip6-mss-clamps";
        /// The node for what is received.
        const IN: &'static str = "tcp-mss-clamping-ip4-in", "tcp-mss-clamping-ip6-in";
        /// The node for what is sent.
        const OUT: &'static str = "tcp-mss-clamping-ip4-out", "tcp-mss-clamping-ip6-out";
    }
}

quiver_control::choice! {
    /// Which packets of an interface are seen to.
    pub enum Side {
        /// Those that it receives.
        Rx = "rx",
        /// Those that it sends.
        Tx = "tx",
        /// All of them.
        Both = "both",
    } as "mss-clamp-side", "rx, tx or both";
}

quiver_control::number! {
    /// Bytes of a TCP segment's payload (RFC 9293, 3.7.1).
    pub struct Mss(u16) in 1..=65534 as "mss";
}

/// TCP MSS clamp: lowers the maximum segment size in SYN packets through an interface, for paths whose MTU the ends
/// cannot learn.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct MssClamp<F: Clamped> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Largest segment in bytes, 1 to 65534. Larger announcements are lowered.
    pub mss: Mss,
    /// Direction of the clamped packets: received, transmitted or both.
    #[default(Side::Both)]
    pub side: Side,
    /// Clamps of one interface for two families are two.
    pub family: PhantomData<F>,
}

/// Place of a node, and VPP's name for the count of its segments.
const fn feature(direction: Direction, arc: &'static str, node: &'static str) -> FeatureNode {
    let spec = FeatureSpec::new(arc, node, Phase::Translate);
    FeatureNode::new(direction, spec).also_called(&[("clamped", "clamped")])
}

impl<F: Clamped> InterfaceFeature for MssClamp<F> {
    /// The largest size; 0 where there is no limit.
    type Setting = u16;
    const NODES: &'static [FeatureNode] =
        &[feature(Direction::Rx, F::NAMES.unicast, F::IN), feature(Direction::Tx, F::NAMES.output, F::OUT)];
    fn enables(&self, node: &FeatureNode) -> bool {
        match node.direction {
            Direction::Rx => self.side != Side::Tx,
            Direction::Tx => self.side != Side::Rx,
        }
    }
    fn word(&self, _: &Control, _: Direction) -> Result<u16, ObjectError> {
        Ok(self.mss.get())
    }
}
