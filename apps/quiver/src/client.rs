//! The connection to the daemon.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::poll::PollTimeout;
use quiver_control::protocol::{Answer, Reason, Refusal, Request, Response};

use crate::interrupt::Interrupt;

/// Why the daemon could not be asked, or its answer not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No daemon serves the socket.
    #[error("no quiverd serves {0}: start one by running `quiverd` as root, or name the socket of yours with --socket")]
    NotRunning(PathBuf),
    /// The socket may not be opened.
    #[error("{0} may not be opened: run this as root, or as the user that runs quiverd")]
    Denied(PathBuf),
    /// The daemon went away, or failed at this request.
    #[error("quiverd hung up before it had answered: its log says why")]
    HungUp,
    /// The system refused.
    #[error("the connection to quiverd broke: {0}")]
    Broken(#[from] io::Error),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The other side speaks differently.
    #[error("what serves this socket does not speak as quiverd of this version does: {0}")]
    Foreign(#[from] serde_json::Error),
    /// The user gave up.
    #[error("given up")]
    Interrupted,
}

impl ClientError {
    /// The error in the form of the daemon's refusals.
    pub fn refusal(&self) -> Refusal {
        Refusal::new(self.to_string())
    }
}

/// Socket of a daemon, and form of its answers.
#[derive(Clone, Debug)]
pub struct Session {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// Whether all answers, and errors, shall be JSON.
    pub json: bool,
    /// Whether Ctrl-C gives up a request, rather than the program.
    pub gives_up: bool,
}

impl Session {
    /// Connects to the daemon.
    pub fn connect(&self) -> Result<Client, ClientError> {
        let mut client = Client::connect(&self.socket)?;
        if self.gives_up {
            client.catch_interrupts()?;
        }
        Ok(client)
    }
}

/// A connection to the daemon: requests, one after the other.
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
    /// The request that was sent last, until it is being answered.
    unanswered: Vec<u8>,
    /// Ctrl-C, while it is caught.
    interrupt: Option<Interrupt>,
}

impl Client {
    /// Connects to the daemon that serves `path`.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        match UnixStream::connect(path) {
            Ok(stream) => {
                let (stream, path) = (BufReader::new(stream), path.to_owned());
                Ok(Client { stream, path, unanswered: Vec::new(), interrupt: None })
            }
            Err(error) => Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NotRunning(path.to_owned()),
                io::ErrorKind::PermissionDenied => ClientError::Denied(path.to_owned()),
                _ => ClientError::Broken(error),
            }),
        }
    }

    /// Gives up the pending answer, and connects anew.
    pub fn reconnect(&mut self) -> Result<(), ClientError> {
        let interrupt = self.interrupt.take();
        *self = Client { interrupt, ..Client::connect(&self.path)? };
        Ok(())
    }

    /// From now on Ctrl-C interrupts the wait for an answer: [`ClientError::Interrupted`].
    pub fn catch_interrupts(&mut self) -> Result<(), ClientError> {
        self.interrupt = Some(Interrupt::catch()?);
        Ok(())
    }

    /// From now on Ctrl-C ends the program again.
    pub fn release_interrupts(&mut self) {
        self.interrupt = None;
    }

    /// Lets time pass, unless Ctrl-C gives up.
    pub fn pause(&self, duration: Duration) -> Result<(), ClientError> {
        let Some(interrupt) = &self.interrupt else {
            std::thread::sleep(duration);
            return Ok(());
        };
        let timeout = PollTimeout::try_from(duration).unwrap_or(PollTimeout::MAX);
        if interrupt.comes_before(None, timeout)? { Err(ClientError::Interrupted) } else { Ok(()) }
    }

    /// Sends a request and reads its answer: the parts go to `part`, the end is returned. Parts of one answer are put
    /// together first.
    pub fn ask(&mut self, request: &Request, mut part: impl FnMut(Answer)) -> Result<Response, ClientError> {
        self.send(request)?;
        let mut begun = Answer::default();
        loop {
            match self.receive()? {
                Response::Part(answer) if answer.more => begun.append(answer),
                Response::Part(answer) => {
                    begun.append(answer);
                    part(std::mem::take(&mut begun));
                }
                Response::Done(answer) => {
                    begun.append(answer);
                    return Ok(Response::Done(begun));
                }
                end => return Ok(end),
            }
        }
    }

    /// The same, but gives out the parts of the answer as they come, also those that belong together.
    pub fn ask_in_parts(&mut self, request: &Request, mut part: impl FnMut(Answer)) -> Result<Response, ClientError> {
        self.send(request)?;
        loop {
            match self.receive()? {
                Response::Part(answer) => part(answer),
                end => return Ok(end),
            }
        }
    }

    /// Sends a request; [`receive`](Client::receive) the answer afterwards.
    pub fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        self.unanswered = serde_json::to_vec(request)?;
        self.unanswered.push(b'\n');
        self.write()
    }

    fn write(&mut self) -> Result<(), ClientError> {
        match self.stream.get_mut().write_all(&self.unanswered) {
            // Why it hung up may still be there to be read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }

    /// The next response.
    pub fn receive(&mut self) -> Result<Response, ClientError> {
        loop {
            match self.read()? {
                // While we were idle another client was given our place: the request was not read.
                Response::Error(refusal) if refusal.reason == Some(Reason::Evicted) && !self.unanswered.is_empty() => {
                    let again = std::mem::take(&mut self.unanswered);
                    self.reconnect()?;
                    self.unanswered = again;
                    self.write()?;
                }
                response => {
                    self.unanswered.clear();
                    return Ok(response);
                }
            }
        }
    }

    fn read(&mut self) -> Result<Response, ClientError> {
        // An answer that has begun to come is read to its end.
        if let Some(interrupt) = self.interrupt.as_ref().filter(|_| self.stream.buffer().is_empty())
            && interrupt.comes_before(Some(self.stream.get_ref().as_fd()), PollTimeout::NONE)?
        {
            return Err(ClientError::Interrupted);
        }
        let mut line = Vec::new();
        match self.stream.read_until(b'\n', &mut line) {
            Ok(0) => Err(ClientError::HungUp),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(ClientError::HungUp),
            result => {
                result?;
                Ok(serde_json::from_slice(&line)?)
            }
        }
    }
}
