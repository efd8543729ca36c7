//! A flood of SYNs from random sources for a minute, while connections are open and clients come: SYN cookies, policy first.
//!
//! Time is virtual; the worker's turns are timed in CPU time. Servers and clients are made here, segment by segment.

use std::collections::VecDeque;
use std::time::Duration;

use quiver_engine::Level;

use super::Row;
use super::routes::resident;
use crate::command::command;
use crate::graph::{Bench, cpu};
use crate::path::send_to;
use crate::path::sessions::{ACK, LIVE, SERVICE, SYN, flooded, segment, set_header};
use crate::shape::mix;

/// Milliseconds of the flood, and SYNs in each.
const TIME: u32 = 60_000;
const SYNS: u32 = 1_000;
/// Segments of open connections in each: one a second of each connection.
const SEGMENTS: u32 = LIVE / 1_000;
/// Milliseconds between two clients, and until a client sends data when it has acknowledged the server's SYN.
const BETWEEN: u32 = 20;
const PATIENCE: u32 = 5;
/// Milliseconds behind the flood, for segments that are on their way.
const REST: u32 = 100;
/// The first client's address; the server's.
const CLIENTS: u32 = 0xac10_0000;
const SERVER: u32 = 0x3000_0001;
const PSH: u8 = 8;
const RST: u8 = 4;
/// First numbers of clients and of servers.
const NUMBERS: [u32; 2] = [9_000, 70_000];
const IP: usize = 14;
const TCP: usize = IP + 20;

/// The sender of a segment.
#[derive(Clone, Copy)]
enum End {
    Client,
    Server,
}

/// A segment that an end will send.
#[derive(Clone, Copy)]
struct Next {
    at: u32,
    from: End,
    client: u32,
    flags: u8,
    numbers: [u32; 2],
}

/// Results.
#[derive(Default)]
struct Counts {
    syns: u64,
    nanoseconds: u64,
    answers: u64,
    sent: u64,
    came: u64,
    clients: u32,
    connected: u32,
}

/// Runs the flood.
pub fn measure() -> Result<Vec<Row>, String> {
    let path = flooded();
    let mut bench = Bench::new(&path, Level::best())?;
    bench.begin(&path)?;
    command(bench.daemon(), "set sfdp syn-cookies tenant 1 watermark 1000")?;
    let rings = [bench.ends("pg0")?, bench.ends("pg1")?];
    let mut packets = ["pg0", "pg1"].map(|interface| bench.received(interface));
    packets.iter_mut().for_each(|packet| packet[IP + 9] = 6);
    let (mut next, mut counts, mut before) = (VecDeque::<Next>::new(), Counts::default(), 0.0);
    let start = bench.daemon().time();
    for now in 0..TIME + REST {
        if now == TIME / 10 {
            before = resident()?;
        }
        if now < TIME {
            for n in 0..SYNS {
                let random = mix(u64::from(now) << 32 | u64::from(n));
                // 64.0.0.0 to 127.255.255.255: none of the others.
                let from = (0x4000_0000 | random as u32 & 0x3fff_ffff, (random >> 32) as u16 | 1);
                set(&mut packets[0], [from, (SERVER, SERVICE)], (SYN, [(random >> 48) as u32, 0]));
                bench.put(rings[0].0, &packets[0])?;
            }
            counts.syns += u64::from(SYNS);
            for n in 0..SEGMENTS {
                segment((now * SEGMENTS + n) % LIVE, &mut packets[0]);
                bench.put(rings[0].0, &packets[0])?;
            }
            counts.sent += u64::from(SEGMENTS);
            if now % BETWEEN == 0 {
                next.push_back(Next {
                    at: now,
                    from: End::Client,
                    client: counts.clients,
                    flags: SYN,
                    numbers: [NUMBERS[0], 0],
                });
                counts.clients += 1;
            }
        }
        for _ in 0..next.len() {
            let Some(segment) = next.pop_front() else { break };
            if segment.at > now {
                next.push_back(segment);
                continue;
            }
            let client = (CLIENTS + segment.client, 20_000);
            let (at, ends) = match segment.from {
                End::Client => (0, [client, (SERVER, SERVICE)]),
                End::Server => (1, [(SERVER, SERVICE), client]),
            };
            set(&mut packets[at], ends, (segment.flags, segment.numbers));
            bench.put(rings[at].0, &packets[at])?;
        }
        let moment = start + Duration::from_millis(now.into());
        let daemon = bench.daemon();
        daemon.executor().advance_to(moment);
        daemon.executor().run_ready();
        let began = cpu();
        while daemon.workers()[0].turn(moment.0) > 0 {}
        counts.nanoseconds += cpu() - began;
        bench.take(rings[0].1, |packet| to_client(packet, now, &mut next, &mut counts))?;
        bench.take(rings[1].1, |packet| to_server(packet, now, &mut next, &mut counts))?;
    }
    let grown = resident()? - before;
    let row = |what, value, unit| Row { what, to: "a flood of a million SYNs a second for 60 s".into(), value, unit };
    Ok(vec![
        row("SYNs in a second of the worker's time", counts.syns as f64 * 1e3 / counts.nanoseconds as f64, "millions"),
        row("SYNs answered by cookies", counts.answers as f64 * 100.0 / counts.syns as f64, "%"),
        row("lost segments of 10,000 open connections", (counts.sent - counts.came) as f64, ""),
        row("new clients that were connected", f64::from(counts.connected) * 100.0 / f64::from(counts.clients), "%"),
        row("memory that it took after its first tenth", grown / f64::from(1 << 20), "MB"),
    ])
}

