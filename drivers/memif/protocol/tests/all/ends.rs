//! Two ends in one process, over real sockets and shared memory.

use crate::groups::{Packet, Sending, Taking};
use crate::pair::{Pair, pair};
use quiver_memif_protocol::link::ring_bytes;
use quiver_memif_protocol::receiver::{Fragment, Taken, Whole, packets};
use quiver_memif_protocol::ring::Descriptor;
use quiver_memif_protocol::transmitter::Sent;
use quiver_memif_protocol::{Broken, Interrupt, Place, Places, Receiver, Store, Transmitter};

/// Sends packets of these lengths and receives them at the other end.
fn pass(tx: &mut Transmitter, rx: &mut Receiver, lengths: &[usize], seed: u8) {
    let bytes = |length: usize| (0..length).map(|i| (i as u8).wrapping_mul(7) ^ seed).collect::<Vec<u8>>();
    tx.begin().expect("honest");
    for length in lengths {
        let packet = bytes(*length);
        let (one, other) = packet.split_at(length / 3);
        assert_eq!(tx.send(*length, [one, other].into_iter()), Ok(Sent::Yes), "{length}");
    }
    tx.publish();
    let mut got = vec![];
    while got.len() < lengths.len() {
        let burst = rx.receive(lengths.len()).expect("honest").to_vec();
        assert!(!burst.is_empty(), "{} of {} packets came", got.len(), lengths.len());
        for packet in packets(&burst) {
            let mut whole = vec![];
            for fragment in packet {
                let mut part = vec![0; fragment.place.length as usize];
                assert!(rx.read(fragment, &mut part));
                whole.extend(part);
            }
            got.push(whole);
        }
    }
    rx.release();
    assert!(got.iter().zip(lengths).all(|(got, length)| *got == bytes(*length)));
}

#[test]
fn packets_of_all_lengths_pass_both_ways_round_and_round() {
    for store in Store::ALL {
        let Pair { mut master, mut slave, .. } = pair(1, 1, 6, 2048);
        master.tx[0].set_store(store);
        slave.tx[0].set_store(store);
        for round in 0..200 {
            let lengths = [1, 14, 60, 64, 65, 1500, 2048, 2049, 9000, 64];
            pass(&mut master.tx[0], &mut slave.rx[0], &lengths, round);
            pass(&mut slave.tx[0], &mut master.rx[0], &lengths, round);
        }
    }
}

/// Packets, sent as long as there is room; how many were dealt with, and the lengths of those that were refused.
/// In whole lines they go by eights, of which some are counted.
fn send_all(tx: &mut Transmitter, packets: &[Packet], eights: Option<&mut usize>) -> (usize, Vec<usize>) {
    let mut refused = vec![];
    tx.begin().expect("honest");
    let (done, lines) = match eights {
        Some(groups) => tx.send_all(Sending { packets, groups }, |packet| refused.push(packet.length)).expect("honest"),
        None => {
            let bytes = packets.iter().map(|(lines, length)| &lines.as_flattened()[..*length]);
            tx.send_all(bytes, |packet| refused.push(packet.len())).expect("honest")
        }
    };
    tx.publish();
    let sent = packets[..done].iter().filter(|(_, length)| !refused.contains(length));
    assert_eq!(lines, sent.map(|(lines, _)| lines.len() as u64).sum(), "lines that were sent");
    (done, refused)
}
/// Receives all waiting packets, by whole lines where possible, and in groups of eight.
fn receive_lines(rx: &mut Receiver, most: usize, eights: &mut usize) -> Vec<Packet> {
    let mut taking = Taking::default();
    let taken = rx.receive_whole(most, &mut taking).expect("honest");
    *eights += taking.groups;
    if taken.packets > 0 {
        assert_eq!(taken.packets, taking.packets.len());
        return taking.packets;
    }
    // At the front is a packet of several buffers, or none.
    let burst = rx.receive(1).expect("honest").to_vec();
    let mut bytes = vec![];
    for fragment in &burst {
        let mut part = vec![0; fragment.place.length as usize];
        assert!(rx.read(fragment, &mut part));
        bytes.extend(part);
    }
    let length = bytes.len();
    bytes.resize(length.next_multiple_of(64), 0);
    if length > 0 { vec![(bytes.as_chunks().0.to_vec(), length)] } else { vec![] }
}

