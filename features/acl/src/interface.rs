//! Where lists hold: what an interface receives and sends.

use std::sync::Arc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Dataplane, Domain, Paged, Snapshot};
use quiver_interface::{ByInterface, InterfaceId, InterfaceName, Interfaces};

use crate::config::AclNumber;

/// The lists of an interface: a packet passes if the first rule that meets it, list after list, permits it. Without a list
/// everything passes; where there is one, what no rule meets does not.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "acl-interfaces")]
pub struct AclInterface {
    /// The interface.
    #[key]
    pub interface: InterfaceName,
    /// The lists that what it receives is checked by, in their order.
    pub input: Vec<AclNumber>,
    /// Those for what it sends.
    pub output: Vec<AclNumber>,
}

quiver_control::choice! {
    /// Which packets of an interface are checked.
    pub enum Direction {
        /// Those that it receives.
        Input = "input",
        /// Those that it sends.
        Output = "output",
    } as "acl-direction", "input or output";
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Input, Direction::Output];
}

impl AclInterface {
    /// The lists of a direction.
    pub fn lists(&self, direction: Direction) -> &[AclNumber] {
        match direction {
            Direction::Input => &self.input,
            Direction::Output => &self.output,
        }
    }
    /// The same, to be changed.
    pub fn lists_mut(&mut self, direction: Direction) -> &mut Vec<AclNumber> {
        match direction {
            Direction::Input => &mut self.input,
            Direction::Output => &mut self.output,
        }
    }
}

/// The nodes of each direction, and the arcs that they are features of.
pub const NODES: [[(&str, &str); 3]; 2] = [
    [("ip4-unicast", "acl-input-ip4"), ("ip6-unicast", "acl-input-ip6"), ("l2-input", "acl-input-l2")],
    [("ip4-output", "acl-output-ip4"), ("ip6-output", "acl-output-ip6"), ("l2-output", "acl-output-l2")],
];

/// Lists of one direction of an interface at most: VPP's messages count no more of both.
const LISTS_MAX: usize = 255;

/// The numbers of lists by interface.
pub type Attached = Paged<Arc<[u32]>>;

/// Those of both directions.
pub(crate) struct AttachedLists([ByInterface<Arc<[u32]>>; 2]);

impl AttachedLists {
    pub fn new(domain: &Domain) -> AttachedLists {
        AttachedLists([(); 2].map(|()| ByInterface::new(domain)))
    }
    /// What workers read.
    pub fn of(&self, direction: Direction) -> Snapshot<Attached> {
        self.0[direction as usize].snapshot()
    }
    /// The lists of an interface.
    pub fn at(&self, direction: Direction, interface: InterfaceId) -> &[u32] {
        self.0[direction as usize].at(interface)
    }
    fn set(&mut self, direction: Direction, interface: InterfaceId, lists: &[AclNumber]) {
        self.0[direction as usize].set(interface, lists.iter().map(|list| list.0).collect());
    }
}

/// What holds of an interface's lists by themselves.
pub(crate) fn check(at: &AclInterface) -> Result<(), ObjectError> {
    for direction in Direction::ALL {
        let lists = at.lists(direction);
        let wrong = |what: String, remedy: &str| Err(ObjectError::field(direction.to_string(), what).remedy(remedy));
        if lists.len() > LISTS_MAX {
            return wrong(format!("there are {} lists", lists.len()), "give at most 255");
        }
        if let Some((_, twice)) = lists.iter().enumerate().find(|(place, list)| lists[..*place].contains(list)) {
            return wrong(format!("list {} is there twice", twice.0), "give it once");
        }
    }
    Ok(())
}

pub(crate) fn apply(control: &Control, change: Change<'_, AclInterface>) -> Result<(), ObjectError> {
    let (at, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&at.interface.0)?;
    for direction in Direction::ALL {
        let lists = if is_wanted { at.lists(direction) } else { &[] };
        // What is checked is said before the check begins, and after it has ended.
        if !lists.is_empty() {
            control.room_mut::<AttachedLists>().set(direction, id, lists);
        }
        let mut dataplane = control.room_mut::<Dataplane>();
        for (arc, node) in NODES[direction as usize] {
            let enabled = dataplane.enable(arc, node, id.0, !lists.is_empty());
            enabled.map_err(|error| ObjectError::whole(error.to_string()))?;
        }
        drop(dataplane);
        if lists.is_empty() {
            control.room_mut::<AttachedLists>().set(direction, id, lists);
        }
    }
    Ok(())
}
