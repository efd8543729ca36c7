//! Captures of other programs' tests, replayed into every input: real packets of protocols that these tests do not
//! know, and malformed packets that were made to break dissectors.
//!
//! The files are not a part of this repository. `QUIVER_CAPTURES` names a folder that has them, somewhere below, as `.pcap` and
//! `.pcapng`; without it the test is reported as `ignored`. Debian's source packages of tcpdump and wireshark hold some hundreds:
//!
//! ```sh
//! apt-get source --download-only tcpdump wireshark   # needs a deb-src line
//! tar -xf tcpdump_*.orig.tar.gz -C FOLDER --wildcards '*.pcap'
//! tar -xf wireshark_*.orig.tar.bz2 -C FOLDER --wildcards '*.pcap*' && gunzip -r FOLDER
//! QUIVER_CAPTURES=FOLDER cargo test -p quiver-scenarios --test golden replay
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use pcap_file::DataLink;
use pcap_file::pcapng::{Block, PcapNgReader};
use quiver_engine::{Dataplane, To};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::checksum;

const FOLDER: &str = "QUIVER_CAPTURES";

/// pg0 and pg1 are a router of both families, with nothing else; pg2 is one that asks
/// much of a packet: uRPF, policies, reassembly, proxies; pg3 and pg4 are bridged, with a virtual interface; pg5 and pg6 take packets of IPv4 and IPv6 alone.
const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
    create packet-generator interface pg3
    create packet-generator interface pg4
    create packet-generator interface pg5 mode ip4
    create packet-generator interface pg6 mode ip6
    set interface state pg0 up
    set interface state pg1 up
    set interface state pg2 up
    set interface state pg3 up
    set interface state pg4 up
    set interface state pg5 up
    set interface state pg6 up
    set interface ip address pg0 10.255.0.1/24
    set interface ip address pg0 2001:db8:ff00::1/64
    set interface ip address pg1 10.255.1.1/24
    set interface ip address pg1 2001:db8:ff01::1/64
    set interface ip address pg2 10.255.2.1/24
    set interface ip address pg2 2001:db8:ff02::1/64
    set interface ip address pg5 10.255.5.1/24
    set interface ip address pg6 2001:db8:ff06::1/64
    set interface mtu 1280 pg1
    ip neighbor pg1 10.255.1.2 02:00:00:00:00:12
    ip neighbor pg1 2001:db8:ff01::2 02:00:00:00:00:12
    ip route add 0.0.0.0/1 via 10.255.1.2 pg1
    ip route add 192.168.0.0/16 via 10.255.1.2 pg1 via 10.255.1.77 pg1
    ip route add ::/0 via 2001:db8:ff01::2 pg1
    ip mroute add 224.0.0.0/4 via pg0 accept via pg2 accept via pg1 forward via local forward
    ip mroute add ff00::/8 via pg0 accept via pg2 accept via pg1 forward via local forward
    create sub-interfaces pg0 1 default
    set interface state pg0.1 up
    create bridge-domain 1 arp-term 1
    set interface l2 bridge pg3 1
    set interface l2 bridge pg4 1
    set interface l2 bridge pg0.1 1
    create loopback interface
    set interface state loop0 up
    set interface l2 bridge loop0 1 bvi
    set interface ip address loop0 10.255.3.1/24
    set interface ip address loop0 2001:db8:ff03::1/64
    ip6 nd pg0 prefix 2001:db8:ff00::/64
    ip6 nd address autoconfig pg2 default-route
    set ip6 mld enable
    set ip6 dad enable
    set urpf ip4 strict pg2
    set urpf ip6 loose pg2
    set urpf ip4 loose pg5
    set urpf ip6 strict pg6
    set urpf ip6 loose tx pg1
    set interface tcp-mss-clamp pg2 ip4 rx ip4-mss 1000 ip6 rx ip6-mss 1000
    set acl-plugin acl index 0 permit proto 17 dport 0-1023, permit proto 6 tcpflags 2 18, permit proto 58, deny proto 17 sport 9
    abf policy add id 1 acl 0 via 10.255.1.2 pg1
    abf policy add ip6 id 2 acl 0 via 2001:db8:ff01::2 pg1
    abf attach ip4 policy 1 pg2
    abf attach ip6 policy 2 pg2
    abf attach ip4 policy 1 pg5
    abf attach ip6 policy 2 pg6
    set interface reassembly pg2 on
    set interface sv-reassembly pg5 ip4
    set interface sv-reassembly pg6 ip6
    set interface ip6-nd proxy pg2 enable
    set punt udp 161
    set punt ip6 udp 161
    set punt protocol 89
    ip punt redirect add rx pg2 via 10.255.1.2 pg1
    policer add name few rate pps cir 1000 cb 100 conform-action transmit
    ip punt policer few
    ip6 punt policer few
    udp encap add 10.255.1.1 10.255.1.2 100 4789
    udp encap add 2001:db8:ff01::1 2001:db8:ff01::2 100 4789
    ip route add 64.0.0.0/3 via udp-encap 1
    ip route add 3000::/5 via udp-encap 0
    ip route add 96.0.0.0/4 via 2001:db8:ff01::2 pg1
    ip route add 3800::/5 via 10.255.1.2 pg1
    p2p_ethernet pg2 00:00:00:00:00:01 sub-id 1
    set interface state pg2.1 up
    set interface ip address pg2.1 10.255.8.1/24
