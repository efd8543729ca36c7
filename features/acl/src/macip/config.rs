//! The configured MAC-IP lists, and their interfaces.

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceName, Interfaces};

use super::lists::MacipAcls;
use super::node::Place;
use super::rule::{MacipRule, Source};
use crate::config::{RULES_MAX, check_tag};
use crate::lists::ACLS_MAX;

quiver_control::reference! {
    /// The number of a MAC-IP list.
    pub struct MacipNumber(u32) in "macip-acls";
}

/// MAC-IP list: the first rule that matches a packet's source MAC address and source address decides. A packet without a match is
/// denied, whatever it carries.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "macip-acls")]
pub struct MacipAcl {
    /// List index, 0 to 65535.
    #[key]
    pub id: u32,
    /// Tag for people, at most 63 bytes.
    pub tag: Option<String>,
    /// Rules in the order of evaluation.
    pub rules: Vec<MacipRule>,
}

/// MAC-IP list of an interface, for received packets.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "macip-acl-interfaces")]
pub struct MacipInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// The number of the list that the interface has.
    pub acl: MacipNumber,
}

/// Place of a node, and VPP's name for the count of its drops.
const fn checks(place: Place, known: &'static str, miss: &'static Named) -> FeatureNode {
    let spec = FeatureSpec::new(place.arc(), place.node(), Phase::AntiSpoof);
    FeatureNode::new(Direction::Rx, spec).known_as(known).also_called(miss)
}
type Named = [(&'static str, &'static str)];

impl InterfaceFeature for MacipInterface {
    /// The list's number and one; 0 without a list.
    type Setting = u32;
    const NODES: &'static [FeatureNode] = &[
        checks(Place::Ip4, "ip4-inacl", &[("denied", "input ACL session deny drops")]),
        checks(Place::Ip6, "ip6-inacl", &[("denied", "input ACL session deny drops")]),
        checks(Place::Arp, "macip-input-arp", &[]),
        checks(Place::Layer2, "l2-input-acl", &[("denied", "input ACL session deny drops")]),
    ];
    fn enables(&self, _: &FeatureNode) -> bool {
        true
    }
    fn word(&self, _: &Control, _: Direction) -> Result<u32, ObjectError> {
        Ok(self.acl.0 + 1)
    }
    fn decider(control: &Control, node: &FeatureNode, record: &Record) -> Option<String> {
        let interface = node.direction.interface(record);
        let name = control.room::<Interfaces>().name(interface);
        let object = format!("macip-acl-interfaces {name}");
        // In layer 3 a record begins behind the Ethernet header, without which no rule can be told.
        if node.spec.node != Place::Layer2.node() {
            return Some(object);
        }
        let list = control.room::<FeatureSettings<MacipInterface>>().at(Direction::Rx, interface).checked_sub(1)?;
        let acls = control.room::<MacipAcls>();
        let list_of = acls.current().get(list as usize)?.as_ref()?;
        let rule = Source::of(&record.bytes).and_then(|source| list_of.find(&source));
        Some(rule.map_or(format!("{object}, none of its rules"), |rule| format!("macip-acls {list}, rules[{rule}]")))
    }
}

/// Checks the fields of a list.
pub(crate) fn check(acl: &MacipAcl) -> Result<(), ObjectError> {
    if acl.id >= ACLS_MAX {
        return Err(ObjectError::field("id", format!("{} is out of range", acl.id))
            .remedy(format!("give 0 to {}", ACLS_MAX - 1)));
    }
    if acl.rules.len() > RULES_MAX {
        let what = format!("there are {}", acl.rules.len());
        return Err(ObjectError::field("rules", what).remedy(format!("give at most {RULES_MAX}")));
    }
    check_tag(acl.tag.as_ref())
}

pub(crate) fn apply(control: &Control, change: Change<'_, MacipAcl>) -> Result<(), ObjectError> {
    let mut acls = control.room_mut::<MacipAcls>();
    match change {
        Change::Create(new) | Change::Update { new, .. } => acls.set(new.id, &new.rules),
        Change::Delete(old) => acls.delete(old.id),
    }
    Ok(())
}
