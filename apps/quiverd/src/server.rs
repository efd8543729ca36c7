//! The command socket: clients ask in lines of JSON ([`quiver_control::protocol`]), each served by its own task.
//!
//! No client is trusted to be kind. The number of clients, the length of a request and the time that an answer may
//! wait for its reader are bounded; a client that is slow or hangs makes only itself wait.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::protocol::{self, REQUEST_LENGTH_MAX, Refusal, Response};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// More clients than this at a time are turned away.
const CLIENTS_MAX: usize = 64;
/// A client that does not take its answer for this long is dropped.
const READER_PATIENCE: Duration = Duration::from_secs(60);

/// Why the daemon has no command socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody serves there.
    #[error("another quiverd serves {0}: stop it, or give this one another socket with --socket")]
    InUse(PathBuf),
    /// The system refused.
    #[error("the command socket {path}: {error}; choose another with --socket")]
    Refused {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// The command socket; its file is removed with it.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Binds the socket. The file that a dead daemon left is replaced, that of a living one is not.
    pub fn bind(path: &Path) -> Result<Server, SocketError> {
        let refused = |error| SocketError::Refused { path: path.to_owned(), error };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(refused)?;
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(SocketError::InUse(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(refused)?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(refused)?;
        // Owner and group may command.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(refused)?;
        Ok(Server { listener, path: path.to_owned() })
    }

    /// Serves clients for ever.
    pub async fn serve(&self, control: &Control) {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if clients.len() < CLIENTS_MAX => {
                        clients.spawn_local(serve_client(control.clone(), stream));
                    }
                    Ok((stream, _)) => turn_away(stream),
                    Err(error) => {
                        // Out of file descriptors, most likely: others must close some first.
                        tracing::warn!("a client could not be accepted: {error}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(ended) = clients.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!("a command has failed: {error}");
                    }
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already is as good as removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn turn_away(stream: UnixStream) {
    let refusal = Refusal::new(format!("there are {CLIENTS_MAX} clients already: close one first"));
    // One line fits the empty socket buffer; a client for whom it does not is not worth waiting for.
    let _ = stream.try_write(&line_of(&Response::Error(refusal)));
}

async fn serve_client(control: Control, stream: UnixStream) {
    let (read, write) = stream.into_split();
    let mut client = Client { read: BufReader::new(read), write, line: Vec::new() };
    // A client that breaks off ends its task; there is nobody to tell.
    let _ = client.serve(&control).await;
}

struct Client {
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    line: Vec<u8>,
}

impl Client {
    async fn serve(&mut self, control: &Control) -> io::Result<()> {
        while self.read_line().await? {
            let request = match protocol::read_request(&self.line) {
                Ok(request) => request,
                Err(refusal) => {
                    self.send(&Response::Error(refusal)).await?;
                    continue;
                }
            };
            let (answering, end) = protocol::answer(control, request);
            let mut end = pin!(end);
            let end = loop {
                tokio::select! {
                    biased;
                    end = &mut end => break end,
                    Some(part) = answering.part() => self.send(&part).await?,
                    // Waits for more from the client without taking it: only its end matters now.
                    more = self.read.fill_buf(), if self.read.buffer().is_empty() => if more?.is_empty() {
                        return Ok(());
                    },
                }
            };
            // The command may have ended with parts still to be taken.
            while let Some(part) = answering.part().await {
                self.send(&part).await?;
            }
            self.send(&end).await?;
        }
        Ok(())
    }

    /// Reads the next line into `self.line`. False at the end; a line that is too long ends the client.
    async fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        // What one request needed is not kept for the next.
        self.line.shrink_to(64 * 1024);
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if self.line.len() + taken > REQUEST_LENGTH_MAX {
                let refusal = Refusal::new(format!("a request has at most {REQUEST_LENGTH_MAX} bytes"));
                self.send(&Response::Error(refusal)).await?;
                return Ok(false);
            }
            self.line.extend_from_slice(&available[..taken]);
            self.read.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    async fn send(&mut self, response: &Response) -> io::Result<()> {
        let line = line_of(response);
        let mut rest = line.as_slice();
        // Patience is for progress: a slow reader of a long answer is served to its end.
        while !rest.is_empty() {
            let written = tokio::time::timeout(READER_PATIENCE, self.write.write(rest)).await??;
            rest = &rest[written..];
        }
        Ok(())
    }
}

fn line_of(response: &Response) -> Vec<u8> {
    // Responses are strings, numbers and JSON values: they cannot fail to be written.
    let mut line = serde_json::to_vec(response).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
