//! Two and four workers in a real quiverd: what arrives is what was sent, and no packet overtakes another of its flow, while
//! flows are handed from worker to worker, and queues move between them.
//!
//! The traffic is a closed loop with fewer packets on their way than any queue holds, so that on a machine that stops
//! workers at any moment nothing may be lost either.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use quiver_netns::World;
use quiver_site::{Daemon, Driver, Function, Join, Site};
use serde_json::Value;

/// Flows, each from a port of its own: always the same ones, so that each worker always has the same flows.
const FLOWS: usize = 16;
const FIRST_PORT: u16 = 6000;
/// Packets on their way at most.
const WINDOW: usize = 32;
/// Packets that are sent at least, before queues move and while they do.
const PACKETS_MIN: usize = 1000;
/// Moves of queues and flows during the traffic.
const MOVES: usize = 24;
/// Longest time for a packet to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(10);
const PORT: u16 = 7000;

pub fn trials(world: &'static World) -> impl Iterator<Item = Trial> {
    let tap = Join::Quiver { function: Function::Router, driver: Driver::Tap };
    let memif = Join::Memif { master_at_client: false, is_zero_copy: false };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    [tap, memif].into_iter().flat_map(move |join| {
        [2, 4].map(|workers| {
            // Control and the programs that send need a core, too.
            let mark = if workers >= cores { ", oversubscribed" } else { "" };
            Trial::test(format!("{join}: {workers} workers on {cores} cores{mark}"), move || {
                keep_flows_in_order(&Site::build_with_workers(world, join, 1500, workers)?, workers)
            })
        })
    })
}

/// Where one quiverd receives what the client sends.
struct Received<'s> {
    daemon: &'s Daemon,
    interface: &'static str,
    /// Whether flows may change their workers: not where each worker has a ring of its own to send by, since nothing tells
    /// the peer in which order to read those.
    flows_may_move: bool,
}

fn keep_flows_in_order(site: &Site, workers: usize) -> Result<(), Failed> {
    let client = site.daemon().ok_or("a quiverd")?;
    let mut daemons =
        vec![Received { daemon: client, interface: "tap0", flows_may_move: site.other_daemon().is_none() }];
    daemons.extend(site.other_daemon().map(|daemon| Received { daemon, interface: "memif0/7", flows_may_move: true }));
    for Received { daemon, interface, .. } in &daemons {
        daemon.command(&format!("set interface handoff {interface} workers 0-{}", workers - 1))?;
    }
    let sent = traffic(site, || false)?;
    for Received { daemon, .. } in &daemons {
        let threads: Vec<Value> = serde_json::from_str(&daemon.command("show threads --json")?)?;
        let busy = threads.iter().filter(|thread| thread["busy-turns"].as_u64() > Some(0)).count();
        if busy < workers {
            return Err(format!("only {busy} of {workers} workers had any of {sent} packets").into());
        }
    }
    let (moves, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| move_about(&daemons, workers, &moves, &is_over));
        let sent = traffic(site, || moves.load(Relaxed) < MOVES && !mover.is_finished());
        is_over.store(true, Relaxed);
        match mover.join() {
            Ok(moved) => moved.and(sent).map(drop),
            Err(_) => Err("the thread that moves queues panicked".into()),
        }
    })
}

/// Moves queues and flows, again and again.
fn move_about(daemons: &[Received], workers: usize, moves: &AtomicUsize, is_over: &AtomicBool) -> Result<(), Failed> {
    for step in 0.. {
        for Received { daemon, interface, flows_may_move } in daemons {
            if is_over.load(Relaxed) {
                return Ok(());
            }
            let (worker, last) = (step / 2 % workers, workers - 1);
            daemon.command(&match step % 4 {
                1 if *flows_may_move => format!("set interface handoff {interface} workers {worker}"),
                3 if *flows_may_move => format!("set interface handoff {interface} workers 0-{last}"),
                _ => format!("set interface rx-placement {interface} worker {worker}"),
            })?;
            moves.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// Sends from client to server as long as `goes_on`, and compares what arrives with what was sent. Returns how many packets
/// that were.
fn traffic(site: &Site, goes_on: impl Fn() -> bool) -> Result<usize, Failed> {
    let bind = |flow| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, FIRST_PORT + flow as u16));
    let senders = site.client().within(|| (0..FLOWS).map(bind).collect::<Result<Vec<_>, _>>())??;
    let receiver = site.server().within(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)))??;
    receiver.set_read_timeout(Some(ARRIVES_WITHIN))?;
    for sender in &senders {
        sender.connect((site.server_address(), PORT))?;
    }
    let (mut sent, mut received, mut next) = (0, 0, [0; FLOWS]);
    let start = Instant::now();
    loop {
        while sent - received < WINDOW && (sent < PACKETS_MIN || goes_on()) {
            senders[sent % FLOWS].send(&payload(sent % FLOWS, sent / FLOWS))?;
            sent += 1;
        }
        if received == sent {
            return Ok(sent);
        }
        let mut bytes = [0; 2048];
        let lost = |error| format!("{received} of {sent} packets arrived in {:?}: {error}", start.elapsed());
        let (length, from): (_, SocketAddr) = receiver.recv_from(&mut bytes).map_err(lost)?;
        let flow = usize::from(from.port().wrapping_sub(FIRST_PORT));
        if flow >= FLOWS {
            return Err(format!("a packet came from {from}, who sent none").into());
        }
        if bytes[..length] != payload(flow, next[flow]) {
            let number = bytes.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
            return Err(format!("of flow {flow}, packet {number} came where {} was due", next[flow]).into());
        }
        next[flow] += 1;
        received += 1;
    }
}

/// The packets of a flow are told apart by a number, and have many lengths.
fn payload(flow: usize, number: usize) -> Vec<u8> {
    let mut bytes = (number as u64).to_be_bytes().to_vec();
    bytes.resize(16 + (flow * 37 + number * 11) % 1000, flow as u8);
    bytes
}
