//! The command socket: clients ask in lines of JSON ([`quiver_control::protocol`]), each served by its own task.
//!
//! No client is trusted to be kind. Their number, the length of a request and the time that an answer may wait for its
//! reader are bounded; a client that is slow or hangs makes only itself wait, and one that does nothing gives up its
//! place when another needs it.
//!
//! - [`client`]: one client, from its first byte to its last.
//! - [`peer`]: as whom a client speaks.
//! - [`places`]: who is connected, and who has to go.

mod client;
mod peer;
mod places;

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::protocol::{Reason, Refusal, Response};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use client::Client;
use peer::Users;
use places::Places;

/// Why the daemon has no command socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody serves there.
    #[error("another quiverd serves {0}: stop it, or give this one another socket with --socket")]
    InUse(PathBuf),
    /// It is somebody's file.
    #[error("{0} is not a socket, and stays as it is: choose another path with --socket")]
    Taken(PathBuf),
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
    places: Places,
    users: Rc<Users>,
}

impl Server {
    /// Binds the socket. The file that a dead daemon left is replaced, that of a living one is not.
    pub fn bind(path: &Path) -> Result<Server, SocketError> {
        Server::bind_for(path, places::by_open_files())
    }

    /// The same, for so many clients at a time.
    fn bind_for(path: &Path, clients_max: usize) -> Result<Server, SocketError> {
        let refused = |error| SocketError::Refused { path: path.to_owned(), error };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(refused)?;
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(SocketError::InUse(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Nobody listens, or it is something that nobody can listen on.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if !std::fs::symlink_metadata(path).map_err(refused)?.file_type().is_socket() {
                    return Err(SocketError::Taken(path.to_owned()));
                }
            }
            Err(error) => return Err(refused(error)),
        }
        // The file gets its name when it listens and is protected: whoever sees it can connect, if they may. A dead
        // daemon's file is replaced by that.
        let mut unnamed = path.as_os_str().to_owned();
        unnamed.push(format!(".{}", std::process::id()));
        let unnamed = Path::new(&unnamed);
        let listener = UnixListener::bind(unnamed).map_err(refused)?;
        // Owner and group may command.
        let named = std::fs::set_permissions(unnamed, std::fs::Permissions::from_mode(0o660))
            .and_then(|()| std::fs::rename(unnamed, path));
        if let Err(error) = named {
            let _ = std::fs::remove_file(unnamed);
            return Err(refused(error));
        }
        Ok(Server { listener, path: path.to_owned(), places: Places::new(clients_max), users: Rc::default() })
    }

    /// Serves clients for ever.
    pub async fn serve(&self, control: &Control) {
        let mut clients = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => match self.places.take() {
                        Some(place) => {
                            let client = Client::new(stream, place);
                            clients.spawn_local(client.serve(control.clone(), self.users.clone()));
                        }
                        None => turn_away(&stream, self.places.limit()),
                    },
                    Err(error) => {
                        // Out of file descriptors, most likely.
                        tracing::warn!("a client could not be accepted: {error}");
                        self.places.evict();
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

fn turn_away(stream: &UnixStream, limit: usize) {
    let what = format!(
        "{limit} clients wait for answers, and no more are served at a time: end some of their commands, or let \
        quiverd open more files (ulimit -n, LimitNOFILE)"
    );
    // One line fits the empty socket buffer; a client for whom it does not is not worth waiting for.
    let _ = stream.try_write(&line_of(&Response::Error(Refusal::because(Reason::Crowded, what))));
}

fn line_of(response: &Response) -> Vec<u8> {
    // Responses are strings, numbers and JSON values: they cannot fail to be written.
    let mut line = serde_json::to_vec(response).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
