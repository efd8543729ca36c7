//! The messages that the daemon knows, and who answers them.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;

use quiver_control::Control;

use crate::definition::{Definition, Header, Type};
use crate::event::Client;
use crate::memclnt;
use crate::message::{Done, Dump, Message, Request, Stream};
use crate::retval::{Refusal, Retval};
use crate::wire::{Input, Malformed, Wire};
use crate::{trace, types};

/// The number that stands for a message's name between this daemon and its clients.
pub struct MessageId<M>(u16, PhantomData<fn(M)>);

impl<M> Clone for MessageId<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for MessageId<M> {}

impl<M> MessageId<M> {
    /// Writes a message as it goes over the socket: 16 bytes of header with its length (vlibapi's `msgbuf_t`), its number,
    /// and what `body` writes.
    pub(crate) fn frame(self, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        frame(out, self.0, body);
    }
}

/// Bytes before each message on the socket: 8 that mean nothing to others, its length, 4 that mean nothing.
pub const FRAME: usize = 16;

pub(crate) fn frame(out: &mut Vec<u8>, id: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.resize(start + FRAME, 0);
    out.extend(id.to_be_bytes());
    body(out);
    let length = (out.len() - start - FRAME) as u32;
    out[start + 8..start + 12].copy_from_slice(&length.to_be_bytes());
}

/// A request that arrived: for whom, and the word that its answer brings back.
pub struct Call {
    /// The control side, as this client changes it.
    pub control: Control,
    /// Who asks.
    pub client: Client,
    /// What the answer brings back.
    pub context: u32,
}

/// What an answer to a request may be given as: the reply; nothing, where the reply says no more; or a number that says what
/// went wrong and a reply with more about that.
pub trait Answered<R> {
    /// As it goes out.
    fn answer(self) -> (Retval, R);
}
impl<R: Message> Answered<R> for R {
    fn answer(self) -> (Retval, R) {
        (Retval::DONE, self)
    }
}
impl<R: Message> Answered<R> for (Retval, R) {
    fn answer(self) -> (Retval, R) {
        self
    }
}
impl<R: Message> Answered<Done<R>> for () {
    fn answer(self) -> (Retval, Done<R>) {
        (Retval::DONE, Done::default())
    }
}

/// How a request is answered.
pub(crate) enum Answer {
    /// All that is to say has been written.
    Done,
    /// It is written later.
    Waiting(Pin<Box<dyn Future<Output = Vec<u8>>>>),
    /// It comes in parts: each call writes the next one, and says whether there was one.
    Parts(Parts),
}
pub(crate) type Parts = Box<dyn FnMut(&mut Vec<u8>) -> bool>;

type Handler = Rc<dyn Fn(&Call, &mut Input<'_>, &mut Vec<u8>) -> Answer>;

/// What other messages belong to one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The answer, or the last one.
    pub reply: Option<String>,
    /// What comes in any number.
    pub details: Option<String>,
    /// What may come later.
    pub events: Vec<String>,
}

pub(crate) struct Entry {
    pub name: String,
    /// Name and checksum, as clients know them.
    pub name_crc: String,
    /// What it looks like; not known of what no room has yet.
    pub definition: Option<Definition>,
    pub service: Option<Service>,
    handler: Option<Handler>,
    /// The file that it is in.
    pub file: usize,
}

/// A file of definitions, as VPP and its clients have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiFile {
    /// Its name, without `.api.json`.
    pub name: &'static str,
    /// Its version in VPP.
    pub version: (u32, u32, u32),
    /// Types that it defines whether or not its messages use them.
    pub types: Vec<Type>,
}

/// All messages: those that rooms have added, and names of those that they have not.
pub struct Api {
    pub(crate) files: Vec<ApiFile>,
    /// By number.
    pub(crate) entries: Vec<Option<Entry>>,
    names: HashMap<String, u16>,
    /// What a client gets to know of names and numbers.
    table: OnceCell<Rc<[u8]>>,
    pub(crate) clients: u32,
}

