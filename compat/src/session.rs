//! One client, from its first byte to its last: takes and returns bytes; the host carries them over its socket.
//!
//! Requests are answered one after the other, each whole before the next: a client knows by the answer to a later one that
//! an earlier one was done. A client that does not read gets no more answers until it does.

use std::future::pending;

use quiver_control::transaction::Author;
use quiver_control::{Control, Pace};

use crate::api::names::{SOCKCLNT_CREATE, SOCKCLNT_CREATE_REPLY, SOCKCLNT_DELETE, SOCKCLNT_DELETE_REPLY};
use crate::api::{Answer, Api, Call, FRAME, frame};
use crate::event::{Client, one_line};
use crate::memclnt::{SockclntCreate, SockclntDelete};
use crate::message::Message;
use crate::release::Release;
use crate::trace::Trace;
use crate::wire::{Input, Wire};

/// Bytes of a request at most: room for some 10,000 entries of a list.
pub const REQUEST_MAX: usize = 1 << 20;
/// Bytes of answers that wait for their reader until no more requests are looked at.
const ANSWERS_MAX: usize = 256 << 10;
/// Bytes of memory that may be unused behind those that wait.
const SPARE: usize = 64 << 10;

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hangup {
    /// The client said so.
    #[error("the client has taken its leave")]
    Left,
    /// It does not speak the protocol.
    #[error("{0}")]
    Nonsense(String),
    /// It did not read its events.
    #[error("16 MB of events wait for it")]
    Overrun,
}

/// A client.
pub struct Session {
    control: Control,
    /// On whose behalf the client has connected.
    user: Author,
    /// The release of VPP whose checksums it finds, if that is not 26.10.
    release: Option<Release>,
    client: Option<Client>,
    input: Vec<u8>,
    /// Bytes of the input that were looked at.
    taken: usize,
    output: Vec<u8>,
    answer: Answer,
    end: Option<Hangup>,
}

impl Session {
    /// A client that has just connected; `control` knows on whose behalf.
    pub fn new(control: Control) -> Session {
        let (client, input, output, end) = Default::default();
        let user = control.author().clone();
        Session { control, user, release: None, client, input, taken: 0, output, answer: Answer::Done, end }
    }
    /// Lets it find the checksums of another release of VPP.
    #[must_use]
    pub fn of_release(mut self, release: Option<Release>) -> Session {
        self.release = release;
        self
    }
    /// Whether the client has introduced itself.
    pub fn is_known(&self) -> bool {
        self.client.is_some()
    }
    /// As which the client speaks, for the log.
    pub fn name(&self) -> String {
        self.client.as_ref().map_or_else(|| "a client without a name".into(), Client::name)
    }
    /// Memory of the session in bytes: unanswered input, unread output, its events, and the rest of an answer in parts.
    pub fn held(&self) -> usize {
        let of_answer = if let Answer::Parts(parts) = &self.answer { parts.held() } else { 0 };
        let of_events = self.client.as_ref().map_or(0, Client::held);
        self.input.capacity() + self.output.capacity() + of_events + of_answer
    }
    /// Takes bytes that came from the client.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
    }
    /// Whether more may come: not while the client does not read, and not while much waits to be looked at.
    pub fn wants_input(&self) -> bool {
        self.end.is_none() && self.input.len() < REQUEST_MAX + FRAME && self.output.len() < ANSWERS_MAX
    }
    /// Bytes for the client.
    pub fn output(&self) -> &[u8] {
        &self.output
    }
    /// Takes note that the first so many of them went out.
    pub fn sent(&mut self, bytes: usize) {
        self.output.drain(..bytes);
        trim(&mut self.output);
    }
    /// Why the connection is to be closed, as soon as the output has gone.
    pub fn end(&self) -> Option<&Hangup> {
        self.end.as_ref()
    }
    /// Waits for the events that an answer or the client waits for. May be dropped at any time.
    pub async fn changed(&mut self) {
        match (&mut self.answer, &self.client) {
            (Answer::Waiting(answer), _) => {
                let answered = answer.await;
                self.answer = Answer::Done;
                self.control.room_mut::<Trace>().note_told(&self.control, &answered);
                self.output.extend(answered);
            }
            _ if self.end.is_some() => pending().await,
            (_, Some(client)) if self.output.len() < ANSWERS_MAX => client.changed().await,
            // Events wait until the client reads, though not for ever.
            (_, Some(client)) => client.grown().await,
            (_, None) => pending().await,
        }
    }
    /// Answers waiting requests, a part at a time; returns whether there is more to do at once.
    pub fn work(&mut self) -> bool {
        let before = self.output.len();
        let more = self.answer_some();
        self.control.room_mut::<Trace>().note_told(&self.control, &self.output[before..]);
        more
    }
    fn answer_some(&mut self) -> bool {
        if let Some(client) = &self.client {
            if client.is_overrun() {
                self.end.get_or_insert(Hangup::Overrun);
            }
            // Between two answers, never inside of one.
            if self.end.is_none() && self.output.len() < ANSWERS_MAX {
                self.output.extend(client.take_events());
            }
        }
        let mut turn = Pace::of_this_turn(&self.control);
        while turn.goes_on() {
            if self.end.is_some() || self.output.len() >= ANSWERS_MAX {
                return false;
            }
            match &mut self.answer {
                Answer::Waiting(_) => return false,
                Answer::Parts(parts) => {
                    if !parts.next(&mut self.output) {
                        self.answer = Answer::Done;
                    }
                }
                Answer::Done => match self.next() {
                    Ok(true) => {}
                    Ok(false) => return false,
                    Err(end) => self.end = Some(end),
                },
            }
        }
        true
    }
    /// Answers the next request, if it is there whole.
    fn next(&mut self) -> Result<bool, Hangup> {
        let waiting = &self.input[self.taken..];
        let Some((header, rest)) = waiting.split_first_chunk::<FRAME>() else {
            self.forget_taken();
            return Ok(false);
        };
        let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        if length > REQUEST_MAX {
            return Err(Hangup::Nonsense(format!("a message of {length} bytes; {REQUEST_MAX} are the most")));
        }
        let Some(message) = rest.get(..length) else {
            self.forget_taken();
            return Ok(false);
        };
        self.taken += FRAME + length;
        self.control.room_mut::<Trace>().note(&self.control, message);
        let mut input = Input::new(message);
        let short = |_| Hangup::Nonsense(format!("a message of {length} bytes, too few for any"));
        let id = u16::take(&mut input).map_err(short)?;
        self.answer = match (id, &self.client) {
            (SOCKCLNT_CREATE, _) => {
                let request = SockclntCreate::take(&mut input);
                let request = request.map_err(|error| Hangup::Nonsense(format!("sockclnt_create: {error}")))?;
                self.greet(&request);
                Answer::Done
            }
            (_, None) => return Err(Hangup::Nonsense(format!("message {id} before sockclnt_create"))),
            (SOCKCLNT_DELETE | SOCKCLNT_DELETE_REPLY, Some(_)) => {
                if let Ok(request) = SockclntDelete::take(&mut input) {
                    frame(&mut self.output, SOCKCLNT_DELETE_REPLY, |out| {
                        request.context.put(out);
                        1i32.put(out);
                    });
                }
                return Err(Hangup::Left);
            }
            (_, Some(client)) => {
                let handler = self.control.room::<Api>().handler(id);
                let Some(handler) = handler else {
                    let api = self.control.room::<Api>();
                    let name = api.name(id).unwrap_or("no message of ours");
                    tracing::info!("{}: message {id} ({name}) is none that clients send", client.name());
                    return Ok(true);
                };
                let (Ok(_index), Ok(context)) = (u32::take(&mut input), u32::take(&mut input)) else {
                    return Err(Hangup::Nonsense(format!("message {id} ends in its header")));
                };
                let call = Call { control: self.control.clone(), client: client.clone(), context };
                handler(&call, &mut input, &mut self.output)
            }
        };
        Ok(true)
    }
    /// Discards the processed input: only a part of a message may be left.
    fn forget_taken(&mut self) {
        self.input.drain(..std::mem::take(&mut self.taken));
        trim(&mut self.input);
    }
    /// Answers the first message. If it comes again the client gets another name and is otherwise the same, as in VPP:
    /// its number and its subscriptions stay.
    fn greet(&mut self, request: &SockclntCreate) {
        let name = one_line(request.name.as_str());
        self.control = self.control.by(self.user.renamed(&format!("{} by {name}", self.user)));
        let mut api = self.control.room_mut::<Api>();
        let table = api.table(self.release);
        let index = match &self.client {
            Some(client) => {
                client.rename(name);
                client.index()
            }
            None => {
                api.clients = api.clients.wrapping_add(1);
                let index = api.clients & 0x7fff_ffff;
                let client = Client::new(name, index);
                api.connected.retain(|(known, _)| known.get().is_some());
                api.connected.push((client.known(), self.user.clone()));
                self.client = Some(client);
                index
            }
        };
        frame(&mut self.output, SOCKCLNT_CREATE_REPLY, |out| {
            index.put(out);
            request.context.put(out);
            0i32.put(out);
            index.put(out);
            out.extend(&table[..]);
        });
    }
}

