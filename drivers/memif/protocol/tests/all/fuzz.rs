//! A hostile peer: on the control channel, and in shared memory, where it writes anything at any time. How to run:
//! fuzz/README.md.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::groups::{Sending, Taking};
use crate::pair::{End, Pair, pair};
use quiver_memif_protocol::link::{Offer, ring_bytes};
use quiver_memif_protocol::message::{AddRegion, AddRing, Disconnect, Hello, Init, Message};
use quiver_memif_protocol::receiver::{BURST, Whole, packets};
use quiver_memif_protocol::slave::Step;
use quiver_memif_protocol::transmitter::{Lines, Sent};
use quiver_memif_protocol::{Master, Mode, Place, Request, Role, Secret, Slave, Store, Terms, master};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Any bytes are a message or an error, and a message is written as it was read, up to what lies behind its fields.
#[test]
fn messages() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let mut whole = [0; 128];
        let length = bytes.len().min(128);
        whole[..length].copy_from_slice(&bytes[..length]);
        assert_eq!(Message::decode(bytes).is_ok(), bytes.len() == 128 && (1..=8).contains(&whole[0]) && whole[1] == 0);
        if let Ok(message) = Message::decode(&whole) {
            let written = message.encode();
            let end = written.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            assert_eq!(written[..end], whole[..end]);
            assert_eq!(Message::decode(&written), Ok(message));
        }
    });
}

fn fields<T: FromBytes + IntoBytes + KnownLayout + Immutable>(bytes: &[u8]) -> T {
    let mut fields = T::new_zeroed();
    let length = bytes.len().min(size_of::<T>());
    fields.as_mut_bytes()[..length].copy_from_slice(&bytes[..length]);
    fields
}

/// Messages of any contents, mostly sensible ones so that they get somewhere, with and without files.
fn conversation(mut bytes: &[u8]) -> Vec<(Message, Option<u8>)> {
    let mut told = vec![];
    while let [kind, a, b, rest @ ..] = bytes {
        let (index, size) = (u16::from(a & 3), u64::from(*b) << 6);
        let message = match kind & 15 {
            0 => Message::Ack,
            1 => Message::Hello(fields(rest)),
            2 => Message::Init(fields(rest)),
            3 => Message::AddRegion(fields(rest)),
            4 => Message::AddRing(fields(rest)),
            5 => Message::Connect(fields(rest)),
            6 => Message::Connected(fields(rest)),
            7 => Message::Disconnect(Disconnect { code: 0.into(), ..fields(rest) }),
            8 | 9 => Message::Init(Init::new((*a).into(), Mode::Ethernet, Secret::NONE, "peer")),
            10 | 11 => Message::AddRegion(AddRegion { index: index.into(), size: size.into() }),
            12 | 13 => {
                Message::AddRing(AddRing::new(a & 4 != 0, index, u16::from(a >> 6), u32::from(*b) << 4, a >> 3 & 15))
            }
            14 => Message::Hello(Hello { min_version: 0x0200.into(), max_version: 0x0200.into(), ..fields(rest) }),
            _ => Message::Connect(fields(&[])),
        };
        told.push((message, (kind & 16 == 0).then_some(*a)));
        bytes = rest.get(usize::from(kind >> 5)..).unwrap_or_default();
    }
    told
}

