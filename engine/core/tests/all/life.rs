//! Workers as threads: letters, sleep, epochs; buffers at their limits.
use quiver_engine::*;
use quiver_testkit::wire::Wire;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn dataplane(workers: usize) -> (Dataplane, Vec<Worker>) {
    let mut dataplane =
        Dataplane::new(Settings { workers, buffers: 4000, ..Settings::default() }).expect("a data plane");
    let graph = dataplane.blueprint();
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "drop", side: Side::Rx }).expect("new");
    let workers = dataplane.start().expect("it fits together");
    (dataplane, workers)
}
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Says when it is dropped.
struct Noisy(Arc<AtomicBool>);
impl Drop for Noisy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn reclamation_completes_while_all_workers_sleep() {
    let (dataplane, workers) = dataplane(2);
    let start = thread::monotonic();
    let threads: Vec<_> = workers.into_iter().map(|w| thread::spawn(w, None, start).expect("a thread")).collect();
    eventually("workers without work fall asleep", || (0..2).all(|w| dataplane.mailbox(w).expect("made").is_asleep()));
    let turns = |w| dataplane.worker_counters(w).expect("made").turns.get();
    let before = [turns(0), turns(1)];
    let gone = Arc::new(AtomicBool::new(false));
    dataplane.domain().retire(Noisy(gone.clone()));
    eventually("a sleeping worker holds nothing up", || {
        dataplane.domain().reclaim();
        gone.load(Ordering::SeqCst)
    });
    assert_eq!(before, [turns(0), turns(1)], "nobody was woken for it");
    dataplane.stop();
    threads.into_iter().for_each(|t| drop(t.join().expect("no panic")));
}

/// A queue whose device is gone.
struct Gone;
impl RxQueue for Gone {
    fn receive(&mut self, _: &mut RxContext, _: &mut Frame) -> usize {
        0
    }
    fn wake_at(&self) -> Option<u64> {
        Some(u64::MAX)
    }
}

#[test]
fn a_queue_whose_device_is_gone_lets_its_worker_sleep() {
    let (mut dataplane, workers) = dataplane(1);
    let input = dataplane.graph().nodes().next().expect("the engine's own");
    dataplane.attach(1, input, vec![Box::new(Gone)], vec![Wire::new().tx()]).expect("one each");
    dataplane.set_up(1, true);
    let start = thread::monotonic();
    let threads: Vec<_> = workers.into_iter().map(|w| thread::spawn(w, None, start).expect("a thread")).collect();
    let asleep = || dataplane.mailbox(0).expect("made").is_asleep();
    eventually("it sleeps", || {
        (0..20).all(|_| {
            std::thread::sleep(Duration::from_millis(1));
            asleep()
        })
    });
    dataplane.stop();
    threads.into_iter().for_each(|t| drop(t.join().expect("no panic")));
}

#[test]
fn letters_that_wait_for_each_other_wake_a_sleeper_together() {
    let (dataplane, workers) = dataplane(1);
    let threads: Vec<_> = workers.into_iter().map(|w| thread::spawn(w, None, 0).expect("a thread")).collect();
    let (to, read) = std::sync::mpsc::channel();
    let asleep = || dataplane.mailbox(0).expect("made").is_asleep();
    let counters = || dataplane.worker_counters(0).expect("made");
    for _ in 0..20 {
        // Between announcing its sleep and counting it, a worker looks for letters.
        let slept = counters().sleeps.get();
        let to_first = to.clone();
        dataplane.post(0, move |_| to_first.send(0).expect("the test listens"));
        assert_eq!(read.recv_timeout(Duration::from_secs(20)), Ok(0));
        eventually("asleep again", || asleep() && counters().sleeps.get() > slept);
        let before = counters().turns.get();
        dataplane.hold();
        for n in 0..3 {
            let to = to.clone();
            dataplane.post(0, move |_| to.send(n).expect("the test listens"));
        }
        assert!(asleep() && counters().turns.get() == before, "it sleeps beside its letters");
        dataplane.release();
        for n in 0..3 {
            assert_eq!(read.recv_timeout(Duration::from_secs(20)), Ok(n));
        }
    }
    dataplane.stop();
    threads.into_iter().for_each(|t| drop(t.join().expect("no panic")));
}

#[test]
fn letters_wake_sleepers_and_are_read_in_order() {
    let (dataplane, workers) = dataplane(1);
    let threads: Vec<_> = workers.into_iter().map(|w| thread::spawn(w, None, 0).expect("a thread")).collect();
    let (to, read) = std::sync::mpsc::channel();
    for round in 0..50 {
        eventually("asleep again", || dataplane.mailbox(0).expect("made").is_asleep());
        for n in 0..3 {
            let to = to.clone();
            dataplane.post(0, move |_| to.send(round * 3 + n).expect("the test listens"));
        }
        for n in 0..3 {
            assert_eq!(read.recv_timeout(Duration::from_secs(20)).expect("woken"), round * 3 + n);
        }
    }
    dataplane.stop();
    threads.into_iter().for_each(|t| drop(t.join().expect("no panic")));
}

