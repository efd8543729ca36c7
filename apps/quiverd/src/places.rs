//! Who is connected, and who has to go when all places are taken.
//!
//! A client that waits for its next command costs a file descriptor and a task; the one that has done so for longest
//! gives its place to a newcomer. After those come clients that do not read their answers. Whoever waits for an answer
//! keeps its place.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::Notify;
use tokio::time::Instant;

/// More clients are of no use, however many files may be open.
const CLIENTS_MAX: usize = 10_000;
/// A reader that takes nothing for this long may have to make room.
const READER_HANGS: Duration = Duration::from_secs(2);

/// What a client is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nothing: it has not sent a whole request.
    Idle,
    /// Waiting for an answer.
    Asking,
    /// Reading its answer, or not.
    Reading,
}

/// All places.
pub struct Places(Rc<Taken>);

struct Taken {
    limit: usize,
    clients: RefCell<BTreeMap<u64, Rc<State>>>,
    next: Cell<u64>,
}

struct State {
    doing: Cell<Doing>,
    since: Cell<Instant>,
    has_to_go: Notify,
}

/// A client's place; it is free again when this is dropped.
pub struct Place {
    number: u64,
    state: Rc<State>,
    taken: Rc<Taken>,
}

/// How many clients there can be: half of the files that may be open, so that drivers have the other half. The limit is
/// raised as far as the system lets us.
pub fn by_open_files() -> usize {
    let files = getrlimit(Resource::RLIMIT_NOFILE)
        .map_or(1024, |(soft, hard)| if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft });
    usize::try_from(files / 2).unwrap_or(usize::MAX).clamp(1, CLIENTS_MAX)
}

impl Places {
    /// So many places, all free.
    pub fn new(limit: usize) -> Places {
        Places(Rc::new(Taken { limit, clients: RefCell::default(), next: Cell::new(0) }))
    }

    /// How many there are.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// A place for a newcomer; if need be that of somebody who is told to go.
    pub fn take(&self) -> Option<Place> {
        if self.0.clients.borrow().len() >= self.0.limit && !self.evict() {
            return None;
        }
        let state = State { doing: Cell::new(Doing::Idle), since: Cell::new(Instant::now()), has_to_go: Notify::new() };
        let (number, state) = (self.0.next.replace(self.0.next.get() + 1), Rc::new(state));
        self.0.clients.borrow_mut().insert(number, state.clone());
        Some(Place { number, state, taken: self.0.clone() })
    }

    /// Tells the client to go that can best be spared. False if none can.
    pub fn evict(&self) -> bool {
        let now = Instant::now();
        let mut clients = self.0.clients.borrow_mut();
        let longest = |doing: Doing, at_least: Duration| {
            let such = clients.iter().filter(|(_, client)| client.doing.get() == doing);
            such.filter(|(_, client)| now - client.since.get() >= at_least).min_by_key(|(_, client)| client.since.get())
        };
        let chosen = longest(Doing::Idle, Duration::ZERO).or_else(|| longest(Doing::Reading, READER_HANGS));
        let Some((number, state)) = chosen.map(|(number, state)| (*number, state.clone())) else { return false };
        // It has no place from now on, though its task ends a moment later.
        clients.remove(&number);
        state.has_to_go.notify_one();
        true
    }
}

impl Place {
    /// Notes what the client does now; whoever reads notes every progress.
    pub fn is(&self, doing: Doing) {
        self.state.doing.set(doing);
        self.state.since.set(Instant::now());
    }

    /// Waits until the client has to go.
    pub async fn lost(&self) {
        self.state.has_to_go.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.clients.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    async fn told_to_go(place: &Place) -> bool {
        tokio::time::timeout(Duration::ZERO, place.lost()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_idle_for_longest_goes_first_and_who_asks_never() {
        let places = Places::new(3);
        let [first, second, asking] = [0; 3].map(|_| places.take().expect("a free place"));
        asking.is(Doing::Asking);
        advance(Duration::from_millis(1)).await;
        first.is(Doing::Idle);
        let third = places.take().expect("the second one's");
        assert_eq!((told_to_go(&first).await, told_to_go(&second).await), (false, true));
        // Its task ends later, and frees nothing that is not its own.
        drop(second);
        third.is(Doing::Asking);
        let fourth = places.take().expect("the first one's");
        fourth.is(Doing::Asking);
        assert!(told_to_go(&first).await && !told_to_go(&asking).await);
        assert!(places.take().is_none(), "all wait for answers");
        drop(asking);
        assert!(places.take().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_goes_if_it_has_made_no_progress_for_long() {
        let places = Places::new(2);
        let [slow, hanging] = [0; 2].map(|_| places.take().expect("a free place"));
        [&slow, &hanging].into_iter().for_each(|place| place.is(Doing::Reading));
        advance(READER_HANGS - Duration::from_millis(1)).await;
        assert!(places.take().is_none());
        slow.is(Doing::Reading);
        advance(Duration::from_millis(1)).await;
        assert!(places.take().is_some());
        assert_eq!((told_to_go(&slow).await, told_to_go(&hanging).await), (false, true));
    }
}
