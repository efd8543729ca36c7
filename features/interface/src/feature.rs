//! Features of interfaces, declared by their config objects.
//!
//! An object that implements [`InterfaceFeature`] says which nodes it enables at its interface, and which value these read of the
//! interface. [`register`] derives the rest: the nodes' places on their arcs, further names of their counters, deciders, the kind of
//! the object, and how a change of an object reaches workers.

use quiver_control::object::ObjectRef;
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, FeatureSpec, NodeSpec, Paged, Snapshot};

use crate::by_interface::ByInterface;
use crate::deciding::decides;
use crate::interfaces::{InterfaceId, Interfaces};
use crate::settings::InterfaceName;

quiver_control::choice! {
    /// Which packets of an interface meet a feature.
    pub enum Direction {
        /// Those that it receives.
        Rx = "rx",
        /// Those that it sends.
        Tx = "tx",
    } as "direction", "rx or tx";
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Rx, Direction::Tx];
    /// Received or sent packets, as the messages of VPP's API say it.
    pub const fn received(is_input: bool) -> Direction {
        if is_input { Direction::Rx } else { Direction::Tx }
    }
    /// The interface at which a packet of this direction met a node.
    pub fn interface(self, record: &Record) -> InterfaceId {
        InterfaceId(if self == Direction::Rx { record.rx } else { record.tx })
    }
}

/// A node that objects enable at interfaces.
#[derive(Clone, Debug)]
pub struct FeatureNode {
    /// Whether it works on received or on sent packets.
    pub direction: Direction,
    /// Its place on a feature arc.
    pub spec: FeatureSpec,
    /// Arcs of the node, with the names of their counts below `/err/NODE/` that VPP's clients know.
    counters: &'static [(&'static str, &'static str)],
    /// The node's name there.
    known: &'static str,
}

impl FeatureNode {
    /// A node for a direction's packets.
    pub const fn new(direction: Direction, spec: FeatureSpec) -> FeatureNode {
        FeatureNode { direction, counters: &[], known: spec.node, spec }
    }
    /// The same, with further names for the counts of some arcs.
    #[must_use]
    pub const fn also_called(self, counters: &'static [(&'static str, &'static str)]) -> FeatureNode {
        FeatureNode { counters, ..self }
    }
    /// The same, under the name that VPP's node has.
    #[must_use]
    pub const fn known_as(self, known: &'static str) -> FeatureNode {
        FeatureNode { known, ..self }
    }
}

/// The key of an object that says something of an interface: of all its packets, or of those of one direction.
pub trait FeatureKey {
    /// The key of the object that decides about an interface's packets of a direction.
    fn at(interface: InterfaceName, direction: Direction) -> Self;
    /// The interface.
    fn interface(&self) -> &InterfaceName;
}
impl FeatureKey for InterfaceName {
    fn at(interface: InterfaceName, _: Direction) -> InterfaceName {
        interface
    }
    fn interface(&self) -> &InterfaceName {
        self
    }
}
impl FeatureKey for (InterfaceName, Direction) {
    fn at(interface: InterfaceName, direction: Direction) -> (InterfaceName, Direction) {
        (interface, direction)
    }
    fn interface(&self) -> &InterfaceName {
        &self.0
    }
}

/// A config object that enables nodes at one interface.
pub trait InterfaceFeature: Object<Key: FeatureKey> {
    /// The value that the nodes read for an interface. Interfaces without an object have its default.
    type Setting: Clone + Default + Send + Sync + 'static;
    /// All nodes that such objects enable, in the order of their registration.
    const NODES: &'static [FeatureNode];

    /// Whether the object enables a node.
    fn enables(&self, node: &FeatureNode) -> bool;
    /// The value that the nodes of a direction read from now on.
    ///
    /// # Errors
    /// If the object refers to something that is not there. Nothing has changed yet.
    fn word(&self, control: &Control, direction: Direction) -> Result<Self::Setting, ObjectError>;
    /// Checks an object without others.
    fn check(&self) -> Result<(), ObjectError> {
        Ok(())
    }
    /// Follows a change that has been made real, by both sides of it.
    fn follow(_: &Control, _: InterfaceId, _old: Option<&Self>, _new: Option<&Self>) {}
    /// Frees what a word held that workers are not given any more.
    fn release(_: &Control, _: Self::Setting) {}
    /// Origin of a node's decision about a packet: the object, unless there is something more exact.
    fn decider(control: &Control, node: &FeatureNode, record: &Record) -> Option<String> {
        let interface = control.room::<Interfaces>().name(node.direction.interface(record));
        let key = Self::Key::at(InterfaceName(interface), node.direction);
        Some(ObjectRef::new(Self::KIND, Self::key_text(&key)).to_string())
    }
}

