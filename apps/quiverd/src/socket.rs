//! Sockets for clients: bound without replacing a socket in use; a task of its own serves each client.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::Gid;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::peer::Peer;
use crate::places::{Place, Places, TurnedAway};

/// Why the daemon has no such socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another process serves there.
    #[error("another daemon serves {0}: stop it, or give this one another socket")]
    InUse(PathBuf),
    /// The file is no socket.
    #[error("{0} is not a socket, and stays as it is: choose another path")]
    Taken(PathBuf),
    /// The socket may not be given to the group.
    #[error(
        "the socket {path} may not be given to group {group}: {error}; make quiverd's user a member of it          (`SupplementaryGroups=` in its systemd unit), or let quiverd have CAP_CHOWN"
    )]
    Group {
        /// The socket.
        path: PathBuf,
        /// The group.
        group: Gid,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused.
    #[error("the socket {path}: {error}; choose another path")]
    Refused {
        /// The socket.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// A socket to serve, with further data, and whether the daemon can do without it.
pub type Served<P = PathBuf> = (P, bool);

/// Where VPP's clients look first.
const VPP: &str = "/run/vpp";

/// Where sockets are whose paths are not configured.
pub struct Standard<'a> {
    /// The daemon's own folder, unless the command socket is not at its standard place either.
    pub own: Option<&'a Path>,
    /// Whether they are where VPP has them, too.
    pub is_vpp: bool,
}

/// The sockets of something that VPP's clients find under a name: those that were asked for, or else the standard ones.
pub fn paths<P: From<PathBuf>>(name: &str, given: Vec<P>, standard: &Standard<'_>) -> Vec<Served<P>> {
    if !given.is_empty() {
        return given.into_iter().map(|path| (path, false)).collect();
    }
    let own = standard.own.map(|folder| (folder.join(name), false));
    let vpp = standard.is_vpp.then(|| (Path::new(VPP).join(name), true));
    own.into_iter().chain(vpp).map(|(path, can_be_missed)| (path.into(), can_be_missed)).collect()
}

/// Binds all sockets of a service, each with `bind`; `what` is its name in the log.
pub fn bind_all<P: AsRef<Path>, S>(
    what: &str,
    places: &[Served<P>],
    bind: impl Fn(&P) -> Result<S, SocketError>,
) -> Result<Vec<S>, String> {
    let mut sockets = vec![];
    for (place, can_be_missed) in places {
        match bind(place) {
            Ok(socket) => {
                tracing::info!("serving {what} at {}", place.as_ref().display());
                sockets.push(socket);
            }
            Err(error) if *can_be_missed => tracing::warn!("{what}: not served there: {error}"),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(sockets)
}

/// Error text and remedy for a refused port.
pub fn port_refused(option: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{option}: {error}; choose a port from 1024 on, or let quiverd have CAP_NET_BIND_SERVICE")
        }
        _ => format!("{option}: {error}; choose another address or port"),
    }
}

/// Runs servers for ever, each as a task of its own. Without any it waits: the end of a task would be one of the daemon's.
pub async fn serve_all(servers: impl Iterator<Item = impl Future<Output = ()> + 'static>) {
    let mut serving = JoinSet::new();
    for server in servers {
        serving.spawn_local(server);
    }
    while serving.join_next().await.is_some() {}
    std::future::pending().await
}

/// The file of a socket; it is removed with this.
pub struct Name(PathBuf);

impl Name {
    /// Gives a socket its name when it listens, for quiverd's user and a group, by default the user's: `listen` makes it,
    /// at a path of another name. The file that a dead daemon left is replaced, that of a living one is not.
    pub fn give<S>(
        path: &Path,
        group: Option<Gid>,
        listen: impl FnOnce(&Path) -> io::Result<S>,
    ) -> Result<(S, Name), SocketError> {
        let refused = |error| SocketError::Refused { path: path.to_owned(), error };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(refused)?;
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(SocketError::InUse(path.to_owned())),
            // Another process serves there, though no streams.
            Err(error) if error.raw_os_error() == Some(nix::libc::EPROTOTYPE) => {
                return Err(SocketError::InUse(path.to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // No process listens, or the file is no socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if !std::fs::symlink_metadata(path).map_err(refused)?.file_type().is_socket() {
                    return Err(SocketError::Taken(path.to_owned()));
                }
            }
            Err(error) => return Err(refused(error)),
        }
        // The file gets its name when it listens and is protected: a client that sees it can connect, if it may. This
        // replaces a dead daemon's file.
        let mut unnamed = path.as_os_str().to_owned();
        unnamed.push(format!(".{}", std::process::id()));
        let unnamed = Path::new(&unnamed);
        let socket = listen(unnamed).map_err(refused)?;
        // Owner and group may connect.
        let named = std::fs::set_permissions(unnamed, std::fs::Permissions::from_mode(0o660))
            .map_err(refused)
            .and_then(|()| match group {
                Some(group) => std::os::unix::fs::chown(unnamed, None, Some(group.as_raw()))
                    .map_err(|error| SocketError::Group { path: path.to_owned(), group, error }),
                None => Ok(()),
            })
            .and_then(|()| std::fs::rename(unnamed, path).map_err(refused));
        if let Err(error) = named {
            let _ = std::fs::remove_file(unnamed);
            return Err(error);
        }
        Ok((socket, Name(path.to_owned())))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // Gone already is as good as removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A socket; its file is removed with it.
pub struct Socket {
    listener: UnixListener,
    places: Places,
    _name: Name,
}

impl Socket {
    /// Binds a socket ([`Name::give`]), whose clients take these places.
    pub fn bind(path: &Path, group: Option<Gid>, places: &Places) -> Result<Socket, SocketError> {
        let (listener, name) = Name::give(path, group, |path| UnixListener::bind(path))?;
        Ok(Socket { listener, places: places.clone(), _name: name })
    }

    /// Serves clients for ever ([`serve`]).
    pub async fn serve<F: Future<Output = ()> + 'static>(
        &self,
        client: impl Fn(UnixStream, Place) -> F,
        turn_away: impl Fn(&UnixStream, &TurnedAway),
    ) {
        let accept = async || {
            let (stream, _) = self.listener.accept().await?;
            let peer = Peer::of(&stream);
            Ok((stream, peer))
        };
        serve(accept, &self.places, client, turn_away).await;
    }
}

/// Serves clients for ever, each with `client`; calls `turn_away` with the reason for clients without a place.
pub async fn serve<S, F: Future<Output = ()> + 'static>(
    accept: impl AsyncFn() -> io::Result<(S, Peer)>,
    places: &Places,
    client: impl Fn(S, Place) -> F,
    turn_away: impl Fn(&S, &TurnedAway),
) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = accept() => match accepted {
                Ok((stream, peer)) => match places.take(peer) {
                    Ok(place) => {
                        clients.spawn_local(client(stream, place));
                    }
                    Err(why) => turn_away(&stream, &why),
                },
                Err(error) => {
                    // Out of file descriptors, most likely.
                    tracing::warn!("a client could not be accepted: {error}");
                    places.evict();
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(ended) = clients.join_next() => {
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!("a client's task has failed: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn owner_and_group_may_connect_and_nobody_else() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let bound = |name: &str, group| {
            let path = folder.path().join(name);
            let _socket = Socket::bind(&path, group, &Places::new(1)).unwrap();
            let about = std::fs::metadata(&path).unwrap();
            (about.mode() & 0o777, about.gid())
        };
        let own = nix::unistd::getegid();
        // Root may give it to any group.
        let other = if nix::unistd::geteuid().is_root() { Gid::from_raw(own.as_raw() + 1) } else { own };
        assert_eq!(bound("own.sock", None), (0o660, own.as_raw()));
        assert_eq!(bound("group.sock", Some(other)), (0o660, other.as_raw()));
    }

    #[test]
    fn sockets_are_where_clients_look_unless_the_daemon_has_a_place_of_its_own() {
        let of = |given: &[&str], own: Option<&str>, is_vpp| {
            let given = given.iter().map(PathBuf::from).collect();
            paths::<PathBuf>("api.sock", given, &Standard { own: own.map(Path::new), is_vpp })
        };
        let path = |path: &str, can_be_missed| (PathBuf::from(path), can_be_missed);
        assert_eq!(
            of(&[], Some("/run/quiver"), true),
            [path("/run/quiver/api.sock", false), path("/run/vpp/api.sock", true)]
        );
        assert_eq!(of(&[], Some("/t"), false), [path("/t/api.sock", false)]);
        assert_eq!(of(&[], None, false), []);
        assert_eq!(of(&["/tmp/a"], None, false), [path("/tmp/a", false)]);
    }
}
