//! The EtherTypes that interfaces may receive and send in layer 2, beside IP.

use std::fmt;
use std::sync::Arc;

use quiver_control::object::Scalar;
use quiver_control::serde_json::Value;
use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};

use crate::interface::LISTS_MAX;

/// The nodes for received and for sent frames.
pub const NODES: [&str; 2] = ["acl-input-ethertype", "acl-output-ethertype"];

/// An EtherType: a number above 1535, or the length of an IEEE 802.3 frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtherTypeNumber(pub u16);

impl fmt::Display for EtherTypeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

impl Scalar for EtherTypeNumber {
    const NAME: &'static str = "ethertype";
    const EXPECTED: &'static str = "an EtherType such as 0x0806";
    fn parse(text: &str) -> Result<EtherTypeNumber, String> {
        let number = match text.strip_prefix("0x").filter(|digits| digits.bytes().all(|digit| digit != b'+')) {
            Some(digits) => u16::from_str_radix(digits, 16).map_err(|_| String::new()),
            None => u16::parse(text),
        };
        number.map(EtherTypeNumber)
    }
    fn number_schema() -> Option<Value> {
        Some(u16::schema())
    }
}

/// EtherTypes that an interface passes in layer 2. Frames with IPv4 or IPv6 pass always, and without any EtherType of a direction
/// all frames pass. Behind VLAN tags the inner EtherType counts.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-ethertypes")]
pub struct AclEthertypes {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// EtherTypes of received frames that pass.
    pub input: Vec<EtherTypeNumber>,
    /// EtherTypes of transmitted frames that pass.
    pub output: Vec<EtherTypeNumber>,
}

impl AclEthertypes {
    /// The object that there shall be: none without EtherTypes.
    pub(crate) fn wanted(self) -> Option<AclEthertypes> {
        Some(self).filter(|at| !at.input.is_empty() || !at.output.is_empty())
    }
    /// The EtherTypes of a direction, to be changed.
    pub(crate) fn of_mut(&mut self, direction: Direction) -> &mut Vec<EtherTypeNumber> {
        match direction {
            Direction::Rx => &mut self.input,
            Direction::Tx => &mut self.output,
        }
    }
    /// The EtherTypes of a direction.
    pub fn of(&self, direction: Direction) -> &Vec<EtherTypeNumber> {
        match direction {
            Direction::Rx => &self.input,
            Direction::Tx => &self.output,
        }
    }
}

const fn node(direction: Direction, arc: &'static str, known: &'static str, dropped: &'static Named) -> FeatureNode {
    let place = FeatureSpec::new(arc, NODES[direction as usize], Phase::Filter);
    FeatureNode::new(direction, place).known_as(known).also_called(dropped)
}
type Named = [(&'static str, &'static str)];

impl InterfaceFeature for AclEthertypes {
    type Setting = Arc<[u16]>;
    const NODES: &'static [FeatureNode] = &[
        node(
            Direction::Rx,
            "l2-input",
            "acl-plugin-in-nonip-l2",
            &[("ethertype-denied", "dropped inbound non-whitelisted non-ip packets")],
        ),
        node(
            Direction::Tx,
            "l2-output",
            "acl-plugin-out-nonip-l2",
            &[("ethertype-denied", "dropped outbound non-whitelisted non-ip packets")],
        ),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        !self.of(node.direction).is_empty()
    }
    fn word(&self, _: &Control, direction: Direction) -> Result<Arc<[u16]>, ObjectError> {
        Ok(self.of(direction).iter().map(|ethertype| ethertype.0).collect())
    }
    fn check(&self) -> Result<(), ObjectError> {
        // As many as VPP's messages count.
        let count = self.input.len() + self.output.len();
        let too_many = || ObjectError::field("output", format!("there are {count} EtherTypes with those of input"));
        if count > LISTS_MAX { Err(too_many().remedy("give at most 255")) } else { Ok(()) }
    }
}