/// Adds a file of messages to the daemon's; `fill` says what is in it, and gives what the room keeps of it. Rooms whose
/// messages VPP has in one file add to the same.
pub fn add<T>(
    control: &Control,
    name: &'static str,
    version: (u32, u32, u32),
    fill: impl FnOnce(&mut Adding<'_>) -> T,
) -> T {
    if !control.has_room::<Api>() {
        control.insert_room(Api::new());
        trace::register(control);
        types::register(control);
        memclnt::register(control);
    }
    let mut api = control.room_mut::<Api>();
    let api = &mut *api;
    let file = api.files.iter().position(|file| file.name == name).unwrap_or_else(|| {
        api.files.push(ApiFile { name, version, types: vec![] });
        api.files.len() - 1
    });
    fill(&mut Adding { file, api })
}

impl Api {
    fn new() -> Api {
        let entries = (0..=memclnt::NAMES.len()).map(|_| None).collect();
        Api { files: vec![], entries, names: HashMap::new(), table: OnceCell::new(), clients: 0 }
    }
    /// The number of a message.
    pub fn id_of(&self, name: &str) -> Option<u16> {
        self.names.get(name).copied()
    }
    /// Descriptions of all messages, and what belongs to them.
    pub fn messages(&self) -> impl Iterator<Item = (&Definition, Option<&Service>)> {
        self.entries.iter().flatten().filter_map(|entry| Some((entry.definition.as_ref()?, entry.service.as_ref())))
    }
    /// Answers a message of this number. Nothing if there is no such message, or none that clients send.
    pub(crate) fn handler(&self, id: u16) -> Option<Handler> {
        self.entries.get(usize::from(id))?.as_ref()?.handler.clone()
    }
    /// The description of a message, if a room has it.
    pub(crate) fn definition(&self, id: u16) -> Option<&Definition> {
        self.entries.get(usize::from(id))?.as_ref()?.definition.as_ref()
    }
    /// All numbers, with names and checksums.
    pub(crate) fn names_in_order(&self) -> impl Iterator<Item = (u16, &str)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(id, entry)| Some((id as u16, entry.as_ref()?.name_crc.as_str())))
    }
    /// The number of the message with this name and checksum.
    pub(crate) fn id_of_name_crc(&self, name_crc: &str) -> Option<u16> {
        let id = self.id_of(name_crc.rsplit_once('_')?.0)?;
        self.entries[usize::from(id)].as_ref().filter(|entry| entry.name_crc == name_crc).map(|_| id)
    }
    pub(crate) fn name(&self, id: u16) -> Option<&str> {
        Some(&self.entries.get(usize::from(id))?.as_ref()?.name)
    }
    /// The end of the answer to a client's first message: how many names there are, and each with its number.
    pub(crate) fn table(&self) -> Rc<[u8]> {
        self.table.get_or_init(|| memclnt::table(self.entries.iter().enumerate())).clone()
    }
    /// The number of a message; a new one if it is not known yet.
    fn define(&mut self, definition: Definition, file: usize) -> u16 {
        match self.id_of(&definition.name) {
            Some(id) => id,
            None => self.insert(Entry {
                name: definition.name.clone(),
                name_crc: definition.name_crc(),
                definition: Some(definition),
                service: None,
                handler: None,
                file,
            }),
        }
    }
    /// The number of a message that no room has yet.
    pub(crate) fn await_message(&mut self, name: &str, crc: u32) -> u16 {
        let (name, name_crc) = (name.to_owned(), format!("{name}_{crc:08x}"));
        self.insert(Entry { name, name_crc, definition: None, service: None, handler: None, file: usize::MAX })
    }
    /// Has such a message answered.
    pub(crate) fn serve_awaited(
        &mut self,
        name: &str,
        service: Service,
        handler: impl Fn(&Call, &mut Input<'_>, &mut Vec<u8>) -> Answer + 'static,
    ) {
        let entry = self.id_of(name).and_then(|id| self.entries[usize::from(id)].as_mut());
        if let Some(entry) = entry {
            entry.service = Some(service);
            entry.handler = Some(Rc::new(handler));
        }
    }
    fn insert(&mut self, entry: Entry) -> u16 {
        let fixed = memclnt::NAMES.iter().position(|name| *name == entry.name).map(|place| place + 1);
        let id = fixed.unwrap_or(self.entries.len());
        if id == self.entries.len() {
            self.entries.push(None);
        }
        // Numbers have 16 bits, and VPP has some thousand messages.
        self.names.insert(entry.name.clone(), id as u16);
        self.entries[id] = Some(entry);
        self.table = OnceCell::new();
        id as u16
    }
}

