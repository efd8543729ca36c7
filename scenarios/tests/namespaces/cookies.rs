//! SYN cookies: connections of kernels whose SYNs the router answers itself, also beside a flood of SYNs from random sources.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, Program, World, run};
use quiver_site::{Daemon, Driver, Function, Join, Site};
use quiver_testkit::trials::Trial;
use serde_json::Value;

use crate::{connections, file, streams};

pub const TRIALS: &[Trial<World>] = &[
    ("connections_of_kernels_pass_the_proxy", pass),
    ("connections_of_kernels_pass_beside_a_flood", pass_beside_a_flood),
];

const CLIENT6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xa, 0, 0, 0, 0, 0, 2);
const SERVER6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xb, 0, 0, 0, 0, 0, 2);
const PATIENCE: Duration = Duration::from_secs(20);

/// A site with sessions of both families: tenant 1 of IPv4, tenant 2 of IPv6.
fn site(world: &World, settings: &[&str]) -> Result<Site, Failed> {
    let site = Site::build(world, Join::Quiver { function: Function::Router, driver: Driver::Tap }, 1500)?;
    let daemon = site.daemon().ok_or("a quiverd")?;
    for (namespace, side, address) in [(site.client(), "a", CLIENT6), (site.server(), "b", SERVER6)] {
        let tap = if side == "a" { "tap0" } else { "tap1" };
        daemon.command(&format!("set interface ip address {tap} fd00:{side}::1/64"))?;
        namespace.ip(&format!("address add {address}/64 dev eth0 nodad"))?;
        namespace.ip(&format!("-6 route add default via fd00:{side}::1"))?;
    }
    for (tenant, lookup, family) in [(1, "ip4-lookup", ""), (2, "ip6-lookup", " ip6")] {
        daemon.command(&format!("sfdp tenant add {tenant}"))?;
        daemon.command(&format!("set sfdp entry tenant {tenant} policy-first"))?;
        for direction in ["forward", "reverse"] {
            daemon.command(&format!("set sfdp services tenant {tenant} sfdp-l4-lifecycle {lookup} {direction}"))?;
        }
        for setting in settings {
            daemon.command(&setting.replace("TENANT", &format!("tenant {tenant}")))?;
        }
        for tap in ["tap0", "tap1"] {
            daemon.command(&format!("set sfdp interface-input {tap} tenant {tenant}{family}"))?;
        }
    }
    Ok(site)
}

/// Cookies of a tenant: sent, valid, invalid.
fn cookies(daemon: &Daemon, tenant: u32) -> Result<[u64; 3], Failed> {
    let shown: Value = serde_json::from_str(&daemon.command(&format!("--json show sfdp tenant {tenant} detail"))?)?;
    let count = |name: &str| shown["syn-cookies-counted"][name].as_u64().ok_or("a number");
    Ok([count("sent")?, count("valid")?, count("invalid")?])
}

/// Sends back what arrives, on each connection to an address, until so many have been closed.
fn echo(address: SocketAddr, connections: usize) -> std::io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let echoes = (0..connections).map(|_| {
        let (mut stream, _) = listener.accept()?;
        Ok(thread::spawn(move || std::io::copy(&mut stream.try_clone()?, &mut stream)))
    });
    let echoes: Vec<_> = echoes.collect::<std::io::Result<_>>()?;
    // Those whose client gave up have ended with an error.
    echoes.into_iter().for_each(|echo| drop(echo.join()));
    Ok(())
}

/// Sends noise of so many bytes to an echo, and compares what comes back.
fn talk(address: SocketAddr, bytes: usize, seed: u64) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut sent = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut sent);
    let mut writer = stream.try_clone()?;
    let written = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            writer.write_all(&sent)?;
            writer.shutdown(Shutdown::Write)
        });
        let mut received = Vec::with_capacity(bytes);
        stream.read_to_end(&mut received)?;
        writing.join().unwrap_or_else(|_| Err(std::io::Error::other("the writer panicked")))?;
        Ok::<_, std::io::Error>(received)
    })?;
    if written == sent { Ok(()) } else { Err(std::io::Error::other("something else came back than was sent")) }
}