/// A master maps only descriptors inside the regions, for any input.
#[test]
fn masters() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let (mut master, _) = Master::<u8>::new("quiver");
        let mut acknowledged = 0;
        for (message, file) in conversation(bytes) {
            let terms = || Terms { mode: Mode::Ethernet, secret: Secret::NONE, interface: "x".into() };
            match master.received(&message, file, |_| Ok(terms())) {
                Ok(master::Step::Send(Message::Ack)) => acknowledged += 1,
                Ok(master::Step::Send(other)) => panic!("a master answers by ACK only: {other:?}"),
                Ok(master::Step::Map { offer, .. }) => {
                    assert!(acknowledged >= 1 + offer.regions.len() + offer.s2m.len() + offer.m2s.len());
                    for ring in offer.s2m.iter().chain(&offer.m2s) {
                        let (_, size) = offer.regions[usize::from(ring.region)];
                        assert!(u64::from(ring.offset) + ring_bytes(ring.log2_size) as u64 <= size);
                    }
                    assert!(master.connected().is_some() && master.is_connected());
                }
                Err(refusal) => {
                    assert!(matches!(master.refuse(&refusal), Message::Disconnect(_)) && !master.is_connected());
                    return;
                }
            }
        }
    });
}

/// A slave tells everything once and in order, never more than one message for an answer.
#[test]
fn slaves() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let request = Request {
            id: 1,
            mode: Mode::Ip,
            secret: Secret::NONE,
            name: "quiver".into(),
            interface: "memif0/1".into(),
            s2m_rings: 3,
            m2s_rings: 2,
            log2_ring_size: 10,
        };
        let mut slave = Slave::<u8>::new(request);
        let (mut told, mut all) = (0, usize::MAX);
        for (message, _) in conversation(bytes) {
            match slave.received(&message) {
                Ok(Step::Make(agreed)) => {
                    assert!(agreed.s2m_rings <= 3 && agreed.m2s_rings <= 2 && agreed.log2_ring_size <= 10);
                    let offer = Offer { regions: vec![(1, 4096)], ..Offer::default() };
                    assert!(matches!(slave.offer(&offer), Step::Send(Message::Init(_), None)));
                    // INIT, a region, CONNECT.
                    (told, all) = (1, 3);
                }
                Ok(Step::Send(..)) => told += 1,
                Ok(Step::Connected(_)) => assert!(told == all && slave.is_connected()),
                Ok(Step::Wait) => {}
                Err(refusal) => {
                    assert!(matches!(slave.refuse(&refusal), Message::Disconnect(_)) && !slave.is_connected());
                    return;
                }
            }
            assert!(told <= all);
        }
    });
}

/// The peer's writes: two bytes choose the place, the others are written there.
fn scribble(end: &End, write: &[u8]) {
    let [low, high, bytes @ ..] = write else { return };
    let region = end.link.regions.get(0).expect("there is one");
    let rings = region.len().min(2 * ring_bytes(4));
    // Mostly the rings, where the indices and descriptors are.
    let span = if low & 1 == 0 { rings } else { region.len() };
    let at = usize::from(u16::from_le_bytes([*low, *high])) % span;
    let _ = region.write(at, &bytes[..bytes.len().min(region.len() - at)]);
}