/// Writes ends, flags and numbers of a segment.
fn set(packet: &mut [u8], [from, to]: [(u32, u16); 2], segment: (u8, [u32; 2])) {
    packet[IP + 12..IP + 16].copy_from_slice(&from.0.to_be_bytes());
    set_header(&mut packet[TCP..], [from.1, to.1], segment);
    send_to(packet, to.0.into());
}

fn word(packet: &[u8], at: usize) -> u32 {
    packet.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_be_bytes(*word))
}

/// A segment leaves to the clients' side.
fn to_client(packet: &[u8], now: u32, next: &mut VecDeque<Next>, counts: &mut Counts) {
    let (client, flags) = (word(packet, IP + 16).wrapping_sub(CLIENTS), packet[TCP + 13]);
    if flags != SYN | ACK {
        return;
    }
    counts.answers += 1;
    if client < counts.clients && word(packet, TCP + 8) == NUMBERS[0] + 1 {
        let numbers = [NUMBERS[0] + 1, word(packet, TCP + 4).wrapping_add(1)];
        let send = |at, flags, numbers| Next { at, from: End::Client, client, flags, numbers };
        next.push_back(send(now + 1, ACK, numbers));
        next.push_back(send(now + PATIENCE, PSH | ACK, numbers));
    }
}

/// A segment leaves to the server's side.
fn to_server(packet: &[u8], now: u32, next: &mut VecDeque<Next>, counts: &mut Counts) {
    let (from, flags) = (word(packet, IP + 12), packet[TCP + 13]);
    counts.came += u64::from(from >> 16 == 0xc0a8);
    let client = from.wrapping_sub(CLIENTS);
    if client >= counts.clients {
        return;
    }
    let send = |from, flags, numbers| Next { at: now + 1, from, client, flags, numbers };
    if flags == SYN {
        next.push_back(send(End::Server, SYN | ACK, [NUMBERS[1], word(packet, TCP + 4).wrapping_add(1)]));
    } else if flags & PSH != 0 {
        counts.connected += 1;
        next.push_back(send(End::Client, RST, [NUMBERS[0] + 1, 0]));
    }
}
