//! Who is at the other end of a connection: the user as whom its program runs.

use std::cell::RefCell;
use std::collections::HashMap;

use nix::unistd::{Uid, User};
use quiver_control::transaction::Author;
use tokio::net::UnixStream;

/// The names of users that were met.
#[derive(Default)]
pub struct Users(RefCell<HashMap<u32, Author>>);

impl Users {
    /// The user at the other end, by the credentials that the kernel vouches for.
    pub async fn author_of(&self, stream: &UnixStream) -> Author {
        let Ok(credentials) = stream.peer_cred() else { return Author::new("unknown") };
        let uid = credentials.uid();
        if let Some(author) = self.0.borrow().get(&uid) {
            return author.clone();
        }
        // The list of users may be on another machine: nobody waits for it but this client.
        let found = tokio::task::spawn_blocking(move || User::from_uid(Uid::from_raw(uid))).await;
        let name = found.ok().and_then(Result::ok).flatten().map_or_else(|| format!("uid {uid}"), |user| user.name);
        let author = Author::new(&name);
        self.0.borrow_mut().insert(uid, author.clone());
        author
    }
}
