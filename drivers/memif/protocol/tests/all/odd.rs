//! Eights in which some descriptors are odd: they are dealt with as if they had come one by one.

use std::sync::Arc;

use crate::groups::{Packet, Sending, Taking};
use fastrand::Rng;
use quiver_memif_protocol::link::ring_bytes;
use quiver_memif_protocol::receiver::Whole;
use quiver_memif_protocol::region::LINE;
use quiver_memif_protocol::ring::Descriptor;
use quiver_memif_protocol::transmitter::Lines;
use quiver_memif_protocol::{Places, Receiver, Region, Regions, Ring, Store, Transmitter};

const LOG2: u8 = 6;
const SIZE: u16 = 1 << LOG2;
/// Bytes of a region: whole pages, behind which nothing can be read.
const BYTES: usize = 49 * 4096;
/// Where buffers begin, behind the ring.
const FIRST: usize = 4096;

/// A ring whose descriptors may refer to two regions, filled with what they had at first.
fn ring(random: &mut Rng) -> (Ring, Arc<Regions>) {
    let regions = Arc::new(Regions::new((0..2).map(|_| Region::create("odd", BYTES).expect("memory").0).collect()));
    let bytes: Vec<u8> = (0..BYTES).map(|_| random.u8(..)).collect();
    (0..2).for_each(|number| assert!(regions.get(number).expect("there").write(0, &bytes)));
    let ring = Ring::at(&regions, 0, 0, LOG2).expect("it fits");
    ring.initialise();
    (ring, regions)
}
/// A descriptor of an own stretch of the memory, or, one time in so many, one that something is odd about.
fn descriptor(random: &mut Rng, index: u16, odd: u32, length: u32) -> Descriptor {
    let offset = (FIRST + usize::from(index % SIZE) * 2048) as u32;
    let ordinary = Descriptor { has_next: false, region: 0, length, offset };
    if random.u32(..odd) > 0 {
        return ordinary;
    }
    let end = BYTES as u32;
    match random.u8(..8) {
        0 => Descriptor { has_next: true, ..ordinary },
        1 => Descriptor { region: 1, ..ordinary },
        2 => Descriptor { region: random.u16(2..), ..ordinary },
        3 => Descriptor { length: 0, ..ordinary },
        4 => Descriptor { length: random.u32(end..), ..ordinary },
        5 => Descriptor { offset: random.u32(end..), ..ordinary },
        // About the region's end: sometimes inside, sometimes not all of it.
        6 => Descriptor { offset: end - random.u32(..200), ..ordinary },
        _ => Descriptor { offset: offset + 1, ..ordinary },
    }
}

/// Takes what comes until nothing does, by eights and one by one, and compares.
fn take_both_ways(rx: &mut Receiver, (eights, packets): (&mut usize, &mut usize)) {
    while rx.waiting().expect("honest") > 0 {
        let mut single: Vec<Packet> = vec![];
        let taken = rx.receive_whole(64, |packet: Whole<'_>| {
            let mut lines = vec![[0xff; LINE]; packet.length.div_ceil(LINE)];
            let came = packet.read_lines(&mut lines);
            single.push((lines, packet.length));
            came
        });
        rx.release_first(0);
        let mut taking = Taking::default();
        assert_eq!(rx.receive_whole(64, &mut taking), taken);
        assert!(taking.packets == single, "{:?}", taken);
        (*eights, *packets) = (*eights + taking.groups, *packets + single.len());
        rx.release();
        // The one at the front is none that could be taken so, or the ring begins anew there.
        if taken.expect("honest").packets == 0 {
            rx.receive(1).expect("honest");
            rx.release();
        }
    }
}

