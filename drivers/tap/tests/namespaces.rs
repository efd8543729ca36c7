//! TAP interfaces with real namespaces at their Linux side, and a worker that is turned by hand.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_control::Control;
use quiver_engine::*;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, enter};
use quiver_testkit::executor::Executor;
use quiver_wire::{ArpOperation, ArpPacket, EtherType, EthernetHeader, Header, MacAddress};

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
        ("arp_and_ping_are_answered_through_the_driver_alone", answers as fn(&World) -> Result<(), Failed>),
        ("long_packets_cross_whole_from_tap_to_tap", long_packets),
        ("without_gso_every_packet_is_whole_and_short", short_packets),
        ("several_queues_and_workers_carry_all_flows", several_queues),
        ("a_device_that_goes_away_is_told_and_does_no_harm", lost),
        ("linux_takes_the_settings_of_its_side", settings),
        ("mistakes_name_object_field_and_remedy", mistakes),
    ];
    let trials = trials.map(|(name, test)| Trial::test(name, move || test(world)));
    let mut arguments = Arguments::from_args();
    // The worlds' names are apart, but the tests share two cores.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// What arrives on one interface of a pair leaves by the other; longest packet and number of offloads are noted.
struct Cross;
arcs! {
    enum CrossNext {
        Out => features "interface-output",
    }
}
thread_local! {
    static SEEN: RefCell<(u32, usize)> = const { RefCell::new((0, 0)) };
}
impl Node for Cross {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.tx[i] = if frame.rx[i] % 2 == 1 { frame.rx[i] + 1 } else { frame.rx[i] - 1 };
            SEEN.with_borrow_mut(|seen| {
                seen.0 = seen.0.max(frame.length[i]);
                seen.1 += usize::from(frame.offload(cx.pool, i).is_some());
            });
        }
    }
}

/// Answers ARP for any address, and pings.
struct Answer(MacAddress);
impl Node for Answer {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            frame.tx[i] = frame.rx[i];
            let bytes = frame.bytes_mut(cx.pool, i);
            let Some((ethernet, rest)) = EthernetHeader::parse_mut(bytes) else { continue };
            (ethernet.destination, ethernet.source) = (ethernet.source, self.0);
            match ethernet.ethertype {
                EtherType::ARP => {
                    let Some((arp, _)) = ArpPacket::parse_mut(rest) else { continue };
                    let asked = arp.target_ip;
                    (arp.target_mac, arp.target_ip) = (arp.sender_mac, arp.sender_ip);
                    (arp.sender_mac, arp.sender_ip, arp.operation) = (self.0, asked, ArpOperation::REPLY);
                }
                EtherType::IP4 if rest.len() > 28 && rest[9] == 1 && rest[20] == 8 => {
                    let (source, destination) = rest[12..20].split_at_mut(4);
                    source.swap_with_slice(destination);
                    rest[20] = 0;
                    // Type 8 became 0: the checksum's high byte rises by 8 (RFC 1624).
                    let old = u16::from_be_bytes([rest[22], rest[23]]);
                    let new = quiver_wire::checksum::update16(old, 0x0800, 0);
                    rest[22..24].copy_from_slice(&new.to_be_bytes());
                }
                _ => {}
            }
        }
    }
}

struct House {
    executor: Executor,
    control: Control,
    workers: Vec<Worker>,
}