/// Has a client talk to an echo, both ways, in both families.
fn talk_both_ways(site: &Site, bytes: usize) -> Result<(), Failed> {
    for address in [IpAddr::from(site.server_address()), SERVER6.into()] {
        let address = SocketAddr::from((address, 7007));
        let (server, client) = thread::scope(|scope| {
            let server = scope.spawn(move || site.server().within(|| echo(address, 1)));
            thread::sleep(Duration::from_millis(300));
            let client = scope.spawn(move || site.client().within(|| talk(address, bytes, 1)));
            (server.join(), client.join())
        });
        client.map_err(|_| "the client panicked")???;
        server.map_err(|_| "the server panicked")???;
    }
    Ok(())
}

/// A counter of a namespace's kernel, in a file with a line of names and one of values.
fn counted(namespace: &Namespace, file: &str, label: &str, name: &str) -> Result<u64, Failed> {
    let text = run(namespace.command("cat").arg(file))?;
    let mut lines = text.lines().filter(|line| line.starts_with(label));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let found = names.split(' ').zip(values.split(' ')).find(|(known, _)| *known == name);
    Ok(found.ok_or_else(|| format!("no counter {name}"))?.1.parse()?)
}

/// Segments with wrong checksums that the ends have received.
fn damaged(site: &Site) -> Result<u64, Failed> {
    let of = |namespace| counted(namespace, "/proc/net/snmp", "Tcp:", "InCsumErrors");
    Ok(of(site.client())? + of(site.server())?)
}

/// Has the kernel compute checksums of `eth0` and send no long segments, as `ethtool -K eth0 tx off tso off gso off` does.
const WITHOUT_OFFLOADS: &str = r#"
import array, fcntl, socket, struct
for command in (0x17, 0x1f, 0x24):
    value = array.array("B", struct.pack("II", command, 0))
    fcntl.ioctl(socket.socket(), 0x8946, struct.pack("16sP", b"eth0", value.buffer_info()[0]))
"#;

/// All SYNs are answered by cookies, and checks are strict.
fn pass(world: &World) -> Result<(), Failed> {
    let site = site(world, &["set sfdp syn-cookies TENANT watermark 0", "set sfdp tcp TENANT strict"])?;
    let daemon = site.daemon().ok_or("a quiverd")?;
    streams::tcp(&site)?;
    file::over_http(&site)?;
    connections::in_parallel(&site)?;
    talk_both_ways(&site, 30_000_000)?;
    // Without offloads kernels compute checksums, and look at those that they receive.
    for namespace in [site.client(), site.server()] {
        run(namespace.command("python3").args(["-c", WITHOUT_OFFLOADS]))?;
    }
    talk_both_ways(&site, 10_000_000)?;
    // Short queues lose segments: ends that were promised selective acknowledgments use them.
    for namespace in [site.client(), site.server()] {
        namespace.ip("link set eth0 txqueuelen 4")?;
    }
    talk_both_ways(&site, 10_000_000)?;
    let mut sacked = vec![];
    for namespace in [site.client(), site.server()] {
        sacked.push(counted(namespace, "/proc/net/netstat", "TcpExt:", "TCPSackRecovery")?);
    }
    let ([sent, valid, _], [sent6, valid6, _]) = (cookies(daemon, 1)?, cookies(daemon, 2)?);
    let errors = daemon.command("show errors")?;
    let is_proxied = valid >= 1000 && sent >= valid && valid6 >= 3 && sent6 >= valid6;
    let damaged = damaged(&site)?;
    println!("cookies {sent}, {valid} valid; IPv6 {sent6}, {valid6} valid; recoveries by SACK {sacked:?}");
    if !is_proxied || damaged != 0 || errors.contains("tcp-out-of-window") || sacked.contains(&0) {
        return Err(format!("{sent} {valid} {sent6} {valid6} {damaged} {sacked:?}\n{errors}").into());
    }
    Ok(())
}

