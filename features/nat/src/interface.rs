//! Features that an object of kind `nat44-interfaces` enables.

use quiver_control::{Control, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceId, Interfaces};
use quiver_ip::Family;
use quiver_reassembly::need_shallow;
use quiver_wire::V4;

use crate::config::NatInterface;
use crate::node::{input, output};
use crate::room;
use crate::sides::Sides;

impl InterfaceFeature for NatInterface {
    type Setting = Sides;
    const NODES: &'static [FeatureNode] = &[
        FeatureNode::new(Direction::Rx, FeatureSpec::new(V4::NAMES.unicast, input::NAME, Phase::Translate))
            .also_called(&[("out-of-ports", "out of ports")])
            .known_as("nat44-ed-in2out-slowpath"),
        FeatureNode::new(Direction::Tx, FeatureSpec::new(V4::NAMES.output, output::NAME, Phase::Translate)),
        FeatureNode::new(
            Direction::Tx,
            FeatureSpec::new(V4::NAMES.output, output::END, Phase::Translate).after(&[output::NAME]),
        ),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        node.direction == Direction::Rx || self.output
    }
    fn word(&self, control: &Control, _: Direction) -> Result<Sides, ObjectError> {
        let interface = control.room::<Interfaces>().id_of(&self.interface.0)?;
        room::start(control)?;
        room::note_mtu(control, interface);
        need_shallow::<V4>(control, interface, true)?;
        Ok(Sides { bits: self.sides(), interface: interface.0 })
    }
    fn release(control: &Control, old: Sides) {
        let interface = InterfaceId(old.interface);
        let is_over = control.room::<FeatureSettings<NatInterface>>().at(Direction::Rx, interface).bits == 0;
        if old.bits != 0 && is_over {
            // The node was enabled there before.
            _ = need_shallow::<V4>(control, interface, false);
        }
    }
    fn check(&self) -> Result<(), ObjectError> {
        match self.sides() {
            0 => Err(ObjectError::whole("it is neither inside nor outside").remedy("set inside, outside or output")),
            _ => Ok(()),
        }
    }
}
