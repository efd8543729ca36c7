//! Hand-off: whatever the interleaving, packets of a flow stay in order, none is lost but by name, and interfaces that go
//! take what is on its way along. Dispatch ends what circles.
use fastrand::Rng;
use quiver_engine::graph::NodeId;
use quiver_engine::*;
use quiver_testkit::wire;
use rustix::event::PollFd;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Packets of eight flows in turn: (flow, number in the flow), and zeros up to a length.
#[derive(Default)]
struct Flows {
    next: u64,
    end: u64,
    length: usize,
}
impl RxQueue for Flows {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let before = frame.len();
        while frame.len() - before < cx.most.min(50) && self.next < self.end {
            let mut bytes = [(self.next % 8).to_be_bytes(), (self.next / 8).to_be_bytes()].concat();
            bytes.resize(self.length.max(16), 0);
            if !frame.push_bytes(cx.pool, &bytes, cx.interface) {
                cx.lose(wire::Next::NoBuffer, 1);
                break;
            }
            self.next += 1;
        }
        frame.len() - before
    }
}
type Seen = (usize, u64, u64);
/// Tells the test what was sent: worker, flow, number.
struct Tx(usize, Sender<Seen>);
impl TxQueue for Tx {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        for i in 0..batch.len() {
            let bytes = batch.bytes(cx.pool, i);
            let word = |at| u64::from_be_bytes(*bytes[at..].first_chunk().expect("eight bytes"));
            self.1.send((self.0, word(0), word(8))).expect("the test listens");
        }
        batch.len()
    }
}

arcs! {
    enum Next {
        Here => node "back",
        Full => drop "full",
    }
}
/// Gives each flow to a worker; None keeps it. What it does changes by letters.
struct Spread(Option<fn(u64) -> usize>, MetadataKey<u64>);
impl Node for Spread {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let flow = u64::from_be_bytes(*frame.first(cx.pool, i).expect("sixteen bytes"));
            frame.set_metadata(cx.pool, i, self.1, !flow);
            let to = self.0.map_or(cx.worker, |spread| spread(flow));
            if to != cx.worker && !cx.hand_off(frame, i, to, Next::Here) {
                frame.next[i] = Next::Full.into();
            }
        }
    }
}
arcs! {
    enum Out {
        Out => features "interface-output",
        Round => node "ring",
    }
}
/// Sends everything by interface 1; what was kept with packets is still there, whichever worker kept it.
struct Back(MetadataKey<u64>);
impl Node for Back {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let flow = u64::from_be_bytes(*frame.first(cx.pool, i).expect("sixteen bytes"));
            let kept = frame.metadata(cx.pool, i, self.0);
            assert_eq!(kept, Some(!flow), "kept with a packet of flow {flow}");
        }
        frame.tx.fill(1);
    }
}
/// Sends everything in a circle.
struct Ring;
impl Node for Ring {
    fn process(&mut self, _: &mut Context, frame: &mut Frame) {
        frame.next.fill(Out::Round.into());
    }
}

