//! The control task: it accepts slaves, connects to masters, and listens to all control channels. All of it looks at one
//! descriptor, every few milliseconds, and never waits for a peer.

use std::time::Duration;

use quiver_control::Control;
use quiver_engine::Dataplane;
use quiver_interface::{InterfaceId, set_link};
use quiver_memif_protocol::message::Init;
use quiver_memif_protocol::{End, Established, Progress, Refusal, Role, Terms};
use rustix::event::{Timespec, epoll};

use crate::connection::Connection;
use crate::port::{ConnectionId, Port};
use crate::room::{Memifs, Watched, connect, wake_workers};

/// Polling periods of control channels: without a waiting interface, with one, and while a connection is being set
/// up, which takes a dozen messages.
const LOOK_RARELY: Duration = Duration::from_millis(100);
const LOOK_OFTEN: Duration = Duration::from_millis(20);
const LOOK_SOON: Duration = Duration::from_millis(1);
/// Interval between connection attempts of a slave.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// Time limit from a peer's connection until packets pass.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Control channels that are being set up at once; further slaves wait in the system's queue.
const PENDING_MAX: usize = 64;
/// Messages that a channel may say at once before the others have their turn.
const MESSAGES_MAX: usize = 32;

/// Starts the task.
pub(crate) fn start(control: &Control) {
    let task = control.clone();
    control.spawn("memif", async move {
        loop {
            let pause = look(&task);
            task.sleep(pause).await;
        }
    });
}

/// Link changes, announced once the room is not borrowed any more.
#[derive(Default)]
struct Changes(Vec<(InterfaceId, bool)>);

/// Looks at everything once. Says when to look again.
fn look(control: &Control) -> Duration {
    let mut changes = Changes::default();
    let (now, workers) = (control.now(), control.room::<Dataplane>().workers());
    let pause = {
        let room = &mut *control.room_mut::<Memifs>();
        for watched in ready(room) {
            match watched {
                Watched::Listener(socket) => accept(room, socket, now + READY_WITHIN),
                Watched::Connection(id) => listen(room, id, &mut changes),
            }
        }
        notice_broken(room, &mut changes);
        let late = |connection: &Connection| !connection.handshake.is_connected() && connection.deadline <= now;
        let late: Vec<_> = room.connections.iter().filter(|(_, c)| late(c)).map(|(id, _)| *id).collect();
        for id in late {
            close(room, id, &End::Refused(Refusal::Memory("it took too long".into())), &mut changes);
        }
        retry(room, workers, now);
        if room.connections.values().any(|connection| !connection.handshake.is_connected()) {
            LOOK_SOON
        } else if room.ports.values().any(|port| port.connection.is_none()) {
            LOOK_OFTEN
        } else {
            LOOK_RARELY
        }
    };
    if !changes.0.is_empty() {
        wake_workers(control);
    }
    changes.0.into_iter().for_each(|(id, link)| set_link(control, id, link));
    pause
}

/// Listeners and connections with input.
fn ready(room: &Memifs) -> Vec<Watched> {
    let mut events = Vec::with_capacity(64);
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Nothing but a signal can disturb this, and then there is a next time.
    let _ = epoll::wait(&room.poll, rustix::buffer::spare_capacity(&mut events), Some(&at_once));
    events.iter().map(|event: &epoll::Event| Watched::from_word(event.data.u64())).collect()
}

fn accept(room: &mut Memifs, number: u32, deadline: quiver_control::Time) {
    let pending = room.connections.values().filter(|connection| !connection.handshake.is_connected()).count();
    for _ in pending..PENDING_MAX {
        let listener = room.sockets.get(&number).and_then(|socket| socket.listener.as_ref());
        let Some(Ok(Some(channel))) = listener.map(|listener| listener.accept()) else { return };
        let Ok(connection) = Connection::accepted(channel, number, deadline) else { continue };
        keep(room, connection);
    }
}

fn keep(room: &mut Memifs, connection: Connection) -> Option<ConnectionId> {
    let id = room.number();
    if let Err(error) = room.watch(&connection, Watched::Connection(id)) {
        tracing::warn!("memif: a control channel cannot be watched: {error}");
        return None;
    }
    room.connections.insert(id, connection);
    Some(id)
}