#[test]
fn the_pool_grows_to_its_limit_and_says_no_there() {
    let buffers = Buffers::new(100, 5000).expect("memory");
    assert!(buffers.count() >= 100);
    while buffers.count() < 5000 {
        assert!(buffers.grow(1).expect("below the limit") > 0);
    }
    let error = buffers.grow(1).expect_err("at the limit").to_string();
    assert_eq!(error, "buffers: all 5000 of `buffers.limit` are in use; raise the limit");
    let mut pool = buffers.pool().expect("buffers");
    let mut held = vec![];
    while let Some(packet) = pool.packet(b"kept") {
        held.push(packet);
    }
    assert_eq!((held.len(), buffers.starved()), (4999, 1), "all but the null buffer");
    assert!(pool.packet(&[7; 9000]).is_none(), "a chain that cannot be completed");
    held.truncate(3);
    let chain = pool.packet(&[7; 9000]);
    assert!(chain.is_some(), "what was dropped can be used again");
    drop((held, chain, pool));
    assert_eq!(buffers.stored(), 5000, "everything came back");
}

#[test]
fn chains_keep_every_byte() {
    let buffers = Buffers::new(1000, 1000).expect("memory");
    let mut pool = buffers.pool().expect("buffers");
    for length in [0, 1, buffer::SEGMENT_MAX, buffer::SEGMENT_MAX + 1, 65_549] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
        let packet = pool.packet(&bytes).expect("buffers");
        let copy = pool.copy(&packet).expect("buffers");
        for packet in [packet, copy] {
            assert_eq!(packet.len(), length);
            assert_eq!(packet.flags().has(Flags::CHAINED), length > buffer::SEGMENT_MAX);
            assert!(pool.segments(&packet).flatten().eq(&bytes), "{length} bytes");
            pool.free(packet);
        }
        let mut scatter = Scatter::default();
        assert!(scatter.fill(&mut pool, 65_549));
        let mut rest = &bytes[..];
        scatter.read(&mut pool, &mut [0; 10], |slices| {
            for slice in &mut slices[1..] {
                let n = rest.len().min(slice.len());
                slice[..n].copy_from_slice(&rest[..n]);
                rest = &rest[n..];
            }
        });
        let packet = scatter.take(&mut pool, length).expect("room");
        assert!(pool.segments(&packet).flatten().eq(&bytes), "{length} bytes, scattered");
    }
    drop(pool);
    assert_eq!(buffers.stored(), 1000);
}

/// Work that someone else announces by an eventfd.
struct Announced {
    descriptor: std::os::fd::OwnedFd,
    work: std::sync::atomic::AtomicU64,
}
impl Source for Announced {
    fn is_ready(&self) -> bool {
        self.work.load(Ordering::SeqCst) > 0
    }
    fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.descriptor)
    }
}
arcs! {
    enum Worked {
        Done => done "worked",
    }
}
/// Does it, a piece in each turn.
struct Works(Arc<Announced>, Arc<std::sync::atomic::AtomicU64>);
impl Node for Works {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        assert!(frame.is_empty(), "no packet comes here");
        // The last piece makes the descriptor silent.
        if self.0.work.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = rustix::io::read(&self.0.descriptor, &mut [0u8; 8]);
        }
        self.1.fetch_add(1, Ordering::SeqCst);
        let packet = cx.pool.packet(&[1; 20]).expect("buffers");
        cx.emit(Worked::Done, packet);
    }
}

#[test]
fn a_source_of_work_wakes_its_node_until_there_is_none() {
    let mut dataplane =
        Dataplane::new(Settings { workers: 1, buffers: 4000, ..Settings::default() }).expect("a data plane");
    let flags = rustix::event::EventfdFlags::NONBLOCK;
    let descriptor = rustix::event::eventfd(0, flags).expect("an eventfd");
    let source = Arc::new(Announced { descriptor, work: 0.into() });
    let done = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let (works, counted) = (source.clone(), done.clone());
    let node = NodeSpec::new("works", Worked::ARCS, move |_| Works(works.clone(), counted.clone()));
    let node = dataplane.blueprint().node(node).expect("new");
    let workers = dataplane.start().expect("it fits together");
    let threads: Vec<_> = workers.into_iter().map(|w| thread::spawn(w, None, 0).expect("a thread")).collect();
    let watched: Arc<dyn Source> = source.clone();
    let asleep = || dataplane.mailbox(0).expect("made").is_asleep();
    let again = watched.clone();
    dataplane.post(0, move |worker| worker.watch(node, again));
    for round in 1..=20 {
        eventually("it sleeps beside a silent source", asleep);
        source.work.store(5, Ordering::SeqCst);
        rustix::io::write(&source.descriptor, &1u64.to_ne_bytes()).expect("it is an eventfd");
        eventually("all of it is done", || done.load(Ordering::SeqCst) == 5 * round);
    }
    dataplane.post(0, move |worker| worker.unwatch(&watched));
    eventually("it sleeps", asleep);
    source.work.store(1, Ordering::SeqCst);
    rustix::io::write(&source.descriptor, &1u64.to_ne_bytes()).expect("it is an eventfd");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(
        (done.load(Ordering::SeqCst), asleep()),
        (100, true),
        "a worker does not run a source that it no longer watches"
    );
    dataplane.stop();
    threads.into_iter().for_each(|t| drop(t.join().expect("no panic")));
}