";

/// The frame's station of a router, and our addresses.
const STATIONS: [(&str, [u8; 6]); 2] = [("pg0", [2, 0, 0, 0, 0, 0xa0]), ("pg2", [2, 0, 0, 0, 0, 0xa2])];
const OURS4: [u8; 4] = [10, 255, 0, 1];
const OURS6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// Where packets wait for neighbours.
const RESOLVE: [&str; 2] = ["ip4-resolve", "ip6-resolve"];
/// Files that a daemon gets.
const FILES: usize = 40;
/// Bytes of a frame at most.
const FRAME_MAX: usize = 9000;

/// The test, which is ignored without captures.
pub fn trial() -> Trial {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let name = match &folder {
        Some(folder) => format!("replay::captures below {}", folder.display()),
        None => format!("replay::captures (none are here: {FOLDER} names no folder)"),
    };
    let is_missing = folder.is_none();
    Trial::test(name, move || replay_all(&folder.unwrap_or_default())).with_ignored_flag(is_missing)
}

/// Packets that took an arc that ends, by node and arc.
type Ends = BTreeMap<(&'static str, &'static str), u64>;
/// Packets with what they begin with.
type Packets = Vec<(DataLink, Vec<u8>)>;

fn replay_all(folder: &Path) -> Result<(), Failed> {
    let mut files = vec![];
    find(folder, &mut files)?;
    files.sort();
    let (mut packets, mut sends, mut unread, mut drops, mut failures) = (0, 0, 0, Ends::new(), vec![]);
    for files in files.chunks(FILES) {
        let mut captured = vec![];
        for file in files {
            let (all, is_whole) = read(&fs::read(file)?);
            unread += u32::from(!is_whole);
            packets += all.len();
            captured.push((file, all));
        }
        match replay(&captured, &mut failures) {
            Ok((sent, dropped)) => {
                sends += sent;
                dropped.into_iter().for_each(|(end, count)| *drops.entry(end).or_default() += count);
            }
            Err(error) => failures.push(format!("{files:?}: {}", error.message().unwrap_or_default())),
        }
    }
    println!("{} files, {unread} of them not whole; {packets} packets, sent {sends} times", files.len());
    drops.iter().for_each(|((node, reason), count)| println!("{count:>8} {node} {reason}"));
    if packets == 0 {
        return Err(format!("{} holds no captures", folder.display()).into());
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failed> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "pcap" || kind == "pcapng") {
            files.push(path);
        }
    }
    Ok(())
}