#[test]
fn packets_in_one_piece_pass_among_long_ones() {
    let mut random = fastrand::Rng::with_seed(7);
    let Pair { mut master, mut slave, .. } = pair(1, 1, 5, 2048);
    let (mut full, mut long, mut passed, mut eights) = (0, 0, 0, [0; 2]);
    for round in 0..2000 {
        let (from, to) = if round % 2 == 0 { (&mut master, &mut slave) } else { (&mut slave, &mut master) };
        let (tx, rx) = (&mut from.tx[0], &mut to.rx[0]);
        tx.set_store(Store::ALL[random.usize(..Store::ALL.len())]);
        let count = random.usize(0..40);
        let packets: Vec<_> = (0..count)
            .map(|_| {
                let length = match random.u8(..) {
                    0..8 => random.usize(2049..5000),
                    // More than the whole ring.
                    8 => 70_000,
                    9..100 => random.usize(1..200),
                    _ => 64,
                };
                let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(1..)).collect();
                bytes.resize(length.next_multiple_of(64), 0);
                (bytes.as_chunks().0.to_vec(), length)
            })
            .collect();
        let is_lines = random.bool();
        let (done, refused) = send_all(tx, &packets, is_lines.then_some(&mut eights[0]));
        let sent: Vec<_> = packets[..done].iter().filter(|(_, length)| *length < 70_000).collect();
        assert_eq!(refused.len(), done - sent.len());
        let mut got = vec![];
        loop {
            let some = receive_lines(rx, random.usize(1..40), &mut eights[1]);
            if some.is_empty() {
                break;
            }
            got.extend(some.clone());
            if random.u8(..) < 16 {
                // The last ones are not dealt with, and come again.
                let again = random.usize(0..=some.len());
                if some[0].1 <= 2048 {
                    rx.release_first(some.len() - again);
                    got.truncate(got.len() - again);
                }
            }
        }
        rx.release();
        if !is_lines {
            // Behind bytes is what was there before; behind lines are zeros.
            got.iter_mut().for_each(|(lines, length)| lines.as_flattened_mut()[*length..].fill(0));
        }
        full += usize::from(done < count);
        long += got.iter().filter(|(_, length)| *length > 2048).count();
        passed += got.len();
        assert!(got.iter().eq(sent), "round {round}");
    }
    assert!(full > 100 && long > 100 && passed > 20_000, "{full} {long} {passed}");
    assert!(eights.iter().all(|eights| *eights > 500), "{eights:?}");
}

#[test]
fn indices_wrap_around_in_the_largest_and_the_smallest_ring() {
    for (log2, rounds) in [(0, 70_000), (14, 5)] {
        let Pair { mut master, mut slave, .. } = pair(1, 1, log2, 64);
        for round in 0..rounds {
            let lengths = vec![60; if log2 == 0 { 1 } else { 1 << log2 }];
            pass(&mut master.tx[0], &mut slave.rx[0], &lengths, round as u8);
            pass(&mut slave.tx[0], &mut master.rx[0], &lengths, round as u8);
        }
    }
}

#[test]
fn unequal_numbers_of_queues_are_what_the_slave_wants() {
    let Pair { master, slave, .. } = pair(3, 5, 4, 64);
    assert_eq!((master.rx.len(), master.tx.len(), slave.rx.len(), slave.tx.len()), (3, 5, 5, 3));
}

#[test]
fn full_rings_and_long_packets_are_told_apart() {
    let Pair { mut master, mut slave, .. } = pair(1, 1, 2, 64);
    for tx in [&mut master.tx[0], &mut slave.tx[0]] {
        assert_eq!(tx.begin(), Ok(4));
        assert_eq!(tx.send(257, [&[7; 257][..]].into_iter()), Ok(Sent::TooLong));
        assert_eq!(tx.send(200, [&[7; 200][..]].into_iter()), Ok(Sent::Yes));
        assert_eq!(tx.send(60, [&[7; 60][..]].into_iter()), Ok(Sent::Full), "four buffers are filled");
    }
}

