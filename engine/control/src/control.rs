//! [`Control`]: the handle that every room, command and control task holds.

use std::any::{Any, TypeId, type_name};
use std::cell::{OnceCell, Ref, RefCell, RefMut};
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use crate::signal::Signal;
use crate::time::{Clock, Spawner, Task, Time, Timer};
use crate::transaction::{Author, Source};

/// The control side of one daemon: rooms' state, config objects, commands, time and tasks.
///
/// A cheap handle (`Rc`) for one thread. Two daemons of one process, as in tests, are two values.
#[derive(Clone)]
pub struct Control {
    inner: Rc<Inner>,
    /// Author of the changes that this handle makes.
    author: Author,
    /// By which way the changes of this handle came.
    source: Source,
}

struct Inner {
    rooms: Rooms,
    /// Parts of every control side: objects, commands, transactions. They call back with a [`Control`], so it does not
    /// know them.
    parts: Vec<Box<dyn Any>>,
    clock: Rc<dyn Clock>,
    timer: Rc<dyn Timer>,
    spawner: Rc<dyn Spawner>,
}

impl Control {
    /// A control side with nothing but these parts, hosted by the given clock, timer and spawner.
    pub(crate) fn with_parts(
        clock: Rc<dyn Clock>,
        timer: Rc<dyn Timer>,
        spawner: Rc<dyn Spawner>,
        parts: Vec<Box<dyn Any>>,
    ) -> Control {
        let inner = Rc::new(Inner { rooms: Rooms::default(), parts, clock, timer, spawner });
        Control { inner, author: Author::default(), source: Source::default() }
    }

    /// The part whose type is `T`.
    ///
    /// # Panics
    /// If there is none: a programming error.
    pub(crate) fn part<T: 'static>(&self) -> &T {
        match self.inner.parts.iter().find_map(|part| part.downcast_ref()) {
            Some(part) => part,
            None => panic!("a control side was made without {}", type_name::<T>()),
        }
    }

    /// Gives the control side a room's state. Each type has one.
    ///
    /// # Panics
    /// If there is one of this type already: a room was registered twice.
    pub fn insert_room<T: 'static>(&self, state: T) {
        self.inner.rooms.insert(state);
    }

    /// The state of the room whose type is `T`, for reading.
    ///
    /// # Panics
    /// If no room of this type was registered, or if it is being written: programming errors, named.
    pub fn room<T: 'static>(&self) -> Ref<'_, T> {
        match self.inner.rooms.get::<T>().try_borrow() {
            Ok(state) => state,
            Err(_) => panic!("the room {} is being written further up the call stack", type_name::<T>()),
        }
    }

    /// The state of the room whose type is `T`, for writing.
    ///
    /// # Panics
    /// If no room of this type was registered, or if it is borrowed already: programming errors, named.
    pub fn room_mut<T: 'static>(&self) -> RefMut<'_, T> {
        match self.inner.rooms.get::<T>().try_borrow_mut() {
            Ok(state) => state,
            Err(_) => panic!("the room {} is borrowed further up the call stack", type_name::<T>()),
        }
    }

    /// Whether there is a room whose type is `T`.
    pub fn has_room<T: 'static>(&self) -> bool {
        self.inner.rooms.find::<T>().is_some()
    }

    /// Returns a handle whose changes have this author.
    pub fn by(&self, author: Author) -> Control {
        Control { author, ..self.clone() }
    }

    /// This control side for changes that come by this way.
    pub fn through(&self, source: Source) -> Control {
        Control { source, ..self.clone() }
    }

    /// By which way the changes of this handle come.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Author of the changes that this handle makes.
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// Where its time comes from.
    pub(crate) fn clock(&self) -> Rc<dyn Clock> {
        self.inner.clock.clone()
    }

    /// The time since the daemon's start.
    pub fn now(&self) -> Time {
        self.inner.clock.now()
    }

    /// CPU time that the control thread has taken, where the host's clock knows it.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.inner.clock.cpu_time()
    }

    /// Tells the host that a turn of a task ends.
    pub(crate) fn end_turn(&self) {
        self.inner.spawner.turn_ends();
    }

    /// Advances the clock, so that tasks waiting for that time are due now. Returns false if it cannot.
    pub fn advance_clock(&self, by: Duration) -> bool {
        self.inner.clock.advance(by)
    }

    /// The date and time of day.
    pub fn date(&self) -> SystemTime {
        self.inner.clock.date()
    }

    /// Lets all tasks, timers and received input have their turn.
    pub fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        self.inner.spawner.yield_now()
    }

    /// Waits for a while.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.sleep_until(self.now() + duration)
    }

    /// Waits until a moment.
    pub fn sleep_until(&self, moment: Time) -> impl Future<Output = ()> + 'static {
        self.inner.timer.sleep_until(moment)
    }

    /// The output of `future`, or nothing if it is not there within `limit`.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        crate::time::timeout(self.sleep(limit), future).await
    }

    /// Starts a control task (VPP: a process node). It runs until it ends or its handle cancels it; dropping the
    /// handle lets it run on.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + 'static) -> Task {
        Task::start(&*self.inner.spawner, name, self.counted(name, task))
    }

    /// Begins work at the first poll, and then runs it to its end, even if the caller drops this future. Returns none
    /// if the work panicked.
    pub async fn to_the_end<T: 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + 'static,
    ) -> Option<T> {
        let mut work = Box::pin(work);
        // Most ends in its first turn, and needs no task.
        let begun = poll_fn(|context| Poll::Ready(catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))));
        match begun.await {
            Ok(Poll::Ready(done)) => return Some(done),
            Ok(Poll::Pending) => {}
            Err(_) => return None,
        }
        struct Ended(Signal);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.notify();
            }
        }
        let (signal, output) = (Signal::new(), Rc::new(RefCell::new(None)));
        let (ended, kept) = (signal.changed(), output.clone());
        self.spawn(name, async move {
            let _ended = Ended(signal);
            let done = work.await;
            *kept.borrow_mut() = Some(done);
        });
        ended.await;
        output.take()
    }
}

