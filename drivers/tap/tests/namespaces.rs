//! TAP interfaces with real namespaces at their Linux side, and workers that are turned by hand.

use std::net::{TcpListener, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Caller, Retval};
use quiver_engine::*;
use quiver_interface::{InterfaceName, InterfaceSettings, Interfaces};
use quiver_netns::{Namespace, World, enter, run};
use quiver_scenarios::rooms;
use quiver_tap::Tap;
use quiver_tap::api::*;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};
use quiver_testkit::trials::Trial;
use quiver_testkit::{crossing, traffic, trials};
use quiver_wire::{ArpOperation, ArpPacket, EtherType, EthernetHeader, Header, InterfaceAddress, MacAddress};

const TRIALS: &[Trial<World>] = &[
    ("arp_and_ping_are_answered_through_the_driver_alone", answers),
    ("long_packets_cross_whole_from_tap_to_tap", long_packets),
    ("without_gso_every_packet_is_whole_and_short", short_packets),
    ("several_queues_and_workers_carry_all_flows", several_queues),
    ("what_finds_no_buffer_is_dropped_by_name", no_buffers),
    ("a_device_that_goes_away_is_told_and_does_no_harm", lost),
    ("a_speed_that_linux_is_told_follows_with_the_next_change_of_the_link", speed),
    ("the_mtu_follows_linux_while_none_is_configured", mtu),
    ("linux_takes_the_settings_of_its_side", settings),
    ("an_mtu_that_changes_leaves_the_tap_as_it_is", another_mtu),
    ("mistakes_name_object_field_and_remedy", mistakes),
    ("clients_of_vpp_make_devices_of_linux", messages),
];

fn main() -> ExitCode {
    trials::main(enter(), TRIALS)
}

/// Each interface of a pair sends the packets that the other receives.
const CROSSING: Rooms = rooms![without wires: quiver_interface, crossing, quiver_tap];

fn daemon(rooms: Rooms, workers: usize) -> Result<Daemon, Failed> {
    Ok(Daemon::new(rooms, Setup { workers, buffers: 8192, ..Setup::default() })?)
}

/// A tap in each namespace, both up.
fn pair(daemon: &mut Daemon, hosts: [(&Namespace, &str); 2]) {
    for (id, (namespace, more)) in hosts.into_iter().enumerate() {
        let (name, host) = (namespace.name(), id + 1);
        daemon.configure(&format!(
            "create tap id {id} host-ns {name} host-if-name eth0 host-ip4-addr 10.9.0.{host}/24 {more}
             set interface state tap{id} up"
        ));
    }
}

/// Sends by TCP from one namespace to the other.
fn tcp(daemon: &mut Daemon, a: &Namespace, b: &Namespace, bytes: usize) -> Result<(), Failed> {
    let listener = b.within(|| TcpListener::bind("10.9.0.2:7000"))??;
    let to = listener.local_addr()?;
    let sender = a.spawn(move || traffic::send(to, bytes));
    let received = daemon.run_until(std::thread::spawn(move || traffic::receive(&listener)))?;
    daemon.run_until(sender)??;
    assert_eq!(received, bytes);
    Ok(())
}

mod answering {
    //! A room that answers ARP for any address, and pings.
    use super::*;

    pub const OURS: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    struct Answer;
    arcs! {
        enum Next {
            Out => features "interface-output",
        }
    }

    pub fn register(control: &quiver_control::Control) -> Result<(), DataplaneError> {
        let mut dataplane = control.room_mut::<Dataplane>();
        let graph = dataplane.blueprint();
        graph.feature_arc(FeatureArcSpec { name: "device-input", end: "answer", side: Side::Rx })?;
        graph.node(NodeSpec::new("answer", Next::ARCS, |_| Answer))?;
        Ok(())
    }

