//! Host interfaces on real veth pairs, with a worker that is turned by hand.
//!
//! Two namespaces, each with a veth pair to a third one, where the daemon joins the pairs' other ends.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_control::Control;
use quiver_engine::*;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, enter, veth};
use quiver_testkit::executor::Executor;

fn main() -> ExitCode {
    let world = match enter() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let world: &'static World = Box::leak(Box::new(world));
    let trials = [
        ("tcp_crosses_with_its_offloads", tcp as fn(&World) -> Result<(), Failed>),
        ("pings_of_all_sizes_cross", pings),
        ("tags_that_linux_took_off_are_put_back", tags),
        ("several_queues_share_the_flows", several_queues),
        ("an_interface_that_goes_down_or_away_is_told", goes_away),
        ("mistakes_name_object_field_and_remedy", mistakes),
    ];
    let trials = trials.map(|(name, test)| Trial::test(name, move || test(world)));
    let mut arguments = Arguments::from_args();
    // The worlds' names are apart, but the tests share two cores.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// What arrives on one interface of a pair leaves by the other. Packets are noted.
struct Cross;
arcs! {
    enum CrossNext {
        Out => features "interface-output",
    }
}
#[derive(Default, Clone)]
struct Seen {
    longest: u32,
    offloads: usize,
    first: Vec<[u8; 18]>,
}
thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}
impl Node for Cross {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.tx[i] = 3 - frame.rx[i];
            SEEN.with_borrow_mut(|seen| {
                seen.longest = seen.longest.max(frame.length[i]);
                seen.offloads += usize::from(frame.offload(cx.pool, i).is_some());
                seen.first.extend(frame.first::<18>(cx.pool, i));
            });
        }
    }
}

struct House {
    executor: Executor,
    control: Control,
    workers: Vec<Worker>,
    a: Namespace,
    b: Namespace,
    /// Kept as long as the house.
    _middle: Namespace,
}

/// The namespaces, `more` behind each `create host-interface`.
fn house(world: &World, name: &str, mtu: u16, workers: usize, more: &str) -> Result<House, Failed> {
    let add = |suffix: &str| Namespace::add(world, &format!("{name}-{suffix}"));
    let (a, b, middle) = (add("a")?, add("b")?, add("m")?);
    veth((&a, "eth0"), (&middle, "a"), mtu)?;
    veth((&b, "eth0"), (&middle, "b"), mtu)?;
    a.ip("address add 10.9.0.1/24 dev eth0")?;
    b.ip("address add 10.9.0.2/24 dev eth0")?;
    let executor = Executor::new(1);
    let control = executor.control();
    control.insert_room(Dataplane::new(Settings { workers, ..Settings::default() })?);
    quiver_interface::register(&control)?;
    quiver_af_packet::register(&control)?;
    let mut dataplane = control.room_mut::<Dataplane>();
    dataplane.blueprint().feature_arc(FeatureArcSpec { name: "device-input", end: "cross", side: Side::Rx })?;
    dataplane.blueprint().node(NodeSpec::new("cross", CrossNext::ARCS, |_| Cross))?;
    let workers = dataplane.start()?;
    drop(dataplane);
    control.commands().check().map_err(|error| format!("{error:?}"))?;
    let house = House { executor, control, workers, a, b, _middle: middle };
    for end in ["a", "b"] {
        house.ok(&format!("create host-interface name {end} netns {name}-m {more}"))?;
        house.ok(&format!("set interface state host-{end} up"))?;
    }
    SEEN.take();
    Ok(house)
}

impl House {
    fn run(&self, line: &str) -> Result<String, String> {
        let output = Default::default();
        let run = self.control.commands().run(&self.control, line, &output);
        self.executor.block_on(run).map(|reply| reply.text).map_err(|error| error.to_string())
    }
    fn ok(&self, line: &str) -> Result<String, Failed> {
        self.run(line).map_err(|error| format!("{line}: {error}").into())
    }
    /// Turns the workers until the other thread is done.
    fn serve<T>(&mut self, other: std::thread::JoinHandle<T>) -> Result<T, Failed> {
        let start = Instant::now();
        while !other.is_finished() {
            let busy: usize = self.workers.iter_mut().map(|worker| worker.turn(thread::monotonic())).sum();
            if busy == 0 {
                std::thread::yield_now();
            }
            if start.elapsed() > Duration::from_secs(20) {
                return Err("it takes too long".into());
            }
        }
        other.join().map_err(|_| "the other side panicked".into())
    }
    fn link(&self, name: &str) -> Option<bool> {
        self.control.room::<Interfaces>().find(name).map(|interface| interface.link)
    }
}