struct Bench {
    dataplane: Dataplane,
    workers: Vec<Worker>,
    spread: NodeId,
    input: NodeId,
    queue: QueueId,
    to: Sender<Seen>,
    sent: Receiver<Seen>,
}
const BUFFERS: u32 = 16_000;
fn bench(workers: usize, end: u64) -> Bench {
    bench_with(workers, Flows { end, ..Flows::default() })
}
fn bench_with(workers: usize, flows: Flows) -> Bench {
    let settings = Settings { workers, buffers: BUFFERS, buffers_limit: BUFFERS, ..Settings::default() };
    let mut dataplane = Dataplane::new(settings).expect("a data plane");
    let key = dataplane.metadata("flow").expect("the first");
    let graph = dataplane.blueprint();
    let input = graph.input("test-input", wire::Next::ARCS).expect("new");
    graph.feature_arc(FeatureArcSpec { name: "device-input", end: "spread", side: Side::Rx }).expect("new");
    let spread = graph.node(NodeSpec::new("spread", Next::ARCS, move |_| Spread(None, key))).expect("new");
    graph.node(NodeSpec::new("back", Out::ARCS, move |_| Back(key))).expect("new");
    graph.node(NodeSpec::new("ring", Out::ARCS, |_| Ring)).expect("new");
    let made = dataplane.start().expect("it fits together");
    dataplane.connect_workers();
    let (to, sent) = channel();
    let mut bench = Bench { dataplane, workers: made, spread, input, queue: QueueId(0), to, sent };
    bench.queue = bench.attach(0, flows);
    bench.attach(1, Flows::default());
    bench
}
impl Bench {
    fn attach(&mut self, interface: u32, flows: Flows) -> QueueId {
        let tx = (0..self.workers.len()).map(|w| Box::new(Tx(w, self.to.clone())) as Box<dyn TxQueue>).collect();
        let queue = self.dataplane.attach(interface, self.input, vec![Box::new(flows)], tx).expect("one each")[0];
        self.dataplane.set_up(interface, true);
        queue
    }
    /// Another way for every flow, without one packet overtaking another.
    fn change(&self, spread: Option<fn(u64) -> usize>) {
        let node = self.spread;
        self.dataplane.post_all(|_| {
            move |worker: &mut Worker| {
                worker.hold(0);
                worker.graph().node_mut::<Spread>(node).expect("it is one").0 = spread;
            }
        });
    }
    fn drops(&self, node: &str, reason: &str) -> u64 {
        let graph = self.dataplane.graph();
        let id = graph.find(node).expect("there is such a node");
        let arc = graph.arcs(id).iter().position(|arc| arc.name == reason).expect("there is such a reason");
        graph.counters(id).map(|counters| counters.arcs[arc].get()).sum()
    }
    fn finish(self) {
        let buffers = self.dataplane.buffers().clone();
        drop((self.workers, self.dataplane));
        assert_eq!(buffers.stored(), BUFFERS as usize, "buffers have leaked");
    }
}

/// The worker of a flow.
type Way = fn(u64) -> usize;
const WAYS: [Option<Way>; 4] =
    [None, Some(|flow| flow as usize % 4), Some(|flow| 3 - flow as usize % 4), Some(|flow| flow as usize / 2 % 3)];

#[test]
fn flows_keep_their_order_while_queues_and_ways_change() {
    const PACKETS: u64 = 8000;
    let mut over = 0;
    for seed in 1..=40 {
        let (mut bench, mut lot) = (bench(4, PACKETS), Rng::with_seed(seed));
        let (mut steps, mut seen, mut next, mut by) = (0, 0, [0; 8], [0; 4]);
        while seen + bench.drops("spread", "full") < PACKETS {
            steps += 1;
            assert!(steps < 100_000, "seed {seed}: {seen} packets came");
            match lot.usize(..30) {
                0 => bench.dataplane.place(bench.queue, Some(lot.usize(..4))).expect("there is such a worker"),
                1 => bench.change(WAYS[lot.usize(..4)]),
                _ => {
                    let worker = lot.usize(..4);
                    bench.workers[worker].turn(0);
                }
            }
            for (worker, flow, number) in bench.sent.try_iter() {
                let expected = &mut next[flow as usize];
                assert!(number >= *expected, "seed {seed}: flow {flow}: {number} came after {expected}");
                *expected = number + 1;
                by[worker] += 1;
                seen += 1;
            }
        }
        over += bench.drops("spread", "full");
        assert!(by.iter().all(|packets| *packets > 0), "seed {seed}: packets by worker {by:?}");
        bench.finish();
    }
    assert!(over < 40 * PACKETS / 10, "most packets are not dropped: {over}");
}

