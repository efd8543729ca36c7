//! The binary API for programs in Rust: one connection to a running quiverd, or to VPP.
//!
//! A program declares the messages that it uses, with the fields that VPP gives them; their checksum follows from these, so one
//! that the daemon defines otherwise is an error before anything is sent.
//!
//! ```no_run
//! use quiver_client::Client;
//! use quiver_compat::{Message, Text};
//!
//! /// Which program is this?
//! #[derive(Message)]
//! #[message(request, reply = ShowVersionReply)]
//! struct ShowVersion;
//!
//! /// This one.
//! #[derive(Message, Default)]
//! #[message(reply)]
//! struct ShowVersionReply {
//!     program: Text<32>,
//!     version: Text<32>,
//!     build_date: Text<32>,
//!     build_directory: Text<256>,
//! }
//!
//! let mut client = Client::connect("/run/vpp/api.sock", "example")?;
//! println!("{}", client.request(&ShowVersion)?.version.as_str());
//! # Ok::<(), quiver_client::ClientError>(())
//! ```
//!
//! Messages about routes, which many programs send by the million, are declared in [`routes`].
#![forbid(unsafe_code)]

pub mod routes;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use quiver_compat::api::FRAME;
use quiver_compat::definition::Header;
use quiver_compat::memclnt::{ControlPing, ControlPingReply, SOCKCLNT_CREATE, SOCKCLNT_CREATE_REPLY};
use quiver_compat::message::{Dump, Request};
use quiver_compat::wire::{Input, Malformed, Wire};
use quiver_compat::{Message, Retval, Text};

/// Requests on their way at once, where there are many.
const UNDER_WAY: usize = 64;
/// Largest message in bytes. A longer one is an error.
const MESSAGE_MAX: usize = 64 << 20;
/// Interval at which a waiting client asks whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Errors of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The socket.
    #[error("the daemon cannot be talked to: {0}")]
    Socket(#[from] io::Error),
    /// The daemon does not know a message, or defines it otherwise.
    #[error("the daemon has no message {0}; declare it as the daemon's definitions do: quiverd --write-api FOLDER")]
    Unknown(String),
    /// It refused.
    #[error("{message} is refused: {}; its log says why", .retval.0)]
    Refused {
        /// Which message.
        message: String,
        /// VPP's number of the reason.
        retval: Retval,
    },
    /// The answer is malformed.
    #[error("{message}: {error}")]
    Malformed {
        /// The message's name.
        message: String,
        /// The position and kind of the error.
        error: Malformed,
    },
}

fn malformed<M: Message>(error: Malformed) -> ClientError {
    ClientError::Malformed { message: M::name(), error }
}

/// A message that came: its number, and the bytes behind that.
type Received = (u16, Vec<u8>);

/// A connection.
pub struct Client {
    /// Many answers are short: one read takes all that have come.
    stream: BufReader<UnixStream>,
    /// By which the daemon knows us, as it told us. VPP answers only who says it.
    index: [u8; 4],
    /// The numbers of messages, by name and checksum.
    numbers: HashMap<String, u16>,
    /// Context of the last request; its reply repeats it.
    context: u32,
    /// Messages received while the client waited for another one.
    events: VecDeque<Received>,
    /// Whether the client is to go on waiting for a reply.
    goes_on: Box<dyn FnMut() -> bool + Send>,
}