/// One turn of an end. For anything that the peer wrote, the turn ends and every fragment that is called valid can be
/// read.
fn turn(end: &mut End, packet: &[u8]) {
    for rx in &mut end.rx {
        let Ok(burst) = rx.receive(32).map(<[_]>::to_vec) else { continue };
        assert!(burst.len() <= BURST && packets(&burst).count() <= 33);
        for fragment in burst {
            // A hostile length is no reason to make room for it.
            let mut bytes = vec![0; (fragment.place.length as usize).min(1 << 20)];
            assert_eq!(rx.read(&fragment, &mut bytes), fragment.is_valid);
        }
        rx.release();
        let whole = rx.receive_whole(32, |packet: Whole<'_>| {
            let mut lines = vec![[0; 64]; packet.length.min(1 << 20).div_ceil(64)];
            let _ = packet.read_lines(&mut lines);
            packet.read_from(0, &mut lines.as_flattened_mut()[..packet.length.min(1 << 20)])
        });
        assert!(whole.is_err() || whole.is_ok_and(|taken| taken.packets <= 32));
        rx.release();
        let _ = rx.receive_whole(32, &mut Taking::default());
        rx.release();
    }
    for tx in &mut end.tx {
        let Ok(free) = tx.begin() else { continue };
        assert!(free <= tx.ring().size());
        let mut bytes = packet.to_vec();
        bytes.resize(packet.len().next_multiple_of(64), 0);
        let lines = Lines { lines: bytes.as_chunks().0, length: packet.len() };
        let sent = tx.send_all([lines; 5].into_iter(), |_| {});
        assert!(sent.is_err() || sent.is_ok_and(|(packets, _)| packets <= 5));
        let Ok(_) = tx.begin() else { continue };
        let nine = vec![(lines.lines.to_vec(), packet.len()); if packet.is_empty() { 0 } else { 9 }];
        let sent = tx.send_all(Sending { packets: &nine, groups: &mut 0 }, |_| {});
        assert!(sent.is_err() || sent.is_ok_and(|(packets, _)| packets <= 9));
        let Ok(_) = tx.begin() else { continue };
        let _ = tx.send_all([packet; 2].into_iter(), |_| {});
        let Ok(_) = tx.begin() else { continue };
        for _ in 0..3 {
            let (one, other) = packet.split_at(packet.len() / 2);
            let _ = tx.send(packet.len(), [packet].into_iter());
            let _ = tx.send(packet.len(), [one, other].into_iter());
        }
        if let Ok(back) = tx.reclaim() {
            assert!(back.count() <= usize::from(tx.ring().size()));
            if tx.role() == Role::Slave {
                let place = Place { region: 0, offset: 0, length: packet.len() as u32 };
                let sent = (0..=tx.ring().size()).take_while(|_| tx.send_in_place(&[place]) == Sent::Yes);
                assert!(sent.count() <= usize::from(tx.ring().size()));
            }
        }
        tx.publish();
    }
}

/// Both roles against a peer that writes anything into the shared memory between their turns.
#[test]
fn rings() {
    let Pair { mut master, mut slave } = pair(1, 1, 4, 64);
    bolero::check!().for_each(move |bytes: &[u8]| {
        for (i, write) in bytes.chunks(12).enumerate() {
            scribble(&master, write);
            let packet = vec![i as u8; usize::from(write[0]) + 1];
            turn(&mut master, &packet);
            turn(&mut slave, &packet);
        }
    });
}

/// Ends the peer's thread, also when its victim fails.
struct Stop<'a>(&'a AtomicBool);
impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same with a peer that writes all the time, from another thread.
#[test]
fn a_peer_that_never_stops_writing() {
    for store in Store::ALL {
        let Pair { mut master, mut slave } = pair(1, 1, 4, 256);
        for end in [&mut master, &mut slave] {
            end.tx[0].set_store(store);
        }
        let peer = memory_of(&master);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = fastrand::Rng::with_seed(1);
                while !stop.load(Ordering::Relaxed) {
                    let [a, b, c, d, e, f, g, h] = random.u64(..).to_le_bytes();
                    let region = peer.get(0).expect("there is one");
                    // The indices most of all, and sometimes with values that could be true.
                    let at = match a & 3 {
                        0 => 6 + usize::from(b & 1) * 58,
                        1 => ring_bytes(4).next_multiple_of(128) + 6 + usize::from(b & 1) * 58,
                        2 => 128 + usize::from(b) % 256,
                        _ => usize::from(u16::from_le_bytes([b, c])) % (region.len() - 8),
                    };
                    let (small, large) = ([d, 0], [d, e, f, g, h]);
                    let _ = region.write(at, if a & 4 == 0 { &small[..] } else { &large[..] });
                }
            });
            let _stop = Stop(&stop);
            let end = Instant::now() + Duration::from_millis(250);
            while Instant::now() < end {
                turn(&mut master, &[1; 100]);
                turn(&mut slave, &[2; 700]);
            }
        });
    }
}
/// The memory as the peer sees it.
fn memory_of(end: &End) -> std::sync::Arc<quiver_memif_protocol::Regions> {
    end.link.regions.clone()
}
