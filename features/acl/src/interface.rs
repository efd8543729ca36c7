//! The lists of interfaces, for received and sent packets.

use std::sync::Arc;

use quiver_control::{Control, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceId, Interfaces};
use quiver_ip::upper;
use quiver_wire::{V4, V6};

use crate::config::{AclInterface, word};
use crate::lists::Acls;
use crate::look::{Bridged, Look, Next, Routed};
use crate::reflect;
use crate::rule::Fields;

/// Lists of one direction of an interface at most: VPP's messages count no more of both.
pub(crate) const LISTS_MAX: usize = 255;

/// Place of a node, and VPP's name for the count of denied packets.
const fn checks<L: Look>(direction: Direction, arc: &'static str) -> FeatureNode {
    let (node, known) = (L::NODES[direction as usize], L::KNOWN[direction as usize]);
    let place = FeatureSpec::new(arc, node, Phase::Filter);
    let counters = &[("denied", "ACL deny packets"), ("session-table-full", "too many sessions to add new")];
    FeatureNode::new(direction, place).known_as(known).also_called(counters)
}

impl InterfaceFeature for AclInterface {
    type Setting = Arc<[u32]>;
    const NODES: &'static [FeatureNode] = &[
        checks::<Routed<V4>>(Direction::Rx, "ip4-unicast"),
        checks::<Routed<V6>>(Direction::Rx, "ip6-unicast"),
        checks::<Bridged>(Direction::Rx, "l2-input"),
        checks::<Routed<V4>>(Direction::Tx, "ip4-output"),
        checks::<Routed<V6>>(Direction::Tx, "ip6-output"),
        checks::<Bridged>(Direction::Tx, "l2-output"),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        !self.lists(node.direction).is_empty()
    }
    fn word(&self, control: &Control, direction: Direction) -> Result<Arc<[u32]>, ObjectError> {
        reflect::start(control, self.lists(direction))?;
        Ok(self.lists(direction).iter().map(|list| list.0).collect())
    }
    fn follow(control: &Control, interface: InterfaceId, old: Option<&Self>, new: Option<&Self>) {
        reflect::follow_lists(control, interface, old, new);
    }
    fn check(&self) -> Result<(), ObjectError> {
        for direction in Direction::ALL {
            let lists = self.lists(direction);
            let wrong = |what: String, remedy: &str| Err(ObjectError::field(word(direction), what).remedy(remedy));
            if lists.len() > LISTS_MAX {
                return wrong(format!("there are {} lists", lists.len()), "give at most 255");
            }
            if let Some((_, twice)) = lists.iter().enumerate().find(|(place, list)| lists[..*place].contains(list)) {
                return wrong(format!("list {} is there twice", twice.0), "give it once");
            }
        }
        Ok(())
    }
    fn decider(control: &Control, node: &FeatureNode, record: &Record) -> Option<String> {
        let looks = [Routed::<V4>::look(), Routed::<V6>::look(), Bridged::look()];
        let (_, fields) = looks.into_iter().find(|(nodes, _)| nodes.contains(&node.spec.node))?;
        let fields = fields(&record.bytes, node.direction).ok().flatten();
        Some(origin(control, node.direction, record, fields))
    }
}

/// The rule that a packet meets first, of the lists of an interface; or that interface, if it meets none, or if a session lets it pass.
fn origin(control: &Control, direction: Direction, record: &Record, fields: Option<Fields>) -> String {
    let (lists, attached) = (control.room::<Acls>(), control.room::<FeatureSettings<AclInterface>>());
    let interface = direction.interface(record);
    let fields = fields.map(|fields| fields.or(record.metadata.get(upper::key(control))));
    let first = lists.current().deciding(attached.at(direction, interface), fields.as_ref());
    let name = || format!("acl-interfaces {}", control.room::<Interfaces>().name(interface));
    match first {
        // The lists deny it, and it has passed.
        Some((_, false)) | None if record.arc == Some(Next::Pass.into()) && lists.current().reflects(interface.0) => {
            format!("{}, a session of its lists", name())
        }
        Some((rule, _)) => rule,
        None => format!("{}, none of its rules", name()),
    }
}
