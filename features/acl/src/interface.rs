//! The lists of interfaces, for received and sent packets.

use std::sync::Arc;

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceName, Interfaces};
use quiver_ip::upper;
use quiver_wire::{V4, V6};

use crate::config::AclNumber;
use crate::lists::Acls;
use crate::node::{Bridged, Look, Routed};
use crate::rule::Fields;

/// ACLs of an interface. A packet passes if the first matching rule of all lists permits it. If there are lists and
/// no rule matches, it is dropped.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-interfaces")]
pub struct AclInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// ACLs for received packets, in order of evaluation.
    pub input: Vec<AclNumber>,
    /// ACLs for transmitted packets, in order of evaluation.
    pub output: Vec<AclNumber>,
}

/// A direction, as fields and commands call it.
pub(crate) fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "input",
        Direction::Tx => "output",
    }
}

impl AclInterface {
    /// The object that there shall be: none without lists.
    pub(crate) fn wanted(self) -> Option<AclInterface> {
        Some(self).filter(|at| !at.input.is_empty() || !at.output.is_empty())
    }
    /// The lists of a direction.
    pub fn lists(&self, direction: Direction) -> &[AclNumber] {
        match direction {
            Direction::Rx => &self.input,
            Direction::Tx => &self.output,
        }
    }
    /// The same, to be changed.
    pub fn lists_mut(&mut self, direction: Direction) -> &mut Vec<AclNumber> {
        match direction {
            Direction::Rx => &mut self.input,
            Direction::Tx => &mut self.output,
        }
    }
}

/// Lists of one direction of an interface at most: VPP's messages count no more of both.
pub(crate) const LISTS_MAX: usize = 255;

/// Place of a node, and VPP's name for the count of denied packets.
const fn checks<L: Look>(direction: Direction, arc: &'static str) -> FeatureNode {
    let (node, known) = (L::NODES[direction as usize], L::KNOWN[direction as usize]);
    let place = FeatureSpec::new(arc, node, Phase::Filter);
    FeatureNode::new(direction, place).known_as(known).also_called(&[("denied", "ACL deny packets")])
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
    fn word(&self, _: &Control, direction: Direction) -> Result<Arc<[u32]>, ObjectError> {
        Ok(self.lists(direction).iter().map(|list| list.0).collect())
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
        Some(rule_of(control, node.direction, record, fields))
    }
}

/// The rule that a packet meets first, of the lists of an interface; or that interface, if it meets none.
fn rule_of(control: &Control, direction: Direction, record: &Record, fields: Option<Fields>) -> String {
    let (lists, attached) = (control.room::<Acls>(), control.room::<FeatureSettings<AclInterface>>());
    let interface = direction.interface(record);
    let fields = fields.map(|fields| fields.or(record.metadata.get(upper::key(control))));
    let first = attached.at(direction, interface).iter().find_map(|list| {
        let (rule, _) = lists.current().known(*list)?.first(fields.as_ref()?)?;
        Some(format!("acls {list}, rules[{rule}]"))
    });
    let none = || format!("acl-interfaces {}, none of its rules", control.room::<Interfaces>().name(interface));
    first.unwrap_or_else(none)
}
