//! A sleeping end is woken by the other end's eventfd, a polling end gets no interrupts: a daemon whose worker has a
//! thread, and a slave that the test drives.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::site::{self, daemon};
use quiver_memif_protocol::{
    Channel, Established, Handshake, Link, Mode, Progress, Receiver, Refusal, Request, Secret, Storage, Transmitter,
    Waker,
};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::{Ethernet, Icmp4, Ip4, Packet, Payload};
use tempfile::TempDir;

/// Time limit for another thread on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MAC: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// A daemon that answers pings by a memif interface, and the slave at its other end.
struct Pair {
    daemon: Daemon,
    link: Link<Arc<OwnedFd>>,
    rx: Receiver,
    tx: Transmitter,
    waker: Waker,
    /// The connection ends with it.
    _handshake: Handshake,
    _folder: TempDir,
}

impl Pair {
    /// Connected, with receive queues looked at as `rx_mode` says.
    fn new(rx_mode: &str) -> Pair {
        let folder = tempfile::tempdir().expect("a folder");
        let filename = folder.path().join("memif.sock").display().to_string();
        let mut daemon = daemon(1, false);
        daemon.configure(&format!(
            "create memif socket id 1 filename {filename}
            create interface memif id 0 socket-id 1 master hw-addr {}
            set interface state memif1/0 up
            set interface rx-mode memif1/0 {rx_mode}
            set interface ip address memif1/0 10.0.0.1/24
            ip neighbor memif1/0 10.0.0.2 {}",
            MAC[0], MAC[1]
        ));
        daemon.start_threads().expect("a thread");
        let channel = Channel::connect(&filename.parse().expect("a path")).expect("no error").expect("it listens");
        let request = Request {
            id: 0,
            mode: Mode::Ethernet,
            secret: Secret::NONE,
            name: "test".into(),
            interface: "test".into(),
            s2m_rings: 1,
            m2s_rings: 1,
            log2_ring_size: 6,
        };
        let mut handshake = Handshake::slave(channel, request, Storage { buffer: 2048, shared: None });
        let mut connected = None;
        until(&mut daemon, "a connection", |_| {
            while let Progress::Established(established) = advance(&mut handshake) {
                connected = Some(*established);
            }
            connected.is_some()
        });
        let Established { link, layout, .. } = connected.expect("it is connected");
        let mut rx = link.receivers(layout.as_ref()).remove(0);
        let tx = link.transmitters(layout.as_ref()).remove(0);
        rx.ring().set_interrupt(false);
        rx.start();
        Pair { daemon, link, rx, tx, waker: Waker::new(), _handshake: handshake, _folder: folder }
    }
    /// Puts an echo request into the ring. Whether the daemon wants to be woken for it.
    fn ask(&mut self) -> bool {
        let [to, from] = MAC.map(|mac| mac.parse().expect("a MAC"));
        let request = Packet::from(Ethernet::new(from, to))
            .then(Ip4::new([10, 0, 0, 2].into(), [10, 0, 0, 1].into()))
            .then(Icmp4::echo_request(7, 1))
            .then(Payload::counting(56))
            .to_bytes();
        self.tx.begin().expect("honest");
        self.tx.send(request.len(), std::iter::once(&request[..])).expect("honest");
        self.tx.publish()
    }
    /// Takes the answer, which will come.
    fn answer(&mut self) {
        let Pair { daemon, rx, .. } = self;
        until(daemon, "an answer", |_| rx.receive(8).is_ok_and(|burst| !burst.is_empty()));
        rx.release();
    }
    /// The same when it wants to be.
    fn ask_once_wanted(&mut self) -> bool {
        let Pair { daemon, tx, .. } = self;
        until(daemon, "its sleep", |_| tx.ring().is_interrupt_wanted());
        self.ask()
    }
    fn wakes_daemon(&self) {
        self.waker.wake(&*self.link.transmit[0].interrupt);
    }
    /// Number of wake-ups by the daemon since the last call.
    fn woken(&self) -> u64 {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.link.receive[0].interrupt, &mut count);
        u64::from_ne_bytes(count)
    }
    fn finish(mut self) {
        self.daemon.stop_threads();
        self.daemon.finish().expect("nothing has leaked");
    }
}

fn advance(handshake: &mut Handshake) -> Progress {
    loop {
        match handshake.advance(|_| Err(Refusal::UnknownId)).expect("in order") {
            Progress::Answered => {}
            progress => return progress,
        }
    }
}

/// Lets the daemon go on until it is so.
fn until(daemon: &mut Daemon, what: &str, mut is_so: impl FnMut(&mut Daemon) -> bool) {
    let start = Instant::now();
    while !is_so(daemon) {
        assert!(start.elapsed() < PATIENCE, "{what} does not come: {}", site::state(daemon));
        daemon.run_threads(Duration::from_millis(1));
    }
}

/// Turns that the worker has taken.
fn turns(daemon: &mut Daemon) -> u64 {
    let threads = daemon.run("show threads").expect("a table").json;
    let workers = threads.as_array().expect("a table");
    let turns = workers.iter().filter_map(|worker| worker["turns"].as_u64());
    turns.max().expect("a worker")
}

#[test]
fn packets_arrive_by_interrupt_while_the_worker_sleeps() {
    let mut pair = Pair::new("interrupt");
    for _ in 0..50 {
        // One that has woken up meanwhile looks again before it sleeps.
        while !pair.ask_once_wanted() {
            pair.answer();
        }
        pair.wakes_daemon();
        pair.answer();
    }
    // Nothing comes, so nothing is done; a worker that polls takes as many turns in a moment.
    let before = turns(&mut pair.daemon);
    pair.daemon.run_threads(Duration::from_millis(200));
    let asleep = turns(&mut pair.daemon) - before;
    assert!(asleep < 2000, "{asleep} turns in its sleep");
    pair.daemon.configure("set interface rx-mode memif1/0 polling");
    let before = turns(&mut pair.daemon);
    until(&mut pair.daemon, "a poll", |daemon| turns(daemon) - before > 2000);
    pair.finish();
}

#[test]
fn nobody_is_woken_who_polls() {
    let mut pair = Pair::new("polling");
    for _ in 0..50 {
        assert!(!pair.ask(), "it polls");
        pair.answer();
    }
    assert_eq!(pair.woken(), 0, "we poll");
    // The same worker, when the slave sleeps.
    pair.rx.ring().set_interrupt(true);
    for _ in 0..50 {
        assert!(!pair.ask(), "it polls");
        pair.answer();
    }
    let Pair { daemon, link, .. } = &mut pair;
    let is_readable = || {
        use rustix::event::{PollFd, PollFlags, Timespec};
        let mut poll = [PollFd::new(&*link.receive[0].interrupt, PollFlags::IN)];
        rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
    };
    // It wakes after it has published.
    until(daemon, "a call", |_| is_readable());
    assert!((1..=50).contains(&pair.woken()), "once for what goes together");
    pair.finish();
}
