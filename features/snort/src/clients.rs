//! Inspectors that are connected: what they ask on the socket, and the queue pairs that they have. The socket itself is quiverd's.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_engine::{Dataplane, Source, Worker};

use crate::client::Client;
use crate::instance::Instance;
use crate::layout::LOG2_EMPTY;
use crate::message::{Fault, REPLY, Reply, Request, write};
use crate::pair::{NO_CLIENT, Pair};
use crate::release::of_lost;
use crate::room::Snort;

/// Clients at a time.
pub const CLIENTS_MAX: usize = 64;

/// Answer to a request.
pub struct Answer {
    /// The packet.
    pub bytes: [u8; REPLY],
    /// Files that go with it.
    pub files: Vec<OwnedFd>,
}

/// Notes a client that has connected to the socket; returns its number. None if there are too many.
pub fn connect(control: &Control) -> Option<u32> {
    let room = &mut *control.room_mut::<Snort>();
    if room.clients.len() >= CLIENTS_MAX {
        return None;
    }
    let number = room.free_clients.find(|number| room.clients.contains_key(&number));
    room.clients.insert(number, Client::default());
    Some(number)
}

/// Whether a client is still connected: commands disconnect clients, too.
pub fn is_connected(control: &Control, client: u32) -> bool {
    control.room::<Snort>().clients.contains_key(&client)
}

/// Ends when some client was disconnected.
pub async fn disconnection(control: &Control) {
    let signal = control.room::<Snort>().disconnected.clone();
    signal.changed().await;
}

/// Takes all queue pairs from a client, and forgets it. Nothing happens if there is none of this number.
pub fn disconnect(control: &Control, client: u32) {
    let gone = {
        let mut room = control.room_mut::<Snort>();
        let gone = room.clients.remove(&client);
        room.free_clients.release(client);
        room.disconnected.notify();
        gone
    };
    for (instance, pair) in gone.into_iter().flat_map(|gone| gone.pairs) {
        take_back(control, &instance, &pair);
    }
}

/// Takes a queue pair from its client. Packets that the client holds pass or are dropped, as the instance says.
fn take_back(control: &Control, instance: &Arc<Instance>, pair: &Arc<Pair>) {
    pair.client.store(NO_CLIENT, Relaxed);
    let release = control.room::<Snort>().release;
    let (instance, pair) = (instance.clone(), pair.clone());
    let dataplane = control.room::<Dataplane>();
    let generations = dataplane.generations().clone();
    let source: Arc<dyn Source> = pair.clone();
    dataplane.post(pair.worker, move |worker: &mut Worker| {
        worker.unwatch(&source);
        let held = pair.detach(&mut pair.own());
        for held in held {
            let next = of_lost(&instance, &pair, &held, &generations);
            worker.emit(release, next, held.packet);
        }
    });
}

/// Answers a request of a client.
pub async fn answer(control: &Control, client: u32, request: &[u8]) -> Answer {
    let kind = request.first().copied().unwrap_or_default();
    let (reply, files) = match asked(control, client, request).await {
        Ok((reply, files)) => (Ok(reply), files),
        Err(fault) => (Err(fault), vec![]),
    };
    Answer { bytes: write(kind, reply), files }
}

fn copy(file: &OwnedFd) -> Result<OwnedFd, Fault> {
    file.try_clone().map_err(|_| Fault::Memory)
}

async fn asked(control: &Control, client: u32, request: &[u8]) -> Result<(Reply, Vec<OwnedFd>), Fault> {
    match Request::parse(request)? {
        Request::Connect { version, threads, mode } => {
            let mut room = control.room_mut::<Snort>();
            let pools = (0..u32::from(room.pools())).map(|number| Some(room.instance(number)?.serial)).collect();
            let reply = Reply::Connect { pools: room.pools() };
            let client = room.clients.get_mut(&client).ok_or(Fault::Message)?;
            // One that introduces itself twice has mapped what it was told of first.
            client.pools.get_or_insert(pools);
            (client.version, client.threads, client.mode) = (version, threads, mode);
            Ok((reply, vec![]))
        }
        Request::GetBufferPool(pool) => {
            let room = control.room::<Snort>();
            // A client maps one after the other, and gives up at the first that is refused: where an instance is gone, another one's
            // memory stands in, in which no descriptor will ever point there.
            let known = u16::from(pool) < room.pools();
            let instance = room.instance(pool.into()).or_else(|| room.instances().next()).filter(|_| known);
            let instance = instance.ok_or(Fault::Message)?;
            let size = instance.bytes() as u64;
            Ok((Reply::BufferPool { pool, size }, vec![copy(&instance.memory.file)?]))
        }
        Request::GetInput(name) => {
            let room = control.room::<Snort>();
            let client = room.clients.get(&client).ok_or(Fault::Message)?;
            let instance = room.number(&name).and_then(|number| room.instance(number)).ok_or(Fault::Input)?;
            if !client.knows(instance) {
                return Err(Fault::Input);
            }
            let (input, pairs) = (instance.number as u16, instance.pairs.len() as u16);
            let size = instance.bytes() as u64;
            Ok((Reply::Input { input, size, pairs }, vec![copy(&instance.memory.file)?]))
        }
        Request::AttachQueuePair { input, pair } => attach(control, client, (input, pair)).await,
    }
}

async fn attach(control: &Control, client: u32, (input, number): (u16, u16)) -> Result<(Reply, Vec<OwnedFd>), Fault> {
    let (reply, files, attached) = {
        let mut room = control.room_mut::<Snort>();
        let (release, attachment) = (room.release, room.next_attachment());
        let instance = room.instance(input.into()).cloned().ok_or(Fault::Input)?;
        let pair = instance.pairs.get(usize::from(number)).cloned().ok_or(Fault::Index)?;
        let known = room.clients.get_mut(&client).filter(|client| client.knows(&instance)).ok_or(Fault::Input)?;
        if pair.client().is_some() {
            return Err(Fault::InUse);
        }
        let files = pair.interrupts.iter().map(|file| copy(file)).collect::<Result<Vec<_>, _>>()?;
        pair.client.store(client, Relaxed);
        known.pairs.push((instance.clone(), pair.clone()));
        drop(room);
        let place = pair.place;
        let places = [place.header, place.offered, place.judged, place.empty].map(|place| place as u32);
        let log2 = (instance.size.log2_queue(), LOG2_EMPTY);
        let reply = Reply::QueuePair { id: (pair.worker as u16, pair.queue), input, pair: number, log2, places };
        let attached = control.room::<Dataplane>().ask(pair.worker, move |worker: &mut Worker| {
            pair.attach(&mut pair.own(), attachment);
            let source: Arc<dyn Source> = pair.clone();
            worker.watch(release, source);
        });
        (reply, files, attached)
    };
    // Only then nothing of a client before is left in the rings.
    attached.await.map_err(|_| Fault::Memory)?;
    Ok((reply, files))
}
