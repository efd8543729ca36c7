//! Packets in buffers by the public interface, without a graph: what Miri can look at.

use quiver_engine::{Buffers, PacketRing, Pool, Scatter};

/// Every buffer comes back, whatever was done with it.
fn with_pool(test: impl FnOnce(&Buffers, &mut Pool)) {
    let buffers = Buffers::new(400, 2000).expect("memory");
    let mut pool = buffers.pool().expect("a pool");
    test(&buffers, &mut pool);
    drop(pool);
    assert_eq!(buffers.stored(), buffers.count() as usize, "a buffer leaked");
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|byte| (byte * 7) as u8).collect()
}

#[test]
fn packets_of_one_and_of_many_buffers_keep_their_bytes() {
    with_pool(|_, pool| {
        for length in [0, 1, 60, 2000, 2177, 9000, 65_000] {
            let bytes = content(length);
            let mut packet = pool.packet(&bytes).expect("buffers");
            assert_eq!(pool.segments(&packet).flatten().copied().collect::<Vec<_>>(), bytes);
            let copy = pool.copy(&packet).expect("buffers");
            pool.bytes_mut(&mut packet).fill(0);
            assert_eq!(pool.segments(&copy).flatten().copied().collect::<Vec<_>>(), bytes, "the copy is its own");
            // One goes back to the worker's list, the other to the shared store.
            pool.free(packet);
            drop(copy);
        }
    });
}

#[test]
fn buffers_move_between_worker_and_store_until_none_is_left() {
    with_pool(|buffers, pool| {
        let mut held = vec![];
        while let Some(packet) = pool.packet(b"held") {
            held.push(packet);
        }
        assert!(pool.packet(&content(9000)).is_none() && buffers.starved() > 0);
        // A worker's list is longer than it keeps, so some of it goes to the store in batches.
        held.into_iter().for_each(|packet| pool.free(packet));
        assert!(pool.local() > 0 && pool.packet(&content(9000)).is_some());
    });
}

#[test]
fn another_thread_gives_packets_back_while_the_pool_grows() {
    with_pool(|buffers, pool| {
        let packets: Vec<_> = (0..100).map(|_| pool.packet(b"sent away").expect("buffers")).collect();
        let before = buffers.count();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(packets));
            buffers.grow(100).expect("below the limit");
        });
        assert!(buffers.count() > before);
    });
}

#[test]
fn a_scattered_read_becomes_a_packet() {
    with_pool(|_, pool| {
        let (bytes, mut scatter) = (content(5000), Scatter::default());
        assert!(scatter.fill(pool, 9000));
        let mut header = [0; 10];
        let read = scatter.read(pool, &mut header, |slices| {
            let mut rest = [&[1; 10][..], &bytes].concat();
            for slice in slices {
                let part = rest.drain(..rest.len().min(slice.len()));
                slice.iter_mut().zip(part).for_each(|(to, from)| *to = from);
            }
            rest.is_empty()
        });
        assert!(read && header == [1; 10], "what is not the packet's comes first");
        let packet = scatter.take(pool, bytes.len()).expect("there is room for it");
        assert_eq!(pool.segments(&packet).flatten().copied().collect::<Vec<_>>(), bytes);
    });
}

#[test]
fn a_ring_goes_round_and_frees_what_is_left_in_it() {
    with_pool(|buffers, pool| {
        let mut ring = PacketRing::new(5, buffers);
        for round in 0..20u8 {
            while ring.room() > 0 {
                assert!(ring.push(pool.packet(&[round]).expect("buffers")).is_ok());
            }
            let refused = ring.push(pool.packet(b"one too many").expect("buffers"));
            pool.free(refused.expect_err("the ring is full"));
            for _ in 0..3 {
                let packet = ring.pop(pool).expect("it is full");
                assert!(pool.bytes(&packet)[0] <= round);
                pool.free(packet);
            }
        }
    });
}
