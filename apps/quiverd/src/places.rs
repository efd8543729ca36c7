//! Connected clients, and eviction when all places or all memory are taken.
//!
//! A client that waits for its next command costs a file descriptor and a task. The client that has been idle for
//! longest gives its place to a newcomer. After those come clients that do not read their answers. A client that waits
//! for an answer or for events keeps its place, unless its user has more places than any other, and its process more
//! than any other process of that user: that process has to share with those who have fewer. Memory is shared in the
//! same way: when all clients together have too much waiting, the client with the largest part is disconnected.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::rc::Rc;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::peer::Peer;

/// More clients are of no use, however many files may be open.
const CLIENTS_MAX: usize = 10_000;
/// Bytes of all clients together that may wait, to be answered or to be read: 256 requests of the longest of the binary API.
const BYTES_MAX: usize = 256 << 20;
/// A newcomer whose user or process has at most this many places may evict idle clients of users or processes with
/// fewer: a controller and its health probe, and some more.
const FEW: usize = 4;
/// A reader that takes nothing for this long may have to make room.
const READER_HANGS: Duration = Duration::from_secs(2);

/// Activity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: it has not sent a whole request.
    Idle,
    /// Waiting for an answer.
    Asking,
    /// Reading its answer, or not.
    Reading,
}

/// Why a client has lost its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It did nothing.
    #[error("it was the one idle for longest, and another client needed its place")]
    Idle,
    /// It did not read.
    #[error("it did not read its answer, and another client needed its place")]
    Deaf,
    /// Its process took the places of others.
    #[error("{of} has {places} of {limit} places, more than any other, and another client needed one")]
    Crowd {
        /// The process.
        of: Peer,
        /// Places of it.
        places: usize,
        /// Places that there are.
        limit: usize,
    },
    /// Its process took the memory of others.
    #[error(
        "{bytes} bytes wait for it or from it, and {all} of all clients of {of}, more than of any other; {limit} may wait \
        of all together"
    )]
    Bytes {
        /// Its waiting bytes.
        bytes: usize,
        /// The process.
        of: Peer,
        /// Waiting bytes of all its clients.
        all: usize,
        /// Limit for all clients together.
        limit: usize,
    },
}

/// All places are taken, and no client can be evicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} clients wait for answers or events, {places} of them of {of}, which asks for one more place")]
pub struct TurnedAway {
    limit: usize,
    places: usize,
    of: Peer,
}

/// The places of all sockets; clones are the same.
#[derive(Clone)]
pub struct Places(Rc<Taken>);

struct Taken {
    limit: usize,
    bytes_max: usize,
    /// Bytes that wait now.
    bytes: Cell<usize>,
    clients: RefCell<BTreeMap<u64, Rc<State>>>,
    users: RefCell<HashMap<Option<u32>, Rc<Share>>>,
    processes: RefCell<HashMap<Peer, Rc<Share>>>,
    next: Cell<u64>,
}

/// Places and bytes of the clients of one user, or of one process.
#[derive(Default)]
struct Share {
    places: Cell<usize>,
    bytes: Cell<usize>,
}

struct State {
    peer: Peer,
    user: Rc<Share>,
    process: Rc<Share>,
    doing: Cell<Activity>,
    since: Cell<Instant>,
    bytes: Cell<usize>,
    loss: RefCell<Option<Loss>>,
    has_to_go: Notify,
}

impl State {
    /// Whether the newcomer, which has its place already, belongs to a user or process with more places than this
    /// client's, and with more than a few.
    fn has_less_than(&self, newcomer: &State) -> bool {
        let (own, other) = match self.peer.user == newcomer.peer.user {
            true => (&self.process, &newcomer.process),
            false => (&self.user, &newcomer.user),
        };
        other.places.get() > own.places.get().max(FEW)
    }
}

/// A client's place; it is free again when this is dropped.
pub struct Place {
    number: u64,
    state: Rc<State>,
    taken: Rc<Taken>,
}

/// Largest number of clients: half of the files that may be open, so that drivers have the other half. Raises the limit
/// of open files as far as the system allows.
pub fn by_open_files() -> usize {
    let files = getrlimit(Resource::RLIMIT_NOFILE)
        .map_or(1024, |(soft, hard)| if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft });
    usize::try_from(files / 2).unwrap_or(usize::MAX).clamp(1, CLIENTS_MAX)
}

impl Places {
    /// So many places, all free.
    pub fn new(limit: usize) -> Places {
        Places::with_bytes(limit, BYTES_MAX)
    }

    /// The same, where so many bytes may wait.
    pub fn with_bytes(limit: usize, bytes_max: usize) -> Places {
        let (bytes, clients, users, processes, next) = Default::default();
        Places(Rc::new(Taken { limit, bytes_max, bytes, clients, users, processes, next }))
    }

    /// Takes a place for a newcomer, if need be that of a client that is evicted.
    pub fn take(&self, peer: Peer) -> Result<Place, TurnedAway> {
        let place = self.0.add(peer);
        if self.0.clients.borrow().len() > self.0.limit && !self.0.make_room(Some(&place)) {
            // The newcomer's own was counted with them.
            let places = place.state.process.places.get() - 1;
            return Err(TurnedAway { limit: self.0.limit, places, of: peer });
        }
        Ok(place)
    }

    /// Bytes of all clients that wait now.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.0.bytes.get()
    }

    /// Tells the client to go that can best be spared, if one does nothing or does not read.
    pub fn evict(&self) {
        self.0.make_room(None);
    }
}

