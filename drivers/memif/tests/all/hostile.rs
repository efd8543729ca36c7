//! Slaves that break the rules: the daemon disconnects them, lives on, and takes the next one.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::site::{cross_connect, daemon_of, state};
use quiver_memif_protocol::layout::SlaveMemory;
use quiver_memif_protocol::link::{Offer, RingOffer};
use quiver_memif_protocol::ring::Descriptor;
use quiver_memif_protocol::slave::Step;
use quiver_memif_protocol::{Channel, Interrupt, Mode, Refusal, Request, Secret, Slave};
use quiver_testkit::daemon::{Daemon, Setup};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl};
use tempfile::TempDir;

/// A master, and the folder of its socket.
fn master() -> (Daemon, TempDir, String) {
    master_with(4096)
}
/// A master with so many buffers.
fn master_with(buffers: u32) -> (Daemon, TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let filename = folder.path().join("memif.sock").display().to_string();
    let mut master = daemon_of(Setup { buffers, ..Setup::default() });
    master.configure(&format!("create memif socket id 1 filename {filename}"));
    master.configure("create interface memif id 0 socket-id 1 master");
    cross_connect(&mut master);
    (master, folder, filename)
}

/// Connects as a slave that offers what it likes. Returns the channel when the master has said CONNECTED.
fn connect(
    master: &mut Daemon,
    filename: &str,
    offer: impl Fn(&SlaveMemory) -> Offer<Arc<OwnedFd>>,
) -> Result<(Channel, SlaveMemory), Refusal> {
    let address = filename.parse().expect("a path");
    let channel = Channel::connect(&address).expect("no error").expect("the daemon listens");
    let mut slave = Slave::<Arc<OwnedFd>>::new(Request {
        id: 0,
        mode: Mode::Ethernet,
        secret: Secret::NONE,
        name: "hostile".into(),
        interface: "hostile0".into(),
        s2m_rings: 1,
        m2s_rings: 1,
        log2_ring_size: 6,
    });
    let mut memory = None;
    for _ in 0..500 {
        master.advance(Duration::from_millis(1)).expect("it settles");
        while let Some((message, _)) = channel.receive().expect("the daemon talks") {
            let mut step = slave.received(&message)?;
            if let Step::Make(agreed) = step {
                let made = SlaveMemory::make(&agreed, Some(2048), Mode::Ethernet, vec![]).expect("memory");
                step = slave.offer(&offer(&made));
                memory = Some(made);
            }
            match step {
                Step::Send(answer, file) => {
                    channel.send(&answer, file.as_ref().map(|file| file.as_fd())).expect("sent");
                }
                Step::Connected(_) => return Ok((channel, memory.expect("made"))),
                _ => {}
            }
        }
    }
    panic!("the daemon says nothing: {}", state(master));
}

/// The daemon has disconnected its slave, and takes an honest one.
fn ends_and_takes_another(mut master: Daemon, filename: &str, why: &str) {
    master.send("pg0", &[7; 60]).expect("pg0 is there");
    master.advance(Duration::from_millis(100)).expect("it settles");
    assert_eq!(state(&mut master), format!("waiting: {why}"));
    let (_channel, _memory) = connect(&mut master, filename, |made| made.offer.clone()).expect("let in");
    assert_eq!(state(&mut master), "connected");
    master.finish().expect("nothing has leaked");
}

