//! [`Step`]: one change of one object.

use std::rc::Rc;

use super::ObjectRef;
use super::registry::{AnyKind, AnyObject};

/// One change of one object, its type known only to its kind.
#[derive(Clone)]
pub(crate) struct Step {
    pub kind: Rc<dyn AnyKind>,
    pub old: Option<Rc<dyn AnyObject>>,
    pub new: Option<Rc<dyn AnyObject>>,
}

impl Step {
    pub fn id(&self) -> ObjectRef {
        match (&self.new, &self.old) {
            (Some(object), _) | (None, Some(object)) => object.id(),
            (None, None) => ObjectRef::new(self.kind.name(), ""),
        }
    }

    /// What takes this step back.
    pub fn undo(&self) -> Step {
        Step { kind: self.kind.clone(), old: self.new.clone(), new: self.old.clone() }
    }

    pub fn changes_something(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !old.equals(&**new),
            (None, None) => false,
            _ => true,
        }
    }

    /// The deletion and the creation that an update is where the object has to be replaced.
    pub fn halves(self) -> [Step; 2] {
        [Step { kind: self.kind.clone(), old: self.old, new: None }, Step { kind: self.kind, old: None, new: self.new }]
    }

    /// The names that go with this step.
    pub fn removed_names(&self) -> Vec<ObjectRef> {
        match (&self.old, &self.new) {
            (Some(old), None) => old.provides(),
            _ => Vec::new(),
        }
    }

    /// The names that come with this step.
    pub fn created_names(&self) -> Vec<ObjectRef> {
        match (&self.old, &self.new) {
            (None, Some(new)) => new.provides(),
            _ => Vec::new(),
        }
    }
}
