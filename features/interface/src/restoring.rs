//! Restores the frame that a whole interface received from the frame that its part has: tags may be gone, and the part's number
//! is not in the frame. Rooms register a function for their parts; `why` and captures call it here.

use crate::interfaces::{Interface, InterfaceId, Interfaces};
use quiver_control::Control;

/// Remaining part of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remainder {
    /// The frame, as the part has it.
    Frame,
    /// All from where it began when it was received: what was taken out behind the addresses made them move up, and what is in
    /// front of them is left over.
    Buffer,
}

/// The frame as the whole received it, if the part is the room's, and if the whole would give it such a frame.
pub type Restorer = fn(&Control, part: &Interface, frame: &[u8], left: Remainder) -> Option<Vec<u8>>;

/// Of each room whose interfaces are parts.
#[derive(Default)]
pub(crate) struct Restorers(Vec<Restorer>);

/// Lets a function restore what a room's parts have.
pub fn restores(control: &Control, restorer: Restorer) {
    control.room_mut::<Restorers>().0.push(restorer);
}

/// The interface that received a frame of which a part has what is left, and the frame as it was then; None if the interface is no
/// part, and where it cannot be told.
pub fn restored(control: &Control, part: InterfaceId, frame: &[u8], left: Remainder) -> Option<(InterfaceId, Vec<u8>)> {
    let part = control.room::<Interfaces>().get(part).filter(|part| part.parent.is_some()).cloned()?;
    let (whole, restorers) = (part.parent?, control.room::<Restorers>().0.clone());
    restorers.iter().find_map(|restore| restore(control, &part, frame, left)).map(|frame| (whole, frame))
}
