//! The socket of VPP's command line: bytes are carried between clients and their sessions ([`quiver_compat::terminal`]), and
//! commands to control.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use nix::unistd::Gid;
use quiver_compat::terminal::{Event, Session, Settings};
use quiver_control::Control;
use quiver_control::protocol::{self, Request, Response};
use quiver_control::transaction::{Author, Source};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

use crate::peer::{Peer, Users};
use crate::places::{Activity, Place, Places, TurnedAway};
use crate::socket::{self, Socket};

/// The way by which changes come.
const SOURCE: Source = Source("VPP command line");
/// Bytes that are read at a time.
const READ_SIZE: usize = 4096;
/// As long as there is no reason to be impatient.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// A client that takes nothing of its answer for this long is dropped.
const READER_PATIENCE: Duration = Duration::from_secs(60);

/// VPP's command line on a socket.
pub struct Server {
    listener: Listener,
    settings: Rc<Settings>,
}

enum Listener {
    Path(Socket, Rc<Users>),
    Port(TcpListener, Places),
}

impl Server {
    /// Binds a path, for quiverd's user and a group, or host and port.
    pub fn bind(listen: &str, group: Option<Gid>, places: &Places, settings: Settings) -> Result<Server, String> {
        let listener = match address(listen) {
            Some(address) => {
                let refused = |error: io::Error| socket::port_refused(&format!("--cli-listen {listen}"), &error);
                let listener = address.and_then(std::net::TcpListener::bind).map_err(refused)?;
                listener.set_nonblocking(true).map_err(refused)?;
                tracing::warn!("anyone who reaches {listen} has VPP's command line: telnet has no authentication");
                Listener::Port(TcpListener::from_std(listener).map_err(refused)?, places.clone())
            }
            None => {
                let socket = Socket::bind(Path::new(listen), group, places).map_err(|error| error.to_string())?;
                Listener::Path(socket, Rc::default())
            }
        };
        tracing::info!("serving VPP's command line at {listen}");
        Ok(Server { listener, settings: Rc::new(settings) })
    }
}

/// Serves clients for ever, if there is a server.
pub async fn serve(server: Option<Server>, control: &Control) {
    let Some(Server { listener, settings }) = server else { return std::future::pending().await };
    match listener {
        Listener::Path(socket, users) => {
            let client = |stream: UnixStream, place| {
                let (own, users, settings) = (control.clone(), users.clone(), settings.clone());
                control.counted("vppctl", async move {
                    let control = own.by(users.author_of(&stream).await).through(SOURCE);
                    serve_client(stream, place, control, settings).await;
                })
            };
            socket.serve(client, |_, why| turn_away(why)).await;
        }
        Listener::Port(listener, places) => {
            let accept = async || listener.accept().await.map(|accepted| (accepted, Peer::default()));
            let client = |(stream, from): (TcpStream, SocketAddr), place| {
                let own = control.by(Author::new(&format!("telnet from {from}")).as_guest()).through(SOURCE);
                control.counted("vppctl", serve_client(stream, place, own, settings.clone()))
            };
            socket::serve(accept, &places, client, |_, why| turn_away(why)).await;
        }
    }
}

fn turn_away(why: &TurnedAway) {
    tracing::warn!("a client of VPP's command line is turned away: {why}");
}

/// Host and port, where it is no path.
fn address(listen: &str) -> Option<io::Result<SocketAddr>> {
    let (host, port) = listen.rsplit_once(':').filter(|_| !listen.contains('/'))?;
    let host = if host.is_empty() { "0.0.0.0" } else { host };
    let port: u16 = port.parse().ok()?;
    let found = (host.trim_matches(['[', ']']), port).to_socket_addrs();
    Some(found.and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())))
}

/// Serves a client until it leaves, or has to go.
async fn serve_client(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    place: Place,
    control: Control,
    settings: Rc<Settings>,
) {
    let (reader, writer) = tokio::io::split(stream);
    let mut client = Client { reader, writer, session: Session::new(settings), place: &place, has_ended: false };
    tokio::select! {
        // A broken connection ends its task; no client is left to tell.
        _ = client.serve(&control) => {}
        loss = place.lost() => tracing::info!("a client of VPP's command line is disconnected: {loss}"),
    }
}

