//! An inspector inside of the test, and a router whose packets it has.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use quiver_memif_protocol::Region;
use quiver_scenarios::{ROOMS, two_networks};
use quiver_snort::Verdict;
use quiver_snort::clients::{answer, connect, disconnect};
use quiver_snort::layout::{COOKIE, descriptor, header};
use quiver_snort::message::REQUEST;
use quiver_testkit::daemon::{Daemon, Setup};

/// A router between pg0 and pg1, whose packets an instance `ids` with 16 slots inspects: those that pg0 receives and sends, unless
/// `attached` says otherwise.
pub fn router(more: &str, attached: &str) -> Daemon {
    let setup = Setup { workers: 1, buffers: 4096, ..Setup::default() };
    let mut daemon = Daemon::new(ROOMS, setup).expect("the rooms fit");
    daemon.configure(two_networks::ROUTER);
    daemon.configure(&format!("snort create-instance name ids queue-size 16 {more}\n{attached}"));
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    daemon.sent();
    daemon
}

/// Attaches instance `ids` to pg0 in both directions.
pub const BOTH: &str = "snort attach instance ids interface pg0 inout";

/// A datagram from the host behind pg0 to that behind pg1, or back, and the interface that receives it.
pub fn datagram(ip6: bool, back: bool, port: u16, payload: &str) -> (&'static str, Vec<u8>) {
    let packet = two_networks::datagram(ip6, back, port.into(), payload);
    (if back { "pg1" } else { "pg0" }, packet)
}

/// Sends datagrams from pg0, one of each port.
pub fn send(daemon: &mut Daemon, ports: impl IntoIterator<Item = u16>) {
    for port in ports {
        let (interface, packet) = datagram(false, false, port, "payload 8");
        daemon.send(interface, &packet).expect("it is up");
    }
    daemon.settle().expect("it settles");
}

/// A request with a content.
pub fn request(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend(body);
    bytes.resize(REQUEST, 0);
    bytes
}

/// Asks as a client; the error of the reply, its content and its files.
pub fn ask(daemon: &mut Daemon, client: u32, bytes: Vec<u8>) -> (u8, Vec<u8>, Vec<OwnedFd>) {
    let control = daemon.control().clone();
    let answer = daemon.run_task(async move { answer(&control, client, &bytes).await });
    (answer.bytes[1], answer.bytes[8..].to_vec(), answer.files)
}

/// A packet that the inspector has, and its descriptor.
#[derive(Debug)]
pub struct Offered {
    pub number: u16,
    pub bytes: Vec<u8>,
    pub flags: u32,
    pub interface: u32,
}

/// The inspector.
pub struct Inspector {
    pub client: u32,
    pub region: Region,
    pub header: usize,
    rings: [usize; 2],
    queue: usize,
    read: u64,
    _files: Vec<OwnedFd>,
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(*bytes[at..].first_chunk().expect("two bytes"))
}
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(*bytes[at..].first_chunk().expect("four bytes"))
}

impl Inspector {
    /// Attaches to the first queue pair of instance `ids`.
    pub fn new(daemon: &mut Daemon) -> Inspector {
        let client = connect(daemon.control()).expect("there is room");
        let (error, body, _) = ask(daemon, client, request(1, &[0, 0, 0, 3, 1, 0, 0, 0, 2, 0, 0, 0]));
        assert_eq!((error, short(&body, 0)), (0, 1), "one memory");
        let (error, body, files) = ask(daemon, client, request(3, b"ids"));
        assert_eq!((error, files.len(), short(&body, 16)), (0, 1, 1));
        let size = u64::from_ne_bytes(*body[8..].first_chunk().expect("eight bytes"));
        let region = Region::map(files[0].as_fd(), size).expect("it can be mapped");
        let (error, body, files) = ask(daemon, client, request(4, &[body[0], body[1], 0, 0]));
        assert_eq!((error, files.len(), body[8]), (0, 2, 4));
        let [header, offered, judged] = [12, 16, 20].map(|at| word(&body, at) as usize);
        let inspector =
            Inspector { client, region, header, rings: [offered, judged], queue: 16, read: 0, _files: files };
        assert_eq!(inspector.load(header::COOKIE), COOKIE);
        inspector
    }
    pub fn load(&self, at: usize) -> u64 {
        self.region.word(self.header + at).expect("inside").load(std::sync::atomic::Ordering::Acquire)
    }
    pub fn store(&self, at: usize, value: u64) {
        self.region.word(self.header + at).expect("inside").store(value, std::sync::atomic::Ordering::Release);
    }
    /// Packets that were offered since the last call.
    pub fn offered(&mut self) -> Vec<Offered> {
        let (head, view) = (self.load(header::OFFERED), self.region.view());
        let mut all = vec![];
        while self.read != head {
            let mut number = [0; 2];
            assert!(view.read(self.rings[0] + self.read as usize % self.queue * 2, &mut number));
            let number = u16::from_ne_bytes(number);
            let mut described = [0; descriptor::BYTES];
            assert!(view.read(self.descriptor(number), &mut described));
            let mut bytes = vec![0; short(&described, 4).into()];
            assert!(view.read(word(&described, 0) as usize, &mut bytes));
            all.push(Offered { number, bytes, flags: word(&described, 8), interface: word(&described, 16) });
            self.read += 1;
        }
        all
    }
    fn descriptor(&self, number: u16) -> usize {
        self.header + header::BYTES + usize::from(number) * descriptor::BYTES
    }
    /// Where the bytes of an offered packet lie.
    pub fn place(&self, number: u16) -> usize {
        let mut offset = [0; 4];
        assert!(self.region.view().read(self.descriptor(number), &mut offset));
        u32::from_ne_bytes(offset) as usize
    }
    /// Gives a verdict by its number.
    pub fn judge_as(&self, number: u16, verdict: u32) {
        let (head, view) = (self.load(header::JUDGED), self.region.view());
        // Numbers that no descriptor has are given as well.
        let _ = view.write(self.descriptor(number) + descriptor::METADATA, &verdict.to_ne_bytes());
        assert!(view.write(self.rings[1] + head as usize % self.queue * 2, &number.to_ne_bytes()));
        self.store(header::JUDGED, head.wrapping_add(1));
    }
    pub fn judge(&self, offered: &Offered, verdict: Verdict) {
        self.judge_as(offered.number, verdict as u32);
    }
    /// Dies.
    pub fn die(self, daemon: &mut Daemon) {
        disconnect(daemon.control(), self.client);
        daemon.settle().expect("it settles");
    }
}

/// A field of the queue pair in `show snort instances`.
pub fn shown(daemon: &mut Daemon, part: &str, name: &str) -> u64 {
    let json = daemon.run("show snort instances").expect("it is a command").json;
    json[0]["queue-pairs"][0][part][name].as_u64().unwrap_or_else(|| panic!("{part} {name}: {json}"))
}

/// Packets that a node dropped for a reason.
pub fn drops(daemon: &Daemon, node: &str, reason: &str) -> u64 {
    daemon.drops().iter().find(|((at, why), _)| (*at, *why) == (node, reason)).map_or(0, |(_, count)| *count)
}
