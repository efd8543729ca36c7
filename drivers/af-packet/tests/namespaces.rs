//! Host interfaces on real veth pairs, with workers that are turned by hand.
//!
//! Two namespaces, each with a veth pair to a third one, where the daemon joins the pairs' other ends.

mod mtu;

use std::net::{TcpListener, UdpSocket};
use std::process::{Command, ExitCode};
use std::thread::spawn;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_af_packet::HostInterface;
use quiver_af_packet::api::*;
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Caller, Retval};
use quiver_engine::*;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, enter, run, veth};
use quiver_scenarios::rooms;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_testkit::trials::Trial;
use quiver_testkit::{crossing, traffic, trials};
use quiver_wire::MacAddress;

const TRIALS: &[Trial<World>] = &[
    ("tcp_crosses_with_its_offloads", tcp),
    ("pings_of_all_sizes_cross", pings),
    ("tags_that_linux_took_off_are_put_back", tags),
    ("several_queues_share_the_flows", several_queues),
    ("what_finds_no_buffer_is_dropped_by_name", no_buffers),
    ("what_finds_the_ring_full_is_dropped_by_name", ring_full),
    ("what_the_ring_holds_in_part_is_dropped_by_name", truncated),
    ("an_interface_that_goes_down_or_away_is_told", goes_away),
    mtu::TOLD,
    mtu::TOO_LONG,
    ("links_are_as_fast_as_linux_says", speed),
    ("mistakes_name_object_field_and_remedy", mistakes),
    ("clients_of_vpp_have_interfaces_of_linux_used", messages),
];

fn main() -> ExitCode {
    trials::main(enter(), TRIALS)
}

/// Packets that arrive on one interface of a pair leave by the other.
const CROSSING: Rooms = rooms![without wires: quiver_interface, crossing, quiver_af_packet];

/// Time limit of every operation of Linux.
const PATIENCE: Duration = Duration::from_secs(30);

/// The namespaces, and the daemon between them.
struct Site {
    daemon: Daemon,
    a: Namespace,
    b: Namespace,
    /// Where the daemon's ends are.
    middle: String,
    _middle: Namespace,
}

/// The namespaces, `more` behind each `create host-interface`.
fn site(world: &World, name: &str, mtu: u16, workers: usize, more: &str) -> Result<Site, Failed> {
    let add = |suffix: &str| Namespace::add(world, &format!("{name}-{suffix}"));
    let (a, b, middle) = (add("a")?, add("b")?, add("m")?);
    veth((&a, "eth0"), (&middle, "a"), mtu)?;
    veth((&b, "eth0"), (&middle, "b"), mtu)?;
    a.ip("address add 10.9.0.1/24 dev eth0")?;
    b.ip("address add 10.9.0.2/24 dev eth0")?;
    let mut daemon = Daemon::new(CROSSING, Setup { workers, buffers: 8192, ..Setup::default() })?;
    for end in ["a", "b"] {
        daemon.configure(&format!(
            "create host-interface name {end} netns {name}-m {more}
             set interface state host-{end} up"
        ));
    }
    Ok(Site { daemon, a, b, middle: format!("{name}-m"), _middle: middle })
}

impl Site {
    fn links(&self) -> [bool; 2] {
        let interfaces = self.daemon.control().room::<Interfaces>();
        ["host-a", "host-b"].map(|name| interfaces.find(name).is_some_and(|interface| interface.link))
    }
    /// Sends packets from `a` raw, as a Python expression with a socket `s` says; `offload` is whether virtio's header
    /// stands in front of each.
    fn send_raw(&mut self, offload: bool, expression: &str) -> Result<(), Failed> {
        let option = if offload { "s.setsockopt(263, 15, 1);" } else { "" };
        let script = format!(
            "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); {option} s.bind(('eth0', 0)); {expression}"
        );
        let mut python = self.a.command("python3");
        python.args(["-c", &script]);
        self.daemon.run_until(spawn(move || run(&mut python)))?;
        Ok(())
    }
    /// Lets the daemon work until a packet was dropped for this reason; says how many.
    fn dropped(&mut self, node: &'static str, reason: &'static str) -> u64 {
        let start = Instant::now();
        loop {
            let drops = self.daemon.drops();
            if let Some(count) = drops.get(&(node, reason)) {
                return *count;
            }
            assert!(start.elapsed() < PATIENCE, "{drops:?}");
            self.daemon.run_until(spawn(|| std::thread::sleep(Duration::from_millis(5))));
        }
    }
}

