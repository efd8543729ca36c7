//! Frames of layer 3 as they are on the wire, for rooms that give them to programs and take them from programs: inside, frames of
//! a sub-interface have no tags.

use quiver_control::Control;
use quiver_interface::{Interface, InterfaceId, Interfaces, Remainder};

use crate::matching::{Pattern, SubInterfaces};
use crate::sub_interface::{SubInterface, SubInterfaceName};
use crate::tags::{OUTER, TAG, Tag, Tags};

/// The tags as they stand in frames.
fn words_of(tags: Vec<Tag>) -> Vec<[u8; TAG]> {
    tags.into_iter().map(|tag| tag.word().to_be_bytes()).collect()
}

/// Which frames an interface takes; nothing if it is no sub-interface.
fn pattern_of(control: &Control, interface: InterfaceId) -> Option<Pattern> {
    let name = SubInterfaceName::parse(&control.room::<Interfaces>().name(interface))?;
    control.objects().get::<SubInterface>(&name)?.pattern().ok()
}

/// The tags of an interface's frames; none of one that is no sub-interface, or does not name them all.
fn tags_of(control: &Control, interface: InterfaceId) -> Vec<Tag> {
    pattern_of(control, interface).and_then(Pattern::tags).unwrap_or_default()
}

/// Restores the tags of the interface that received a frame, all with priority 0: the received priority was not kept.
pub fn put_tags(control: &Control, interface: InterfaceId, frame: &mut Vec<u8>) {
    if frame.len() >= OUTER {
        drop(frame.splice(OUTER..OUTER, words_of(tags_of(control, interface)).into_iter().flatten()));
    }
}

/// Takes off the tags that an interface adds to layer 3's packets, if a frame begins with them, at any priority.
pub fn take_tags(control: &Control, interface: InterfaceId, frame: &mut Vec<u8>) {
    let (tags, found) = (tags_of(control, interface), Tags::read(frame).unwrap_or_default());
    let is_meant = |(tag, found): (&Tag, &Tag)| (tag.ethertype, tag.vlan()) == (found.ethertype, found.vlan());
    let are_there = tags.len() <= found.count && tags.iter().zip(&found.first).all(is_meant);
    if are_there && !quiver_ethernet::is_layer2(control, interface) {
        drop(frame.drain(OUTER..OUTER + tags.len() * TAG));
    }
}

/// The frame as the parent of a sub-interface received it: layer 3 has taken its tags off, and layer 2 some of them where it
/// rewrites tags.
pub(crate) fn restore(control: &Control, part: &Interface, frame: &[u8], left: Remainder) -> Option<Vec<u8>> {
    // What came off is known: in layer 3 all tags are named, and in layer 2 as many as are taken off.
    let (parent, words) = (part.parent?, words_of(pattern_of(control, part.id)?.leading()));
    (0..=words.len()).map(|count| with_tags(frame, &words[..count], left)).find(|frame| {
        let tags = frame.as_ref().and_then(|frame| Tags::read(frame));
        tags.is_some_and(|tags| control.room::<SubInterfaces>().find(parent, &tags) == Some(part.id))
    })?
}

/// A frame that has lost these tags, with them; None if it has not lost as many.
fn with_tags(frame: &[u8], words: &[[u8; TAG]], left: Remainder) -> Option<Vec<u8>> {
    let words = words.as_flattened();
    let frame = match left {
        Remainder::Frame => frame,
        Remainder::Buffer => {
            let (over, frame) = frame.split_at_checked(words.len())?;
            frame.starts_with(over).then_some(frame)?
        }
    };
    let (addresses, rest) = frame.split_at_checked(OUTER)?;
    Some([addresses, words, rest].concat())
}