fn house(workers: usize, node: impl FnOnce(&mut Blueprint)) -> Result<House, Failed> {
    let executor = Executor::new(1);
    let control = executor.control();
    control.insert_room(Dataplane::new(Settings { workers, ..Settings::default() })?);
    quiver_interface::register(&control)?;
    quiver_tap::register(&control)?;
    let graph = FeatureArcSpec { name: "device-input", end: "test", side: Side::Rx };
    control.room_mut::<Dataplane>().blueprint().feature_arc(graph)?;
    node(control.room_mut::<Dataplane>().blueprint());
    control.commands().check().map_err(|error| format!("{error:?}"))?;
    let workers = control.room_mut::<Dataplane>().start()?;
    Ok(House { executor, control, workers })
}
fn crossing(workers: usize) -> Result<House, Failed> {
    house(workers, |graph| drop(graph.node(NodeSpec::new("test", CrossNext::ARCS, |_| Cross))))
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
    /// A tap in each namespace, both up.
    fn pair(&self, a: &Namespace, b: &Namespace, more: &str) -> Result<(), Failed> {
        for (id, namespace) in [a, b].into_iter().enumerate() {
            let (name, host) = (namespace.name(), id + 1);
            self.ok(&format!(
                "create tap id {id} host-ns {name} host-if-name eth0 host-ip4-addr 10.9.0.{host}/24 {more}"
            ))?;
            self.ok(&format!("set interface state tap{id} up"))?;
        }
        Ok(())
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
}

/// Sends so many bytes by TCP from one namespace to the other; the receiver's sum of them.
fn transfer(
    a: &Namespace,
    b: &Namespace,
    bytes: usize,
) -> Result<std::thread::JoinHandle<Result<u64, String>>, Failed> {
    let listener = b.within(|| TcpListener::bind("10.9.0.2:7000"))??;
    let path = a.path();
    Ok(std::thread::spawn(move || {
        let receiver = std::thread::spawn(move || -> std::io::Result<u64> {
            let (mut stream, _) = listener.accept()?;
            let (mut sum, mut buffer) = (0, vec![0; 1 << 16]);
            loop {
                match stream.read(&mut buffer)? {
                    0 => return Ok(sum),
                    n => sum += buffer[..n].iter().map(|byte| u64::from(*byte)).sum::<u64>(),
                }
            }
        });
        let send = || -> std::io::Result<()> {
            nix_enter(&path)?;
            let mut stream = TcpStream::connect("10.9.0.2:7000")?;
            stream.write_all(&pattern(bytes))
        };
        send().map_err(|error| format!("send: {error}"))?;
        receiver.join().map_err(|_| "no receiver")?.map_err(|error| format!("receive: {error}"))
    }))
}
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i % 251) as u8).collect()
}
fn nix_enter(path: &str) -> std::io::Result<()> {
    Ok(nix::sched::setns(std::fs::File::open(path)?, nix::sched::CloneFlags::CLONE_NEWNET)?)
}

fn answers(world: &World) -> Result<(), Failed> {
    let ours = MacAddress([2, 0, 0, 0, 0, 9]);
    let mut house = house(1, |graph| drop(graph.node(NodeSpec::new("test", CrossNext::ARCS, move |_| Answer(ours)))))?;
    let host = Namespace::add(world, "answers")?;
    house.ok("create tap id 0 host-ns answers host-ip4-addr 10.9.0.1/24")?;
    house.ok("set interface state tap0 up")?;
    let ping = host.command("ping").args(["-c", "3", "-i", "0.05", "-W", "2", "-s", "1400", "10.9.0.7"]).spawn()?;
    let said = house.serve(std::thread::spawn(move || {
        let mut ping = ping;
        ping.wait()
    }))??;
    assert!(said.success(), "no answer");
    let ((received, _), (sent, _)) = house.control.room::<Dataplane>().interface_counters(1);
    assert!(received >= 4 && received == sent, "{received} {sent}");
    Ok(())
}

fn long_packets(world: &World) -> Result<(), Failed> {
    let mut house = crossing(1)?;
    let (a, b) = (Namespace::add(world, "long-a")?, Namespace::add(world, "long-b")?);
    house.pair(&a, &b, "")?;
    let buffers = house.control.room::<Dataplane>().buffers().clone();
    SEEN.set((0, 0));
    let bytes = 20_000_000;
    let sum = house.serve(transfer(&a, &b, bytes)?)??;
    assert_eq!(sum, pattern(bytes).iter().map(|byte| u64::from(*byte)).sum::<u64>());
    let (longest, offloads) = SEEN.with_borrow(|seen| *seen);
    assert!(longest > 30_000, "the longest packet had {longest} bytes");
    assert!(offloads > 100, "{offloads} packets with an offload");
    for name in ["tap0", "tap1"] {
        house.ok(&format!("delete tap {name}"))?;
    }
    house.workers[0].turn(0);
    house.control.room::<Dataplane>().reclaim();
    house.workers.clear();
    assert_eq!(buffers.stored(), buffers.count() as usize, "a buffer leaked");
    assert!(a.ip("link show eth0").is_err(), "the device outlived the interface");
    Ok(())
}