/// Takes what a peer has said.
fn listen(room: &mut Memifs, id: ConnectionId, changes: &mut Changes) {
    for _ in 0..MESSAGES_MAX {
        // The connection is taken out, since interfaces are changed meanwhile.
        let Some(mut connection) = room.connections.remove(&id) else { return };
        let socket = connection.socket;
        let progress = connection.handshake.advance(|init| {
            forget_dead(room, socket, init.id.get(), changes);
            admit(room, socket, id, init)
        });
        room.connections.insert(id, connection);
        let ended = match progress {
            Ok(Progress::Quiet) => return,
            Ok(Progress::Answered) => Ok(()),
            Ok(Progress::Established(established)) => attach(room, id, *established, changes),
            Err(end) => Err(end),
        };
        if let Err(end) = ended {
            return close(room, id, &end, changes);
        }
    }
}

/// Packets may pass.
fn attach(room: &mut Memifs, id: ConnectionId, established: Established, changes: &mut Changes) -> Result<(), End> {
    let (buffers, waker) = (room.buffers.clone(), room.waker());
    let port = room.port_of(id).ok_or(Refusal::UnknownId)?;
    port.attach(id, established, &buffers, &waker)?;
    let name = &port.config.name;
    tracing::info!("{name}: connected to {}", port.link.as_ref().map_or(String::new(), |link| link.to_string()));
    changes.0.push((port.id, true));
    Ok(())
}

/// The terms for an interface, which the connection has from now on.
fn admit(room: &mut Memifs, socket: u32, id: ConnectionId, init: &Init) -> Result<Terms, Refusal> {
    let port = room.master_mut(socket, init.id.get()).ok_or(Refusal::UnknownId)?;
    if port.connection.is_some() {
        return Err(Refusal::AlreadyConnected);
    }
    port.connection = Some(id);
    let config = &port.config;
    Ok(Terms { mode: config.mode(), secret: config.secret(), interface: config.name.clone() })
}

/// Closes the connection that has an interface if its peer is gone: a slave that was killed and started again comes
/// before we have noticed.
fn forget_dead(room: &mut Memifs, socket: u32, number: u32, changes: &mut Changes) {
    let holder = room.master_mut(socket, number).and_then(|port| port.connection);
    if let Some(holder) = holder {
        listen(room, holder, changes);
    }
}

/// Ends a connection. Its interface is free for the next one.
fn close(room: &mut Memifs, id: ConnectionId, end: &End, changes: &mut Changes) {
    let Some(connection) = room.connections.remove(&id) else { return };
    connection.handshake.refuse(end);
    let Some(port) = room.port_of(id) else { return };
    if port.link.is_some() {
        tracing::info!("{}: disconnected: {end}", port.config.name);
        changes.0.push((port.id, false));
    }
    port.disconnect(end.to_string());
}

/// Ends connections whose rings a worker has found broken, and those whose memory is gone: its zeros look like empty rings.
fn notice_broken(room: &mut Memifs, changes: &mut Changes) {
    let broken = |port: &Port| {
        // All of them are looked at: it also frees what came back.
        let rx = port.rx.iter().map(|(giver, _)| giver.look()).fold(false, |any, one| any | one);
        let tx = port.tx.iter().map(|giver| giver.look()).fold(false, |any, one| any | one);
        port.link.as_ref().is_some_and(|link| rx || tx || link.link.regions.is_lost())
    };
    let ended: Vec<_> = room.ports.values().filter(|port| broken(port)).filter_map(|port| port.connection).collect();
    for id in ended {
        close(room, id, &End::Refused(Refusal::Memory("the rings are broken".into())), changes);
    }
}

/// Lets slaves without a connection try again.
fn retry(room: &mut Memifs, workers: usize, now: quiver_control::Time) {
    let idle: Vec<String> = {
        let ports = room
            .ports
            .iter_mut()
            .filter(|(_, port)| port.config.role() == Role::Slave && port.connection.is_none() && port.retry_at <= now);
        let again = now + RETRY_EVERY;
        ports
            .map(|(name, port)| {
                port.retry_at = again;
                name.clone()
            })
            .collect()
    };
    for name in idle {
        let Some(port) = room.ports.get(&name) else { continue };
        let Some(address) = room.sockets.get(&port.config.socket()).map(|socket| &socket.address) else { continue };
        let trouble = match connect(address) {
            Ok(Some(channel)) => {
                let connection = Connection::connected(channel, port, workers, &room.buffers, now + READY_WITHIN);
                let id = keep(room, connection);
                room.ports.get_mut(&name).into_iter().for_each(|port| port.connection = id);
                continue;
            }
            Ok(None) => "no listener".to_owned(),
            Err(error) => error,
        };
        room.ports.get_mut(&name).into_iter().for_each(|port| port.trouble = trouble.clone());
    }
}
