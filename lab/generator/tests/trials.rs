//! A generator as a process, and its counts with a device of known faults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quiver_control::protocol::Response;
use quiver_generator::{Counts, Error, Generator, Link, Makes, Sending, Setup, Streams, Watch, cores, daemon};
use quiver_memif_client::{Client, InterfaceId, Packets, RxQueue, Settings, TxQueue};
use quiver_stop::Stop;
use tempfile::TempDir;

/// Fewer than a ring has places, so that only planned losses occur, however long a thread has to wait for its core.
const PACKETS: u64 = 900;
const PACED: Sending = Sending::Paced { rate: 10_000, packets: PACKETS };
const SETTLE: Duration = Duration::from_secs(2);

/// The packets of the smallest case.
fn streams() -> Streams {
    let suite = "suites: [{function: l2xc, driver: memif, frame: 64, search: mrr}]";
    let cases = quiver_suite::read([("test.yaml", suite)]).expect("a suite");
    Streams::of(&cases[0])
}

fn setup(folder: &Path, links: [Link; 2]) -> Setup<'static> {
    let program = daemon::built("quiverd").expect("quiverd");
    let core = *cores::allowed().last().expect("a core");
    Setup {
        program,
        folder: folder.to_owned(),
        core,
        control: vec![],
        namespace: None,
        makes: Makes::Packets,
        links,
        mtu: 1500,
        stop: Stop::default(),
    }
}

/// Both links in one.
fn looped(folder: &Path) -> [Link; 2] {
    let socket = folder.join("loop");
    [Link::Memif { socket: socket.clone(), id: 0 }, Link::MemifSlave { socket, id: 0 }]
}

/// Links to a device at one socket.
fn open(folder: &Path) -> [Link; 2] {
    let socket = folder.join("memif");
    [Link::Memif { socket: socket.clone(), id: 0 }, Link::Memif { socket, id: 1 }]
}

#[test]
fn nothing_is_lost_between_two_links_that_are_one() {
    let folder = TempDir::new().unwrap();
    let mut generator = Generator::start(&setup(folder.path(), looped(folder.path()))).unwrap();
    generator.wait_for_links().unwrap();
    let watch = Watch { latency: true, gaps: true };
    for _ in 0..2 {
        let outcome = generator.trial(&streams(), PACED, watch, SETTLE).unwrap();
        for direction in &outcome.directions {
            // Late it may be where others want the core, and then not all is sent; but nothing goes astray.
            let Counts { sent, received, duplicated, reordered } = direction.counts;
            assert_eq!((received, duplicated, reordered), (sent, 0, 0), "{outcome:?}");
            let latency = direction.latency.as_ref().expect("latency is told");
            assert_eq!(latency["packets"].as_u64(), Some(sent), "{latency}");
            assert_eq!(direction.gaps.as_ref().expect("gaps are told")["gaps"].as_u64(), Some(sent - 1));
        }
        assert_eq!((outcome.intended, outcome.drops.len()), (Some(2 * PACKETS), 0), "{outcome:?}");
        assert_eq!(outcome.unsent(), 2 * PACKETS - outcome.counts().sent);
    }
    // A window is a loop that is closed, and says how fast it turns.
    let window = Sending::Window { packets: 64, time: Duration::from_millis(100) };
    let outcome = generator.trial(&streams(), window, Watch::default(), SETTLE).unwrap();
    assert_eq!((outcome.lost(), outcome.intended), (0, None), "{outcome:?}");
    assert!(outcome.within > 0 && outcome.receive_rate() > 0.0, "{outcome:?}");
    assert!(generator.ceiling(&streams(), Watch::default(), Duration::from_millis(100)).unwrap() > 0.0);
}

/// Until its links are up it leaves its core to the threads that configure the device.
#[test]
fn the_worker_sleeps_until_the_links_are_up() {
    let folder = TempDir::new().unwrap();
    let mut generator = Generator::start(&setup(folder.path(), open(folder.path()))).unwrap();
    let socket = folder.path().join("cli");
    // Commands reach the worker as letters, so a turn or two may come behind the last one.
    let begun = Instant::now();
    let (mut last, mut same) = (turns(&socket), 0);
    while same < 5 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{last} turns and no rest");
        std::thread::sleep(Duration::from_millis(50));
        let now = turns(&socket);
        (last, same) = (now, if now == last { same + 1 } else { 0 });
    }
    let faulty = Faulty::start(folder.path().join("memif"));
    faulty.wait_until_ready();
    generator.wait_for_links().unwrap();
    let asleep = turns(&socket);
    let begun = Instant::now();
    while turns(&socket) < asleep + 1000 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not poll");
    }
    assert!(generator.configuration().contains("set interface rx-mode pg0 polling"), "{}", generator.configuration());
}

/// Turns of a quiverd's worker since its start.
fn turns(socket: &Path) -> u64 {
    let line = "show statistics segment /quiver/workers/";
    let answer = quiver_daemon::ask(socket, line, Stop::default().wait(Duration::from_secs(20))).unwrap();
    let Response::Done(answer) = answer else { panic!("{answer:?}") };
    let rows = answer.json["entries"]["/quiver/workers/turns"]["value"].clone();
    let cells = rows.as_object().into_iter().flat_map(|rows| rows.values()).filter_map(|row| row.as_array()).flatten();
    cells.filter_map(|cell| cell.as_u64()).sum()
}