/// The packets of a file with what they begin with, and whether all of it could be read: some files are broken on purpose.
fn read(file: &[u8]) -> (Packets, bool) {
    const HEADER: usize = 24;
    const RECORD: usize = 16;
    let word = |at: usize| file.get(at..).and_then(|bytes| bytes.first_chunk::<4>()).copied();
    // Micro- or nanoseconds, in either order.
    let number: fn([u8; 4]) -> u32 = match word(0) {
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) => u32::from_be_bytes,
        Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]) => u32::from_le_bytes,
        _ => return read_ng(file),
    };
    let (mut packets, mut at) = (vec![], HEADER);
    // Above it is what Ethernet's checksums are.
    let kind = DataLink::from(word(20).map_or(0, number) & 0xffff);
    // Readers of a library give up where a length is a lie; what is there is bytes for us in any case.
    while let Some(length) = word(at + 8).map(number) {
        at += RECORD;
        let end = at.saturating_add(length as usize);
        packets.push((kind, file[at.min(file.len())..end.min(file.len())].to_vec()));
        at = end;
    }
    (packets, at == file.len())
}

/// The same of pcapng.
fn read_ng(file: &[u8]) -> (Packets, bool) {
    let mut packets = vec![];
    let Ok(mut reader) = PcapNgReader::new(file) else { return (packets, false) };
    let mut kinds = vec![];
    while let Some(block) = reader.next_block() {
        let kind = |at: u32| kinds.get(at as usize).copied().unwrap_or(DataLink::NULL);
        match block {
            Ok(Block::InterfaceDescription(interface)) => kinds.push(interface.linktype),
            Ok(Block::EnhancedPacket(packet)) => packets.push((kind(packet.interface_id), packet.data.into_owned())),
            Ok(Block::SimplePacket(packet)) => packets.push((kind(0), packet.data.into_owned())),
            Ok(_) => {}
            Err(_) => return (packets, false),
        }
    }
    (packets, true)
}

/// Where the packet of layer 3 is in what a link carries.
fn layer3(kind: DataLink, bytes: &[u8]) -> &[u8] {
    let before = match kind {
        DataLink::ETHERNET => {
            let tagged = |at: usize| matches!(bytes.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8] | [0x91, 0]));
            let tags = [12, 16].into_iter().take_while(|at| tagged(*at)).count();
            14 + tags * 4
        }
        DataLink::NULL | DataLink::LOOP | DataLink::PPP => 4,
        DataLink::LINUX_SLL => 16,
        DataLink::LINUX_SLL2 => 20,
        DataLink::FRELAY => 4,
        _ => 0,
    };
    bytes.get(before..).unwrap_or_default()
}

/// A packet of layer 3 in a frame for a station.
fn framed(station: [u8; 6], packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = if packet.first().is_some_and(|first| first >> 4 == 6) { [0x86, 0xdd] } else { [8, 0] };
    [&station[..], &[2, 0, 0, 0, 0, 2], &kind, packet].concat()
}

