//! Peer of a connection: its process, and the user of that process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use nix::unistd::{Uid, User, geteuid};
use quiver_control::transaction::Author;
use tokio::net::UnixStream;

/// The process at the other end, by the kernel's credentials. All unknown peers are one: those behind a network, and
/// those of each user whose processes have no number here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The user's number.
    pub user: Option<u32>,
    /// The process's number.
    pub process: Option<i32>,
}

impl Peer {
    /// The process that has connected.
    pub fn of(stream: &UnixStream) -> Peer {
        let Ok(credentials) = stream.peer_cred() else { return Peer::default() };
        // In another namespace of processes it may be 0.
        Peer { user: Some(credentials.uid()), process: credentials.pid().filter(|process| *process > 0) }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.process, self.user) {
            (Some(process), Some(user)) => write!(f, "process {process} of uid {user}"),
            (None, Some(user)) => write!(f, "uid {user}"),
            (_, None) => f.write_str("unknown users"),
        }
    }
}

/// The author of a user: users other than root and quiverd's own have fewer rights than quiverd.
fn with_rights(author: Author, uid: u32) -> Author {
    if uid == 0 || uid == geteuid().as_raw() { author } else { author.as_guest() }
}

/// The names of users that were met.
#[derive(Default)]
pub struct Users(RefCell<HashMap<u32, Author>>);

impl Users {
    /// The user at the other end, by the credentials that the kernel vouches for.
    pub async fn author_of(&self, stream: &UnixStream) -> Author {
        let Ok(credentials) = stream.peer_cred() else { return Author::new("unknown").as_guest() };
        let uid = credentials.uid();
        if let Some(author) = self.0.borrow().get(&uid) {
            return author.clone();
        }
        // The user database may be on another machine: only this client waits for it.
        let found = tokio::task::spawn_blocking(move || User::from_uid(Uid::from_raw(uid))).await;
        let name = found.ok().and_then(Result::ok).flatten().map_or_else(|| format!("uid {uid}"), |user| user.name);
        let author = with_rights(Author::new(&name).with_uid(uid), uid);
        self.0.borrow_mut().insert(uid, author.clone());
        author
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_and_our_own_user_have_our_rights() {
        let own = geteuid().as_raw();
        let is_guest = |uid| with_rights(Author::new("x"), uid).is_guest();
        assert_eq!([0, own, own + 1].map(is_guest), [false, false, true]);
    }
}