/// A device that loses, doubles and swaps packets by their number.
struct Faulty {
    stop: Arc<AtomicBool>,
    is_ready: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Faulty {
    fn start(socket: PathBuf) -> Faulty {
        let (stop, is_ready) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (told, ready) = (stop.clone(), is_ready.clone());
        let thread = std::thread::spawn(move || {
            let mut client = Client::new().expect("a client");
            let address = || socket.display().to_string().parse().expect("an address");
            let ports = [0, 1].map(|id| client.open(Settings::slave(address(), id)).expect("a port"));
            while !ports.iter().all(|port| client.is_connected(*port)) {
                client.wait(Some(Duration::from_millis(10))).expect("events");
            }
            let [(mut rx0, mut tx0), (mut rx1, mut tx1)] = ports.map(|port| queues(&mut client, port));
            let mut lines = [Line::default(), Line::default()];
            while !told.load(Ordering::Relaxed) {
                lines[0].forward(&mut rx0, &mut tx1);
                lines[1].forward(&mut rx1, &mut tx0);
                ready.store(true, Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        Faulty { stop, is_ready, thread: Some(thread) }
    }

    /// Waits until there is room for packets, which the first look at a ring makes.
    fn wait_until_ready(&self) {
        while !self.is_ready.load(Ordering::Relaxed) {
            assert!(self.thread.as_ref().is_some_and(|thread| !thread.is_finished()), "the device has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

fn queues(client: &mut Client, port: InterfaceId) -> (RxQueue, TxQueue) {
    let (mut rx, mut tx) = client.take_queues(port).expect("queues");
    (rx.pop().expect("a queue"), tx.pop().expect("a queue"))
}

/// One direction of the device.
#[derive(Default)]
struct Line {
    number: u64,
    held: Option<Vec<u8>>,
}

impl Line {
    /// Of each 100 packets, loses the 10th and the 20th, sends the 30th twice, and the 41st before the 40th.
    fn forward(&mut self, rx: &mut RxQueue, tx: &mut TxQueue) {
        let mut packets = Packets::new();
        rx.receive(&mut packets, 64).expect("packets");
        for packet in packets.iter() {
            match self.number % 100 {
                10 | 20 => {}
                30 => send(tx, &[packet, packet]),
                40 => self.held = Some(packet.to_vec()),
                41 => send(tx, &[packet, &self.held.take().expect("the one before")]),
                _ => send(tx, &[packet]),
            }
            self.number += 1;
        }
    }
}

fn send(tx: &mut TxQueue, packets: &[&[u8]]) {
    let mut sent = 0;
    let begun = Instant::now();
    while sent < packets.len() {
        sent += tx.send(packets[sent..].iter().copied()).expect("a connection");
        assert!(begun.elapsed() < Duration::from_secs(20), "the generator takes nothing");
    }
}

#[test]
fn planted_faults_are_counted_exactly() {
    let folder = TempDir::new().unwrap();
    let mut generator = Generator::start(&setup(folder.path(), open(folder.path()))).unwrap();
    let device = Faulty::start(folder.path().join("memif"));
    generator.wait_for_links().unwrap();
    device.wait_until_ready();
    let outcome = generator.trial(&streams(), PACED, Watch::default(), SETTLE).unwrap();
    for direction in &outcome.directions {
        // Where the core was wanted by others, fewer were sent: the faults are of those.
        let Counts { sent, received, duplicated, reordered } = direction.counts;
        let faults = |of: &[u64]| (0..sent).filter(|number| of.contains(&(number % 100))).count() as u64;
        assert!(sent > 0, "{outcome:?}");
        let (lost, doubled, late) = (faults(&[10, 20]), faults(&[30]), faults(&[41]));
        // The 40th waits for the 41st, which may not have been sent.
        let held = u64::from(sent % 100 == 41);
        assert_eq!((received, duplicated, reordered), (sent - lost - held, doubled, late), "{outcome:?}");
    }
    assert!(outcome.drops.is_empty(), "{outcome:?}");
    drop(device);
}

#[test]
fn who_is_gone_is_named() {
    let folder = TempDir::new().unwrap();
    let mut generator = Generator::start(&setup(folder.path(), looped(folder.path()))).unwrap();
    let process = nix::unistd::Pid::from_raw(generator.id() as i32);
    nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL).unwrap();
    let begun = Instant::now();
    let error = loop {
        match generator.drops() {
            Err(error @ Error::Ended { .. }) => break error,
            other => assert!(begun.elapsed() < Duration::from_secs(20), "{other:?}"),
        }
    };
    assert!(error.to_string().starts_with("generator has ended (signal: 9 (SIGKILL)"), "{error}");

    let nowhere = Setup { program: "/nowhere/quiverd".into(), ..setup(folder.path(), looped(folder.path())) };
    let error = Generator::start(&nowhere).err().expect("there is no program");
    assert!(error.to_string().starts_with("/nowhere/quiverd: cannot be started"), "{error}");
}

#[test]
fn links_that_stay_down_and_packets_that_cannot_be_are_told() {
    let folder = TempDir::new().unwrap();
    let mut generator = Generator::start(&setup(folder.path(), looped(folder.path()))).unwrap();
    generator.wait_for_links().unwrap();
    let mut streams = streams();
    streams.directions[0] = "size 20".into();
    let error = generator.trial(&streams, PACED, Watch::default(), SETTLE).unwrap_err();
    assert!(matches!(&error, Error::Refused { name, .. } if name == "generator"), "{error}");
    let taken =
        Generator::start(&Setup { links: open(Path::new("/nowhere")), ..setup(folder.path(), open(folder.path())) });
    let error = taken.err().expect("the socket cannot be made");
    assert!(error.to_string().contains("/nowhere/memif"), "{error}");
}