fn tcp(world: &World) -> Result<(), Failed> {
    let mut house = house(world, "tcp", 1500, 1, "")?;
    let buffers = house.control.room::<Dataplane>().buffers().clone();
    let bytes: Vec<u8> = (0..20_000_000u32).map(|i| (i % 251) as u8).collect();
    let (expected, path) = (bytes.clone(), house.a.path());
    let listener = house.b.within(|| TcpListener::bind("10.9.0.2:7000"))??;
    let transfer = std::thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let receiver = std::thread::spawn(move || -> std::io::Result<Vec<u8>> {
            let (mut stream, mut received) = (listener.accept()?.0, vec![]);
            stream.read_to_end(&mut received)?;
            Ok(received)
        });
        nix::sched::setns(std::fs::File::open(path)?, nix::sched::CloneFlags::CLONE_NEWNET)?;
        TcpStream::connect("10.9.0.2:7000")?.write_all(&bytes)?;
        receiver.join().map_err(|_| std::io::Error::other("the receiver panicked"))?
    });
    assert!(house.serve(transfer)?? == expected, "other bytes arrived than were sent");
    let seen = SEEN.take();
    assert!(seen.longest > 30_000, "the longest packet had {} bytes", seen.longest);
    assert!(seen.offloads > 100, "{} packets with an offload", seen.offloads);
    assert!(house.ok("show af-packet")?.contains("running"));
    for end in ["a", "b"] {
        house.ok(&format!("delete host-interface name {end}"))?;
    }
    house.workers[0].turn(0);
    house.control.room::<Dataplane>().reclaim();
    house.workers.clear();
    assert_eq!(buffers.stored(), buffers.count() as usize, "a buffer leaked");
    Ok(())
}

fn pings(world: &World) -> Result<(), Failed> {
    let mut house = house(world, "pings", 9000, 1, "")?;
    for size in ["56", "1472", "8972"] {
        let mut ping = house.a.command("ping");
        ping.args(["-c", "3", "-i", "0.05", "-W", "2", "-s", size, "10.9.0.2"]);
        let said = house.serve(std::thread::spawn(move || ping.output()))??;
        assert!(said.status.success(), "{size}: {}", String::from_utf8_lossy(&said.stdout));
    }
    let interfaces = house.control.room::<Interfaces>();
    assert_eq!(interfaces.find("host-a").map(|interface| interface.mtu), Some(9000));
    Ok(())
}

/// A frame sent raw with a tag: on its way into the receiving socket, Linux keeps the tag beside the packet.
fn tags(world: &World) -> Result<(), Failed> {
    let mut house = house(world, "tags", 1500, 1, "")?;
    let frame = "00 11 22 33 44 55 02 00 00 00 00 07 81 00 20 64 08 00 45 00".replace(' ', "");
    let script = format!(
        "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('eth0', 0)); \
         s.send(bytes.fromhex('{frame}') + bytes(60))"
    );
    let mut python = house.a.command("python3");
    python.args(["-c", &script]);
    let said = house.serve(std::thread::spawn(move || python.output()))??;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let start = Instant::now();
    let expected = *b"\x00\x11\x22\x33\x44\x55\x02\0\0\0\0\x07\x81\0\x20\x64\x08\0";
    while !SEEN.with_borrow(|seen| seen.first.contains(&expected)) {
        house.workers[0].turn(0);
        assert!(start.elapsed() < Duration::from_secs(2), "{:x?}", SEEN.take().first);
    }
    Ok(())
}