/// The same packet for us. Checksums behind its header are wrong then as if they were damaged on the way, except of what has
/// none for addresses, such as ICMP and fragments.
fn for_us(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match packet.first().map(|first| first >> 4) {
        Some(6) if packet.len() >= 40 => packet[24..40].copy_from_slice(&OURS6),
        Some(4) if packet.len() >= 20 => {
            packet[16..20].copy_from_slice(&OURS4);
            let end = usize::from(packet[0] & 15) * 4;
            if let Some(header) = packet.get_mut(..end).filter(|header| header.len() >= 20) {
                header[10..12].fill(0);
                let sum = checksum::of(header).checksum();
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        _ => {}
    }
    packet
}

/// Where a packet comes in, and how it looks there.
fn inputs(kind: DataLink, bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let packet = layer3(kind, bytes);
    let mut all = vec![("pg0", bytes.to_vec()), ("pg2", bytes.to_vec()), ("pg3", bytes.to_vec())];
    for (interface, station) in STATIONS {
        all.push((interface, framed(station, packet)));
        all.push((interface, framed(station, &for_us(packet))));
    }
    if let (DataLink::ETHERNET, Some(behind)) = (kind, bytes.get(6..)) {
        // Tags, and what else stands before layer 3, stay.
        all.extend(STATIONS.map(|(interface, station)| (interface, [&station[..], behind].concat())));
    }
    for packet in [packet.to_vec(), for_us(packet)] {
        all.extend(["pg5", "pg6"].map(|interface| (interface, packet.clone())));
    }
    all.retain(|(_, bytes)| !bytes.is_empty());
    all.iter_mut().for_each(|(_, bytes)| bytes.truncate(FRAME_MAX));
    all
}

/// Sends every packet into every input. How often that was, and what was dropped. Packets that vanish are `failures`; one that
/// makes a node panic ends the test, with the file's name before.
fn replay(files: &[(&PathBuf, Packets)], failures: &mut Vec<String>) -> Result<(usize, Ends), Failed> {
    let mut daemon = Daemon::new(ROOMS, Setup { buffers: 4096, ..Setup::default() })?;
    daemon.configure(CONFIGURATION);
    daemon.advance(Duration::from_secs(3))?;
    let mut sends = 0;
    for (file, packets) in files {
        eprintln!("{}", file.display());
        // What a trace says of a packet is read from its bytes, too.
        daemon.configure("clear trace");
        daemon.configure("trace add pg-input 500");
        for (number, (kind, bytes)) in packets.iter().enumerate() {
            for (interface, bytes) in inputs(*kind, bytes) {
                let before = (ended(&daemon), waiting(&daemon));
                daemon.send(interface, &bytes).map_err(|error| format!("packet {number} into {interface}: {error}"))?;
                daemon.settle()?;
                sends += 1;
                if (ended(&daemon), waiting(&daemon)) == before {
                    let file = file.display();
                    failures.push(format!("{file}: packet {number} into {interface} vanishes: {}", hex(&bytes)));
                }
            }
            daemon.advance(Duration::from_millis(1))?;
            daemon.sent();
        }
        daemon.run("show trace max 500")?;
    }
    // Time out unresolved neighbors and incomplete packets.
    daemon.advance(Duration::from_secs(70))?;
    let drops = daemon.drops();
    if waiting(&daemon) != 0 {
        return Err(format!("{} packets wait for neighbours for ever", waiting(&daemon)).into());
    }
    daemon.finish()?;
    match drops.iter().find(|((node, _), _)| *node == "dispatch") {
        Some(end) => Err(format!("{end:?} is no packet's fault").into()),
        None => Ok((sends, drops)),
    }
}

/// Packets that wait until a neighbour is known: those that have come to the nodes which ask, less those that have left these.
fn waiting(daemon: &Daemon) -> i64 {
    let dataplane = daemon.control().room::<Dataplane>();
    let graph = dataplane.graph();
    let mut waiting = 0;
    for node in graph.nodes() {
        for (at, arc) in graph.arcs(node).iter().enumerate() {
            let count: u64 =
                graph.counters(node).filter_map(|counters| counters.arcs.get(at)).map(|counter| counter.get()).sum();
            if matches!(arc.to, To::Node(to) if RESOLVE.contains(&to)) {
                waiting += count as i64;
            }
            if RESOLVE.contains(&graph.name(node)) {
                waiting -= count as i64;
            }
        }
    }
    waiting
}

/// Packets that have left, were dropped, answered, or given to control.
fn ended(daemon: &Daemon) -> u64 {
    let dataplane = daemon.control().room::<Dataplane>();
    let graph = dataplane.graph();
    let mut ended = 0;
    for node in graph.nodes() {
        let ends = graph
            .arcs(node)
            .iter()
            .enumerate()
            .filter(|(_, arc)| matches!(arc.to, To::Drop | To::Done | To::Punt | To::Out));
        for (at, _) in ends {
            ended += graph
                .counters(node)
                .filter_map(|counters| counters.arcs.get(at))
                .map(|counter| counter.get())
                .sum::<u64>();
        }
    }
    ended
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