/// The rooms' state: lists that only grow, so that borrows of one room never hinder the insertion of another.
struct Rooms {
    /// Rooms by the hash of their type. PERF: a change of one object looks for rooms a hundred times, and there are more than a hundred.
    by_type: [List; LISTS],
    /// Rooms in the order in which they were registered, in which they are dropped, too.
    in_order: List,
}

/// Lists by the hash of types: about one for each room.
const LISTS: usize = 128;

#[derive(Default)]
struct List(OnceCell<Box<Room>>);

struct Room {
    id: TypeId,
    /// A `RefCell` of the type.
    state: Rc<dyn Any>,
    next: List,
}

impl List {
    /// The place behind the last room.
    fn end(&self) -> &List {
        let mut end = self;
        while let Some(room) = end.0.get() {
            end = &room.next;
        }
        end
    }
    fn push(&self, id: TypeId, state: Rc<dyn Any>) {
        // The cell at the end is empty.
        let _ = self.end().0.set(Box::new(Room { id, state, next: List::default() }));
    }
    fn find(&self, id: TypeId) -> Option<&dyn Any> {
        let mut place = self;
        while let Some(room) = place.0.get() {
            if room.id == id {
                return Some(&*room.state);
            }
            place = &room.next;
        }
        None
    }
}

impl Default for Rooms {
    fn default() -> Rooms {
        Rooms { by_type: std::array::from_fn(|_| List::default()), in_order: List::default() }
    }
}

impl Rooms {
    fn list(&self, id: TypeId) -> &List {
        let hash = foldhash::fast::FixedState::default().hash_one(id);
        &self.by_type[hash as usize % LISTS]
    }

    fn insert<T: 'static>(&self, state: T) {
        let (id, list) = (TypeId::of::<T>(), self.list(TypeId::of::<T>()));
        assert!(list.find(id).is_none(), "the room {} was registered twice", type_name::<T>());
        let state: Rc<dyn Any> = Rc::new(RefCell::new(state));
        list.push(id, state.clone());
        self.in_order.push(id, state);
    }

    fn find<T: 'static>(&self) -> Option<&RefCell<T>> {
        let id = TypeId::of::<T>();
        self.list(id).find(id)?.downcast_ref()
    }

    fn get<T: 'static>(&self) -> &RefCell<T> {
        match self.find() {
            Some(state) => state,
            None => panic!("no room {} was registered: is it missing in the list of features?", type_name::<T>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_found_by_type_and_inserted_under_a_borrow() {
        let rooms = Rooms::default();
        rooms.insert(1u8);
        let one = rooms.get::<u8>().borrow();
        rooms.insert("two");
        assert_eq!((*one, *rooms.get::<&str>().borrow()), (1, "two"));
        assert!(rooms.find::<u16>().is_none());
    }

    #[test]
    fn rooms_are_dropped_in_the_order_of_their_registration() {
        struct Told<const ROOM: u8>(Rc<RefCell<Vec<u8>>>);
        impl<const ROOM: u8> Drop for Told<ROOM> {
            fn drop(&mut self) {
                self.0.borrow_mut().push(ROOM);
            }
        }
        let (rooms, told) = (Rooms::default(), Rc::<RefCell<Vec<u8>>>::default());
        rooms.insert(Told::<3>(told.clone()));
        rooms.insert(Told::<1>(told.clone()));
        rooms.insert(Told::<4>(told.clone()));
        rooms.insert(Told::<2>(told.clone()));
        drop(rooms);
        assert_eq!(*told.borrow(), [3, 1, 4, 2]);
    }

    #[test]
    #[should_panic(expected = "no room u32 was registered")]
    fn a_missing_room_is_named() {
        Rooms::default().get::<u32>();
    }

    #[test]
    #[should_panic(expected = "the room u32 was registered twice")]
    fn a_room_registered_twice_is_named() {
        let rooms = Rooms::default();
        rooms.insert(1u32);
        rooms.insert(2u32);
    }
}