    impl Node for Answer {
        fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
            for i in 0..frame.len() {
                frame.tx[i] = frame.rx[i];
                let Some((ethernet, rest)) = EthernetHeader::parse_mut(frame.bytes_mut(cx.pool, i)) else { continue };
                (ethernet.destination, ethernet.source) = (ethernet.source, OURS);
                match ethernet.ethertype {
                    EtherType::ARP => {
                        let Some((arp, _)) = ArpPacket::parse_mut(rest) else { continue };
                        let asked = arp.target_ip;
                        (arp.target_mac, arp.target_ip) = (arp.sender_mac, arp.sender_ip);
                        (arp.sender_mac, arp.sender_ip, arp.operation) = (OURS, asked, ArpOperation::REPLY);
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
}

fn answers(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(rooms![without wires: quiver_interface, answering, quiver_tap], 1)?;
    let host = Namespace::add(world, "answers")?;
    daemon.configure(
        "create tap id 0 host-ns answers host-ip4-addr 10.9.0.1/24
         set interface state tap0 up",
    );
    let mut ping = host.command("ping");
    ping.args(["-c", "3", "-i", "0.05", "-W", "2", "-s", "1400", "10.9.0.7"]);
    let said = daemon.run_until(std::thread::spawn(move || ping.output()))?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    let counted = daemon.control().room::<Dataplane>().interface_counters(1);
    let (received, sent) = (counted.rx.packets, counted.tx.packets);
    assert!(received >= 4 && received == sent, "{received} {sent}");
    Ok(daemon.finish()?)
}

fn long_packets(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let (a, b) = (Namespace::add(world, "long-a")?, Namespace::add(world, "long-b")?);
    pair(&mut daemon, [(&a, ""), (&b, "")]);
    let captured = daemon.capture_received(0);
    tcp(&mut daemon, &a, &b, 20_000_000)?;
    let longest = std::iter::from_fn(|| captured.receive()).map(|packet| packet.length).max();
    assert!(longest > Some(30_000), "the longest packet had {longest:?} bytes");
    let offloads = daemon.counts()[&("crossing", "offload")];
    assert!(offloads > 100, "{offloads} packets with an offload");
    daemon.configure("delete tap tap0\n delete tap tap1");
    daemon.settle()?;
    assert!(a.ip("link show eth0").is_err(), "the device outlived the interface");
    Ok(daemon.finish()?)
}

fn short_packets(world: &World) -> Result<(), Failed> {
    let (a, b) = (Namespace::add(world, "short-a")?, Namespace::add(world, "short-b")?);
    // Both ways: Linux cuts on its way to us; and where only one side takes long packets, we cut.
    for (mine, yours, longest_seen) in [("no-gso", "no-gso", 1514), ("gso", "no-gso", 65_550)] {
        let mut daemon = daemon(CROSSING, 1)?;
        pair(&mut daemon, [(&a, mine), (&b, yours)]);
        let captured = daemon.capture_received(0);
        let bytes = 3_000_000;
        tcp(&mut daemon, &a, &b, bytes)?;
        let longest = std::iter::from_fn(|| captured.receive()).map(|packet| packet.length).max();
        assert!(longest <= Some(longest_seen), "the longest packet had {longest:?} bytes");
        assert_eq!(daemon.counts().contains_key(&("crossing", "offload")), mine == "gso");
        let counters = b.ip("-s link show eth0")?;
        let sent = daemon.control().room::<Dataplane>().interface_counters(2).tx.packets;
        assert!(sent >= bytes as u64 / 1448, "only {sent} packets were sent: {counters}");
        // Linux verifies each checksum that we filled in: a wrong one would be counted, and the transfer would hang.
        let errors = b.command("cat").arg("/proc/net/snmp").output()?;
        let text = String::from_utf8_lossy(&errors.stdout).into_owned();
        let tcp: Vec<_> = text.lines().filter(|line| line.starts_with("Tcp:")).collect();
        assert!(tcp[1].split(' ').next_back() == Some("0"), "InCsumErrors in {tcp:?}");
        daemon.finish()?;
    }
    Ok(())
}

fn several_queues(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 2)?;
    let (a, b) = (Namespace::add(world, "queues-a")?, Namespace::add(world, "queues-b")?);
    pair(&mut daemon, [(&a, "num-rx-queues 3"), (&b, "num-rx-queues 3")]);
    assert_eq!(daemon.control().room::<Dataplane>().queues().count(), 6);
    assert!(daemon.run("show tap")?.text.contains('3'));
    let receiver = b.within(|| UdpSocket::bind("10.9.0.2:7000"))??;
    let senders = a.within(|| (0..40).map(|_| UdpSocket::bind("10.9.0.1:0")).collect::<Result<Vec<_>, _>>())??;
    assert_eq!(daemon.run_until(std::thread::spawn(move || traffic::flows(&senders, &receiver)))?, 40);
    // Linux spreads flows by their hash: forty of them meet every queue of both workers.
    for worker in 0..2 {
        let turns = daemon.control().room::<Dataplane>().worker_counters(worker).map(|c| c.busy_turns.get());
        assert!(turns > Some(0), "worker {worker} received nothing");
    }
    Ok(daemon.finish()?)
}

fn no_buffers(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let (a, b) = (Namespace::add(world, "poor-a")?, Namespace::add(world, "poor-b")?);
    pair(&mut daemon, [(&a, ""), (&b, "")]);
    a.ip("neighbor add 10.9.0.2 lladdr 02:00:00:00:00:02 dev eth0")?;
    daemon.settle()?;
    let pool = daemon.workers()[0].pool();
    let held: Vec<_> = std::iter::from_fn(|| pool.packet(&[0])).collect();
    // More than the buffers that stand ready for the next read.
    let sender = a.within(|| UdpSocket::bind("10.9.0.1:0"))??;
    let send = || (0..200).try_for_each(|_| sender.send_to(b"one of many", "10.9.0.2:9").map(drop));
    send()?;
    daemon.settle()?;
    let dropped = daemon.drops().get(&("tap-input", "no-buffer")).copied();
    assert!(dropped > Some(0) && dropped < Some(200), "{:?}", daemon.drops());
    drop(held);
    send()?;
    daemon.settle()?;
    assert_eq!(daemon.drops().get(&("tap-input", "no-buffer")).copied(), dropped, "there are buffers again");
    Ok(daemon.finish()?)
}

fn lost(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let (a, b) = (Namespace::add(world, "lost-a")?, Namespace::add(world, "lost-b")?);
    pair(&mut daemon, [(&a, ""), (&b, "")]);
    let links = |daemon: &Daemon| {
        let interfaces = daemon.control().room::<Interfaces>();
        ["tap0", "tap1"].map(|name| interfaces.find(name).is_some_and(|interface| interface.link))
    };
    b.ip("link set eth0 down")?;
    daemon.advance(Duration::from_secs(1))?;
    assert_eq!(links(&daemon), [true, false]);
    assert!(daemon.run("show tap tap1")?.text.contains("down"));
    b.ip("link set eth0 up")?;
    a.ip("link del eth0")?;
    daemon.advance(Duration::from_secs(1))?;
    assert_eq!(links(&daemon), [false, true]);
    assert!(daemon.run("show tap tap0")?.text.contains("gone"));
    assert_eq!(daemon.workers()[0].fds().map(|fds| fds.len()), Some(1), "a worker would be woken by it for ever");
    // What is sent there is dropped by name; the other one still works.
    let sender = b.within(|| UdpSocket::bind("10.9.0.2:0"))??;
    b.ip("neighbor add 10.9.0.1 lladdr 02:00:00:00:00:01 dev eth0")?;
    sender.send_to(b"into the void", "10.9.0.1:9")?;
    daemon.settle()?;
    assert!(daemon.drops().contains_key(&("interface-output", "tx-refused")), "{:?}", daemon.drops());
    // It can be made again.
    daemon.configure("delete tap tap0\n create tap id 0 host-ns lost-a host-if-name eth0");
    Ok(daemon.finish()?)
}

/// Sets the speed of an interface by the oldest of ethtool's requests, and prints what it is then.
const SET_SPEED: &str = "
import fcntl, socket, struct, sys
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def ask(command, settings):
    import ctypes
    settings = ctypes.create_string_buffer(struct.pack('I', command) + settings[4:], 44)
    request = struct.pack('16sP', b'eth0', ctypes.addressof(settings))
    fcntl.ioctl(control, 0x8946, request + bytes(16))
    return settings.raw
settings = bytearray(ask(1, bytes(44)))
struct.pack_into('H', settings, 12, int(sys.argv[1]))
struct.pack_into('H', settings, 28, int(sys.argv[1]) >> 16)
ask(2, bytes(settings))
settings = ask(1, bytes(44))
print(struct.unpack_from('H', settings, 12)[0] | struct.unpack_from('H', settings, 28)[0] << 16)
";

fn mtu(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let host = Namespace::add(world, "mtu")?;
    daemon.configure(&format!("create tap id 0 host-ns {} host-if-name eth0", host.name()));
    let mtu = |daemon: &Daemon| daemon.control().room::<Interfaces>().find("tap0").map(|tap| tap.mtu);
    assert_eq!(mtu(&daemon), Some(1500));
    host.ip("link set eth0 mtu 1400")?;
    daemon.advance(Duration::from_secs(1))?;
    assert_eq!(mtu(&daemon), Some(1400));
    daemon.configure("set interface mtu packet 1450 tap0");
    assert_eq!(mtu(&daemon), Some(1450));
    Ok(daemon.finish()?)
}

fn speed(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let host = Namespace::add(world, "speed")?;
    daemon.configure("create tap id 0 host-ns speed host-if-name eth0");
    let speed = |daemon: &Daemon| {
        let interfaces = daemon.control().room::<Interfaces>();
        interfaces.find("tap0").and_then(|interface| interface.speed)
    };
    let set = |megabits: &str| run(host.command("python3").args(["-c", SET_SPEED, megabits]));
    // 10 Mb/s, or since Linux 6.2 ten gigabits.
    assert!(matches!(speed(&daemon), Some(10_000 | 10_000_000)), "{:?}", speed(&daemon));
    for megabits in ["2500", "40000"] {
        assert_eq!(set(megabits)?.trim(), megabits);
        host.ip("link set eth0 mtu 1400")?;
        host.ip("link set eth0 mtu 1500")?;
        daemon.advance(Duration::from_secs(1))?;
        assert_eq!(speed(&daemon), Some(megabits.parse::<u32>()? * 1000));
    }
    host.ip("link del eth0")?;
    daemon.advance(Duration::from_secs(1))?;
    assert_eq!(speed(&daemon), None, "what is gone has no speed");
    Ok(daemon.finish()?)
}

fn settings(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let host = Namespace::add(world, "settings")?;
    host.ip("link add br0 type bridge")?;
    daemon.configure(&format!(
        "create tap id 7 host-ns {} host-if-name port host-mac-addr 02:00:00:00:00:77 host-mtu-size 9000 host-bridge br0 \
         host-ip4-addr 10.9.0.1/24 host-ip4-gw 10.9.0.254 host-ip6-addr fd00::1/64 host-ip6-gw fd00::fe hw-addr 02:00:00:00:00:70",
        host.path()
    ));
    let link = host.ip("-d link show port")?;
    for part in ["mtu 9000", "qlen 2048", "master br0", "link/ether 02:00:00:00:00:77", "UP"] {
        assert!(link.contains(part), "{part}: {link}");
    }
    let addresses = host.ip("address show port")?;
    assert!(addresses.contains("10.9.0.1/24") && addresses.contains("fd00::1/64"), "{addresses}");
    assert!(host.ip("route")?.contains("default via 10.9.0.254 dev port"));
    assert!(host.ip("-6 route")?.contains("default via fd00::fe dev port"));
    let interfaces = daemon.control().room::<Interfaces>();
    let tap = interfaces.find("tap7").ok_or("it was made")?;
    assert_eq!((tap.mtu, tap.mac, tap.kind), (9000, MacAddress([2, 0, 0, 0, 0, 0x70]), "tap"));
    Ok(())
}

fn another_mtu(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(quiver_scenarios::ROOMS, 1)?;
    let host = Namespace::add(world, "another-mtu")?;
    let configuration = |mtu: &str| {
        format!(
            "taps: [{{name: tap0, host-namespace: {}, host-interface: eth0, host-ip4-address: 10.9.0.2/24, \
             host-ip6-address: fd00::2/64, host-ip6-gateway: fd00::fe, {mtu}}}]\n\
             sub-interfaces: [{{name: tap0.10, outer: 10}}, {{name: tap0.20, outer: 20}}]\n\
             interfaces: [{{name: tap0, state: up}}, {{name: tap0.20, mtu: 1234}}]\n\
             interface-addresses: [{{interface: tap0, address: 10.9.0.1/24}}]\n",
            host.name()
        )
    };
    daemon.apply("f", &configuration("gso: true"))?;
    daemon.run("ping 10.9.0.2 repeat 1 interval 0.1")?;
    let state = |daemon: &mut Daemon| -> Result<_, Failed> {
        let interfaces = daemon.control().room::<Interfaces>();
        let of = |name: &str| {
            let interface = interfaces.find(name).ok_or("it is there")?;
            Ok::<_, Failed>((interface.id, interface.mac, interface.mtu))
        };
        let (tap, part, other) = (of("tap0")?, of("tap0.10")?, of("tap0.20")?);
        let counted = daemon.control().room::<Dataplane>().interface_counters(tap.0.0);
        let link = host.ip("-o link show eth0")?;
        let number = link.split(':').next().unwrap_or_default().to_owned();
        let mtu = link.split_once("mtu ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default().to_owned();
        let kept = (number, tap.0, tap.1, part.0, other.0, counted.rx.packets > 0);
        Ok((kept, [mtu, tap.2.to_string(), part.2.to_string(), other.2.to_string()]))
    };
    let (kept, mtus) = state(&mut daemon)?;
    assert!(kept.5, "something was received");
    assert_eq!(mtus, ["1500", "1500", "1500", "1234"]);
    let changes =
        [("host-mtu: 9000", "9000", "1234"), ("host-mtu: 1000", "1000", "1000"), ("gso: true", "1500", "1234")];
    for (field, mtu, of_part) in changes {
        let told = daemon.diff("f", &configuration(field))?.text;
        assert!(told.starts_with("~ taps tap0\n") && told.lines().count() == 3, "{told}");
        daemon.apply("f", &configuration(field))?;
        assert_eq!(state(&mut daemon)?, (kept.clone(), [mtu, mtu, mtu, of_part].map(str::to_owned)), "{field}");
        assert!(daemon.run("show tap")?.text.contains(mtu));
    }
    // Linux has its IPv6 again, which the small MTU took from it.
    assert!(host.ip("address show eth0")?.contains("fd00::2/64"));
    assert!(host.ip("-6 route")?.contains("default via fd00::fe dev eth0"));
    host.ip("link del eth0")?;
    let refused = daemon.apply("f", &configuration("host-mtu: 9000")).err().ok_or("the device is gone")?.to_string();
    assert!(refused.contains("taps tap0: host-mtu: ") && refused.contains("eth0"), "{refused}");
    assert_eq!(daemon.control().room::<Interfaces>().find("tap0").map(|tap| tap.mtu), Some(1500));
    Ok(daemon.finish()?)
}

fn mistakes(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
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
        ("host-ns mistakes num-rx-queues 300", "'300' is not a number from 1 to 256"),
        ("host-ns mistakes host-ip4-gw 10.1.1.1", "taps tap0: make 10.1.1.1 the default gateway"),
    ];
    for (what, expected) in refused {
        let error = daemon.run(&format!("create tap id 0 {what}")).expect_err(what).to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(host.ip("link show tap0").is_err(), "{what}: something was left behind");
    }
    daemon.configure("create tap host-ns mistakes host-if-name one");
    let error = daemon.run("create tap id 0 host-ns mistakes host-if-name two").expect_err("it is there").to_string();
    assert_eq!(error, "there is an interface tap0 already; choose another id");
    let error = daemon.run("create tap id 1 host-ns mistakes host-if-name one").expect_err("Linux has it").to_string();
    assert!(error.contains("there is a Linux interface one in namespace mistakes already"), "{error}");
    assert_eq!(daemon.run("create tap host-ns mistakes")?.text, "tap1");
    Ok(())
}

/// A request with defaults: a device in the daemon's namespace, named after its interface.
fn plain() -> TapCreateV2 {
    TapCreateV2 {
        id: NONE,
        use_random_mac: true,
        mac_address: MacAddress::ZERO,
        num_rx_queues: 1,
        tx_ring_sz: 256,
        rx_ring_sz: 256,
        host_mtu_set: false,
        host_mtu_size: 0,
        host_mac_addr_set: false,
        host_mac_addr: MacAddress::ZERO,
        host_ip4_prefix_set: false,
        host_ip4_prefix: InterfaceAddress::UNSPECIFIED,
        host_ip6_prefix_set: false,
        host_ip6_prefix: InterfaceAddress::UNSPECIFIED,
        host_ip4_gw_set: false,
        host_ip4_gw: [0; 4].into(),
        host_ip6_gw_set: false,
        host_ip6_gw: [0; 16].into(),
        tap_flags: TapFlags::default(),
        host_namespace_set: false,
        host_namespace: "".into(),
        host_if_name_set: false,
        host_if_name: "".into(),
        host_bridge_set: false,
        host_bridge: "".into(),
        tag: String::new(),
    }
}

fn messages(world: &World) -> Result<(), Failed> {
    let mut daemon = daemon(CROSSING, 1)?;
    let host = Namespace::add(world, "client")?;
    host.ip("link add br0 type bridge")?;
    let control = daemon.control().clone();
    let mut caller = Caller::connect(&control);
    let told = |retval: Retval| format!("{retval:?}");
    let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
    let rich = TapCreateV3 {
        id: 7,
        use_random_mac: false,
        mac_address: mac(0x70),
        num_rx_queues: 2,
        host_mtu_set: true,
        host_mtu_size: 9000,
        host_mac_addr_set: true,
        host_mac_addr: mac(0x77),
        host_ip4_prefix_set: true,
        host_ip4_prefix: "10.9.0.1/24".parse()?,
        host_ip6_prefix_set: true,
        host_ip6_prefix: "fd00::1/64".parse()?,
        host_ip4_gw_set: true,
        host_ip4_gw: "10.9.0.254".parse()?,
        host_ip6_gw_set: true,
        host_ip6_gw: "fd00::fe".parse()?,
        tap_flags: TapFlags::GSO,
        host_namespace_set: true,
        host_namespace: "client".into(),
        host_if_name_set: true,
        host_if_name: "port".into(),
        host_bridge_set: true,
        host_bridge: "br0".into(),
        tag: "uplink".into(),
        ..plain().into()
    };
    let created = caller.request(&rich).map_err(told)?.sw_if_index;
    let link = host.ip("-d link show port")?;
    for part in ["mtu 9000", "master br0", "link/ether 02:00:00:00:00:77"] {
        assert!(link.contains(part), "{part}: {link}");
    }
    assert!(host.ip("route")?.contains("default via 10.9.0.254 dev port"));
    assert!(host.ip("-6 route")?.contains("default via fd00::fe dev port"));
    assert_eq!(control.room::<Interfaces>().find("tap7").map(|tap| tap.mac), Some(mac(0x70)));
    let tagged = control.objects().get::<InterfaceSettings>(&InterfaceName("tap7".into())).ok_or("it has a tag")?;
    assert_eq!(tagged.tag.as_deref(), Some("uplink"));
    assert_eq!(control.objects().get::<Tap>(&"tap7".to_owned()).map(|tap| tap.rx_queues.get()), Some(2));

    let chosen = caller.request(&plain()).map_err(told)?.sw_if_index;
    let shown = caller.dump(&SwInterfaceTapV2Dump { sw_if_index: created });
    let expected = SwInterfaceTapV2Details {
        sw_if_index: created.0,
        id: 7,
        tx_ring_sz: 0,
        rx_ring_sz: 0,
        host_mtu_size: 9000,
        host_mac_addr: mac(0x77),
        host_ip4_prefix: rich.host_ip4_prefix,
        host_ip6_prefix: rich.host_ip6_prefix,
        tap_flags: TapFlags::GSO,
        dev_name: "tap7".into(),
        host_if_name: "port".into(),
        host_namespace: "client".into(),
        host_bridge: "br0".into(),
    };
    assert_eq!(shown, [expected]);
    let all = |caller: &mut Caller| {
        let all = caller.dump(&SwInterfaceTapV2Dump { sw_if_index: InterfaceIndex(NONE) });
        all.into_iter().map(|tap| (tap.id, tap.tap_flags)).collect::<Vec<_>>()
    };
    assert_eq!(all(&mut caller), [(0, TapFlags::default()), (7, TapFlags::GSO)]);

    let refused = [
        (TapCreateV2 { id: 7, ..plain() }, Retval::INVALID_INTERFACE),
        (TapCreateV2 { tap_flags: TapFlags::TUN | TapFlags::GSO, ..plain() }, Retval::UNIMPLEMENTED),
        (TapCreateV2 { host_mtu_set: true, host_mtu_size: 67, ..plain() }, Retval::INVALID_VALUE),
        (TapCreateV2 { use_random_mac: false, mac_address: MacAddress([1; 6]), ..plain() }, Retval::INVALID_VALUE),
        (TapCreateV2 { host_bridge_set: true, host_bridge: "br9".into(), ..plain() }, Retval::INVALID_VALUE),
        (TapCreateV2 { tag: "x".repeat(64), ..plain() }, Retval::INVALID_VALUE),
    ];
    for (request, retval) in refused {
        assert_eq!(caller.request(&request).err(), Some(retval), "{request:?}");
    }
    assert_eq!(all(&mut caller).len(), 2, "nothing was left behind");
    assert!(caller.request(&TapDeleteV2 { sw_if_index: chosen }).is_ok());
    assert_eq!(caller.request(&TapDeleteV2 { sw_if_index: chosen }).err(), Some(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(all(&mut caller), [(7, TapFlags::GSO)]);
    daemon.settle()?;
    Ok(daemon.finish()?)
}