/// The words of a feature: a room of the control side.
pub struct FeatureSettings<T: InterfaceFeature>([ByInterface<T::Setting>; 2]);

impl<T: InterfaceFeature> FeatureSettings<T> {
    /// The default word for all interfaces.
    pub fn new(control: &Control) -> FeatureSettings<T> {
        let dataplane = control.room::<Dataplane>();
        FeatureSettings(Direction::ALL.map(|_| ByInterface::new(dataplane.domain())))
    }
    /// Words that workers read for the packets of a direction.
    pub fn of(&self, direction: Direction) -> Snapshot<Paged<T::Setting>> {
        self.0[direction as usize].snapshot()
    }
    /// The word of one interface.
    pub fn at(&self, direction: Direction, interface: InterfaceId) -> &T::Setting {
        self.0[direction as usize].at(interface)
    }
}

/// Registers a feature: its nodes and their places, what decides at them, its words and the kind of its objects.
///
/// # Errors
/// If the graph refuses a node.
///
/// # Panics
/// If a node is not one of [`InterfaceFeature::NODES`]: a programming error, named.
pub fn register<T: InterfaceFeature>(
    control: &Control,
    words: FeatureSettings<T>,
    nodes: impl IntoIterator<Item = NodeSpec>,
) -> Result<(), DataplaneError> {
    for spec in nodes {
        let name = spec.name();
        control.room_mut::<Dataplane>().blueprint().node(spec)?;
        place::<T>(control, name)?;
    }
    add_objects(control, words);
    Ok(())
}

/// Adds the words and the kind of a feature whose nodes are registered by other ways.
pub fn add_objects<T: InterfaceFeature>(control: &Control, words: FeatureSettings<T>) {
    control.insert_room(words);
    control.objects().add(Kind::new(apply::<T>).check(T::check));
}

/// Gives a node of the graph its place as a feature.
///
/// # Errors
/// If there is no such arc.
///
/// # Panics
/// If the feature has no node of this name: a programming error, named.
pub fn place<T: InterfaceFeature>(control: &Control, name: &'static str) -> Result<(), DataplaneError> {
    let node = T::NODES.iter().find(|node| node.spec.node == name);
    let node = node.unwrap_or_else(|| panic!("`{name}` is not among the nodes of {}", T::KIND));
    {
        let mut dataplane = control.room_mut::<Dataplane>();
        dataplane.blueprint().feature(node.spec.clone())?;
        for (arc, counter) in node.counters {
            dataplane.also_called((name, arc), &format!("{}/{counter}", node.known))?;
        }
    }
    decides(control, name, move |control, record| T::decider(control, node, record));
    Ok(())
}

/// Makes a change real. Workers read what their nodes need before these begin, and until after they have ended; and nodes begin
/// before others end, so that no packet meets neither.
fn apply<T: InterfaceFeature>(control: &Control, change: Change<'_, T>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let Some(object) = new.or(old) else { return Ok(()) };
    let id = control.room::<Interfaces>().id_of(&object.key().interface().0)?;
    let is_on = |side: Option<&T>, node: &FeatureNode| side.is_some_and(|object| object.enables(node));
    let reads = |side, direction| T::NODES.iter().any(|node| node.direction == direction && is_on(side, node));
    // All of them are known before the first is set.
    let word = |direction| match new.filter(|_| reads(new, direction)) {
        Some(new) => new.word(control, direction).map(Some),
        None => Ok(None),
    };
    let words = [(Direction::Rx, word(Direction::Rx)?), (Direction::Tx, word(Direction::Tx)?)];
    let set = |direction: Direction, word| {
        let old = control.room_mut::<FeatureSettings<T>>().0[direction as usize].replace(id, word);
        T::release(control, old);
    };
    let mut ended = vec![];
    for (direction, word) in words {
        match word {
            Some(word) => set(direction, word),
            None if reads(old, direction) => ended.push(direction),
            None => {}
        }
    }
    for on in [true, false] {
        let nodes = T::NODES.iter().filter(|node| match on {
            true => is_on(new, node),
            false => is_on(old, node) && !is_on(new, node),
        });
        for FeatureNode { spec, .. } in nodes {
            let enabled = control.room_mut::<Dataplane>().enable(spec.arc, spec.node, id.0, on);
            enabled.map_err(|error| ObjectError::whole(error.to_string()))?;
        }
    }
    ended.into_iter().for_each(|direction| set(direction, T::Setting::default()));
    T::follow(control, id, old, new);
    Ok(())
}

#[cfg(test)]
mod tests;
