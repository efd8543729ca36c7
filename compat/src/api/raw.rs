//! Messages that are known by their definitions only: their fields are bytes.

use super::adding::Adding;
use super::framing::{MessageId, frame};
use super::{Answer, Call, Listed, Service};
use crate::definition::{Definition, Header};
use crate::event;
use crate::retval::Retval;
use crate::wire::Input;
use std::marker::PhantomData;

/// A request, with the messages that belong to it.
pub struct RawRequest {
    /// It itself.
    pub request: Definition,
    /// The reply, which comes last.
    pub reply: Option<Definition>,
    /// Details, any number of which come before it.
    pub details: Option<Definition>,
    /// Names of events that may follow later.
    pub events: Vec<String>,
}

/// Answer to it: bytes of the fields behind the headers. Missing bytes are zero.
#[derive(Default)]
pub struct RawAnswer {
    /// Return value.
    pub retval: Retval,
    /// Of the reply, if it has one.
    pub reply: Vec<u8>,
    /// Of each details message.
    pub details: Vec<Vec<u8>>,
}

impl Adding<'_> {
    /// A request that `answer` answers at once. It gets the bytes of the request's fields behind its header, at least as many as
    /// they take where lists are empty.
    ///
    /// # Panics
    /// If there is such a request, or one of its answers: [`Api::has`](crate::Api::has) says so.
    pub fn raw(&mut self, raw: RawRequest, answer: impl Fn(&Call, &[u8]) -> RawAnswer + 'static) {
        let RawRequest { request, reply, details, events } = raw;
        let least = request.size().saturating_sub(Header::Request.size());
        let service = Service {
            reply: reply.as_ref().map(|reply| reply.name.clone()),
            details: details.as_ref().map(|details| details.name.clone()),
            events,
        };
        let name = request.name.clone();
        let request = self.undefined(request);
        // Their numbers, and the bytes that they take.
        let reply = reply.map(|reply| (reply.size() - Header::Reply.size(), self.undefined(reply)));
        let details = details.map(|details| (details.size() - Header::Details.size(), self.undefined(details)));
        let handler = move |call: &Call, input: &mut Input<'_>, _: &mut Vec<u8>| {
            let answered = match input.rest() {
                bytes if bytes.len() < least => {
                    tracing::info!("{name} is refused: its fields take {least} bytes, not {}", bytes.len());
                    RawAnswer { retval: Retval::INVALID_VALUE, ..RawAnswer::default() }
                }
                bytes => answer(call, bytes),
            };
            let RawAnswer { retval, reply: fields, details: all } = answered;
            let context = call.context;
            let last = reply.map(|(least, id)| {
                let mut behind = vec![];
                put(&mut behind, id, &[context.to_be_bytes(), retval.0.to_be_bytes()], &fields, least);
                behind
            });
            let each = all.iter().map(Vec::capacity).sum::<usize>() / all.len().max(1);
            let write = move |out: &mut Vec<u8>, fields: Vec<u8>| {
                let Some((least, id)) = details else { return };
                put(out, id, &[context.to_be_bytes()], &fields, least);
            };
            Answer::Parts(Box::new(Listed { all: all.into_iter(), details: PhantomData, each, write, last }))
        };
        self.api.answer(request, service, handler);
    }
    /// Defines an event, which clients get if they subscribe.
    ///
    /// # Panics
    /// If there is such a message.
    pub fn raw_event(&mut self, event: Definition) -> MessageId<event::Raw> {
        MessageId(self.undefined(event), PhantomData)
    }
    /// Defines a message that no room has yet, and returns its number.
    fn undefined(&mut self, definition: Definition) -> u16 {
        assert!(!self.api.has(&definition.name), "two rooms have the message {}", definition.name);
        self.api.define(definition, self.file)
    }
}

/// Writes a message: words of its header, and fields that take at least so many bytes.
fn put(out: &mut Vec<u8>, id: u16, header: &[[u8; 4]], fields: &[u8], least: usize) {
    frame(out, id, |out| {
        out.extend(header.as_flattened());
        out.extend(fields);
        out.resize(out.len() + least.saturating_sub(fields.len()), 0);
    });
}
