//! Floors: the fewest hops that packets of an interface may have left.

use std::marker::PhantomData;

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};
use quiver_ip::Family;

quiver_ip::of_families! {
    /// A family whose packets are checked.
    pub trait Floored: Family {
        /// The kind of the floors.
        const KIND: &'static str = "hop-floors", "ip6-hop-floors";
        /// The node.
        const NODE: &'static str = "ip4-hop-floor", "ip6-hop-floor";
    }
}

quiver_control::number! {
    /// Hops that a packet has left: its TTL (RFC 791, 3.1) or hop limit (RFC 8200, 3).
    pub struct Hops(u8) in 1..=255 as "hops";
}

/// The least TTL or hop limit of packets that an interface takes. A neighbor that sends with 255 hops, and a floor of 255, keep out
/// whatever comes from farther away (RFC 5082).
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct HopFloor<F: Floored> {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// Hops that a packet must have left: 1 to 255.
    pub hops: Hops,
    /// Floors of one interface for two families are two.
    pub family: PhantomData<F>,
}

impl<F: Floored> InterfaceFeature for HopFloor<F> {
    /// The floor; 0 where there is none.
    type Setting = u32;
    const NODES: &'static [FeatureNode] =
        &[FeatureNode::new(Direction::Rx, FeatureSpec::new(F::NAMES.unicast, F::NODE, Phase::AntiSpoof))];
    fn enables(&self, _: &FeatureNode) -> bool {
        true
    }
    fn word(&self, _: &Control, _: Direction) -> Result<u32, ObjectError> {
        Ok(self.hops.get().into())
    }
}
