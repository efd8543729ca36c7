//! Receive queues move from worker to worker while packets flow: each packet leaves once, in its order, whatever workers
//! and control do first. Modes decide which queues are looked at.
use fastrand::Rng;
use quiver_engine::graph::NodeId;
use quiver_engine::*;
use quiver_testkit::wire;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Packets that carry their numbers, as many as are asked for in all.
struct Numbers {
    next: u64,
    end: u64,
    descriptor: Option<std::os::fd::OwnedFd>,
}
impl RxQueue for Numbers {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let before = frame.len();
        while frame.len() - before < cx.most.min(7) && self.next < self.end {
            assert!(frame.push_bytes(cx.pool, &self.next.to_be_bytes(), cx.interface));
            self.next += 1;
        }
        frame.len() - before
    }
    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.descriptor.as_ref().map(std::os::fd::AsFd::as_fd)
    }
}
/// Tells the test what was sent, and by which worker.
struct Tx(usize, Sender<(usize, u64)>);
impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        for i in 0..batch.len() {
            let bytes = batch.bytes(cx.pool, i).try_into().expect("eight bytes");
            self.1.send((self.0, u64::from_be_bytes(bytes))).expect("the test listens");
        }
        batch.len()
    }
}
arcs! {
    enum Next {
        Out => features "interface-output",
    }
}
/// Sends everything by interface 1.
struct Back;
impl Node for Back {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        frame.tx.fill(1);
    }
}

struct Bench {
    dataplane: Dataplane,
    workers: Vec<Worker>,
    input: NodeId,
    queue: QueueId,
    sent: Receiver<(usize, u64)>,
}
fn bench(workers: usize, end: u64) -> Bench {
    let settings = Settings { workers, buffers: 4000, buffers_limit: 4000, ..Settings::default() };
    let mut dataplane = Dataplane::new(settings).expect("a data plane");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "back", side: Side::Rx }).expect("new");
    graph.node(NodeSpec::new("back", Next::ARCS, |_| Back)).expect("new");
    let made = dataplane.start().expect("it fits together");
    let (to, sent) = channel();
    let tx = || (0..workers).map(|w| Box::new(Tx(w, to.clone())) as Box<dyn TxQueue>).collect();
    let numbers = Numbers { next: 0, end, descriptor: None };
    let queue = dataplane.attach(0, input, vec![Box::new(numbers)], tx()).expect("one each")[0];
    dataplane.attach(1, input, vec![], tx()).expect("one each");
    dataplane.set_up(0, true);
    dataplane.set_up(1, true);
    Bench { dataplane, workers: made, input, queue, sent }
}

#[test]
fn whatever_the_interleaving_every_packet_leaves_once_and_in_order() {
    for seed in 1..=60 {
        let (mut bench, mut lot) = (bench(3, 4000), Rng::with_seed(seed));
        let (mut moves, mut seen, mut by) = (0, vec![], [0; 3]);
        while seen.len() < 4000 {
            assert!(moves < 100_000, "seed {seed}: {} packets came", seen.len());
            match lot.usize(..12) {
                0 => {
                    bench.dataplane.place(bench.queue, Some(lot.usize(..3))).expect("there is such a worker");
                    moves += 1;
                }
                1 => {
                    // Down and up again: what is on its way hears of both.
                    bench.dataplane.set_up(0, false);
                    bench.dataplane.set_up(0, true);
                }
                _ => {
                    let worker = lot.usize(..3);
                    bench.workers[worker].turn(0);
                }
            }
            for (worker, number) in bench.sent.try_iter() {
                by[worker] += 1;
                seen.push(number);
            }
        }
        assert!(seen.iter().copied().eq(0..4000), "seed {seed}: lost, doubled or reordered");
        assert!(moves > 20 && by.iter().all(|packets| *packets > 0), "seed {seed}: {moves} moves, packets {by:?}");
        let counted = bench.dataplane.interface_counters(0).rx.packets;
        assert_eq!(counted, 4000, "seed {seed}: all workers' counts together");
    }
}

