//! Socket of events of sessions: exporters get the ring's file, and report where they are.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use nix::unistd::Gid;
use quiver_control::Control;
use quiver_session::exporters::{attach, detach, report};
use quiver_session_events::protocol::{Hello, MESSAGE_MAX, Welcome};
use serde_json::from_slice;
use tokio::net::{UnixListener, UnixStream};

use crate::passing;
use crate::peer::Peer;
use crate::socket::{self, Name, Served};

/// Clients at a time; not all of them are exporters yet.
const CLIENTS_MAX: usize = 32;
/// Time in which a client says its name.
const HELLO: Duration = Duration::from_secs(5);

/// The sockets.
pub struct Servers(Vec<(UnixListener, Name)>);

impl Servers {
    /// Binds the sockets, for quiverd's user and a group.
    pub fn bind(places: &[Served<PathBuf>], group: Option<Gid>) -> Result<Servers, String> {
        socket::bind_all("events of sessions", places, |path| passing::bind(path, group)).map(Servers)
    }

    /// Serves exporters for ever.
    pub async fn serve(self, control: &Control) {
        let servers = self.0.into_iter().map(|(socket, name)| {
            let control = control.clone();
            async move {
                serve(&socket, &control).await;
                drop(name);
            }
        });
        socket::serve_all(servers).await;
    }
}

async fn serve(socket: &UnixListener, control: &Control) {
    let clients = Rc::new(Cell::new(0));
    let begin = |client: UnixStream| {
        if clients.get() >= CLIENTS_MAX {
            return false;
        }
        clients.set(clients.get() + 1);
        let (control, clients) = (control.clone(), clients.clone());
        control.clone().spawn("an exporter of events", async move {
            if let Err(error) = follow(&control, &client).await {
                tracing::debug!("an exporter of events has gone: {error}");
            }
            clients.set(clients.get() - 1);
        });
        true
    };
    passing::accept(socket, "an exporter of events", begin).await;
}

/// Serves an exporter until it hangs up, or says something else than a report.
async fn follow(control: &Control, client: &UnixStream) -> io::Result<()> {
    let mut buffer = vec![0; MESSAGE_MAX];
    let said = tokio::time::timeout(HELLO, passing::packet(client, &mut buffer)).await??;
    let Some(said) = said else { return Ok(()) };
    let Hello { name } = from_slice(said)?;
    let attached = match attach(control, &name, Peer::of(client).process) {
        Ok(attached) => attached,
        Err(error) => {
            let welcome = Welcome { error: Some(error), ..Welcome::default() };
            return passing::send(client.as_fd(), &serde_json::to_vec(&welcome)?, &[]);
        }
    };
    let welcome = Welcome { resume: attached.resume, error: None };
    let sent = serde_json::to_vec(&welcome).map_err(io::Error::from);
    let sent = sent.and_then(|bytes| passing::send(client.as_fd(), &bytes, &[attached.file.as_fd()]));
    drop(attached.file);
    let ended = match sent {
        Ok(()) => reports(control, client, &name, &mut buffer).await,
        Err(error) => Err(error),
    };
    detach(control, &name);
    ended
}

async fn reports(control: &Control, client: &UnixStream, name: &str, buffer: &mut [u8]) -> io::Result<()> {
    while let Some(said) = passing::packet(client, buffer).await? {
        report(control, name, from_slice(said)?);
        // Packets that are there already take none of tokio's budget: a client that never stops would have the thread alone.
        control.yield_now().await;
    }
    Ok(())
}
