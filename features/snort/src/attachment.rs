//! Interfaces whose packets are inspected.

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};

use crate::instance::InstanceName;
use crate::origin::Origin;
use crate::room::Snort;

/// Inspection of the packets that an interface receives, or of those that it sends, by an instance.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "snort-attachments")]
pub struct SnortAttachment {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Which packets are inspected: rx for received ones, tx for sent ones.
    #[key]
    pub direction: Direction,
    /// Name of the instance.
    pub instance: InstanceName,
}

const fn place(origin: Origin) -> FeatureNode {
    FeatureNode::new(origin.direction(), FeatureSpec::new(origin.arc(), origin.node(), Phase::Policy))
}

impl InterfaceFeature for SnortAttachment {
    /// The number of the instance.
    type Setting = Option<u32>;
    const NODES: &'static [FeatureNode] =
        &[place(Origin::Ip4Input), place(Origin::Ip6Input), place(Origin::Ip4Output), place(Origin::Ip6Output)];
    fn enables(&self, node: &FeatureNode) -> bool {
        self.direction == node.direction
    }
    fn word(&self, control: &Control, _: Direction) -> Result<Option<u32>, ObjectError> {
        Ok(control.room::<Snort>().number(&self.instance.0))
    }
}
