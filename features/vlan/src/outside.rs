//! Frames of layer 3 as they are on the wire, for rooms that give them to programs and take them from programs: inside, frames of
//! a sub-interface have no tags.

use quiver_control::Control;
use quiver_interface::{InterfaceId, Interfaces};

use crate::sub_interface::{SubInterface, SubInterfaceName};
use crate::tags::{OUTER, Tag, Tags};

/// The tags of an interface's frames; none of one that is no sub-interface.
fn tags_of(control: &Control, interface: InterfaceId) -> Vec<Tag> {
    let name = SubInterfaceName::parse(&control.room::<Interfaces>().name(interface));
    let sub = name.and_then(|name| control.objects().get::<SubInterface>(&name));
    sub.and_then(|sub| sub.pattern().ok()?.tags()).unwrap_or_default()
}

/// Puts the tags of the interface that received a frame in again, all with priority 0: which one they had nobody has kept.
pub fn put_tags(control: &Control, interface: InterfaceId, frame: &mut Vec<u8>) {
    let words = tags_of(control, interface).into_iter().flat_map(|tag| tag.word().to_be_bytes());
    if frame.len() >= OUTER {
        drop(frame.splice(OUTER..OUTER, words));
    }
}

/// Takes the tags off that an interface puts into what layer 3 sends by it, if a frame begins with them, whatever their priority.
pub fn take_tags(control: &Control, interface: InterfaceId, frame: &mut Vec<u8>) {
    let (tags, found) = (tags_of(control, interface), Tags::read(frame).unwrap_or_default());
    let is_meant = |(tag, found): (&Tag, &Tag)| (tag.ethertype, tag.vlan()) == (found.ethertype, found.vlan());
    let are_there = tags.len() <= found.count && tags.iter().zip(&found.first).all(is_meant);
    if are_there && !quiver_ethernet::is_layer2(control, interface) {
        drop(frame.drain(OUTER..OUTER + tags.len() * size_of::<u32>()));
    }
}
