//! Events of sessions from a daemon to files, collectors and logs, with exporters that are killed, too slow, or out of space.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness};
use serde_json::Value;

use crate::daemon::{Daemon, wait};

/// A daemon that forwards between two interfaces of tenant 1, and translates between two others.
struct Site {
    daemon: Daemon,
    folder: tempfile::TempDir,
    streams: usize,
}

/// A program that is stopped with this.
struct Stopped(Child);

impl Stopped {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).expect("a process id")), signal).expect("it runs");
    }
    /// Tells it to end, as service managers do; whether it ended well.
    fn end(mut self) -> bool {
        self.signal(Signal::SIGTERM);
        self.0.wait().expect("a child").success()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Site {
    fn new(events: &str) -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("events.sock");
        let options =
            ["--events-socket", socket.to_str().expect("text"), "--session-interval", "0.2", "--workers", "1"];
        let daemon = Daemon::start_with(folder.path(), &options);
        let site = Site { daemon, folder, streams: 0 };
        for (number, address) in ["10.0.0.1", "10.0.1.1", "10.0.2.1", "192.0.2.1"].into_iter().enumerate() {
            site.run(&format!("create packet-generator interface pg{number} hw-addr 02:00:00:00:00:a0"));
            site.run(&format!("set interface state pg{number} up"));
            site.run(&format!("set interface ip address pg{number} {address}/24"));
            let host = address.replace(".1/", ".2/").rsplit_once('.').map(|(net, _)| format!("{net}.2"));
            site.run(&format!("ip neighbor pg{number} {} 02:00:00:00:00:02", host.expect("an address")));
        }
        for line in [
            "sfdp tenant add 1",
            "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward",
            "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup reverse",
            "set sfdp interface-input pg0 tenant 1",
            "set sfdp interface-input pg1 tenant 1",
            "nat44 plugin enable sessions 10000",
            "nat44 add address 192.0.2.50",
            "set interface nat44 in pg2 out pg3",
        ] {
            site.run(line);
        }
        site.run(&format!("sfdp events enable{events}"));
        site
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn run(&self, line: &str) {
        self.daemon.accepted(line);
    }
    fn show(&self, line: &str) -> Value {
        serde_json::from_str(&self.daemon.accepted(&format!("{line} --json"))).expect("JSON")
    }
    /// Sends a datagram for each port of a range from an interface: `10.0.0.2 -> 10.0.1.2` with such ports.
    fn send(&mut self, interface: &str, ends: &str, ports: &str, count: u32) {
        self.streams += 1;
        let name = format!("s{}", self.streams);
        let data = format!("IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 UDP: {ends} UDP: {ports}");
        self.run(&format!(
            "packet-generator new {{ name {name} interface {interface} limit {count} data {{ {data} }} }}"
        ));
        self.run(&format!("packet-generator enable {name}"));
        wait("the stream ends", || {
            let shown = self.show("show packet-generator").to_string();
            shown.contains(&name) && !self.is_running(&name)
        });
    }
    fn is_running(&self, name: &str) -> bool {
        let shown = self.daemon.accepted("show packet-generator");
        shown.lines().any(|line| line.contains(name) && line.contains("yes"))
    }
    /// Sessions of tenant 1, with so many packets in both directions.
    fn sessions(&mut self, first: u32, count: u32) {
        let last = first + count - 1;
        self.send("pg0", "10.0.0.2 -> 10.0.1.2", &format!("{first} - {last} -> 53"), count);
        self.send("pg1", "10.0.1.2 -> 10.0.0.2", &format!("53 -> {first} - {last}"), count);
    }
    fn exporter(&self, arguments: &[&str], stdout: Stdio) -> Stopped {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
        command.arg("--socket").arg(self.path("s")).args(["export", "sessions"]).args(arguments);
        Stopped(command.stdout(stdout).stderr(Stdio::null()).spawn().expect("the program runs"))
    }
    fn state(&self, name: &str) -> Value {
        let shown = self.show("show sfdp events");
        let found = shown["exporters"].as_array().expect("a list").iter().find(|exporter| exporter["name"] == name);
        found.cloned().unwrap_or_default()
    }
    /// Waits until an exporter has read everything that was written.
    fn drained(&self, name: &str) {
        wait("the exporter has read all events", || {
            let state = self.state(name);
            state["waiting"] == 0 && state["process"].is_number() && state["exported"].as_u64() > Some(0)
                || state["waiting"] == 0 && state["failed"].as_u64() > Some(0)
        });
    }
    fn counters(&self) -> Value {
        self.show("show sfdp tenant 1 detail")
    }
    fn clear(&self) {
        self.run("clear session all");
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn of<'l>(lines: &'l [Value], event: &'static str) -> impl Iterator<Item = &'l Value> {
    lines.iter().filter(move |line| line["event"] == event && line["tenant"] == 1)
}

fn sum(lines: &[Value], fields: [&str; 2]) -> u64 {
    of(lines, "closed").flat_map(|line| fields.map(|field| line[field].as_u64().expect("a number"))).sum()
}

/// Compares sums of events with the counters of the tenant.
fn equal_counters(lines: &[Value], counters: &Value) {
    assert_eq!(counters["created-sessions"], of(lines, "created").count());
    assert_eq!(counters["removed-sessions"], of(lines, "closed").count());
    assert_eq!(counters["incoming-packets"], sum(lines, ["packets-forward", "packets-reverse"]));
    assert_eq!(counters["incoming-bytes"], sum(lines, ["bytes-forward", "bytes-reverse"]));
}

#[test]
fn an_exporter_that_is_killed_is_replaced_without_a_loss_and_a_full_disk_disturbs_none() {
    let mut site = Site::new("");
    let (file, text) = (site.path("events.json"), site.path("events.json").display().to_string());
    let first = site.exporter(&["--json-lines", &text], Stdio::null());
    let full = site.exporter(&["--json-lines", "/dev/full", "--name", "full"], Stdio::null());
    site.sessions(1000, 500);
    site.drained("json");
    first.signal(Signal::SIGKILL);
    drop(first);
    wait("the kernel hangs up", || site.state("json")["process"].is_null());
    // Without it packets are forwarded as before, and events wait in the ring.
    site.sessions(2000, 500);
    let second = site.exporter(&["--json-lines", &text], Stdio::null());
    site.clear();
    site.drained("json");
    site.drained("full");
    let counters = site.counters();
    let (json, full_state) = (site.state("json"), site.state("full"));
    assert!(second.end());
    let lines = lines(&file);
    equal_counters(&lines, &counters);
    assert_eq!(
        (counters["created-sessions"].as_u64(), counters["incoming-packets"].as_u64()),
        (Some(1000), Some(2000))
    );
    assert_eq!(of(&lines, "established").count(), 1000);
    let sessions: BTreeSet<_> = of(&lines, "closed").map(|line| line["session"].to_string()).collect();
    assert_eq!(sessions.len(), 1000, "none twice");
    assert!(of(&lines, "closed").all(|line| line["reason"] == "cleared"));
    assert_eq!((json["lost"].as_u64(), json["exported"].as_u64()), (Some(0), Some(lines.len() as u64)));
    assert_eq!((full_state["exported"].as_u64(), full_state["failed"].as_u64()), (Some(0), Some(lines.len() as u64)));
    assert!(full.end(), "it goes on, and ends when it is told to");
    let date = lines[0]["time"].as_str().expect("a time");
    let today = Command::new("date").args(["-u", "+%Y-"]).output().expect("a program");
    assert!(date.starts_with(String::from_utf8_lossy(&today.stdout).trim()), "{date}");
}

#[test]
fn events_that_a_slow_reader_misses_are_counted_and_packets_are_not_delayed() {
    let mut site = Site::new(" slots 256");
    let mut slow = site.exporter(&["--json-lines", "-"], Stdio::piped());
    wait("it is attached", || site.state("json")["process"].is_number());
    // The pipe fills up, since it is not read: then the exporter stands still.
    for round in 0..10 {
        site.sessions(1000 + round * 1000, 1000);
    }
    assert_eq!(site.counters()["incoming-packets"], 20_000, "all packets were taken");
    let output = slow.0.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map(|line| line.expect("text"));
        lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON")).collect::<Vec<_>>()
    });
    site.drained("json");
    let (state, written) = (site.state("json"), site.show("show sfdp events")["written"].as_u64());
    assert!(slow.end());
    let lines = reader.join().expect("no panic");
    let lost: u64 = lines.iter().filter(|line| line["event"] == "lost").filter_map(|line| line["count"].as_u64()).sum();
    let told = lines.iter().filter(|line| line["event"] != "lost").count() as u64;
    assert_eq!(state["lost"], lost);
    assert_eq!(Some(told + lost), written, "each event was exported or counted");
    assert!(lost > 10_000, "{lost}");
}

/// A capture of datagrams, as tshark reads it: IPv4 and UDP around each.
fn capture(path: &Path, datagrams: &[Vec<u8>], port: u16) {
    let header = PcapHeader { datalink: DataLink::IPV4, endianness: Endianness::Big, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(File::create(path).expect("a file"), header).expect("a head");
    for datagram in datagrams {
        let (udp, ip) = ((8 + datagram.len()) as u16, (28 + datagram.len()) as u16);
        let mut packet = vec![0x45, 0];
        packet.extend(ip.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        packet.extend([0x80, 0]);
        packet.extend(port.to_be_bytes());
        packet.extend(udp.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(datagram);
        let packet = PcapPacket::new(Duration::ZERO, packet.len() as u32, &packet);
        writer.write_packet(&packet).expect("room");
    }
}

/// A record as tshark decodes it: the number of its template, and its fields in lines.
struct Record {
    template: u16,
    lines: Vec<String>,
}

impl Record {
    /// The value behind a name.
    fn get(&self, name: &str) -> &str {
        let mut values = self.lines.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.next().unwrap_or_else(|| panic!("{name}: {:?}", self.lines))
    }
    /// Sum of numbers behind a name, of both directions.
    fn both(&self, name: &str) -> u64 {
        let values: Vec<_> = self
            .lines
            .iter()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.split(' ').next())
            .collect();
        assert_eq!(values.len(), 2, "{name}: {:?}", self.lines);
        values.iter().map(|value| value.parse::<u64>().expect("a number")).sum()
    }
}

/// All data records of a capture. tshark knows the elements of RFC 5103 and RFC 8158 by their names.
fn decoded(path: &Path, port: u16) -> Vec<Record> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-d", &format!("udp.port=={port},cflow"), "-V"]);
    let output = command.output().expect("install it: apt-get install --no-install-recommends tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    for wrong in ["Malformed", "Expert Info", "No template"] {
        assert!(!text.contains(wrong), "{text}");
    }
    let (mut template, mut is_in, mut all) = (0, false, vec![]);
    for line in text.lines().map(str::trim) {
        if let Some(id) = line.strip_prefix("FlowSet Id: (Data) (") {
            template = id.trim_end_matches(')').parse().expect("a number");
            is_in = false;
        } else if line.strip_prefix("Flow ").is_some_and(|number| number.parse::<u32>().is_ok()) {
            all.push(Record { template, lines: vec![] });
            is_in = true;
        } else if line.starts_with("Set ") || line.starts_with("Frame ") {
            is_in = false;
        } else if let Some(record) = all.last_mut().filter(|_| is_in) {
            record.lines.push(line.to_owned());
        }
    }
    all
}

/// Datagrams that have come to a socket, until none comes for a while.
fn received(socket: &UdpSocket) -> Vec<Vec<u8>> {
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
    let (mut all, mut buffer) = (vec![], [0; 4096]);
    while let Ok(length) = socket.recv(&mut buffer) {
        all.push(buffer[..length].to_vec());
    }
    all
}

#[test]
fn tshark_and_nfcapd_read_biflows_and_nat_events_whose_sums_are_the_counters() {
    let mut site = Site::new("");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("a port").port();
    let (flows, free) = (site.path("flows"), UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let nf_port = free.local_addr().expect("a port").port();
    drop(free);
    fs::create_dir(&flows).expect("a folder");
    let mut nfcapd = Command::new("nfcapd");
    nfcapd.args(["-b", "127.0.0.1", "-p", &nf_port.to_string()]).arg("-w").arg(&flows).stdout(Stdio::null());
    let nfcapd =
        nfcapd.stderr(Stdio::null()).spawn().expect("install it: apt-get install --no-install-recommends nfdump");
    let nfcapd = Stopped(nfcapd);
    wait("nfcapd listens", || UdpSocket::bind(("127.0.0.1", nf_port)).is_err());

    site.sessions(1000, 200);
    site.send("pg2", "10.0.2.2 -> 192.0.2.2", "4000 - 4049 -> 99", 50);
    site.run("set sfdp sessions-max tenant 1 200");
    site.send("pg0", "10.0.0.2 -> 10.0.1.2", "9000 - 9004 -> 53", 5);
    site.clear();
    let tshark = site.exporter(&["--ipfix", &format!("127.0.0.1:{port}")], Stdio::null());
    let collector = site.exporter(&["--ipfix", &format!("127.0.0.1:{nf_port}"), "--name", "nfcapd"], Stdio::null());
    site.drained("ipfix");
    site.drained("nfcapd");
    let counters = site.counters();
    assert!(tshark.end() && collector.end());

    let (datagrams, path) = (received(&socket), site.path("ipfix.pcap"));
    capture(&path, &datagrams, port);
    let records = decoded(&path, port);
    let of = |template: u16| records.iter().filter(move |record| record.template == template);
    let biflows: Vec<_> = of(256).filter(|record| record.get("Ingress VRFID") == "1").collect();
    assert_eq!(counters["removed-sessions"], biflows.len());
    // Packets that were denied came, too, of 50 bytes each.
    let sum = |name: &str| biflows.iter().map(|record| record.both(name)).sum::<u64>();
    assert_eq!(counters["incoming-packets"], sum("Permanent Packets") + 5);
    assert_eq!(counters["incoming-bytes"], sum("Permanent Octets") + 5 * 50);
    assert!(biflows.iter().all(|record| record.get("Flow End Reason").starts_with("Forced end")));
    assert_eq!(of(259).filter(|record| record.get("Firewall Event").starts_with("Flow denied")).count(), 5);
    for event in ["NAT44 session create", "NAT44 session delete"] {
        let told: Vec<_> = of(258).filter(|record| record.get("Nat Event").starts_with(event)).collect();
        let ports: BTreeSet<_> = told.iter().map(|record| record.get("Post NAPT Source Transport Port")).collect();
        assert_eq!((told.len(), ports.len()), (50, 50), "{event}");
        for record in told {
            assert_eq!((record.get("SrcAddr"), record.get("DstAddr")), ("10.0.2.2", "192.0.2.2"));
            assert_eq!(record.get("Post NAT Source IPv4 Address"), "192.0.2.50");
        }
    }
    let lost: Vec<_> = of(261).map(|record| record.get("Not Sent Flows")).collect();
    assert_eq!(lost, ["0"]);
    // RFC 7011, 3.1: the number of a message is that of the records before it.
    let sequence = |datagram: &Vec<u8>| u32::from_be_bytes([datagram[8], datagram[9], datagram[10], datagram[11]]);
    assert_eq!((sequence(&datagrams[0]), sequence(&datagrams[1])), (0, 0), "templates are no records");
    assert!(datagrams.iter().map(sequence).is_sorted());

    assert!(nfcapd.end());
    let nfdump = Command::new("nfdump").arg("-R").arg(&flows).args(["-o", "json", "-q"]).output().expect("nfdump");
    let text = String::from_utf8(nfdump.stdout).expect("text");
    let array = text.trim().trim_start_matches('[').trim_end_matches(']').trim_end_matches(',');
    let flows: Vec<Value> = serde_json::from_str(&format!("[{array}]")).expect("JSON");
    let is_biflow = |flow: &&Value| flow["ingress_vrf"] == "1" && flow["in_packets"] != 0;
    let biflows: Vec<_> = flows.iter().filter(is_biflow).collect();
    assert_eq!(counters["removed-sessions"], biflows.len());
    let sum = |fields: [&str; 2]| -> u64 {
        biflows.iter().flat_map(|flow| fields.map(|field| flow[field].as_u64().unwrap_or_default())).sum()
    };
    assert_eq!(counters["incoming-packets"], sum(["in_packets", "out_packets"]) + 5);
    assert_eq!(counters["incoming-bytes"], sum(["in_bytes", "out_bytes"]) + 5 * 50);
    for event in ["NAT44 session create", "NAT44 session delete"] {
        let told = flows.iter().filter(|flow| flow["nat_event"] == event && flow["src4_xlt_ip"] == "192.0.2.50");
        assert_eq!(told.count(), 50, "{event}");
    }
}

#[test]
fn syslog_goes_to_a_socket_of_this_machine_and_over_udp() {
    let mut site = Site::new("");
    let (log, udp) = (site.path("log"), UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let local = UnixDatagram::bind(&log).expect("a socket");
    local.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
    let to = udp.local_addr().expect("a port").to_string();
    let exporters = [
        site.exporter(&["--syslog", log.to_str().expect("text"), "--name", "log"], Stdio::null()),
        site.exporter(&["--syslog", &to], Stdio::null()),
    ];
    // Sockets of this machine have room for ten datagrams: more would be refused if they were not read.
    site.sessions(1000, 2);
    site.clear();
    site.drained("log");
    site.drained("syslog");
    assert!(exporters.into_iter().all(Stopped::end));
    let mut buffer = [0; 4096];
    let at_home: Vec<_> =
        std::iter::from_fn(|| local.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec())).collect();
    for messages in [at_home, received(&udp)] {
        assert_eq!(messages.len(), 6);
        for (message, event) in
            messages.iter().zip(["created", "created", "established", "established", "closed", "closed"])
        {
            let text = String::from_utf8(message.clone()).expect("text");
            let (header, object) = text.split_at(text.find('{').expect("an object"));
            let words: Vec<_> = header.split(' ').collect();
            assert_eq!((words[0], words[3], &words[5..]), ("<134>1", "quiver", &[event, "-", ""][..]), "{text}");
            let object: Value = serde_json::from_str(object).expect("JSON");
            assert_eq!((&object["event"], &object["time"]), (&event.into(), &words[1].into()));
        }
    }
}

#[test]
fn mistakes_are_named_and_a_daemon_that_goes_is_waited_for() {
    let site = Site::new("");
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
        command.arg("--socket").arg(site.path("s")).args(["export", "sessions"]).args(arguments);
        let output = command.output().expect("the program runs");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    assert!(refused(&[]).contains("--ipfix"));
    assert!(refused(&["--ipfix", "127.0.0.1:1", "--json-lines", "-"]).contains("cannot be used with"));
    assert!(refused(&["--ipfix", "127.0.0.1"]).contains("such as 192.0.2.1:4739"));
    assert!(refused(&["--json-lines", "/nowhere/x"]).contains("/nowhere/x"));
    assert!(refused(&["--json-lines", "-", "--events-socket", "/nowhere"]).contains("--events-socket"));
    let exporter = site.exporter(&["--json-lines", site.path("x").to_str().expect("text")], Stdio::null());
    wait("it is attached", || site.state("json")["process"].is_number());
    assert!(refused(&["--json-lines", "-"]).contains("--name"));
    site.run("sfdp events disable");
    wait("it has noticed", || site.state("json")["process"].is_null());
    assert!(refused(&["--json-lines", "-"]).contains("sfdp events enable"));
    site.run("sfdp events enable");
    wait("it is there again", || site.state("json")["process"].is_number());
    let Site { daemon, folder, .. } = site;
    daemon.stop();
    assert!(exporter.end(), "it waits for quiverd, and ends when it is told to");
    drop(folder);
}