struct Client<'a, R, W> {
    reader: R,
    writer: W,
    session: Session,
    place: &'a Place,
    /// Whether it will send no more.
    has_ended: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<'_, R, W> {
    async fn serve(&mut self, control: &Control) -> io::Result<()> {
        loop {
            match self.session.event() {
                Some(Event::Run(line)) => {
                    self.run(control, line).await?;
                    // However much it has sent, others are served before its next command.
                    tokio::task::yield_now().await;
                    continue;
                }
                Some(Event::Complete(line)) => {
                    let (start, words) = control.commands().complete(control, &line);
                    let words: Vec<_> = words.into_iter().map(|word| (word.word, word.insert)).collect();
                    self.session.complete(start, &words);
                    continue;
                }
                Some(Event::Interrupt) => continue,
                Some(Event::Quit) => return self.flush().await,
                None => self.flush().await?,
            }
            let patience = self.session.patience();
            if self.has_ended {
                if patience.is_none() {
                    return Ok(());
                }
                self.session.silence();
                continue;
            }
            self.place.is(Activity::Idle);
            match timeout(patience.unwrap_or(FOREVER), read(&mut self.reader, &mut self.session)).await {
                Ok(read) => self.has_ended = !read?,
                Err(_) => self.session.silence(),
            }
        }
    }

    /// Runs a command; the client may interrupt it.
    async fn run(&mut self, control: &Control, line: String) -> io::Result<()> {
        // Its echo.
        self.flush().await?;
        self.place.is(Activity::Asking);
        let (answering, end) = protocol::answer(control, Request::Command { line, json: false });
        let mut end = Box::pin(end);
        let end = loop {
            tokio::select! {
                biased;
                end = &mut end => break end,
                Some(part) = answering.part() => {
                    self.show(part);
                    self.flush().await?;
                    self.place.is(Activity::Asking);
                    // The next part is made in the next turn.
                    tokio::task::yield_now().await;
                }
                read = read(&mut self.reader, &mut self.session), if !self.has_ended && self.session.wants_input() => {
                    self.has_ended = !read?;
                }
            }
            if self.session.event() == Some(Event::Interrupt) {
                self.session.done();
                return Ok(());
            }
            self.flush().await?;
        };
        // The command may have ended with parts still to be taken.
        while let Some(part) = answering.part().await {
            self.show(part);
            self.flush().await?;
            tokio::task::yield_now().await;
        }
        self.show(end);
        self.session.done();
        Ok(())
    }

    fn show(&mut self, response: Response) {
        match response {
            Response::Part(answer) | Response::Done(answer) => self.session.print(&answer.text),
            Response::Error(refusal) => {
                self.session.print(&refusal.what);
                if !refusal.expected.is_empty() {
                    self.session.print(&format!("expected: {}", refusal.expected.join(", ")));
                }
            }
            Response::Completions { .. } => {}
        }
    }

    /// Sends the output; it counts as waiting for clients until it is read.
    async fn flush(&mut self) -> io::Result<()> {
        let output = self.session.take_output();
        self.place.holds(output.capacity());
        let sent = self.write(&output).await;
        self.place.holds(0);
        sent
    }

    async fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            // Patience is for progress: a slow reader of a long answer is served to its end.
            self.place.is(Activity::Reading);
            let written = timeout(READER_PATIENCE, self.writer.write(rest)).await??;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[written..];
        }
        Ok(())
    }
}

/// Reads available input, and waits for it; returns false at the end.
async fn read(reader: &mut (impl AsyncRead + Unpin), session: &mut Session) -> io::Result<bool> {
    let mut buffer = [0; READ_SIZE];
    let length = reader.read(&mut buffer).await?;
    session.receive(&buffer[..length]);
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_a_path() {
        let found = |listen: &str| address(listen).and_then(Result::ok).map(|address| address.to_string());
        assert_eq!(found("127.0.0.1:5002").as_deref(), Some("127.0.0.1:5002"));
        assert_eq!(found(":5002").as_deref(), Some("0.0.0.0:5002"));
        assert_eq!(found("[::1]:5002").as_deref(), Some("[::1]:5002"));
        for path in ["/run/vpp/cli.sock", "cli.sock", "/tmp/a:1", "a:b"] {
            assert!(address(path).is_none(), "{path}");
        }
    }
}