/// Sends SYNs from random sources of a network, with right checksums, for some seconds; says how many.
const FLOOD: &str = r#"
import os, random, socket, struct, sys, time
family, network, server, port, seconds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
af = socket.AF_INET if family == "4" else socket.AF_INET6
out = socket.socket(af, socket.SOCK_RAW, socket.IPPROTO_RAW)
to = socket.inet_pton(af, server)
base = socket.inet_pton(af, network)
def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
sent, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(200):
        source = base[:-2] + os.urandom(2)
        tcp = struct.pack("!HHIIBBHHH", random.randrange(1, 65536), port, random.randrange(1 << 32), 0, 96, 2, 64240, 0, 0)
        tcp += bytes([2, 4, 5, 180])
        pseudo = source + to + struct.pack("!HH" if family == "4" else "!II", *((6, 24) if family == "4" else (24, 6)))
        tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
        if family == "4":
            header = struct.pack("!BBHHHBBH", 0x45, 0, 44, 0, 0, 64, 6, 0) + source + to
        else:
            header = struct.pack("!IHBB", 6 << 28, 24, 6, 64) + source + to
        try:
            out.sendto(header + tcp, (server, 0))
            sent += 1
        except OSError:
            time.sleep(0.001)
print("sent", sent, flush=True)
"#;

/// Cookies from 100 sessions without an answer on.
fn pass_beside_a_flood(world: &World) -> Result<(), Failed> {
    const CLIENTS: usize = 150;
    let site = site(world, &["set sfdp syn-cookies TENANT watermark 100"])?;
    let daemon = site.daemon().ok_or("a quiverd")?;
    let client = daemon.command("show ip neighbors")?;
    let client: Ipv4Addr = client
        .lines()
        .find(|line| line.contains("tap0"))
        .and_then(|line| line.split_whitespace().find_map(|word| word.parse().ok()))
        .ok_or_else(|| format!("no neighbor of tap0: {client}"))?;
    daemon.command(&format!("ip route add 198.18.0.0/16 via {client} tap0"))?;
    daemon.command(&format!("ip route add 2001:db8:9::/112 via {CLIENT6} tap0"))?;
    let memory = || -> Result<u64, Failed> {
        let shown: Value = serde_json::from_str(&daemon.command("--json show sfdp status")?)?;
        Ok(shown["bytes"].as_u64().ok_or("a number")?)
    };
    for (family, network, tenant, server) in
        [("4", "198.18.0.0", 1, IpAddr::from(site.server_address())), ("6", "2001:db8:9::", 2, IpAddr::from(SERVER6))]
    {
        let before = memory()?;
        let address = SocketAddr::from((server, 7008));
        let (mut connected, began) = (0, Instant::now());
        let site = &site;
        let flood = thread::scope(|scope| -> Result<String, Failed> {
            let server = scope.spawn(move || site.server().within(|| echo(address, CLIENTS)));
            thread::sleep(Duration::from_millis(300));
            let mut python = site.client().command("python3");
            python.args(["-c", FLOOD, family, network, &server_text(address), "7008", "4"]);
            let mut flood = Program::start(&mut python)?;
            // Until there are too many sessions without an answer.
            while cookies(daemon, tenant)?[0] == 0 && began.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(50));
            }
            for number in 0..CLIENTS {
                let talked = site.client().within(|| talk(address, 2000, number as u64))?;
                connected += usize::from(talked.is_ok());
                thread::sleep(Duration::from_millis(20));
            }
            flood.wait_for_output("sent", PATIENCE)?;
            // For clients that gave up, so that the echo ends.
            for _ in connected..CLIENTS {
                let _ = site.client().within(|| TcpStream::connect_timeout(&address, PATIENCE))?;
            }
            server.join().map_err(|_| "the server panicked")???;
            Ok(flood.output())
        })?;
        let [sent, valid, invalid] = cookies(daemon, tenant)?;
        println!(
            "IPv{family}: {connected} of {CLIENTS} connected; {flood}; cookies {sent}, {valid} valid, {invalid} not"
        );
        let grown = memory()?.saturating_sub(before);
        // The first sessions and the first connections of two halves take two huge pages each.
        if connected * 100 < CLIENTS * 95 || sent < 1000 || valid < CLIENTS as u64 / 2 || grown > 16 << 20 {
            return Err(format!("{connected} of {CLIENTS} connected, {sent} {valid} {invalid}, {grown} bytes").into());
        }
    }
    Ok(())
}

/// The address alone.
fn server_text(address: SocketAddr) -> String {
    address.ip().to_string()
}