#[test]
fn a_full_ring_is_a_drop_with_a_name() {
    let mut bench = bench(2, 8000);
    bench.change(Some(|_| 1));
    // The other worker does not keep up at all.
    (0..500).for_each(|_| assert!(bench.workers[0].turn(0) < 300));
    let dropped = bench.drops("spread", "full");
    assert!(dropped > 3000, "a ring has 64 bundles of 64: {dropped}");
    while bench.workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    let numbers: Vec<_> = bench.sent.try_iter().collect();
    assert_eq!(numbers.len() as u64 + dropped, 8000);
    assert!(numbers.iter().all(|(worker, ..)| *worker == 1));
    bench.finish();
}

#[test]
fn a_ring_holds_packets_by_the_thousand_however_short_turns_are() {
    const PACKETS: u64 = 2000;
    let mut bench = bench(2, PACKETS);
    bench.change(Some(|_| 1));
    bench.workers[0].vector = 1;
    while bench.workers[1].turn(0) > 0 {}
    (0..30).for_each(|_| assert!(bench.workers[0].turn(0) > 0));
    assert_eq!(bench.workers[1].turn(0), 30, "thirty bundles of one packet");
    (30..PACKETS).for_each(|_| assert_eq!(bench.workers[0].turn(0), 1));
    // The last ones lie in an open bundle, which no sleep may keep.
    assert!(bench.workers[0].wake_at().is_some());
    while bench.workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    assert_eq!((bench.workers[0].wake_at(), bench.drops("spread", "full")), (None, 0));
    let numbers: Vec<_> = bench.sent.try_iter().map(|(_, flow, number)| number * 8 + flow).collect();
    assert_eq!(numbers, (0..PACKETS).collect::<Vec<_>>());
    bench.finish();
}

#[test]
fn a_bundle_that_is_still_open_is_not_overtaken() {
    let mut bench = bench(2, 1000);
    bench.change(Some(|_| 1));
    bench.workers[0].vector = 1;
    (0..100).for_each(|_| assert!(bench.workers[0].turn(0) > 0));
    bench.change(None);
    while bench.workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    let sent: Vec<_> = bench.sent.try_iter().map(|(worker, flow, number)| (worker, number * 8 + flow)).collect();
    assert_eq!(sent.len(), 1000);
    for (number, sent) in (0..).zip(sent) {
        assert_eq!(sent, (usize::from(number < 100), number));
    }
    bench.finish();
}

/// Stands for the machine under the second worker's thread, whose turns take all the time there is; the first worker hands
/// two packets over in the time of every so many turns, whatever the second does meanwhile.
struct Feeder<'a> {
    dataplane: &'a Dataplane,
    first: Worker,
    every: u64,
    due: u64,
    turns: u32,
    now: u64,
}
/// Nanoseconds of a turn.
const TURN: u64 = 10_000;
impl thread::System for Feeder<'_> {
    fn now(&mut self) -> u64 {
        self.now += TURN;
        self.now
    }
    fn cpu_time(&mut self) -> u64 {
        self.now
    }
    fn turned(&mut self, _: &Worker, _: usize) {
        self.turns += 1;
        while self.due <= self.now {
            self.first.turn(self.now);
            self.due += self.every * TURN;
        }
        if self.turns == 5000 {
            self.dataplane.stop();
        }
    }
    fn wait(&mut self, _: &mut [PollFd<'_>], until: Option<u64>) {
        self.now = until.expect("a nap").max(self.now);
    }
}
/// Number of naps of a worker that receives such packets by hand-off.
fn naps(every: u64, length: usize) -> u64 {
    let mut bench = bench_with(2, Flows { end: u64::MAX, length, ..Flows::default() });
    bench.change(Some(|_| 1));
    let [mut first, second] = <[Worker; 2]>::try_from(std::mem::take(&mut bench.workers)).ok().expect("two");
    first.vector = 2;
    let mut feeder = Feeder { dataplane: &bench.dataplane, first, every, due: 0, turns: 0, now: 0 };
    let second = thread::run(second, &mut feeder);
    let first = feeder.first;
    bench.workers = vec![first, second];
    let naps = bench.dataplane.worker_counters(1).expect("two").naps.get();
    assert!(bench.sent.try_iter().count() >= 5000 / every as usize && bench.drops("spread", "full") == 0);
    bench.finish();
    naps
}