fn several_queues(world: &World) -> Result<(), Failed> {
    let mut house = house(world, "queues", 1500, 2, "num-rx-queues 2")?;
    let receiver = house.b.within(|| UdpSocket::bind("10.9.0.2:7000"))??;
    receiver.set_read_timeout(Some(Duration::from_secs(3)))?;
    let senders =
        house.a.within(|| (0..40).map(|_| UdpSocket::bind("10.9.0.1:0")).collect::<Result<Vec<_>, _>>())??;
    let flows = std::thread::spawn(move || -> std::io::Result<usize> {
        let mut seen = std::collections::HashSet::new();
        for sender in &senders {
            sender.send_to(b"flow", (Ipv4Addr::new(10, 9, 0, 2), 7000))?;
            seen.insert(receiver.recv_from(&mut [0; 16])?.1);
        }
        Ok(seen.len())
    });
    assert_eq!(house.serve(flows)??, 40);
    let dataplane = house.control.room::<Dataplane>();
    for worker in 0..2 {
        let turns = dataplane.worker_counters(worker).map(|counters| counters.busy_turns.get());
        assert!(turns > Some(0), "worker {worker} received nothing");
    }
    // What we send does not come back, whatever the group's sockets are told.
    let ((received, _), (sent, _)) = dataplane.interface_counters(2);
    assert!(sent >= 40 && received < sent, "{received} received where {sent} were sent");
    Ok(())
}

fn goes_away(world: &World) -> Result<(), Failed> {
    let mut house = house(world, "away", 1500, 1, "")?;
    // Linux tells of carriers with a delay of up to a second.
    let mut becomes = |links: (bool, bool)| {
        let start = Instant::now();
        while (house.link("host-a"), house.link("host-b")) != (Some(links.0), Some(links.1)) {
            assert!(start.elapsed() < Duration::from_secs(5), "{links:?} is not told");
            house.workers[0].turn(0);
            house.executor.run_for(Duration::from_secs(1));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    becomes((true, true));
    let middle = |arguments: &str| {
        quiver_netns::run(std::process::Command::new("ip").args(["-n", "away-m"]).args(arguments.split(' ')))
    };
    middle("link set dev a down")?;
    becomes((false, true));
    middle("link set dev a up")?;
    becomes((true, true));
    middle("link del dev a")?;
    becomes((false, true));
    assert!(house.ok("show af-packet")?.contains("error: Linux has it no more"));
    // A worker's thread sleeps over it instead of being woken for ever, and ends when it is told.
    let worker = house.workers.remove(0);
    let mailbox = house.control.room::<Dataplane>().mailbox(0).ok_or("one worker")?.clone();
    let running = thread::spawn(worker, None, thread::monotonic())?;
    std::thread::sleep(Duration::from_millis(100));
    let turns = || house.control.room::<Dataplane>().worker_counters(0).map_or(0, |counters| counters.turns.get());
    let before = turns();
    std::thread::sleep(Duration::from_millis(200));
    // A stray packet costs some turns; a worker that is woken again and again makes many thousands.
    assert!(turns() - before < 5000, "{} turns where nothing happened", turns() - before);
    mailbox.stop();
    running.join().map_err(|_| "the worker panicked")?;
    Ok(())
}

fn mistakes(world: &World) -> Result<(), Failed> {
    let house = house(world, "mistakes", 1500, 1, "")?;
    let refused = [
        (
            "create host-interface name nowhere",
            "host-interfaces host-nowhere: name: there is no Linux interface nowhere in the daemon's own namespace; choose one that `ip link` shows there",
        ),
        (
            "create host-interface name x netns nowhere",
            "host-interfaces host-x: namespace: there is no network namespace nowhere",
        ),
        (
            "create host-interface name x num-rx-queues 0",
            "host-interfaces host-x: rx-queues: 0 are not possible; 1 to 16",
        ),
        ("create host-interface name a netns mistakes-m", "there is an interface host-a already; delete it first"),
        ("delete host-interface name c", "c is not used; `show af-packet` tells what is"),
    ];
    for (line, expected) in refused {
        let error = house.run(line).expect_err(line);
        assert!(error.starts_with(expected), "{error}");
    }
    Ok(())
}
