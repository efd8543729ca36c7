//! A peer that misuses the eventfds it shares blocks no one.

use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::pair::{Pair, pair};
use quiver_memif_protocol::{Interrupt, Waker};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;

/// Far more than anything here takes; what waits for a hostile peer waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Does it in a thread that is given up if it waits.
fn must_end(what: &str, job: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    std::thread::spawn(move || {
        job();
        let _ = done.send(());
    });
    assert!(is_done.recv_timeout(PATIENCE).is_ok(), "{what} waits for its peer");
}

/// Makes the eventfd block: a writer while it is full, a reader while it is empty.
fn let_wait(interrupt: &OwnedFd) {
    let flags = rustix::fs::fcntl_getfl(interrupt).expect("flags");
    rustix::fs::fcntl_setfl(interrupt, flags - OFlags::NONBLOCK).expect("cleared");
}
fn has_room(interrupt: &OwnedFd) -> bool {
    let mut poll = [PollFd::new(interrupt, PollFlags::OUT)];
    rustix::event::poll(&mut poll, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
}

/// Each end's sender rings, and each end's receiver takes note, while the other end has the files prepared.
#[test]
fn full_and_empty_counters_make_nobody_wait() {
    let Pair { master, slave } = pair(1, 1, 4, 64);
    for (we, peer) in [(&master, &slave), (&slave, &master)] {
        let (ours, theirs) = (we.link.transmit[0].interrupt.clone(), peer.link.receive[0].interrupt.clone());
        rustix::io::write(&theirs, &(u64::MAX - 1).to_ne_bytes()).expect("filled");
        let_wait(&theirs);
        assert!(!has_room(&ours), "both have the same file: a write would wait");
        must_end("a sender", move || {
            let waker = Waker::new();
            // More often than there is room for outcomes.
            (0..1000).for_each(|_| waker.wake(&*ours));
        });
        let (ours, theirs) = (we.link.receive[0].interrupt.clone(), peer.link.transmit[0].interrupt.clone());
        let_wait(&theirs);
        must_end("a receiver", move || {
            Interrupt::clear(&*ours);
            Interrupt::notify(&*ours);
            Interrupt::clear(&*ours);
            Interrupt::clear(&*ours);
        });
    }
}