#[test]
fn a_receiver_is_woken_only_if_it_wants() {
    let Pair { mut master, slave, .. } = pair(1, 1, 4, 64);
    let mut send = |wanted: bool| {
        slave.rx[0].ring().set_interrupt(wanted);
        master.tx[0].begin().expect("honest");
        assert_eq!(master.tx[0].send(60, [&[7; 60][..]].into_iter()), Ok(Sent::Yes));
        master.tx[0].publish()
    };
    assert!(!send(false) && send(true));
    Interrupt::notify(&*master.link.transmit[0].interrupt);
    let mut count = [0; 8];
    assert_eq!(rustix::io::read(&*slave.link.receive[0].interrupt, &mut count), Ok(8), "the two share it");
    assert_eq!(count, 1u64.to_ne_bytes());
}

#[test]
fn what_is_taken_does_not_wait_any_more() {
    let Pair { mut master, mut slave, .. } = pair(1, 1, 4, 64);
    for (tx, rx) in [(&mut slave.tx[0], &mut master.rx[0]), (&mut master.tx[0], &mut slave.rx[0])] {
        tx.begin().expect("honest");
        for _ in 0..3 {
            assert_eq!(tx.send(9, std::iter::once(&[7; 9][..])), Ok(Sent::Yes));
        }
        tx.publish();
        assert_eq!(rx.waiting(), Ok(3));
        // Taken, and not yet given back.
        assert_eq!(rx.receive(2).map(<[_]>::len), Ok(2));
        assert_eq!(rx.waiting(), Ok(1));
        rx.release();
        assert_eq!(rx.waiting(), Ok(1));
    }
}

#[test]
fn an_index_that_cannot_be_is_no_packet() {
    let Pair { mut master, mut slave, .. } = pair(1, 1, 4, 64);
    slave.tx[0].ring().set_head(17);
    assert_eq!(master.rx[0].receive(32), Err(Broken::Distance { distance: 17, size: 16 }));
    master.tx[0].ring().set_tail(17);
    assert_eq!(slave.rx[0].receive(32), Err(Broken::Distance { distance: 17, size: 16 }));
    slave.rx[0].ring().set_head(40);
    assert_eq!(master.tx[0].begin(), Err(Broken::Distance { distance: 40, size: 16 }));
    master.rx[0].ring().set_tail(1);
    assert_eq!(slave.tx[0].begin(), Err(Broken::Distance { distance: 0xffff, size: 16 }));
}

/// The master reads on while the slave counts what came back: what it gives back meanwhile is for the next time.
#[test]
fn only_places_that_came_back_are_filled_again() {
    let Pair { mut master, mut slave } = pair(1, 1, 6, 64);
    let (lender, reader) = (&mut slave.tx[0], &mut master.rx[0]);
    let place = Place { region: 0, offset: 0, length: 60 };
    let mut read = |most| {
        let count = reader.receive(most).expect("honest").len();
        reader.release();
        count
    };
    assert_eq!(lender.reclaim().expect("honest").count(), 0);
    assert!((0..64).all(|_| lender.send_in_place(&[place]) == Sent::Yes));
    lender.publish();
    assert_eq!(read(10), 10);
    let back = lender.reclaim().expect("honest");
    assert_eq!(read(20), 20);
    assert!(back.eq(0..10));
    assert!((0..10).all(|_| lender.send_in_place(&[place]) == Sent::Yes));
    assert_eq!(lender.send_in_place(&[place]), Sent::Full);
    lender.publish();
    assert!(lender.reclaim().expect("honest").eq(10..30));
}

