//! A client in the daemon's own process: the tests of rooms call their messages with it, byte by byte as over a socket.

use std::collections::HashMap;
use std::pin::pin;
use std::task::{Context, Waker};

use quiver_control::Control;

use crate::api::FRAME;
use crate::definition::Header;
use crate::memclnt::{SOCKCLNT_CREATE, SOCKCLNT_CREATE_REPLY};
use crate::message::{Dump, Message, Request, Stream};
use crate::retval::Retval;
use crate::session::Session;
use crate::wire::{Input, Text, Wire};

/// A client and its session.
pub struct Caller {
    session: Session,
    /// The numbers of messages, by name and checksum.
    numbers: HashMap<String, u16>,
    context: u32,
    /// Received messages: number, and the bytes behind it.
    received: Vec<(u16, Vec<u8>)>,
}

impl Caller {
    /// Connects to a daemon.
    ///
    /// # Panics
    /// Here and below, if the daemon's answers violate the protocol: this is for tests.
    pub fn connect(control: &Control) -> Caller {
        let session = Session::new(control.clone());
        let mut caller = Caller { session, numbers: HashMap::new(), context: 0, received: vec![] };
        let mut hello = 7u32.to_be_bytes().to_vec();
        Text::<64>::from("caller").put(&mut hello);
        caller.write(SOCKCLNT_CREATE, &hello);
        caller.work();
        let (number, table) = caller.received.remove(0);
        assert_eq!(number, SOCKCLNT_CREATE_REPLY);
        // client_index, context, response, index.
        let mut input = Input::new(&table[16..]);
        for _ in 0..u16::take(&mut input).expect("a count") {
            let (number, name) = (u16::take(&mut input), Text::<64>::take(&mut input));
            caller.numbers.insert(name.expect("a name").0, number.expect("a number"));
        }
        caller
    }
    /// Asks, and gives the answer, or why there is none.
    pub fn request<R: Request>(&mut self, request: &R) -> Result<R::Reply, Retval> {
        let context = self.send(request);
        self.work();
        self.reply(context)
    }
    /// The same for a request that is answered after a while.
    pub async fn waiting<R: Request>(&mut self, request: &R) -> Result<R::Reply, Retval> {
        let context = self.send(request);
        loop {
            self.work();
            if !self.received.is_empty() {
                return self.reply(context);
            }
            self.session.changed().await;
        }
    }
    /// Asks, and gives all answers.
    pub fn dump<D: Dump>(&mut self, request: &D) -> Vec<D::Details> {
        let context = self.send(request);
        self.work();
        self.details(context)
    }
    /// Sends a request by name, with the bytes of its fields, and returns the number of messages in the answer: for
    /// tests that need the daemon's work but not its answer.
    pub fn count(&mut self, name: &str, fields: &[u8]) -> usize {
        // The name is followed by its checksum, of eight digits.
        let is_it = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.len() == 9 && rest.starts_with('_'));
        let number = self.numbers.iter().find(|(known, _)| is_it(known)).map(|(_, number)| *number);
        self.context += 1;
        let bytes = [&0u32.to_be_bytes()[..], &self.context.to_be_bytes(), fields].concat();
        self.write(number.unwrap_or_else(|| panic!("the daemon has no message {name}")), &bytes);
        self.work();
        std::mem::take(&mut self.received).len()
    }
    /// Asks, and gives all answers, and the last one.
    pub fn stream<S: Stream>(&mut self, request: &S) -> (Vec<S::Details>, Result<S::Reply, Retval>) {
        let context = self.send(request);
        self.work();
        (self.details(context), self.reply(context))
    }
    /// The events that have come.
    pub fn events<E: Message>(&mut self) -> Vec<E> {
        self.work();
        let header = E::HEADER.size();
        self.take::<E>().iter().map(|bytes| E::take(&mut Input::new(&bytes[header..])).expect("an event")).collect()
    }
    /// Whether the daemon has ended the connection.
    pub fn has_ended(&mut self) -> bool {
        self.work();
        self.session.end().is_some()
    }
    fn number<M: Message>(&self) -> u16 {
        let name = M::definition().name_crc();
        *self.numbers.get(&name).unwrap_or_else(|| panic!("the daemon has no message {name}"))
    }
    fn send<M: Message>(&mut self, message: &M) -> u32 {
        self.context += 1;
        // client_index, context.
        let mut bytes = [0u32.to_be_bytes(), self.context.to_be_bytes()].concat();
        message.put(&mut bytes);
        self.write(self.number::<M>(), &bytes);
        self.context
    }
    fn write(&mut self, number: u16, bytes: &[u8]) {
        let mut header = [0; FRAME];
        header[8..12].copy_from_slice(&(bytes.len() as u32 + 2).to_be_bytes());
        self.session.receive(&header);
        self.session.receive(&number.to_be_bytes());
        self.session.receive(bytes);
    }
    /// Lets the session answer as long as it can, and takes its output.
    fn work(&mut self) {
        loop {
            let more = self.session.work();
            let output = self.session.output().to_vec();
            self.session.sent(output.len());
            let mut rest = &output[..];
            while let Some((header, behind)) = rest.split_first_chunk::<FRAME>() {
                let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
                let (message, behind) = behind.split_at(length);
                self.received.push((u16::from_be_bytes([message[0], message[1]]), message[2..].to_vec()));
                rest = behind;
            }
            // The event that an answer waits for may have come.
            let changed = pin!(self.session.changed());
            if !more && output.is_empty() && changed.poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                return;
            }
        }
    }
    /// Takes the received messages of a kind.
    fn take<M: Message>(&mut self) -> Vec<Vec<u8>> {
        let number = self.number::<M>();
        let (taken, rest) = std::mem::take(&mut self.received).into_iter().partition(|(of, _)| *of == number);
        self.received = rest;
        let taken: Vec<(u16, Vec<u8>)> = taken;
        taken.into_iter().map(|(_, bytes)| bytes).collect()
    }
    fn reply<M: Message>(&mut self, context: u32) -> Result<M, Retval> {
        let replies = self.take::<M>();
        let [reply] = &replies[..] else { panic!("{} replies {}", replies.len(), M::name()) };
        let mut input = Input::new(reply);
        if M::HEADER == Header::Request {
            u32::take(&mut input).expect("a client");
        }
        assert_eq!(u32::take(&mut input), Ok(context), "the context of {}", M::name());
        if M::HEADER == Header::Reply {
            let retval = i32::take(&mut input).expect("a retval");
            if retval != 0 {
                return Err(Retval(retval));
            }
        }
        Ok(M::take(&mut input).unwrap_or_else(|error| panic!("{}: {error}", M::name())))
    }
    fn details<M: Message>(&mut self, context: u32) -> Vec<M> {
        let one = |bytes: &Vec<u8>| {
            let mut input = Input::new(bytes);
            if M::HEADER == Header::Request {
                u32::take(&mut input).expect("a client");
            }
            assert_eq!(u32::take(&mut input), Ok(context), "the context of {}", M::name());
            M::take(&mut input).unwrap_or_else(|error| panic!("{}: {error}", M::name()))
        };
        self.take::<M>().iter().map(one).collect()
    }
}
