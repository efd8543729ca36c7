//! Authors of changes.

use std::fmt;
use std::rc::Rc;

/// Author of a change, as history and refusals name it: a user of the machine, or the daemon itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Author {
    name: Rc<str>,
    rights: Rights,
    /// The user's number on this machine, if it is known.
    uid: Option<u32>,
}

/// The way by which a change came: a socket, a file, a signal. Hosts name theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub &'static str);

/// The daemon itself.
impl Default for Source {
    fn default() -> Source {
        Source("quiverd")
    }
}

/// Rights of an author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rights {
    /// All that quiverd may do.
    Own,
    /// Change the configuration, and have only some files opened.
    Guest,
    /// Look, and nothing else.
    Viewer,
}

impl Author {
    /// Creates an author of this name, for whom quiverd opens every file that it may open.
    pub fn new(name: &str) -> Author {
        Author { name: name.into(), rights: Rights::Own, uid: None }
    }

    /// The same author with this user id.
    pub fn with_uid(self, uid: u32) -> Author {
        Author { uid: Some(uid), ..self }
    }

    /// The user's number, if it is known.
    pub fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// The same with fewer rights than quiverd has: only files within their [reach](crate::files::Reach) are opened for them.
    pub fn as_guest(self) -> Author {
        Author { rights: Rights::Guest, ..self }
    }

    /// The same author with the right to run `show` commands only.
    pub fn as_viewer(self) -> Author {
        Author { rights: Rights::Viewer, ..self }
    }

    /// Whether they have fewer rights than quiverd.
    pub fn is_guest(&self) -> bool {
        self.rights != Rights::Own
    }

    /// Whether they may only look.
    pub fn is_viewer(&self) -> bool {
        self.rights == Rights::Viewer
    }

    /// An author of another name with the same rights.
    pub fn renamed(&self, name: &str) -> Author {
        Author { name: name.into(), ..self.clone() }
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
        f.write_str(&self.name)
    }
}
