//! Registration of messages by rooms: each with a handler that reads and writes Rust types.

use std::future::Future;
use std::marker::PhantomData;
use std::rc::Rc;

use quiver_control::Control;

use super::framing::{FRAME, MessageId};
use super::{Answer, Api, ApiFile, Call, Entry, Listed, Service};
use crate::definition::Header;
use crate::event::one_line;
use crate::message::{Done, Dump, Message, Request, Stream};
use crate::retval::{Refusal, Retval};
use crate::wire::{Input, Malformed, Wire};

/// Result of a handler: the reply; nothing, if the reply has no fields; or a return value and a reply.
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

/// Bytes that a dump keeps for each message still to be made: for long dumps, such as routes, a key.
const KEY_SIZE: usize = 16;

/// A file that is being filled with messages.
pub struct Adding<'a> {
    pub(super) api: &'a mut Api,
    pub(super) file: usize,
}

/// Adds a file of messages, or adds to the one of this name; `fill` adds its messages. The base messages are there already.
pub(crate) fn extend<T>(
    control: &Control,
    name: &'static str,
    version: (u32, u32, u32),
    fill: impl FnOnce(&mut Adding<'_>) -> T,
) -> T {
    let mut api = control.room_mut::<Api>();
    let api = &mut *api;
    let file = api.files.iter().position(|file| file.name == name).unwrap_or_else(|| {
        api.files.push(ApiFile { name, version, types: vec![] });
        api.files.len() - 1
    });
    fill(&mut Adding::new(api, file))
}

impl<'a> Adding<'a> {
    pub(super) fn new(api: &'a mut Api, file: usize) -> Adding<'a> {
        Adding { api, file }
    }
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
    /// The same for a handler that needs the client.
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
    /// The same for a change that, once begun, is made to its end: even if the client leaves meanwhile.
    pub fn to_the_end<R, A, F>(&mut self, change: impl Fn(Control, R) -> F + 'static)
    where
        R: Request,
        A: Answered<R::Reply> + 'static,
        F: Future<Output = Result<A, Refusal>> + 'static,
    {
        self.waiting(move |control: Control, request: R| {
            let change = change(control.clone(), request);
            async move {
                let failed = || Err(Refusal::new(Retval::UNSPECIFIED, "it failed, and what was done of it stays"));
                control.to_the_end("api", change).await.unwrap_or_else(failed)
            }
        });
    }
    /// A dump. The items of `answer` are made one by one, as the client reads, so it must not borrow anything. An item is a
    /// message; or none, so that a turn may end where many objects are passed over.
    pub fn dump<D: Dump, I: IntoIterator<Item: Into<Option<D::Details>>> + 'static>(
        &mut self,
        answer: impl Fn(&Control, D) -> I + 'static,
    ) {
        let details = self.define::<D::Details>();
        self.define::<D>();
        self.service::<D>(Service { details: Some(D::Details::name()), ..Service::default() });
        self.serve::<D>(move |call, input, _| match D::take(input) {
            Ok(request) => {
                let context = call.context;
                let write = move |out: &mut Vec<u8>, one: D::Details| write_details(out, details, context, &one);
                let all = answer(&call.control, request).into_iter();
                Answer::Parts(Box::new(Listed { all, details: PhantomData, each: KEY_SIZE, write, last: None }))
            }
            Err(error) => {
                tracing::info!("{}: {error}", D::name());
                Answer::Done
            }
        });
    }
    /// A dump that ends with a reply.
    pub fn stream<S: Stream, I: IntoIterator<Item: Into<Option<S::Details>>> + 'static>(
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
                    let mut behind = vec![];
                    write_reply(&mut behind, reply, context, last.answer());
                    let write = move |out: &mut Vec<u8>, one: S::Details| write_details(out, details, context, &one);
                    let (all, last) = (all.into_iter(), Some(behind));
                    Answer::Parts(Box::new(Listed { all, details: PhantomData, each: KEY_SIZE, write, last }))
                }
                Err(refusal) => {
                    write_reply(out, reply, context, told::<S, _, S::Reply>(Err(refusal)));
                    Answer::Done
                }
            }
        });
    }
    /// Defines an event, which clients get if they subscribe.
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

/// Converts a handler's result to a return value and a reply; logs the sentence of a refusal.
fn told<M: Message, R: Default, A: Answered<R>>(answered: Result<A, Refusal>) -> (Retval, R) {
    match answered {
        Ok(answer) => answer.answer(),
        Err(refusal) => {
            tracing::info!("{} is refused: {}", M::name(), one_line(&refusal.why));
            (refusal.retval, R::default())
        }
    }
}

fn write_reply<M: Message>(out: &mut Vec<u8>, id: MessageId<M>, context: u32, (retval, body): (Retval, M)) {
    let start = out.len();
    let client = if M::HEADER == Header::Request { [0; 4].as_slice() } else { &[] };
    id.frame(out, |out| {
        // A reply that names the client; VPP leaves that field empty, too.
        out.extend(client);
        out.extend(context.to_be_bytes());
        if M::HEADER == Header::Reply {
            out.extend(retval.0.to_be_bytes());
        }
        body.put(out);
    });
    if M::HEADER != Header::Reply && retval != Retval::DONE {
        // A reply that describes its retval itself, as a field right behind the context.
        let at = start + FRAME + 2 + client.len() + 4;
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