#[test]
fn odd_packets_among_others_are_received_as_if_one_by_one() {
    let mut random = Rng::with_seed(1);
    let (mut eights, mut packets) = (0, 0);
    for role in 0..2 {
        let (ring, _regions) = ring(&mut random);
        let mut rx = match role {
            0 => Receiver::master(ring.clone()),
            _ => {
                let places = Places::of(&ring, 0, 2048, |slot| FIRST as u32 + 2048 * u32::from(slot));
                Receiver::slave(ring.clone(), places)
            }
        };
        rx.start();
        let mut next = 0u16;
        for _ in 0..3000 {
            let (count, odd) = (random.u16(..=SIZE), [4, 40, u32::MAX][random.usize(..3)]);
            let length = [64, 200, 2048][random.usize(..3)];
            for _ in 0..count {
                let length = random.u32(1..=length);
                ring.set_descriptor(next, descriptor(&mut random, next, odd, length));
                next = next.wrapping_add(1);
            }
            if role == 0 {
                ring.set_head(next)
            } else {
                ring.set_tail(next)
            }
            take_both_ways(&mut rx, (&mut eights, &mut packets));
        }
    }
    assert!(eights > 5000 && packets > 8 * eights + 20_000, "{eights} {packets}");
}

#[test]
fn odd_buffers_among_others_are_filled_as_if_one_by_one() {
    let mut random = Rng::with_seed(2);
    let (mut eights, mut sent) = (0, 0);
    for round in 0..600 {
        let seed = random.u64(..);
        let store = Store::ALL[round % 3];
        let count = random.usize(1..=SIZE.into());
        let longest = [64, 300, 2048][random.usize(..3)];
        let packets: Vec<Packet> = (0..count)
            .map(|_| {
                let length = random.usize(1..=longest);
                let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
                bytes.resize(length.next_multiple_of(LINE), 0);
                (bytes.as_chunks().0.to_vec(), length)
            })
            .collect();
        let mut outcome = |by_eights: bool| {
            let mut random = Rng::with_seed(seed);
            let (ring, regions) = ring(&mut random);
            let mut tx = Transmitter::master(ring.clone());
            tx.set_store(store);
            // So that it begins anywhere.
            let before = random.u16(..SIZE);
            ring.set_head(before);
            (0..before).for_each(|index| ring.set_descriptor(index, descriptor(&mut random, index, u32::MAX, 2048)));
            tx.begin().expect("honest");
            for _ in 0..before {
                tx.send(1, std::iter::once(&[7][..])).expect("there is room");
            }
            let odd = [6, 60, u32::MAX][random.usize(..3)];
            for index in before..before + SIZE {
                ring.set_descriptor(index, descriptor(&mut random, index, odd, 2048));
            }
            tx.publish();
            ring.set_head(before + SIZE);
            let (mut groups, mut refused) = (0, vec![]);
            let done = if by_eights {
                let sending = Sending { packets: &packets, groups: &mut groups };
                tx.send_all(sending, |packet| refused.push(packet.length))
            } else {
                let lines = packets.iter().map(|(lines, length)| Lines { lines, length: *length });
                tx.send_all(lines, |packet| refused.push(packet.length))
            };
            tx.publish();
            eights += groups;
            sent += done.map_or(0, |(done, _)| done);
            let bytes = [0, 1].map(|number| {
                let mut bytes = vec![0; BYTES];
                assert!(regions.get(number).expect("there").read(0, &mut bytes));
                bytes
            });
            (done, refused, bytes)
        };
        let (single, grouped) = (outcome(false), outcome(true));
        assert_eq!((&single.0, &single.1), (&grouped.0, &grouped.1), "round {round}");
        if single.0.is_ok() {
            let differ =
                (0..2).find_map(|region| (0..BYTES).find(|at| single.2[region][*at] != grouped.2[region][*at]));
            assert_eq!(differ, None, "round {round}: {store:?}");
        }
    }
    assert!(eights > 500 && sent > 10 * eights, "{eights} {sent}");
    // What is there begins behind the ring.
    assert!(ring_bytes(LOG2) <= FIRST);
}