#[test]
fn an_interface_that_goes_takes_a_queue_on_its_way_along() {
    let mut bench = bench(2, u64::MAX);
    bench.workers.iter_mut().for_each(|worker| assert!(worker.turn(0) < 100));
    let gone = std::sync::Arc::new(());
    bench.dataplane.place(bench.queue, Some(1)).expect("two workers");
    bench.dataplane.detach(0, gone.clone());
    assert_eq!(bench.dataplane.place(bench.queue, Some(0)), Err(PlacementError::NoQueue));
    // The new worker hears of all but the arrival, which the old one has yet to send.
    bench.workers[1].turn(0);
    bench.workers[0].turn(0);
    bench.workers[1].turn(0);
    bench.dataplane.reclaim();
    assert_eq!(std::sync::Arc::strong_count(&gone), 1, "nobody refers to the interface any more");
    let before = bench.sent.try_iter().count();
    bench.workers.iter_mut().for_each(|worker| assert!(worker.turn(0) < 100));
    assert_eq!((bench.sent.try_iter().count(), before > 0), (0, true), "nobody polls it any more");
}

#[test]
fn letters_about_a_queue_find_it_wherever_it_is() {
    let mut bench = bench(2, 0);
    let queue = bench.queue;
    let longer = move |worker: &mut Worker| {
        worker.queue_mut::<Numbers>(queue).expect("it is here when this is read").end += 1;
    };
    let mut lot = Rng::with_seed(7);
    for _ in 0..300 {
        bench.dataplane.place(queue, Some(lot.usize(..2))).expect("two workers");
        bench.dataplane.post_to_queue(queue, longer);
        let worker = lot.usize(..2);
        bench.workers[worker].turn(0);
    }
    while bench.workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    assert!(bench.sent.try_iter().map(|(_, number)| number).eq(0..300));
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let mut bench = bench(2, 0);
    let error = bench.dataplane.place(bench.queue, Some(2)).expect_err("there are two").to_string();
    assert_eq!(error, "there is no worker 2: workers have the numbers 0 to 1");
    // Neither a descriptor nor a time: nothing ever says that packets wait.
    assert_eq!(bench.dataplane.set_rx_mode(bench.queue, RxMode::Interrupt), Err(PlacementError::NoInterrupts));
    assert_eq!(bench.dataplane.set_rx_mode(bench.queue, RxMode::Polling), Ok(()));
}

#[test]
fn a_queue_in_interrupt_mode_is_looked_at_when_its_descriptor_has_spoken() {
    use std::io::Write;
    use std::time::{Duration, Instant};
    let mut bench = bench(1, 0);
    let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().expect("two ends");
    let numbers = Numbers { next: 0, end: u64::MAX, descriptor: Some(ours.into()) };
    let tx = Box::new(Tx(0, channel().0));
    let queue = bench.dataplane.attach(2, bench.input, vec![Box::new(numbers)], vec![tx]).expect("one each")[0];
    bench.dataplane.set_rx_mode(queue, RxMode::Interrupt).expect("it has a descriptor");
    bench.workers[0].turn(0);
    // The queue always has packets; but nobody says so, and so nobody looks but once, when it is set up.
    let (worker, dataplane) = (bench.workers.remove(0), &mut bench.dataplane);
    let thread = thread::spawn(worker, None, thread::monotonic()).expect("a thread");
    let asleep = |dataplane: &Dataplane| dataplane.mailbox(0).expect("made").is_asleep();
    let wait = |what: &str, holds: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait("a worker without interrupts sleeps", &|| asleep(dataplane));
    assert!(bench.sent.try_iter().next().is_none(), "the interface is down");
    dataplane.set_up(2, true);
    theirs.write_all(b"!").expect("room");
    wait("packets come after an interrupt", &|| bench.sent.try_iter().count() > 0);
    dataplane.stop();
    drop(thread.join().expect("no panic"));
}

#[test]
fn a_worker_says_in_which_thread_it_runs_and_on_which_cpu() {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None).expect("allowed");
    let cpu = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
    let mut bench = bench(2, 0);
    let (other, worker) = (bench.workers.remove(1), bench.workers.remove(0));
    let running = |bench: &Bench, worker| bench.dataplane.worker_counters(worker).expect("made").running.get().copied();
    assert_eq!(running(&bench, 0), None, "it has no thread yet");
    let start = thread::monotonic();
    let threads =
        [(worker, cpu), (other, None)].map(|(worker, cpu)| thread::spawn(worker, cpu, start).expect("a thread"));
    bench.dataplane.stop();
    threads.into_iter().for_each(|thread| drop(thread.join().expect("no panic")));
    let [pinned, free] = [0, 1].map(|worker| running(&bench, worker).expect("it had one"));
    assert_eq!(pinned.cpu.map(|cpu| cpu.number as usize), cpu);
    assert_eq!(free.cpu, None);
    assert_ne!(pinned.thread, free.thread);
}