fn tcp(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "tcp", 1500, 1, "")?;
    let (captured, bytes) = (site.daemon.capture_received(0), 20_000_000);
    let listener = site.b.within(|| TcpListener::bind("10.9.0.2:7000"))??;
    let to = listener.local_addr()?;
    let sender = site.a.spawn(move || traffic::send(to, bytes));
    assert_eq!(site.daemon.run_until(spawn(move || traffic::receive(&listener)))?, bytes);
    site.daemon.run_until(sender)??;
    let longest = std::iter::from_fn(|| captured.receive()).map(|packet| packet.length).max();
    assert!(longest > Some(30_000), "the longest packet had {longest:?} bytes");
    let offloads = site.daemon.counts()[&("crossing", "offload")];
    assert!(offloads > 100, "{offloads} packets with an offload");
    assert!(site.daemon.run("show af-packet")?.text.contains("running"));
    site.daemon.configure("delete host-interface name a\n delete host-interface name b");
    Ok(site.daemon.finish()?)
}

fn pings(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "pings", 9000, 1, "")?;
    for size in ["56", "1472", "8972"] {
        let mut ping = site.a.command("ping");
        ping.args(["-c", "3", "-i", "0.05", "-W", "2", "-s", size, "10.9.0.2"]);
        let said = site.daemon.run_until(spawn(move || ping.output()))?;
        assert!(said.status.success(), "{size}: {}", String::from_utf8_lossy(&said.stdout));
    }
    let mtu = site.daemon.control().room::<Interfaces>().find("host-a").map(|interface| interface.mtu);
    assert_eq!(mtu, Some(9000));
    Ok(site.daemon.finish()?)
}

/// A frame sent raw with a tag: on its way into the receiving socket, Linux keeps the tag beside the packet.
fn tags(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "tags", 1500, 1, "")?;
    let captured = site.daemon.capture_received(18);
    let frame = "00 11 22 33 44 55 02 00 00 00 00 07 81 00 20 64 08 00 45 00".replace(' ', "");
    site.send_raw(false, &format!("s.send(bytes.fromhex('{frame}') + bytes(60))"))?;
    let expected = *b"\x00\x11\x22\x33\x44\x55\x02\0\0\0\0\x07\x81\0\x20\x64\x08\0";
    let (start, mut seen) = (Instant::now(), vec![]);
    while !seen.contains(&expected.to_vec()) {
        site.daemon.run_until(spawn(|| std::thread::sleep(Duration::from_millis(1))));
        seen.extend(std::iter::from_fn(|| captured.receive()).map(|packet| packet.bytes));
        assert!(start.elapsed() < PATIENCE, "{seen:x?}");
    }
    Ok(site.daemon.finish()?)
}

fn several_queues(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "queues", 1500, 2, "num-rx-queues 2")?;
    let receiver = site.b.within(|| UdpSocket::bind("10.9.0.2:7000"))??;
    let senders = site.a.within(|| (0..40).map(|_| UdpSocket::bind("10.9.0.1:0")).collect::<Result<Vec<_>, _>>())??;
    assert_eq!(site.daemon.run_until(spawn(move || traffic::flows(&senders, &receiver)))?, 40);
    {
        let dataplane = site.daemon.control().room::<Dataplane>();
        for worker in 0..2 {
            let turns = dataplane.worker_counters(worker).map(|counters| counters.busy_turns.get());
            assert!(turns > Some(0), "worker {worker} received nothing");
        }
        // What we send does not come back, whatever the group's sockets are told.
        let counted = dataplane.interface_counters(2);
        let (received, sent) = (counted.rx.packets, counted.tx.packets);
        assert!(sent >= 40 && received < sent, "{received} received where {sent} were sent");
    }
    Ok(site.daemon.finish()?)
}

fn no_buffers(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "poor", 1500, 1, "")?;
    let pool = site.daemon.workers()[0].pool();
    let held: Vec<_> = std::iter::from_fn(|| pool.packet(&[0])).collect();
    site.send_raw(false, "[s.send(bytes(60)) for i in range(10)]")?;
    assert!(site.dropped("af-packet-input", "no-buffer") >= 1);
    drop(held);
    Ok(site.daemon.finish()?)
}

