//! Every interleaving of both ends of a ring, under loom's memory model:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p quiver-memif-protocol --test loom`
//!
//! Loom watches the words of descriptors, so they alone carry the data: packet i has i bytes. An end that saw an index
//! before the descriptors in front of it, or gave one back before it had read it, would see another length.
#![cfg(loom)]

use std::sync::{Arc, OnceLock};

use loom::thread;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{Places, Receiver, Region, Regions, Ring, Transmitter};

/// Descriptors in the ring, as a power of two, and packets that go through it: the indices go round.
const LOG2: u8 = 1;
const PACKETS: u32 = 3;

/// A ring with bytes that are not read.
fn ring() -> Ring {
    static REGIONS: OnceLock<Arc<Regions>> = OnceLock::new();
    let regions = REGIONS.get_or_init(|| {
        let (region, _) = Region::create("loom", 4096).expect("memory");
        Arc::new(Regions::new(vec![region]))
    });
    let ring = Ring::at(regions, 0, 0, LOG2).expect("it fits");
    ring.initialise();
    ring
}

/// Takes all packets, which come whole and in order.
fn take(mut receiver: Receiver, mut next: u32) {
    while next <= PACKETS {
        let burst = receiver.receive(4).expect("an honest peer");
        if burst.is_empty() {
            thread::yield_now();
            continue;
        }
        for fragment in burst {
            assert!(fragment.is_valid && !fragment.has_next);
            assert_eq!(fragment.place.length, next);
            next += 1;
        }
        receiver.release();
    }
}

/// Sends all packets, one at a time.
fn send(mut transmitter: Transmitter) {
    for length in 1..=PACKETS {
        while transmitter.begin().expect("an honest peer") == 0 {
            thread::yield_now();
        }
        assert_eq!(transmitter.send(length as usize, std::iter::once(&[0; 8][..length as usize])), Ok(Sent::Yes));
        transmitter.publish();
    }
}

/// Every order with up to three preemptions.
fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

#[test]
fn what_a_slave_sends_arrives_whole_and_in_order() {
    model(|| {
        let ring = ring();
        let places = Places::of(&ring, 0, 64, |slot| u32::from(slot) * 64);
        let (slave, master) = (Transmitter::slave(ring.clone(), places), Receiver::master(ring));
        let sender = thread::spawn(move || send(slave));
        take(master, 1);
        sender.join().expect("no panic");
    });
}

#[test]
fn what_a_master_sends_arrives_whole_and_in_order() {
    model(|| {
        let ring = ring();
        let places = Places::of(&ring, 0, 64, |slot| u32::from(slot) * 64);
        let (mut slave, master) = (Receiver::slave(ring.clone(), places), Transmitter::master(ring));
        slave.start();
        let sender = thread::spawn(move || send(master));
        take(slave, 1);
        sender.join().expect("no panic");
    });
}

#[test]
fn who_falls_asleep_has_seen_the_packet_or_is_woken() {
    model(|| {
        let ring = ring();
        ring.set_interrupt(false);
        let places = Places::of(&ring, 0, 64, |_| 0);
        let (mut slave, master) = (Transmitter::slave(ring.clone(), places), Receiver::master(ring));
        let sender = thread::spawn(move || {
            slave.begin().expect("an honest peer");
            assert_eq!(slave.send(1, std::iter::once(&[0][..])), Ok(Sent::Yes));
            slave.publish()
        });
        master.ring().set_interrupt(true);
        let has_seen = master.waiting() == Ok(1);
        let is_woken = sender.join().expect("no panic");
        assert!(has_seen || is_woken, "it sleeps, and nobody wakes it");
    });
}
