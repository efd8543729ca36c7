//! Which interfaces are cross-connected, and where to.

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceName, Interfaces};
use quiver_ip::fib::rows::BUCKETS;
use quiver_ip::objects::check_paths;
use quiver_ip::routes::paths;
use quiver_ip::{Family, Ip, RoutePath};

quiver_ip::of_families! {
    /// A family that can be cross-connected.
    pub trait Connected: Family {
        /// The kind of its cross-connects.
        const KIND: &'static str = "l3-cross-connects", "ip6-l3-cross-connects";
        /// Their node, a feature of the arc in front of the lookup.
        const NODE: &'static str = "l3xc-input-ip4", "l3xc-input-ip6";
    }
}

/// Layer-3 cross-connect: unicast packets received by an interface follow its paths without a lookup.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct L3CrossConnect<F: Connected> {
    /// Interface that receives the packets.
    #[key]
    pub interface: InterfaceName,
    /// Paths as in `routes`. Flows are balanced over them.
    pub paths: Vec<RoutePath<F>>,
}

/// The group of a cross-connect's paths; 0 if the interface is not there.
pub(crate) fn group_of<F: Connected>(control: &Control, interface: &InterfaceName) -> u32 {
    let id = control.room::<Interfaces>().id_of(&interface.0);
    id.map_or(0, |id| *control.room::<FeatureSettings<L3CrossConnect<F>>>().at(Direction::Rx, id))
}

impl<F: Connected> InterfaceFeature for L3CrossConnect<F> {
    /// The group of paths that the cross-connect holds; 0 is that of none.
    type Setting = u32;
    const NODES: &'static [FeatureNode] =
        &[FeatureNode::new(Direction::Rx, FeatureSpec::new(F::NAMES.unicast, F::NODE, Phase::Forward))];
    fn enables(&self, _: &FeatureNode) -> bool {
        true
    }
    fn word(&self, control: &Control, _: Direction) -> Result<u32, ObjectError> {
        let paths = paths(control, &self.paths)?;
        Ok(control.room_mut::<Ip<F>>().fib.hold(paths))
    }
    fn release(control: &Control, group: u32) {
        if group != 0 {
            control.room_mut::<Ip<F>>().fib.let_go(group);
        }
    }
    fn decider(control: &Control, node: &FeatureNode, record: &Record) -> Option<String> {
        let id = node.direction.interface(record);
        let interface = InterfaceName(control.room::<Interfaces>().name(id));
        control.objects().get::<Self>(&interface).map(|connect| connect.id().to_string())
    }
    fn check(&self) -> Result<(), ObjectError> {
        match self.paths.len() {
            0..=BUCKETS => check_paths(&self.paths),
            given => {
                Err(ObjectError::field("paths", format!("there are {given}")).remedy(format!("give at most {BUCKETS}")))
            }
        }
    }
}