/// More packets than a ring has frames, while the worker does not run.
fn ring_full(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "full", 1500, 1, "")?;
    let sent = 6_000;
    let socket = site.a.within(|| UdpSocket::bind("10.9.0.1:0"))??;
    site.a.ip("neighbor add 10.9.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent")?;
    for _ in 0..sent {
        socket.send_to(b"?", "10.9.0.2:9")?;
    }
    // The ring is read until it has room for a packet that tells what was lost before it.
    site.daemon.run_until(spawn(|| std::thread::sleep(Duration::from_millis(50))));
    socket.send_to(b"!", "10.9.0.2:9")?;
    let lost = site.dropped("af-packet-input", "ring-full");
    let interfaces = site.daemon.control().room::<Interfaces>().find("host-a").map(|interface| interface.id.0);
    let counted = site.daemon.control().room::<Dataplane>().interface_counters(interfaces.unwrap_or_default());
    assert_eq!((counted.rx_missed, counted.rx_errors), (lost, 0));
    assert!(counted.rx.packets + lost > sent && lost > 1_000, "{counted:?}");
    Ok(site.daemon.finish()?)
}

/// With `BIG TCP` Linux makes packets that are longer than a block of the ring.
fn truncated(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "big", 1500, 1, "")?;
    site.a.ip("link set eth0 gso_max_size 500000")?;
    // A checksum to be completed; segments of 1,400 bytes of TCP over IPv6, whose header begins at byte 14.
    site.send_raw(
        true,
        "s.send(bytes.fromhex('0104 4a00 7805 3600 1000'.replace(' ', '')) + bytes.fromhex('00112233445502000000000786dd') \
         + bytes.fromhex('60000000 0000 06 40'.replace(' ', '')) + bytes([0xfd] + [0] * 14 + [1]) + bytes([0xfd] + [0] * 14 + [2]) \
         + bytes.fromhex('1b581b59 00000001 00000001 5010ffff 00000000'.replace(' ', '')) + bytes(300000))",
    )?;
    assert_eq!(site.dropped("af-packet-input", "truncated"), 1);
    Ok(site.daemon.finish()?)
}

fn goes_away(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "away", 1500, 1, "")?;
    let namespace = site.middle.clone();
    let middle = |arguments: &str| run(Command::new("ip").args(["-n", &namespace]).args(arguments.split(' ')));
    // Linux tells of carriers with a delay of up to a second.
    let mut becomes = |links: [bool; 2]| {
        let start = Instant::now();
        while site.links() != links {
            assert!(start.elapsed() < PATIENCE, "{links:?} is not told");
            site.daemon.advance(Duration::from_secs(1))?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok::<(), Failed>(())
    };
    becomes([true, true])?;
    middle("link set dev a down")?;
    becomes([false, true])?;
    middle("link set dev a up")?;
    becomes([true, true])?;
    middle("link del dev a")?;
    becomes([false, true])?;
    assert!(site.daemon.run("show af-packet")?.text.contains("error: Linux has it no more"));
    // A worker's thread sleeps over it instead of being woken for ever, and ends when it is told.
    site.daemon.start_threads()?;
    std::thread::sleep(Duration::from_millis(100));
    let control = site.daemon.control().clone();
    let turns = || control.room::<Dataplane>().worker_counters(0).map_or(0, |counters| counters.turns.get());
    let before = turns();
    std::thread::sleep(Duration::from_millis(200));
    // A stray packet costs some turns; a worker that is woken again and again makes many thousands.
    assert!(turns() - before < 5000, "{} turns where nothing happened", turns() - before);
    drop(control);
    Ok(site.daemon.finish()?)
}

