//! References to objects by name.

use std::fmt;
use std::rc::Rc;

/// The name of something that an object brings into being or refers to: `interface tap0`, `bridge-domains 1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The space of names: a kind, or a space shared by several kinds (`interface`).
    pub space: &'static str,
    /// The name in that space.
    pub name: Rc<str>,
}

impl ObjectRef {
    /// The thing of this name in this space.
    pub fn new(space: &'static str, name: impl Into<Rc<str>>) -> ObjectRef {
        ObjectRef { space, name: name.into() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.space)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " {}", self.name) }
    }
}