/// Gives memory back that is not used.
fn trim(bytes: &mut Vec<u8>) {
    if bytes.is_empty() || bytes.capacity() > 4 * bytes.len() + SPARE {
        bytes.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use quiver_testkit::executor::Executor;

    #[test]
    fn events_for_who_never_reads_are_bounded() {
        let control = Executor::new(0).control();
        crate::add(&control, "test", (1, 0, 0), |_| {});
        let mut session = Session::new(control);
        frame_of_hello(&mut session);
        session.work();
        let client = session.client.clone().expect("it was greeted");
        for _ in 0..100_000 {
            client.tell(|out| out.extend([7; 1000]));
            session.work();
            // Nothing is to be done as long as nothing is read.
            if session.end().is_none() && session.output().len() >= ANSWERS_MAX && !client.is_overrun() {
                assert!(session.changed().now_or_never().is_none());
            }
        }
        assert_eq!(session.end(), Some(&Hangup::Overrun));
        assert!(session.output().len() < 2 * ANSWERS_MAX, "{} bytes", session.output().len());
    }

    #[test]
    fn a_client_has_a_name_of_one_line() {
        let control = Executor::new(0).control();
        crate::add(&control, "test", (1, 0, 0), |_| {});
        let mut session = Session::new(control);
        frame_of_hello_by(&mut session, b"x\nERROR it burns\x1b[2J");
        session.work();
        assert_eq!(session.name(), "x?ERROR it burns?[2J");
    }

    /// The first message of a client.
    fn frame_of_hello(session: &mut Session) {
        frame_of_hello_by(session, b"x");
    }

    /// The same, of one that calls itself so.
    fn frame_of_hello_by(session: &mut Session, name: &[u8]) {
        let mut bytes = vec![0; 4 + 64];
        bytes[4..4 + name.len()].copy_from_slice(name);
        let mut out = vec![0; FRAME];
        out[8..12].copy_from_slice(&(bytes.len() as u32 + 2).to_be_bytes());
        out.extend(SOCKCLNT_CREATE.to_be_bytes());
        out.extend(bytes);
        session.receive(&out);
    }
}