#[test]
fn an_index_out_of_reach_ends_the_connection() {
    let (mut master, _folder, filename) = master();
    let (_channel, memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
    memory.link.transmit[0].ring.set_head(65);
    ends_and_takes_another(master, &filename, "the rings are broken");
}

#[test]
fn a_buffer_that_lies_nowhere_ends_the_connection() {
    let (mut master, _folder, filename) = master();
    let (_channel, memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
    let descriptor = Descriptor { length: 2048, offset: u32::MAX, ..Default::default() };
    memory.link.receive[0].ring.set_descriptor(0, descriptor);
    memory.link.receive[0].ring.set_head(1);
    ends_and_takes_another(master, &filename, "the rings are broken");
}

#[test]
fn packets_that_lie_nowhere_are_dropped_by_name() {
    let (mut master, _folder, filename) = master();
    let (_channel, memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
    let ring = &memory.link.transmit[0].ring;
    let descriptor = |has_next, region, length, offset| Descriptor { has_next, region, length, offset };
    // Outside, in no region, of no bytes, of too many, and one that never ends.
    let wrong = [
        descriptor(false, 0, 60, u32::MAX),
        descriptor(false, 9, 60, 0),
        descriptor(false, 0, 0, 0),
        descriptor(false, 0, u32::MAX, 0),
        descriptor(true, 0, 60, 0),
    ];
    for (index, descriptor) in (0..).zip(wrong) {
        ring.set_descriptor(index, descriptor);
    }
    ring.set_head(5);
    master.advance(Duration::from_millis(1)).expect("it settles");
    assert_eq!(master.drops().get(&("memif-input", "truncated")), Some(&5));
    assert_eq!((state(&mut master).as_str(), ring.tail()), ("connected", 5));
    drop(memory);
    master.finish().expect("nothing has leaked");
}

#[test]
fn packets_that_find_no_buffer_are_dropped_by_name() {
    let (mut master, _folder, filename) = master_with(48);
    let (_channel, memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
    let ring = &memory.link.transmit[0].ring;
    // Two packets of 64 KB, each some thirty of the daemon's buffers.
    for index in 0..64 {
        let offset = memory.layout.buffer_offset(true, 0, index);
        let has_next = index % 32 != 31;
        let descriptor = Descriptor { has_next, region: 0, length: 2048, offset };
        ring.set_descriptor(index, descriptor);
    }
    ring.set_head(64);
    master.advance(Duration::from_millis(1)).expect("it settles");
    assert_eq!(master.drops().get(&("memif-input", "no-buffer")), Some(&1));
    assert_eq!((state(&mut master).as_str(), ring.tail()), ("connected", 64));
    drop(memory);
    master.finish().expect("nothing has leaked");
}

#[test]
fn memory_that_is_truncated_ends_the_connection_and_not_us() {
    let (mut master, _folder, filename) = master();
    let file = rustix::fs::memfd_create("hostile", MemfdFlags::CLOEXEC).expect("memory");
    rustix::fs::ftruncate(&file, 1 << 20).expect("its size");
    // A ring's cookie, by hand: the memory is not ours to initialise otherwise.
    rustix::io::pwrite(&file, &0x03E3_1F20u32.to_le_bytes(), 0).expect("written");
    let file = Arc::new(file);
    let offered = file.clone();
    let (_channel, _memory) = connect(&mut master, &filename, move |_| {
        let interrupt = Interrupt::make().expect("an eventfd");
        let ring = RingOffer { region: 0, offset: 0, log2_size: 6, interrupt };
        Offer { regions: vec![(offered.clone(), 1 << 20)], s2m: vec![ring], m2s: vec![] }
    })
    .expect("let in");
    rustix::io::pwrite(&*file, &1u16.to_le_bytes(), 6).expect("written: a packet waits");
    rustix::fs::ftruncate(&*file, 0).expect("nothing forbids it");
    master.advance(Duration::from_millis(100)).expect("it settles, and lives");
    assert_eq!(state(&mut master), "waiting: the rings are broken");
    master.finish().expect("nothing has leaked");
}

#[test]
fn a_file_that_is_no_memory_is_refused() {
    let (mut master, _folder, filename) = master();
    let refused = connect(&mut master, &filename, |made| {
        let file: OwnedFd = std::fs::File::open("/proc/self/status").expect("it can be read").into();
        let mut offer = made.offer.clone();
        offer.regions[0].0 = Arc::new(file);
        offer
    });
    assert!(matches!(refused, Err(Refusal::ByPeer(_))), "{:?}", refused.err());
    let state_then = state(&mut master);
    assert!(state_then.starts_with("waiting: region 0: it is no memory"), "{state_then}");
    let (_channel, _memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
    assert_eq!(state(&mut master), "connected");
    master.finish().expect("nothing has leaked");
}

/// Limit of the time that a hostile peer may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn eventfds_that_the_slave_has_filled_or_emptied_stop_no_worker() {
    let (done, is_done) = channel();
    // Given up if it waits.
    let thread = std::thread::spawn(move || {
        let (mut master, _folder, filename) = master();
        let (_channel, memory) = connect(&mut master, &filename, |made| made.offer.clone()).expect("let in");
        let (to_us, from_us) = (&memory.link.receive[0], &memory.link.transmit[0]);
        for queue in [to_us, from_us] {
            let flags = fcntl_getfl(&*queue.interrupt).expect("flags");
            fcntl_setfl(&*queue.interrupt, flags - OFlags::NONBLOCK).expect("a write or read would wait now");
        }
        let mut rx = memory.link.receivers(Some(&memory.layout)).remove(0);
        rx.start();
        rx.ring().set_interrupt(true);
        rustix::io::write(&*to_us.interrupt, &(u64::MAX - 1).to_ne_bytes()).expect("filled");
        master.send("pg0", &[7; 60]).expect("pg0 is there");
        master.advance(Duration::from_millis(1)).expect("it settles, and waits for nobody");
        assert_eq!(rx.receive(8).map(<[_]>::len), Ok(1), "the packet is there");
        // What a worker does before it sleeps, and when it wakes up: with a counter that is empty, and with a full one.
        for round in 0..2 {
            let _ = master.workers()[0].fds();
            assert!(from_us.ring.is_interrupt_wanted(), "it would sleep");
            from_us.ring.set_descriptor(round, Descriptor { length: 60, ..Descriptor::default() });
            from_us.ring.set_head(round + 1);
            rustix::io::write(&*from_us.interrupt, &(u64::MAX - 1).to_ne_bytes()).expect("filled");
            if round == 0 {
                let _ = master.workers()[0].fds();
                Interrupt::clear(&*from_us.interrupt);
            }
            master.advance(Duration::from_millis(1)).expect("it settles, and waits for nobody");
            assert_eq!((from_us.ring.tail(), from_us.ring.is_interrupt_wanted()), (round + 1, false));
        }
        done.send(()).expect("somebody waits");
    });
    match is_done.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => panic!("the daemon waits for its peer"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

#[test]
fn a_file_that_is_no_eventfd_is_refused() {
    let (mut master, _folder, filename) = master();
    let refused = connect(&mut master, &filename, |made| {
        let file: OwnedFd = std::fs::File::open("/dev/null").expect("it is there").into();
        let mut offer = made.offer.clone();
        offer.s2m[0].interrupt = Arc::new(file);
        offer
    });
    let why = "a ring's file is no eventfd";
    assert_eq!(refused.err(), Some(Refusal::ByPeer(why.into())));
    assert_eq!(state(&mut master), format!("waiting: {why}"));
}