/// A slave takes packets where they are, posts empty buffers instead, and sends the packets on from where they are.
#[test]
fn packets_are_exchanged_for_empty_buffers() {
    const LENGTHS: [usize; 5] = [60, 61, 100, 62, 64];
    let Pair { mut master, slave } = pair(1, 1, 3, 64);
    let place = |at: u16| Place { region: 0, offset: 2 * ring_bytes(3) as u32 + 64 * u32::from(at), length: 64 };
    let ring = &slave.link.receive[0].ring;
    let mut rx = Receiver::slave(ring.clone(), Places::of(ring, 0, 64, |at| place(at).offset));
    let mut tx = Transmitter::slave(slave.link.transmit[0].ring.clone(), Places::none());
    rx.start();
    let (mut posted, mut spare): (Vec<_>, Vec<_>) = ((0..8).map(place).collect(), (8..16).map(place).collect());
    let mut sent = [Place::default(); 8];
    for round in 0..20 {
        let bytes = |length: usize| vec![round * 5 + length as u8; length];
        master.tx[0].begin().expect("honest");
        for length in LENGTHS {
            let packet = bytes(length);
            assert_eq!(master.tx[0].send(length, [&packet[..]].into_iter()), Ok(Sent::Yes));
        }
        master.tx[0].publish();
        let mut ours: Vec<Place> = vec![];
        let mut exchange = |rx: &mut Receiver, ours: &mut Vec<Place>| {
            let take = |slot: usize, length| {
                let other = spare.pop()?;
                ours.push(Place { length, ..std::mem::replace(&mut posted[slot], other) });
                Some(other.offset)
            };
            rx.exchange(8, take).expect("honest").packets
        };
        // At the ring's end it stops, too.
        while exchange(&mut rx, &mut ours) > 0 {}
        assert_eq!(ours.len(), 2, "the third one has two parts");
        assert_eq!(rx.receive(1).expect("honest").len(), 2);
        rx.release();
        while exchange(&mut rx, &mut ours) > 0 {}
        assert_eq!(ours.len(), 4);
        for slot in tx.reclaim().expect("honest") {
            spare.push(Place { length: 64, ..sent[slot] });
        }
        let count = tx.send_parts(ours.len(), |i, slot| {
            sent[slot] = ours[i];
            ours[i]
        });
        assert_eq!(count, 4);
        tx.publish();
        let came = master.rx[0].receive(8).expect("honest").to_vec();
        let read = |part: &Fragment| {
            let mut bytes = vec![0; part.place.length as usize];
            assert!(master.rx[0].read(part, &mut bytes));
            bytes
        };
        assert!(came.iter().map(read).eq([60, 61, 62, 64].map(bytes)));
        master.rx[0].release();
    }
    assert_eq!(tx.reclaim().expect("honest").count(), 4);
    assert_eq!(tx.send_parts(9, |_, _| place(0)), 8, "no more than there is room for");
    master.tx[0].begin().expect("honest");
    assert_eq!(master.tx[0].send(60, [&[0; 60][..]].into_iter()), Ok(Sent::Yes));
    master.tx[0].publish();
    let none = Ok(Taken { packets: 0, others: true });
    assert_eq!(rx.exchange(8, |_, _| None), none, "nothing is given for it");
    assert_eq!(rx.waiting(), Ok(1));
    // A length that its buffer has not is no packet.
    let lie = Descriptor { has_next: false, region: 0, length: 65, offset: 0 };
    (0..8).for_each(|slot| rx.ring().set_descriptor(slot, lie));
    assert_eq!(rx.exchange(8, |_, _| Some(place(0).offset)), none);
}

#[test]
fn what_is_sent_is_looked_for_room_only_when_none_is_known() {
    let Pair { mut master, mut slave, .. } = pair(1, 1, 4, 2048);
    let (tx, rx) = (&mut slave.tx[0], &mut master.rx[0]);
    let send = |tx: &mut Transmitter, count: usize| {
        let (sent, _) = tx.send_all(std::iter::repeat_n(&[7; 60][..], count), |_| panic!("it fits")).expect("honest");
        tx.publish();
        sent
    };
    let take = |rx: &mut Receiver, most| rx.receive_whole(most, |_: Whole<'_>| true).expect("honest");
    assert_eq!(send(tx, 20), 16, "a ring of 16");
    assert_eq!(take(rx, 10), Taken { packets: 10, others: true });
    rx.release();
    assert_eq!(send(tx, 4), 4);
    // Of the ten places, six are known of; in the midst of a burst it looks for others.
    assert_eq!(take(rx, 6), Taken { packets: 6, others: true });
    rx.release();
    assert_eq!(send(tx, 20), 12);
    // The last ones are at the ring's front again.
    let taken: usize = (0..3).map(|_| take(rx, 16).packets).sum();
    assert_eq!((taken, take(rx, 16)), (16, Taken::default()));
}
