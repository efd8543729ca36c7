//! Clients, and their subscriptions to events.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use quiver_control::Signal;

use crate::api::MessageId;
use crate::definition::Header;
use crate::message::Message;

/// Most bytes of events that may wait for a client. A client that has not read for so long has lost track: the end of
/// its connection tells it so better than a gap.
const EVENTS_MAX: usize = 16 << 20;
/// Growth of a client's waiting events, in bytes, after which `Client::grown` returns.
const STEP: usize = 64 << 10;

/// Escapes a client's text for the log: one line, so that a client cannot forge log lines, and no control sequences.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

/// A connected client, to which a room can send events later.
#[derive(Clone)]
pub struct Client(Rc<Shared>);

struct Shared {
    /// As which it speaks.
    name: RefCell<String>,
    /// Its `client_index`.
    index: u32,
    events: RefCell<Vec<u8>>,
    overrun: Cell<bool>,
    changed: Signal,
}

/// A client that may have gone.
pub(crate) struct Known(Weak<Shared>);

impl Known {
    /// The client, if it is connected.
    pub fn get(&self) -> Option<Client> {
        self.0.upgrade().map(Client)
    }
}

impl Client {
    /// The same, without keeping the client alive.
    pub(crate) fn known(&self) -> Known {
        Known(Rc::downgrade(&self.0))
    }
    pub(crate) fn new(name: String, index: u32) -> Client {
        let (events, overrun, changed) = (RefCell::default(), Cell::new(false), Signal::new());
        Client(Rc::new(Shared { name: name.into(), index, events, overrun, changed }))
    }
    /// The name that it gave itself.
    pub fn name(&self) -> String {
        self.0.name.borrow().clone()
    }
    /// It gives itself another name, and is the same client.
    pub(crate) fn rename(&self, name: String) {
        self.0.name.replace(name);
    }
    /// Its number.
    pub fn index(&self) -> u32 {
        self.0.index
    }
    /// Whether more events came than may wait.
    pub(crate) fn is_overrun(&self) -> bool {
        self.0.overrun.get()
    }
    /// The events that wait, as they go out.
    pub(crate) fn take_events(&self) -> Vec<u8> {
        self.0.events.take()
    }
    /// The memory of the events that wait, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.0.events.borrow().capacity()
    }
    /// Waits until the events that wait take notably more memory, or are too many.
    pub(crate) async fn grown(&self) {
        let much = self.held() + STEP;
        loop {
            let changed = self.0.changed.changed();
            if self.is_overrun() || self.held() >= much {
                return;
            }
            changed.await;
        }
    }
    /// Has an event wait, which `write` puts behind the others.
    pub(crate) fn tell(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut events = self.0.events.borrow_mut();
        if events.len() > EVENTS_MAX {
            self.0.overrun.set(true);
            *events = vec![];
        }
        if !self.is_overrun() {
            write(&mut events);
        }
        drop(events);
        self.0.changed.notify();
    }
    /// Waits for events.
    pub(crate) async fn changed(&self) {
        let changed = self.0.changed.changed();
        if self.0.events.borrow().is_empty() && !self.is_overrun() {
            changed.await;
        }
    }
}

/// An event that is known by its definition only.
pub enum Raw {}

/// Clients that have subscribed to an event, each with the `pid` that it gave.
pub struct Subscribers<E> {
    id: MessageId<E>,
    clients: RefCell<Vec<(Weak<Shared>, u32)>>,
}

impl<E> Subscribers<E> {
    /// Creates an empty list for events with this number.
    pub fn new(id: MessageId<E>) -> Subscribers<E> {
        Subscribers { id, clients: RefCell::default() }
    }
    /// Subscribes or unsubscribes this client. It gets each event once, however often it subscribes.
    pub fn set(&self, client: &Client, pid: u32, wanted: bool) {
        let mut clients = self.clients.borrow_mut();
        clients.retain(|(known, _)| known.upgrade().is_some_and(|known| !Rc::ptr_eq(&known, &client.0)));
        if wanted {
            clients.push((Rc::downgrade(&client.0), pid));
        }
    }
    /// Whether this client has subscribed.
    pub fn has(&self, client: &Client) -> bool {
        self.clients
            .borrow()
            .iter()
            .any(|(known, _)| known.upgrade().is_some_and(|known| Rc::ptr_eq(&known, &client.0)))
    }
    /// Whether there are no subscribers.
    pub fn is_empty(&self) -> bool {
        self.clients.borrow().iter().all(|(client, _)| client.strong_count() == 0)
    }
    /// Sends all of them a header, and behind it the output of `put`.
    fn tell_all(&self, header: Header, put: impl Fn(&mut Vec<u8>)) {
        for (client, pid) in self.clients.borrow().iter() {
            if let Some(client) = client.upgrade().map(Client) {
                client.tell(|out| {
                    self.id.frame(out, |out| {
                        out.extend(client.index().to_be_bytes());
                        if header != Header::Told {
                            out.extend(pid.to_be_bytes());
                        }
                        put(out);
                    })
                });
            }
        }
    }
}

impl<E: Message> Subscribers<E> {
    /// Tells all of them.
    pub fn tell(&self, event: &E) {
        self.tell_all(E::HEADER, |out| event.put(out));
    }
}

impl Subscribers<Raw> {
    /// Tells all of them the bytes of its fields.
    pub fn tell_raw(&self, fields: &[u8]) {
        self.tell_all(Header::Event, |out| out.extend(fields));
    }
}
