//! The command socket: clients ask in lines of JSON ([`quiver_control::protocol`]), each served by its own task.
//!
//! No client is trusted to be kind. Their number, the length of a request and the time that an answer may wait for its
//! reader are bounded; a client that is slow or hangs makes only itself wait, and one that does nothing gives up its
//! place when another needs it.
//!
//! - [`client`]: one client, from its first byte to its last.

mod client;

use std::rc::Rc;

use quiver_control::Control;
use quiver_control::protocol::{Reason, Refusal, Response};
use tokio::net::UnixStream;

use crate::line::line_of;
use crate::peer::Users;
use crate::places::TurnedAway;
use crate::socket::Socket;
use client::Client;

/// The command socket.
pub struct Server {
    socket: Socket,
    users: Rc<Users>,
    /// Whether its clients may only look.
    is_for_viewers: bool,
}

impl Server {
    /// Commands are served at this socket.
    pub fn new(socket: Socket) -> Server {
        Server { socket, users: Rc::default(), is_for_viewers: false }
    }

    /// The same, whose clients may only look.
    pub fn for_viewers(socket: Socket) -> Server {
        Server { is_for_viewers: true, ..Server::new(socket) }
    }

    /// Serves clients for ever.
    pub async fn serve(&self, control: &Control) {
        let client = |stream, place| {
            let client = Client::new(stream, place);
            control.counted("client", client.serve(control.clone(), self.users.clone(), self.is_for_viewers))
        };
        self.socket.serve(client, turn_away).await;
    }
}

fn turn_away(stream: &UnixStream, why: &TurnedAway) {
    let what = format!(
        "{why}, and no more are served at a time: end some of their commands, or let quiverd open more files (ulimit -n, \
        LimitNOFILE)"
    );
    // One line fits the empty socket buffer; a client with a full one is not worth waiting for.
    let _ = stream.try_write(&line_of(&Response::Error(Refusal::because(Reason::Crowded, what))));
}

#[cfg(test)]
mod tests;
