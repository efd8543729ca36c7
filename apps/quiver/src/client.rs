//! The connection to the daemon.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use quiver_control::protocol::{Answer, Reason, Request, Response};

/// Why the daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody serves the socket.
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
    /// The other side speaks differently.
    #[error("what serves this socket does not speak as quiverd of this version does: {0}")]
    Foreign(#[from] serde_json::Error),
}

/// A connection to the daemon: requests, one after the other.
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
    /// The request that was sent last, until it is being answered.
    unanswered: Vec<u8>,
}

impl Client {
    /// Connects to the daemon that serves `path`.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        match UnixStream::connect(path) {
            Ok(stream) => Ok(Client { stream: BufReader::new(stream), path: path.to_owned(), unanswered: Vec::new() }),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NotRunning(path.to_owned()),
                io::ErrorKind::PermissionDenied => ClientError::Denied(path.to_owned()),
                _ => ClientError::Broken(error),
            }),
        }
    }

    /// Gives up what is being answered, and connects anew.
    pub fn reconnect(&mut self) -> Result<(), ClientError> {
        *self = Client::connect(&self.path)?;
        Ok(())
    }

    /// Sends a request and reads its answer: the parts go to `part`, the end is returned.
    pub fn ask(&mut self, request: &Request, mut part: impl FnMut(Answer)) -> Result<Response, ClientError> {
        self.send(request)?;
        loop {
            match self.receive()? {
                Response::Part(answer) => part(answer),
                end => return Ok(end),
            }
        }
    }

    /// Sends a request; what it brings is to be [`received`](Client::receive).
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

    /// Whether a response, or its beginning, has been received already.
    pub fn has_received(&self) -> bool {
        !self.stream.buffer().is_empty()
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}
