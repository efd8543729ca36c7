//! Who changes things.

use std::fmt;
use std::rc::Rc;

/// Who changes the configuration, as history and refusals name them: a user of the machine, or the daemon itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Author(Rc<str>);

impl Author {
    /// The author of this name.
    pub fn new(name: &str) -> Author {
        Author(name.into())
    }
}

/// The daemon itself.
impl Default for Author {
    fn default() -> Author {
        Author::new("quiverd")
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
