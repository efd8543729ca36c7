//! [`Step`]: one change of one object; [`Instance`]: an object as steps see it.

use std::rc::Rc;

use super::ObjectRef;
use super::any::{AnyKind, AnyObject};

/// An object with the names that are asked for again and again while a change is checked, ordered and made: they are
/// computed once, since each is a text.
pub(crate) struct Instance {
    pub object: Rc<dyn AnyObject>,
    /// The names that it brings: its own first.
    pub provides: Vec<ObjectRef>,
    /// The names that it refers to, without its own, in the order of its fields.
    pub targets: Vec<ObjectRef>,
    /// Names of the objects that it follows, if they exist.
    pub follows: Vec<ObjectRef>,
}

impl Instance {
    pub fn of(object: Rc<dyn AnyObject>) -> Rc<Instance> {
        let provides = object.provides();
        let (targets, follows) = (object.targets(&provides), object.follows());
        Rc::new(Instance { object, provides, targets, follows })
    }

    pub fn id(&self) -> &ObjectRef {
        // Whatever an object provides, its own name comes first.
        &self.provides[0]
    }
}

/// One change of one object, its type known only to its kind.
#[derive(Clone)]
pub(crate) struct Step {
    pub kind: Rc<dyn AnyKind>,
    pub old: Option<Rc<Instance>>,
    pub new: Option<Rc<Instance>>,
}

impl Step {
    /// The change of an object from one state to another.
    pub fn new(kind: Rc<dyn AnyKind>, old: Option<Rc<dyn AnyObject>>, new: Option<Rc<dyn AnyObject>>) -> Step {
        Step { kind, old: old.map(Instance::of), new: new.map(Instance::of) }
    }

    pub fn id(&self) -> ObjectRef {
        match (&self.new, &self.old) {
            (Some(object), _) | (None, Some(object)) => object.id().clone(),
            (None, None) => ObjectRef::new(self.kind.name(), ""),
        }
    }

    /// The reverse of this step.
    pub fn undo(&self) -> Step {
        Step { kind: self.kind.clone(), old: self.new.clone(), new: self.old.clone() }
    }

    /// Bytes of the memory budget that its object takes, before and after.
    pub fn memory(&self) -> [u64; 2] {
        let of = |instance: &Option<Rc<Instance>>| {
            instance.as_ref().map_or(0, |instance| self.kind.memory(&*instance.object))
        };
        [of(&self.old), of(&self.new)]
    }

    pub fn changes_something(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !old.object.equals(&*new.object),
            (None, None) => false,
            _ => true,
        }
    }

    /// The deletion and the creation that an update is where the object has to be replaced.
    pub fn halves(self) -> [Step; 2] {
        [Step { kind: self.kind.clone(), old: self.old, new: None }, Step { kind: self.kind, old: None, new: self.new }]
    }

    /// The names that go with this step.
    pub fn removed_names(&self) -> &[ObjectRef] {
        match (&self.old, &self.new) {
            (Some(old), None) => &old.provides,
            _ => &[],
        }
    }

    /// The names that come with this step.
    pub fn created_names(&self) -> &[ObjectRef] {
        match (&self.old, &self.new) {
            (None, Some(new)) => &new.provides,
            _ => &[],
        }
    }
}