/// A file that is being filled with messages.
pub struct Adding<'a> {
    api: &'a mut Api,
    file: usize,
}

impl Adding<'_> {
    /// A type that clients shall know even if no message of the file uses it.
    pub fn define_type<T: Wire>(&mut self) {
        self.api.files[self.file].types.push(T::of());
    }
    /// A request that is answered at once.
    pub fn request<R, A>(&mut self, answer: impl Fn(&Control, R) -> Result<A, Refusal> + 'static)
    where
        R: Request,
        A: Answered<R::Reply>,
    {
        self.call(move |call, request| answer(&call.control, request));
    }
    /// The same, for what has to know who asks.
    pub fn call<R, A>(&mut self, answer: impl Fn(&Call, R) -> Result<A, Refusal> + 'static)
    where
        R: Request,
        A: Answered<R::Reply>,
    {
        let reply = self.requested::<R>();
        self.serve::<R>(move |call, input, out| {
            let answered = R::take(input).map_err(malformed).and_then(|request| answer(call, request));
            write_reply(out, reply, call.context, told::<R, _, _>(answered));
            Answer::Done
        });
    }
    /// A request whose answer takes a while; the client's later requests wait for it.
    pub fn waiting<R, A, F>(&mut self, answer: impl Fn(Control, R) -> F + 'static)
    where
        R: Request,
        A: Answered<R::Reply>,
        F: Future<Output = Result<A, Refusal>> + 'static,
    {
        let reply = self.requested::<R>();
        self.serve::<R>(move |call, input, out| {
            let context = call.context;
            match R::take(input) {
                Ok(request) => {
                    let answered = answer(call.control.clone(), request);
                    Answer::Waiting(Box::pin(async move {
                        let mut out = vec![];
                        write_reply(&mut out, reply, context, told::<R, _, _>(answered.await));
                        out
                    }))
                }
                Err(error) => {
                    write_reply(out, reply, context, told::<R, _, R::Reply>(Err(malformed(error))));
                    Answer::Done
                }
            }
        });
    }
    /// A dump. What `answer` gives is asked for one by one, as the client reads; so it must not borrow anything.
    pub fn dump<D: Dump, I: IntoIterator<Item = D::Details> + 'static>(
        &mut self,
        answer: impl Fn(&Control, D) -> I + 'static,
    ) {
        let details = self.define::<D::Details>();
        self.define::<D>();
        self.service::<D>(Service { details: Some(D::Details::name()), ..Service::default() });
        self.serve::<D>(move |call, input, _| match D::take(input) {
            Ok(request) => {
                let (context, mut all) = (call.context, answer(&call.control, request).into_iter());
                Answer::Parts(Box::new(move |out| match all.next() {
                    Some(one) => {
                        write_details(out, details, context, &one);
                        true
                    }
                    None => false,
                }))
            }
            Err(error) => {
                tracing::info!("{}: {error}", D::name());
                Answer::Done
            }
        });
    }
    /// A dump that ends with a reply.
    pub fn stream<S: Stream, I: IntoIterator<Item = S::Details> + 'static>(
        &mut self,
        answer: impl Fn(&Control, S) -> Result<(I, S::Reply), Refusal> + 'static,
    ) {
        let (details, reply) = (self.define::<S::Details>(), self.define::<S::Reply>());
        self.define::<S>();
        let names = (Some(S::Reply::name()), Some(S::Details::name()));
        self.service::<S>(Service { reply: names.0, details: names.1, events: vec![] });
        self.serve::<S>(move |call, input, out| {
            let context = call.context;
            match S::take(input).map_err(malformed).and_then(|request| answer(&call.control, request)) {
                Ok((all, last)) => {
                    let (mut all, mut last) = (all.into_iter(), Some(last));
                    Answer::Parts(Box::new(move |out| {
                        match (all.next(), &last) {
                            (Some(one), _) => write_details(out, details, context, &one),
                            (None, Some(_)) => {
                                write_reply(out, reply, context, last.take().unwrap_or_default().answer())
                            }
                            (None, None) => return false,
                        }
                        true
                    }))
                }
                Err(refusal) => {
                    write_reply(out, reply, context, told::<S, _, S::Reply>(Err(refusal)));
                    Answer::Done
                }
            }
        });
    }
    /// What clients are told, if they want to be.
    pub fn event<E: Message>(&mut self) -> MessageId<E> {
        self.define::<E>()
    }
    /// A message that belongs to none of these.
    pub(crate) fn define<M: Message>(&mut self) -> MessageId<M> {
        MessageId(self.api.define(M::definition(), self.file), PhantomData)
    }
    fn requested<R: Request>(&mut self) -> MessageId<R::Reply> {
        self.define::<R>();
        let reply = self.define::<R::Reply>();
        let events = R::events().into_iter().map(|event| {
            let name = event.name.clone();
            self.api.define(event, self.file);
            name
        });
        let events = events.collect();
        self.service::<R>(Service { reply: Some(R::Reply::name()), details: None, events });
        reply
    }
    pub(crate) fn service<M: Message>(&mut self, service: Service) {
        if let Some(entry) = self.entry::<M>() {
            entry.service = Some(service);
        }
    }
    /// Has messages answered by `handler`.
    ///
    /// # Panics
    /// If they are answered already: two rooms claim a message.
    pub(crate) fn serve<M: Message>(
        &mut self,
        handler: impl Fn(&Call, &mut Input<'_>, &mut Vec<u8>) -> Answer + 'static,
    ) {
        let Some(entry) = self.entry::<M>() else { return };
        assert!(entry.handler.is_none(), "two rooms answer the message {}", M::name());
        entry.handler = Some(Rc::new(handler));
    }
    fn entry<M: Message>(&mut self) -> Option<&mut Entry> {
        let id = self.api.id_of(&M::name())?;
        self.api.entries[usize::from(id)].as_mut()
    }
}

fn malformed(error: Malformed) -> Refusal {
    Refusal::new(Retval::INVALID_VALUE, error.to_string())
}

/// What goes out; the sentence of a refusal goes to the log.
fn told<M: Message, R: Default, A: Answered<R>>(answered: Result<A, Refusal>) -> (Retval, R) {
    match answered {
        Ok(answer) => answer.answer(),
        Err(refusal) => {
            tracing::info!("{} is refused: {}", M::name(), refusal.why);
            (refusal.retval, R::default())
        }
    }
}

fn write_reply<M: Message>(out: &mut Vec<u8>, id: MessageId<M>, context: u32, (retval, body): (Retval, M)) {
    let start = out.len();
    id.frame(out, |out| {
        out.extend(context.to_be_bytes());
        if M::HEADER == Header::Reply {
            out.extend(retval.0.to_be_bytes());
        }
        body.put(out);
    });
    if M::HEADER != Header::Reply && retval != Retval::DONE {
        // A reply that describes its retval itself, as a field right behind the context.
        let at = start + FRAME + 2 + 4;
        out.get_mut(at..at + 4).into_iter().for_each(|bytes| bytes.copy_from_slice(&retval.0.to_be_bytes()));
    }
}

fn write_details<M: Message>(out: &mut Vec<u8>, id: MessageId<M>, context: u32, details: &M) {
    id.frame(out, |out| {
        if M::HEADER == Header::Request {
            // Details that name the client; VPP leaves that field empty, too.
            out.extend([0; 4]);
        }
        out.extend(context.to_be_bytes());
        details.put(out);
    });
}