/// Returns the share of a user or process; creates it if there is none.
fn share<K: Eq + Hash>(all: &RefCell<HashMap<K, Rc<Share>>>, of: K) -> Rc<Share> {
    all.borrow_mut().entry(of).or_default().clone()
}

impl Taken {
    fn add(self: &Rc<Taken>, peer: Peer) -> Place {
        let state = Rc::new(State {
            peer,
            user: share(&self.users, peer.user),
            process: share(&self.processes, peer),
            doing: Cell::new(Activity::Idle),
            since: Cell::new(Instant::now()),
            bytes: Cell::default(),
            loss: RefCell::default(),
            has_to_go: Notify::new(),
        });
        for share in [&state.user, &state.process] {
            share.places.set(share.places.get() + 1);
        }
        let number = self.next.replace(self.next.get() + 1);
        self.clients.borrow_mut().insert(number, state.clone());
        Place { number, state, taken: self.clone() }
    }

    /// Counts a client no more, if it has not lost its place already.
    fn remove(&self, number: u64) -> Option<Rc<State>> {
        let client = self.clients.borrow_mut().remove(&number)?;
        self.set_bytes(&client, 0);
        for share in [&client.user, &client.process] {
            share.places.set(share.places.get() - 1);
        }
        if client.user.places.get() == 0 {
            self.users.borrow_mut().remove(&client.peer.user);
        }
        if client.process.places.get() == 0 {
            self.processes.borrow_mut().remove(&client.peer);
        }
        Some(client)
    }

    fn set_bytes(&self, client: &State, bytes: usize) {
        let before = client.bytes.replace(bytes);
        for all in [&self.bytes, &client.user.bytes, &client.process.bytes] {
            all.set(all.get() - before + bytes);
        }
    }

    /// Takes a client's place away.
    fn evict(&self, number: u64, loss: Loss) {
        // It has no place from now on, though its task ends a moment later.
        if let Some(client) = self.remove(number) {
            client.loss.replace(Some(loss));
            client.has_to_go.notify_one();
        }
    }

    /// Tells the client to go that can best be spared, for a newcomer if there is one. False if none can.
    fn make_room(&self, newcomer: Option<&Place>) -> bool {
        let clients = self.clients.borrow();
        let now = Instant::now();
        let longest = |doing: Activity, at_least: Duration| {
            let such = clients.iter().filter(|(_, client)| client.doing.get() == doing);
            let such = such.filter(|(number, client)| {
                newcomer.is_none_or(|new| new.number != **number && !client.has_less_than(&new.state))
            });
            let such = such.filter(|(_, client)| now - client.since.get() >= at_least);
            such.min_by_key(|(_, client)| client.since.get()).map(|(number, _)| *number)
        };
        let idle = longest(Activity::Idle, Duration::ZERO).map(|number| (number, Loss::Idle));
        let deaf = || longest(Activity::Reading, READER_HANGS).map(|number| (number, Loss::Deaf));
        let crowd = || {
            let new = &newcomer?.state;
            let (number, client) = clients.iter().max_by_key(|(number, client)| {
                // Among equals the newcomer's own client, whose eviction gains nothing.
                let user = (client.user.places.get(), client.peer.user == new.peer.user);
                let process = (client.process.places.get(), client.peer == new.peer);
                (user, process, Reverse((client.since.get(), **number)))
            })?;
            let (of, places) = (client.peer, client.process.places.get());
            (of != new.peer).then_some((*number, Loss::Crowd { of, places, limit: self.limit }))
        };
        let chosen = idle.or_else(deaf).or_else(crowd);
        drop(clients);
        let Some((number, loss)) = chosen else { return false };
        self.evict(number, loss);
        true
    }

    /// Evicts the client with the most waiting bytes, of the process and the user with the most.
    fn make_memory(&self) {
        let clients = self.clients.borrow();
        let largest = clients.iter().max_by_key(|(_, client)| {
            let shares = (client.user.bytes.get(), client.process.bytes.get());
            (shares, client.bytes.get(), Reverse(client.since.get()))
        });
        let Some((&number, client)) = largest else { return };
        let (bytes, all) = (client.bytes.get(), client.process.bytes.get());
        let loss = Loss::Bytes { bytes, of: client.peer, all, limit: self.bytes_max };
        drop(clients);
        self.evict(number, loss);
    }
}

impl Place {
    /// Notes the client's activity. A client that reads reports each progress.
    pub fn is(&self, doing: Activity) {
        self.state.doing.set(doing);
        self.state.since.set(Instant::now());
    }

    /// Notes how many bytes wait for the client and from it. If that is too much for all together, the client with the
    /// most bytes is evicted.
    pub fn holds(&self, bytes: usize) {
        if bytes == self.state.bytes.get() || self.state.loss.borrow().is_some() {
            return;
        }
        self.taken.set_bytes(&self.state, bytes);
        while self.taken.bytes.get() > self.taken.bytes_max {
            self.taken.make_memory();
        }
    }

    /// Waits until the client has to go, and says why. May be dropped at any time.
    pub async fn lost(&self) -> Loss {
        loop {
            if let Some(loss) = &*self.state.loss.borrow() {
                return loss.clone();
            }
            self.state.has_to_go.notified().await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.remove(self.number);
    }
}

#[cfg(test)]
mod tests;
