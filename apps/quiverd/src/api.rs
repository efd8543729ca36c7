//! The sockets of VPP's binary API: bytes are carried between clients and their sessions ([`quiver_compat::session`]).

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

use nix::unistd::Gid;
use quiver_compat::session::Hangup;
use quiver_compat::{Api, Release, Session, json, release};
use quiver_control::Control;
use quiver_control::transaction::Source;
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::peer::Users;
use crate::places::{Activity, Loss, Place, Places, TurnedAway};
use crate::socket::{self, Served, Socket};

/// The way by which changes come.
const SOURCE: Source = Source("binary API");
/// Bytes that are read at a time.
const READ_SIZE: usize = 64 * 1024;

/// Writes a file for each file of messages.
pub fn write(control: &Control, folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, content) in json::files(&control.room::<Api>()) {
        let path = folder.join(format!("{name}.api.json"));
        std::fs::write(&path, format!("{content:#}\n")).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Where the API is served, and to clients of which release of VPP: `PATH` or `PATH,profile=25.10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiSocket {
    path: PathBuf,
    /// Not there for those of 26.10.
    release: Option<Release>,
}

impl From<PathBuf> for ApiSocket {
    fn from(path: PathBuf) -> ApiSocket {
        ApiSocket { path, release: None }
    }
}
impl FromStr for ApiSocket {
    type Err = release::Unknown;

    fn from_str(text: &str) -> Result<ApiSocket, release::Unknown> {
        match text.rsplit_once(",profile=") {
            Some((path, profile)) => Ok(ApiSocket { path: path.into(), release: Some(profile.parse()?) }),
            None => Ok(PathBuf::from(text).into()),
        }
    }
}
impl AsRef<Path> for ApiSocket {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// The API's sockets.
pub struct Servers {
    sockets: Vec<(Socket, Option<Release>)>,
    shared: Rc<Shared>,
}

/// State shared by all clients.
struct Shared {
    users: Users,
    /// Into which bytes are read, so that clients that send nothing take no memory.
    buffer: RefCell<Vec<u8>>,
}

impl Shared {
    fn new() -> Rc<Shared> {
        Rc::new(Shared { users: Users::default(), buffer: RefCell::new(vec![0; READ_SIZE]) })
    }
}

impl Servers {
    /// Binds the sockets, for quiverd's user and a group.
    pub fn bind(sockets: &[Served<ApiSocket>], group: Option<Gid>, places: &Places) -> Result<Servers, String> {
        let bind = |socket: &ApiSocket| Ok((Socket::bind(&socket.path, group, places)?, socket.release));
        let sockets = socket::bind_all("VPP's API", sockets, bind)?;
        Ok(Servers { sockets, shared: Shared::new() })
    }

    /// Serves clients for ever.
    pub async fn serve(self, control: &Control) {
        let servers = self.sockets.into_iter().map(|(socket, release)| {
            let (control, shared) = (control.clone(), self.shared.clone());
            async move {
                let client = |stream, place| {
                    control.counted("api", serve(stream, place, control.clone(), shared.clone(), release))
                };
                let turn_away = |_: &UnixStream, why: &TurnedAway| {
                    tracing::warn!("a client of the API is turned away: {why}");
                };
                socket.serve(client, turn_away).await;
            }
        });
        socket::serve_all(servers).await;
    }
}

/// Serves a client until it leaves, or has to go.
async fn serve(stream: UnixStream, place: Place, control: Control, shared: Rc<Shared>, release: Option<Release>) {
    let mut session =
        Session::new(control.by(shared.users.author_of(&stream).await).through(SOURCE)).of_release(release);
    let lost = tokio::select! {
        _ = exchange(&stream, &place, &mut session, &shared.buffer) => None,
        loss = place.lost() => Some(loss),
    };
    match (lost, session.end()) {
        (Some(Loss::Idle), _) => tracing::info!("a client of the API is disconnected: {}", Loss::Idle),
        (Some(loss), _) => tracing::warn!("{} is disconnected from the API: {loss}", session.name()),
        (None, None | Some(Hangup::Left)) => {}
        (None, Some(why)) => tracing::warn!("a client of the API is disconnected: {why}"),
    }
}

/// Carries bytes until the session ends.
async fn exchange(
    stream: &UnixStream,
    place: &Place,
    session: &mut Session,
    buffer: &RefCell<Vec<u8>>,
) -> io::Result<()> {
    let mut was = Activity::Idle;
    loop {
        let busy = session.work();
        // Most clients wait for their answer: it goes out without another look at the socket.
        let has_read = send(stream, session)?;
        place.holds(session.held());
        let doing = match (session.is_known(), session.output().is_empty()) {
            (false, _) => Activity::Idle,
            // A registered client may be silent for long: it waits for events.
            (true, true) => Activity::Asking,
            (true, false) => Activity::Reading,
        };
        if has_read || doing != was {
            place.is(doing);
            was = doing;
        }
        match session.end() {
            // A client that does not read is not waited for.
            Some(Hangup::Overrun) => return Ok(()),
            Some(_) if session.output().is_empty() => return Ok(()),
            _ => {}
        }
        let interest = match (session.wants_input(), session.output().is_empty()) {
            (true, true) => Some(Interest::READABLE),
            (true, false) => Some(Interest::READABLE | Interest::WRITABLE),
            (false, false) => Some(Interest::WRITABLE),
            (false, true) => None,
        };
        let ready = tokio::select! {
            ready = stream.ready(interest.unwrap_or(Interest::READABLE)), if interest.is_some() => ready?,
            () = session.changed() => continue,
            () = tokio::task::yield_now(), if busy => continue,
        };
        if ready.is_readable() && session.wants_input() {
            let mut buffer = buffer.borrow_mut();
            match stream.try_read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => session.receive(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sends as much as the socket takes; returns whether it took anything.
fn send(stream: &UnixStream, session: &mut Session) -> io::Result<bool> {
    let mut has_sent = false;
    while !session.output().is_empty() {
        match stream.try_write(session.output()) {
            Ok(length) => session.sent(length),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
        has_sent = true;
    }
    Ok(has_sent)
}

#[cfg(test)]
mod tests;