fn mistakes(world: &World) -> Result<(), Failed> {
    let mut site = site(world, "mistakes", 1500, 1, "")?;
    let refused = [
        (
            "create host-interface name nowhere",
            "host-interfaces host-nowhere: name: there is no Linux interface nowhere in the daemon's own namespace; choose one that `ip link` shows there",
        ),
        (
            "create host-interface name x netns nowhere",
            "host-interfaces host-x: namespace: there is no network namespace nowhere",
        ),
        ("create host-interface name x num-rx-queues 0", "'0' is not a number from 1 to 16"),
        ("create host-interface name a netns mistakes-m", "there is an interface host-a already; delete it first"),
        ("delete host-interface name c", "no host interface uses c; `show af-packet` lists those that are used"),
    ];
    for (line, expected) in refused {
        let error = site.daemon.run(line).expect_err(line).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    Ok(())
}

/// Against what Linux itself says of the same link, in megabits a second; `/sys` shows only the daemon's own namespace.
fn speed(_: &World) -> Result<(), Failed> {
    run(Command::new("ip").args("link add fast0 type veth peer fast1".split(' ')))?;
    run(Command::new("ip").args("link add plain type bridge".split(' ')))?;
    let mut daemon = Daemon::new(CROSSING, Setup::default())?;
    daemon.configure("create host-interface name fast0\n create host-interface name plain");
    let interfaces = daemon.control().room::<Interfaces>();
    let speeds = ["host-fast0", "host-plain"].map(|name| interfaces.find(name).and_then(|interface| interface.speed));
    // Linux 5.6 to now: a pair of veth says ten gigabits; a bridge without ports knows nothing.
    assert_eq!(speeds, [Some(10_000_000), None]);
    Ok(())
}

fn messages(_: &World) -> Result<(), Failed> {
    for pair in 0..3 {
        run(Command::new("ip").args([
            "link",
            "add",
            &format!("api{pair}"),
            "type",
            "veth",
            "peer",
            &format!("peer{pair}"),
        ]))?;
    }
    let mut daemon = Daemon::new(CROSSING, Setup::default())?;
    let control = daemon.control().clone();
    let mut caller = Caller::connect(&control);
    let mac = |control: &quiver_control::Control, name| control.room::<Interfaces>().find(name).map(|found| found.mac);
    let own = MacAddress([2, 0, 0, 0, 0, 0x70]);

    let first = AfPacketCreate { hw_addr: own, use_random_hw_addr: false, host_if_name: "api0".into() };
    let reply = caller.request(&first).map_err(|retval| format!("{retval:?}"))?;
    assert_eq!((reply.sw_if_index, mac(&control, "host-api0")), (InterfaceIndex(1), Some(own)));
    let second = AfPacketCreateV2 {
        hw_addr: MacAddress::ZERO,
        use_random_hw_addr: false,
        host_if_name: "api1".into(),
        rx_frame_size: 0,
        tx_frame_size: 0,
        rx_frames_per_block: 0,
        tx_frames_per_block: 0,
        flags: 0,
        num_rx_queues: 2,
    };
    caller.request(&second).map_err(|retval| format!("{retval:?}"))?;
    let used = control.objects().get::<HostInterface>(&"host-api1".to_owned()).ok_or("it is configured")?;
    assert_eq!((used.mac, used.rx_queues.get()), (None, 2));
    let third = AfPacketCreateV3 {
        mode: AfPacketMode::Ethernet,
        hw_addr: own,
        use_random_hw_addr: true,
        host_if_name: "api2".into(),
        rx_frame_size: 10_000,
        tx_frame_size: 10_000,
        rx_frames_per_block: 10,
        tx_frames_per_block: 10,
        flags: AfPacketFlags::QDISC_BYPASS | AfPacketFlags::CKSUM_GSO,
        num_rx_queues: 1,
        num_tx_queues: 1,
    };
    caller.request(&third).map_err(|retval| format!("{retval:?}"))?;
    assert_ne!(mac(&control, "host-api2"), Some(own), "it was to be random");

    let all = |caller: &mut Caller| {
        let all = caller.dump(&AfPacketDump);
        all.into_iter().map(|details| (details.sw_if_index.0, details.host_if_name.0)).collect::<Vec<_>>()
    };
    let named = |index, name: &str| (index, name.to_owned());
    assert_eq!(all(&mut caller), [named(1, "api0"), named(2, "api1"), named(3, "api2")]);
    let refused = [
        (AfPacketCreateV3 { host_if_name: "api0".into(), ..third.clone() }, Retval::IF_ALREADY_EXISTS),
        (AfPacketCreateV3 { host_if_name: "api9".into(), ..third.clone() }, Retval::INVALID_VALUE),
        (AfPacketCreateV3 { host_if_name: "peer0".into(), num_rx_queues: 17, ..third.clone() }, Retval::INVALID_VALUE),
        (AfPacketCreateV3 { host_if_name: "peer0".into(), mode: AfPacketMode::Ip, ..third }, Retval::UNIMPLEMENTED),
    ];
    for (request, retval) in refused {
        assert_eq!(caller.request(&request).err(), Some(retval), "{request:?}");
    }
    assert!(caller.request(&AfPacketDelete { host_if_name: "api1".into() }).is_ok());
    let again = caller.request(&AfPacketDelete { host_if_name: "api1".into() });
    assert_eq!(again.err(), Some(Retval::SYSCALL_ERROR_1));
    assert_eq!(all(&mut caller), [named(1, "api0"), named(3, "api2")]);
    daemon.settle()?;
    Ok(daemon.finish()?)
}
