//! Inspectors that write anything anywhere: no worker panics, no buffer is lost, and each packet is accounted for.

use fastrand::Rng;
use quiver_snort::layout::header;
use quiver_snort::message::REQUEST;

use crate::inspector::{BOTH, Inspector, ask, drops, router, send, shown};

#[test]
fn numbers_that_were_not_offered_are_counted_and_nothing_else() {
    let mut daemon = router("", BOTH);
    let mut inspector = Inspector::new(&mut daemon);
    send(&mut daemon, 1..=3);
    let offered = inspector.offered();
    // One that is not held, two that are no numbers, one twice, and a verdict that does not exist.
    let free = (0..16).find(|number| offered.iter().all(|offered| offered.number != *number)).expect("13 are free");
    for (number, verdict) in
        [(free, 0), (16, 0), (u16::MAX, 0), (offered[0].number, 0), (offered[0].number, 0), (offered[1].number, 6)]
    {
        inspector.judge_as(number, verdict);
    }
    daemon.settle().expect("it settles");
    assert_eq!((daemon.sent().len(), shown(&mut daemon, "counts", "bad descriptors and verdicts")), (1, 5));
    assert_eq!(drops(&daemon, "snort-deq", "bad-verdict"), 1);
    // A head that is further ahead than there are slots says nothing.
    inspector.store(header::JUDGED, u64::MAX / 2);
    daemon.settle().expect("it settles");
    assert_eq!(shown(&mut daemon, "counts", "bad descriptors and verdicts"), 6);
    inspector.judge_as(offered[2].number, 0);
    daemon.settle().expect("it settles");
    assert_eq!(daemon.sent().len(), 1, "it goes on from there");
    inspector.die(&mut daemon);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn any_bytes_in_the_shared_memory_are_survived() {
    for seed in 0..10 {
        let mut random = Rng::with_seed(seed);
        let mut daemon = router("on-disconnect pass", BOTH);
        let before: u64 = daemon.drops().values().sum();
        let (mut sent, mut left) = (0, 0);
        for _ in 0..3 {
            let inspector = Inspector::new(&mut daemon);
            let (view, rings) = (inspector.region.view(), 4096);
            for _ in 0..60 {
                let ports = random.u16(0..12);
                sent += u64::from(ports);
                send(&mut daemon, 1..=ports);
                for _ in 0..random.usize(0..6) {
                    match random.u8(0..4) {
                        0 => {
                            let garbage: Vec<u8> = (0..random.usize(1..64)).map(|_| random.u8(..)).collect();
                            assert!(view.write(random.usize(0..rings - 64), &garbage));
                        }
                        1 => inspector.judge_as(random.u16(0..20), random.u32(0..8)),
                        2 => inspector
                            .store(header::JUDGED, inspector.load(header::JUDGED).wrapping_add(random.u64(0..40))),
                        _ => assert!(view.write(random.usize(0..rings), &[random.u8(0..2)])),
                    }
                }
                daemon.settle().expect("it settles");
                left += daemon.sent().len() as u64;
            }
            inspector.die(&mut daemon);
            left += daemon.sent().len() as u64;
        }
        let dropped: u64 = daemon.drops().values().sum();
        assert_eq!(left + dropped - before, sent, "seed {seed}: {:?}", daemon.drops());
        daemon.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn any_requests_are_survived() {
    let mut daemon = router("", BOTH);
    let client = quiver_snort::clients::connect(daemon.control()).expect("there is room");
    let mut random = Rng::with_seed(1);
    for _ in 0..2000 {
        let mut bytes: Vec<u8> = (0..REQUEST).map(|_| random.u8(..)).collect();
        bytes[0] = random.u8(0..6);
        // Mostly small numbers, which exist.
        bytes[4..12].iter_mut().for_each(|byte| *byte = if random.u8(0..8) == 0 { *byte } else { 0 });
        bytes.truncate(if random.u8(0..10) == 0 { random.usize(0..=REQUEST) } else { REQUEST });
        ask(&mut daemon, client, bytes);
    }
    send(&mut daemon, 1..=3);
    quiver_snort::clients::disconnect(daemon.control(), client);
    daemon.settle().expect("it settles");
    daemon.finish().expect("nothing leaks");
}
