//! Socket of inspectors: they ask for the memory and the queue pairs of inspection instances, by the protocol of VPP's Snort DAQ.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::unistd::Gid;
use quiver_control::Control;
use quiver_snort::clients::{answer, connect, disconnect, disconnection, is_connected};
use quiver_snort::message::REQUEST;
use tokio::net::{UnixListener, UnixStream};

use crate::passing;
use crate::socket::{self, Name, Served};

/// The sockets.
pub struct Servers(Vec<(UnixListener, Name)>);

impl Servers {
    /// Binds the sockets, for quiverd's user and a group.
    pub fn bind(places: &[Served<PathBuf>], group: Option<Gid>) -> Result<Servers, String> {
        socket::bind_all("inspectors", places, |path| passing::bind(path, group)).map(Servers)
    }

    /// Serves inspectors for ever.
    pub async fn serve(self, control: &Control) {
        let servers = self.0.into_iter().map(|(socket, name)| {
            let control = control.clone();
            async move {
                passing::accept(&socket, "an inspector", |client| begin(&control, client)).await;
                drop(name);
            }
        });
        socket::serve_all(servers).await;
    }
}

/// Serves a client in a task of its own. False if there are too many.
fn begin(control: &Control, client: UnixStream) -> bool {
    let Some(number) = connect(control) else { return false };
    let control = control.clone();
    control.clone().spawn("an inspector", async move {
        if let Err(error) = follow(&control, &client, number).await {
            tracing::debug!("inspector {number} has gone: {error}");
        }
        if is_connected(&control, number) {
            tracing::info!("inspector {number} has disconnected");
            disconnect(&control, number);
        }
    });
    true
}

/// Answers a client until it hangs up, or is disconnected by a command.
async fn follow(control: &Control, client: &UnixStream, number: u32) -> io::Result<()> {
    // One byte more, so that a longer packet is not taken for a request.
    let mut buffer = [0; REQUEST + 1];
    loop {
        let gone = disconnection(control);
        if !is_connected(control, number) {
            return Ok(());
        }
        let asked = tokio::select! {
            biased;
            () = gone => continue,
            asked = passing::packet(client, &mut buffer) => asked?,
        };
        let Some(asked) = asked else { return Ok(()) };
        let answer = answer(control, number, asked).await;
        let files: Vec<_> = answer.files.iter().map(|file| file.as_fd()).collect();
        passing::send(client.as_fd(), &answer.bytes, &files)?;
        // Packets that are there already take none of tokio's budget: a client that never stops would have the thread alone.
        control.yield_now().await;
    }
}