fn short_packets(world: &World) -> Result<(), Failed> {
    let (a, b) = (Namespace::add(world, "short-a")?, Namespace::add(world, "short-b")?);
    // Both ways: Linux cuts on its way to us; and where only one side takes long packets, we cut.
    for (mine, yours, longest_seen) in [("no-gso", "no-gso", 1514), ("gso", "no-gso", 65_550)] {
        let mut house = crossing(1)?;
        let create = |id: usize, more: &str| {
            let (name, host) = ([a.name(), b.name()][id], id + 1);
            house.ok(&format!(
                "create tap id {id} host-ns {name} host-if-name eth0 host-ip4-addr 10.9.0.{host}/24 {more}"
            ))?;
            house.ok(&format!("set interface state tap{id} up"))
        };
        create(0, mine)?;
        create(1, yours)?;
        SEEN.set((0, 0));
        let bytes = 3_000_000;
        let sum = house.serve(transfer(&a, &b, bytes)?)??;
        assert_eq!(sum, pattern(bytes).iter().map(|byte| u64::from(*byte)).sum::<u64>());
        let (longest, offloads) = SEEN.with_borrow(|seen| *seen);
        assert!(longest <= longest_seen, "the longest packet had {longest} bytes");
        assert_eq!(offloads > 0, mine == "gso");
        let counters = b.ip("-s link show eth0")?;
        let ((_, _), (sent, _)) = house.control.room::<Dataplane>().interface_counters(2);
        assert!(sent >= bytes as u64 / 1448, "only {sent} packets were sent: {counters}");
        // Linux verifies each checksum that we filled in: a wrong one would be counted, and the transfer would hang.
        let errors = b.command("cat").arg("/proc/net/snmp").output()?;
        let text = String::from_utf8_lossy(&errors.stdout).into_owned();
        let tcp: Vec<_> = text.lines().filter(|line| line.starts_with("Tcp:")).collect();
        assert!(tcp[1].split(' ').next_back() == Some("0"), "InCsumErrors in {tcp:?}");
    }
    Ok(())
}

fn several_queues(world: &World) -> Result<(), Failed> {
    let mut house = crossing(2)?;
    let (a, b) = (Namespace::add(world, "queues-a")?, Namespace::add(world, "queues-b")?);
    house.pair(&a, &b, "num-rx-queues 3")?;
    assert_eq!(house.control.room::<Dataplane>().queues().len(), 6);
    assert!(house.ok("show tap")?.contains('3'));
    let receiver = b.within(|| UdpSocket::bind("10.9.0.2:7000"))??;
    receiver.set_read_timeout(Some(Duration::from_secs(3)))?;
    let senders = a.within(|| (0..40).map(|_| UdpSocket::bind("10.9.0.1:0")).collect::<Result<Vec<_>, _>>())??;
    let flows = std::thread::spawn(move || -> std::io::Result<usize> {
        let mut seen = std::collections::HashSet::new();
        for sender in &senders {
            sender.send_to(b"flow", (Ipv4Addr::new(10, 9, 0, 2), 7000))?;
            seen.insert(receiver.recv_from(&mut [0; 16])?.1);
        }
        Ok(seen.len())
    });
    assert_eq!(house.serve(flows)??, 40);
    // Linux spreads flows by their hash: forty of them meet every queue of both workers.
    for worker in 0..2 {
        let turns = house.control.room::<Dataplane>().worker_counters(worker).map(|c| c.busy_turns.get());
        assert!(turns > Some(0), "worker {worker} received nothing");
    }
    Ok(())
}