#[test]
fn few_packets_that_are_handed_over_gather_in_naps() {
    assert!(naps(2, 64) > 100);
}

#[test]
fn no_nap_is_taken_beside_packets_that_were_handed_over() {
    assert_eq!(naps(1, 64), 0);
}

#[test]
fn long_packets_that_are_handed_over_are_not_taken_for_a_dear_wake_up() {
    assert_eq!(naps(2, 60_000), 0);
}

#[test]
fn what_is_on_its_way_from_an_interface_that_goes_is_dropped_even_if_its_number_comes_back() {
    let mut bench = bench(2, u64::MAX);
    bench.change(Some(|_| 1));
    (0..4).for_each(|_| assert!(bench.workers[0].turn(0) < 300));
    bench.dataplane.detach(0, ());
    // Both workers have let go of it when its number comes back; but what was handed over is still in the ring.
    bench.workers[0].turn(0);
    bench.attach(0, Flows::default());
    let mut turns = 0;
    while bench.drops("dispatch", "interface-gone") == 0 {
        turns += 1;
        assert!(turns < 10, "packets of the old interface come from the new one");
        bench.workers[1].turn(0);
    }
    while bench.workers.iter_mut().map(|worker| worker.turn(0)).sum::<usize>() > 0 {}
    assert_eq!(bench.sent.try_iter().count(), 0);
    bench.finish();
}

#[test]
fn workers_with_threads_hand_over_and_sleep() {
    const PACKETS: u64 = 40_000;
    let mut bench = bench(2, 0);
    bench.change(Some(|flow| flow as usize % 2));
    let start = thread::monotonic();
    let threads = bench.workers.drain(..).map(|worker| thread::spawn(worker, None, start).expect("a thread"));
    let threads: Vec<_> = threads.collect();
    let (mut next, mut seen) = ([0; 8], 0);
    let queue = bench.queue;
    while seen < PACKETS {
        // A few at a time, so that both fall asleep in between now and then.
        bench.dataplane.post_to_queue(queue, move |worker| {
            let flows = worker.queue_mut::<Flows>(queue).expect("it is here");
            flows.end += 400;
        });
        for _ in 0..400 {
            let (_, flow, number) = bench.sent.recv_timeout(std::time::Duration::from_secs(20)).expect("it comes");
            assert_eq!(number, next[flow as usize], "flow {flow}");
            next[flow as usize] += 1;
            seen += 1;
        }
        if seen % 4000 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    bench.dataplane.stop();
    bench.workers = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(bench.dataplane.worker_counters(1).expect("two").sleeps.get() > 0);
    bench.finish();
}

#[test]
fn what_circles_is_dropped_by_name() {
    let mut bench = bench(1, 100);
    let ring = bench.dataplane.graph().find("ring").expect("there is one");
    bench.dataplane.rewire(bench.spread, Next::Here.into(), Some(ring));
    while bench.workers[0].turn(0) > 0 {}
    assert_eq!((bench.drops("dispatch", "too-many-passes"), bench.sent.try_iter().count()), (100, 0));
    bench.dataplane.rewire(bench.spread, Next::Here.into(), None);
    bench.dataplane.post_to_queue(bench.queue, {
        let queue = bench.queue;
        move |worker| worker.queue_mut::<Flows>(queue).expect("it is here").end += 100
    });
    while bench.workers[0].turn(0) > 0 {}
    assert_eq!(bench.sent.try_iter().count(), 100, "what comes later is not touched");
    bench.finish();
}