impl Client {
    /// Connects to a daemon, which will know this client by its name.
    pub fn connect(path: impl AsRef<Path>, name: &str) -> Result<Client, ClientError> {
        Client::connect_while(path, name, || true)
    }
    /// The same of a client that waits for an answer only as long as `goes_on` says so, which it asks some times a second. Then
    /// it is an error of the socket, [`io::ErrorKind::TimedOut`], and the connection of no more use.
    pub fn connect_while(
        path: impl AsRef<Path>,
        name: &str,
        goes_on: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Client, ClientError> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(ASK_EVERY))?;
        let (numbers, events, goes_on) = (HashMap::new(), VecDeque::new(), Box::new(goes_on));
        let stream = BufReader::new(stream);
        let mut client = Client { stream, index: [0; 4], numbers, context: 0, events, goes_on };
        let mut hello = 0u32.to_be_bytes().to_vec();
        Text::<64>::from(name).put(&mut hello);
        client.write(SOCKCLNT_CREATE, &hello)?;
        let table = client.until(|number, _| number == SOCKCLNT_CREATE_REPLY)?;
        let malformed = |error| ClientError::Malformed { message: "sockclnt_create_reply".to_owned(), error };
        (client.index, client.numbers) = welcome(&table).map_err(malformed)?;
        Ok(client)
    }
    /// Asks, and waits for the answer.
    pub fn request<R: Request>(&mut self, request: &R) -> Result<R::Reply, ClientError> {
        let (retval, bytes) = self.exchange(request)?;
        match retval {
            Retval::DONE => read(&bytes),
            retval => Err(ClientError::Refused { message: R::name(), retval }),
        }
    }
    /// The same for requests whose answers say something when they are refused, too.
    pub fn answer<R: Request>(&mut self, request: &R) -> Result<(Retval, R::Reply), ClientError> {
        let (retval, bytes) = self.exchange(request)?;
        Ok((retval, read(&bytes)?))
    }
    /// Asks many times, with some requests on their way at once, and waits for all answers, of which only refusals tell
    /// something: the first one ends it.
    pub fn requests<R: Request>(&mut self, requests: impl IntoIterator<Item = R>) -> Result<(), ClientError> {
        let (number, reply) = (self.number::<R>()?, self.number::<R::Reply>()?);
        let mut requests = requests.into_iter().fuse();
        let (mut under_way, mut refused) = (0, None);
        loop {
            // The daemon works on the other half meanwhile.
            if under_way <= UNDER_WAY / 2 && refused.is_none() {
                let mut bytes = vec![];
                for request in requests.by_ref().take(UNDER_WAY - under_way) {
                    let body = self.body(&request);
                    frame(&mut bytes, number, &body);
                    under_way += 1;
                }
                self.stream.get_mut().write_all(&bytes)?;
            }
            if under_way == 0 {
                return refused.map_or(Ok(()), |retval| Err(ClientError::Refused { message: R::name(), retval }));
            }
            let answer = self.until(|number, _| number == reply)?;
            under_way -= 1;
            // Behind the context.
            let retval = i32::take(&mut Input::new(&answer[4..])).map_err(malformed::<R::Reply>)?;
            refused = refused.or(Some(Retval(retval)).filter(|retval| *retval != Retval::DONE));
        }
    }
    /// Sends, and waits for the answer: whether it was done, and the bytes behind that.
    fn exchange<R: Request>(&mut self, request: &R) -> Result<(Retval, Vec<u8>), ClientError> {
        let reply = self.number::<R::Reply>()?;
        let context = self.send(request)?;
        let bytes = self.until(|number, bytes| number == reply && bytes.starts_with(&context.to_be_bytes()))?;
        // Behind the context.
        let mut input = Input::new(&bytes[4..]);
        if R::Reply::HEADER != Header::Reply {
            return Ok((Retval::DONE, bytes[4..].to_vec()));
        }
        let retval = i32::take(&mut input).map_err(malformed::<R::Reply>)?;
        Ok((Retval(retval), bytes[8..].to_vec()))
    }
    /// Asks, and waits for all answers.
    pub fn dump<D: Dump>(&mut self, request: &D) -> Result<Vec<D::Details>, ClientError> {
        let (details, end) = (self.number::<D::Details>()?, self.number::<ControlPingReply>()?);
        self.send(request)?;
        self.send(&ControlPing)?;
        let mut all = vec![];
        loop {
            let (number, bytes) = self.read()?;
            if number == end {
                return Ok(all);
            }
            if number != details {
                self.events.push_back((number, bytes));
                continue;
            }
            let before = if D::Details::HEADER == Header::Request { 8 } else { 4 };
            let mut input = Input::new(bytes.get(before..).unwrap_or_default());
            all.push(D::Details::take(&mut input).map_err(malformed::<D::Details>)?);
        }
    }
    /// Waits for the next event of a kind; a request says which ones are wanted.
    pub fn event<E: Message>(&mut self) -> Result<E, ClientError> {
        let wanted = self.number::<E>()?;
        let bytes = match self.events.iter().position(|(number, _)| *number == wanted) {
            Some(at) => self.events.remove(at).map(|(_, bytes)| bytes).unwrap_or_default(),
            None => self.until(|number, _| number == wanted)?,
        };
        // Behind who asked for it.
        let mut input = Input::new(bytes.get(8..).unwrap_or_default());
        E::take(&mut input).map_err(malformed::<E>)
    }
    fn number<M: Message>(&self) -> Result<u16, ClientError> {
        let name = M::definition().name_crc();
        self.numbers.get(&name).copied().ok_or(ClientError::Unknown(name))
    }
    fn send<M: Message>(&mut self, message: &M) -> Result<u32, ClientError> {
        let number = self.number::<M>()?;
        let body = self.body(message);
        self.write(number, &body)?;
        Ok(self.context)
    }
    /// A message with what stands before it: who we are, and a context of its own.
    fn body<M: Message>(&mut self, message: &M) -> Vec<u8> {
        // Those of other clients do not matter; 0 is that of events.
        self.context = self.context.wrapping_add(1).max(1);
        let mut bytes = [self.index, self.context.to_be_bytes()].concat();
        message.put(&mut bytes);
        bytes
    }
    fn write(&mut self, number: u16, bytes: &[u8]) -> Result<(), ClientError> {
        let mut framed = vec![];
        frame(&mut framed, number, bytes);
        Ok(self.stream.get_mut().write_all(&framed)?)
    }
    fn read(&mut self) -> Result<Received, ClientError> {
        let mut header = [0; FRAME];
        self.fill(&mut header)?;
        let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        if !(6..=MESSAGE_MAX).contains(&length) {
            let what = format!("a message of {length} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what).into());
        }
        let mut number = [0; 2];
        self.fill(&mut number)?;
        let mut bytes = vec![0; length - number.len()];
        self.fill(&mut bytes)?;
        Ok((u16::from_be_bytes(number), bytes))
    }
    /// Reads as many bytes.
    fn fill(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.read(bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => bytes = &mut bytes[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !(self.goes_on)() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
    /// Reads until the one comes that is waited for; others are kept.
    fn until(&mut self, is_wanted: impl Fn(u16, &[u8]) -> bool) -> Result<Vec<u8>, ClientError> {
        loop {
            let (number, bytes) = self.read()?;
            if is_wanted(number, &bytes) {
                return Ok(bytes);
            }
            self.events.push_back((number, bytes));
        }
    }
}

/// Appends a message as it goes over the socket.
fn frame(all: &mut Vec<u8>, number: u16, bytes: &[u8]) {
    let mut header = [0; FRAME];
    header[8..12].copy_from_slice(&(bytes.len() as u32 + 2).to_be_bytes());
    all.extend(header);
    all.extend(number.to_be_bytes());
    all.extend(bytes);
}

fn read<M: Message>(bytes: &[u8]) -> Result<M, ClientError> {
    M::take(&mut Input::new(bytes)).map_err(malformed::<M>)
}

/// The answer to the first message: behind `client_index`, `context` and `response` our own index, and the table.
fn welcome(table: &[u8]) -> Result<([u8; 4], HashMap<String, u16>), Malformed> {
    let mut input = Input::new(table);
    input.bytes(12)?;
    let index = u32::take(&mut input)?.to_be_bytes();
    let count = u16::take(&mut input)?;
    let mut numbers = HashMap::new();
    for _ in 0..count {
        let number = u16::take(&mut input)?;
        numbers.insert(Text::<64>::take(&mut input)?.0, number);
    }
    Ok((index, numbers))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::thread;

    use super::*;
    use crate::routes::{IpRouteAddDel, IpRouteAddDelReply, set};

    const REQUEST: u16 = 7;
    const REPLY: u16 = 8;

    /// A client whose daemon is the other end of a pair of sockets. It gives up a wait after ten seconds.
    fn pair() -> (Client, UnixStream) {
        let (stream, daemon) = UnixStream::pair().expect("a pair");
        stream.set_read_timeout(Some(ASK_EVERY)).expect("a limit");
        let numbers =
            [(IpRouteAddDel::definition().name_crc(), REQUEST), (IpRouteAddDelReply::definition().name_crc(), REPLY)];
        let mut looks = 0;
        let goes_on = Box::new(move || {
            looks += 1;
            looks < 100
        });
        let (stream, numbers) = (BufReader::new(stream), HashMap::from(numbers));
        let (index, context, events) = ([0; 4], 0, VecDeque::new());
        (Client { stream, index, numbers, context, events, goes_on }, daemon)
    }

    /// Takes so many requests off the socket.
    fn take(daemon: &mut UnixStream, count: usize) -> io::Result<()> {
        for _ in 0..count {
            let mut header = [0; FRAME];
            daemon.read_exact(&mut header)?;
            let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
            daemon.read_exact(&mut vec![0; length as usize])?;
        }
        Ok(())
    }

    /// Answers so many requests.
    fn answer(daemon: &mut UnixStream, count: usize, retval: i32) -> io::Result<()> {
        for _ in 0..count {
            let mut bytes = vec![];
            let body = [0u32.to_be_bytes(), retval.to_be_bytes(), 0u32.to_be_bytes()].concat();
            frame(&mut bytes, REPLY, &body);
            daemon.write_all(&bytes)?;
        }
        Ok(())
    }

    fn routes(count: usize) -> impl Iterator<Item = IpRouteAddDel> {
        (0..count).map(|_| set((Ipv4Addr::LOCALHOST.into(), 32), 0, None))
    }

    /// A daemon that has answered half of the requests gets the next ones before it answers the others.
    #[test]
    fn requests_are_written_while_others_are_answered() {
        let (mut client, mut daemon) = pair();
        let work = thread::spawn(move || {
            take(&mut daemon, UNDER_WAY)?;
            answer(&mut daemon, UNDER_WAY / 2, 0)?;
            take(&mut daemon, UNDER_WAY / 2)?;
            answer(&mut daemon, UNDER_WAY, 0)
        });
        client.requests(routes(UNDER_WAY + UNDER_WAY / 2)).expect("all are answered");
        work.join().expect("an end").expect("a connection");
    }

    #[test]
    fn nothing_is_sent_after_a_refusal_and_all_answers_are_taken() {
        let (mut client, mut daemon) = pair();
        let work = thread::spawn(move || {
            take(&mut daemon, UNDER_WAY)?;
            answer(&mut daemon, 1, -1)?;
            answer(&mut daemon, UNDER_WAY - 1, 0)?;
            let mut rest = vec![];
            daemon.read_to_end(&mut rest)?;
            Ok::<_, io::Error>(rest)
        });
        let refused = client.requests(routes(4 * UNDER_WAY)).expect_err("a refusal");
        assert!(matches!(refused, ClientError::Refused { retval: Retval(-1), .. }), "{refused}");
        assert!(client.stream.buffer().is_empty(), "no answer is left");
        drop(client);
        assert!(work.join().expect("an end").expect("a connection").is_empty(), "nothing more is sent");
    }
}