fn lost(world: &World) -> Result<(), Failed> {
    let mut house = crossing(1)?;
    let (a, b) = (Namespace::add(world, "lost-a")?, Namespace::add(world, "lost-b")?);
    house.pair(&a, &b, "")?;
    let link = |house: &House, name: &str| house.control.room::<Interfaces>().find(name).map(|i| i.link);
    b.ip("link set eth0 down")?;
    house.executor.run_for(Duration::from_secs(1));
    assert_eq!((link(&house, "tap0"), link(&house, "tap1")), (Some(true), Some(false)));
    assert!(house.ok("show tap tap1")?.contains("down"));
    b.ip("link set eth0 up")?;
    a.ip("link del eth0")?;
    house.workers[0].turn(0);
    house.executor.run_for(Duration::from_secs(1));
    assert_eq!((link(&house, "tap0"), link(&house, "tap1")), (Some(false), Some(true)));
    assert!(house.ok("show tap tap0")?.contains("gone"));
    assert_eq!(house.workers[0].fds().map(|fds| fds.len()), Some(1), "a worker would be woken by it for ever");
    // What is sent there is dropped by name; the other one still works.
    let sender = b.within(|| UdpSocket::bind("10.9.0.2:0"))??;
    b.ip("neighbor add 10.9.0.1 lladdr 02:00:00:00:00:01 dev eth0")?;
    sender.send_to(b"into the void", "10.9.0.1:9")?;
    while house.workers[0].turn(0) > 0 {}
    let dataplane = house.control.room::<Dataplane>();
    let graph = dataplane.graph();
    let output = graph.nodes().find(|id| graph.name(*id) == "interface-output").ok_or("the engine's own")?;
    let refused = graph.arcs(output).iter().position(|arc| arc.name == "tx-refused").ok_or("an arc")?;
    assert!(graph.counters(output).next().is_some_and(|counters| counters.arcs[refused].get() > 0));
    drop(dataplane);
    // It can be made again.
    house.ok("delete tap tap0")?;
    house.ok("create tap id 0 host-ns lost-a host-if-name eth0")?;
    Ok(())
}

fn settings(world: &World) -> Result<(), Failed> {
    let house = crossing(1)?;
    let host = Namespace::add(world, "settings")?;
    host.ip("link add br0 type bridge")?;
    house.ok(&format!(
        "create tap id 7 host-ns {} host-if-name port host-mac-addr 02:00:00:00:00:77 host-mtu-size 9000 host-bridge br0 \
         host-ip4-addr 10.9.0.1/24 host-ip4-gw 10.9.0.254 host-ip6-addr fd00::1/64 host-ip6-gw fd00::fe hw-addr 02:00:00:00:00:70",
        host.path()
    ))?;
    let link = host.ip("-d link show port")?;
    for part in ["mtu 9000", "qlen 2048", "master br0", "link/ether 02:00:00:00:00:77", "UP"] {
        assert!(link.contains(part), "{part}: {link}");
    }
    let addresses = host.ip("address show port")?;
    assert!(addresses.contains("10.9.0.1/24") && addresses.contains("fd00::1/64"), "{addresses}");
    assert!(host.ip("route")?.contains("default via 10.9.0.254 dev port"));
    assert!(host.ip("-6 route")?.contains("default via fd00::fe dev port"));
    let interfaces = house.control.room::<Interfaces>();
    let tap = interfaces.find("tap7").ok_or("it was made")?;
    assert_eq!((tap.mtu, tap.mac, tap.kind), (9000, MacAddress([2, 0, 0, 0, 0, 0x70]), "tap"));
    Ok(())
}

fn mistakes(world: &World) -> Result<(), Failed> {
    let house = crossing(1)?;
    let host = Namespace::add(world, "mistakes")?;
    host.ip("link add eth0 type bridge")?;
    let refused = [
        (
            "host-ns nowhere",
            "taps tap0: host-namespace: there is no network namespace nowhere; make it with `ip netns add nowhere`",
        ),
        (
            "host-ns mistakes host-if-name eth0",
            "taps tap0: host-interface: there is a Linux interface eth0 in namespace mistakes already; choose another name",
        ),
        (
            "host-ns mistakes host-bridge br9",
            "taps tap0: host-bridge: there is no Linux interface br9 in namespace mistakes",
        ),
        ("host-ns mistakes num-rx-queues 300", "taps tap0: rx-queues: 300 are not possible; 1 to 256"),
        ("host-ns mistakes host-ip4-gw 10.1.1.1", "taps tap0: make 10.1.1.1 the default gateway"),
    ];
    for (what, expected) in refused {
        let error = house.run(&format!("create tap id 0 {what}")).expect_err(what);
        assert!(error.starts_with(expected), "{error}");
        assert!(host.ip("link show tap0").is_err(), "{what}: something was left behind");
    }
    house.ok("create tap host-ns mistakes host-if-name one")?;
    let error = house.run("create tap id 0 host-ns mistakes host-if-name two").expect_err("it is there");
    assert_eq!(error, "there is an interface tap0 already; choose another id");
    let error = house.run("create tap id 1 host-ns mistakes host-if-name one").expect_err("Linux has it");
    assert!(error.contains("there is a Linux interface one in namespace mistakes already"), "{error}");
    assert_eq!(house.ok("create tap host-ns mistakes")?, "tap1");
    Ok(())
}
