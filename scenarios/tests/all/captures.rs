//! `pcap trace`: what is written, to where the host says.

use std::future::ready;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use quiver_control::LocalFuture;
use quiver_control::files::{FileError, Reach};
use quiver_runtime::files::{CaptureFile, CaptureFiles, MemoryFiles};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

const FILE: &str = "/tmp/seen.pcap";

fn daemon(files: Rc<dyn CaptureFiles>) -> Daemon {
    let mut daemon = quiver_scenarios::daemon("");
    quiver_runtime::capture_to(daemon.control(), files);
    daemon.configure(
        "create packet-generator interface pg0
         create packet-generator interface pg1
         set interface l2 xconnect pg0 pg1
         set interface l2 xconnect pg1 pg0
         set interface state pg0 up
         set interface state pg1 up",
    );
    daemon
}

/// Frames of growing length.
fn send(daemon: &mut Daemon, frames: impl Iterator<Item = u8>) {
    for number in frames {
        daemon.send("pg0", &vec![number; 60 + usize::from(number)]).expect("pg0 is up");
    }
    daemon.settle().expect("nothing circles");
}

fn packets(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut reader = PcapReader::new(file).expect("the file has a header");
    let mut packets = vec![];
    while let Some(packet) = reader.next_packet() {
        let packet = packet.expect("a whole packet");
        packets.push((packet.orig_len, packet.data.into_owned()));
    }
    packets
}

#[test]
fn packets_are_written_as_they_come_and_whole_when_the_capture_ends() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure("pcap trace rx tx intfc any max-bytes-per-pkt 62 file seen.pcap");
    let error = daemon.run("pcap trace drop file seen.pcap").expect_err("a file of its own").to_string();
    assert_eq!(error, "a capture to /tmp/seen.pcap is running; `pcap trace off file /tmp/seen.pcap` ends it");
    send(&mut daemon, 0..3);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    let seen = packets(&files.read(FILE).expect("it was begun"));
    assert_eq!(seen.len(), 6, "received and sent: {seen:?}");
    send(&mut daemon, 3..5);
    let said = daemon.run("pcap trace off").expect("it runs");
    assert_eq!(said.text, "Write 10 packets to /tmp/seen.pcap, 0 lost because the file was slower than the packets");
    let seen = packets(&files.read(FILE).expect("it was begun"));
    let expected = |number: u8| (60 + u32::from(number), vec![number; 60 + usize::from(number.min(2))]);
    let mut expected: Vec<_> = (0..5).chain(0..5).map(expected).collect();
    expected.sort();
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    let error = daemon.run("pcap trace off").expect_err("it has ended").to_string();
    assert_eq!(error, "no such capture is running; `pcap trace rx` starts one");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn a_capture_ends_by_itself_when_it_has_its_packets() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure("pcap trace rx max 3 file seen.pcap");
    send(&mut daemon, 0..9);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    send(&mut daemon, 0..9);
    let said = daemon.run("pcap trace off").expect("it is told of still");
    assert_eq!((packets(&files.read(FILE).expect("begun")).len(), said.json[0]["packets"].as_u64()), (3, Some(3)));
    // The next one begins anew.
    daemon.configure("pcap trace rx file seen.pcap");
    send(&mut daemon, 0..1);
    daemon.configure("pcap trace off");
    assert_eq!(packets(&files.read(FILE).expect("begun")).len(), 1);
    daemon.finish().expect("nothing leaks");
}

/// Files that know how many of them are open.
#[derive(Default)]
struct Counted(MemoryFiles, Rc<()>);

struct Open {
    file: Rc<dyn CaptureFile>,
    _is_open: Rc<()>,
}

impl CaptureFiles for Counted {
    fn folder(&self) -> PathBuf {
        self.0.folder()
    }
    fn check(&self, reach: &Reach, path: &Path) -> Result<(), FileError> {
        self.0.check(reach, path)
    }
    fn create(&self, reach: &Reach, path: &Path) -> Result<Rc<dyn CaptureFile>, FileError> {
        Ok(Rc::new(Open { file: self.0.create(reach, path)?, _is_open: self.1.clone() }))
    }
}

impl CaptureFile for Open {
    fn append(&self, bytes: Vec<u8>) -> LocalFuture<io::Result<()>> {
        self.file.append(bytes)
    }
}

#[test]
fn a_capture_that_has_its_packets_holds_nothing() {
    let (files, open) = (MemoryFiles::default(), Rc::new(()));
    let mut daemon = daemon(Rc::new(Counted(files.clone(), open.clone())));
    let is_open = || Rc::strong_count(&open) > 2;
    let status = |daemon: &mut Daemon| daemon.run("pcap trace status").expect("it runs");
    let none = status(&mut daemon);
    assert_eq!((&none.text[..], none.json), ("No capture is running.", serde_json::json!([])));
    daemon.configure("pcap trace rx max 3 file seen.pcap\npcap dispatch trace on max 2");
    send(&mut daemon, 0..1);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    assert!(is_open());
    assert_eq!(status(&mut daemon).json[0]["state"], "running");
    send(&mut daemon, 1..9);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    assert!(!is_open(), "its file is closed");
    let ended = status(&mut daemon);
    for (number, packets) in [(0, 3), (1, 2)] {
        let told = &ended.json[number];
        assert_eq!((&told["state"], &told["packets"], &told["lost"]), (&"complete".into(), &packets.into(), &0.into()));
    }
    assert!(ended.text.contains("; it has ended with all packets that were wanted"), "{}", ended.text);
    // Of its file and of what comes to nodes another one begins, which takes its place.
    daemon.configure("pcap trace tx max 100 file seen.pcap\npcap dispatch trace on");
    let running = status(&mut daemon).json;
    assert_eq!(
        (running.as_array().map(Vec::len), &running[0]["state"], &running[0]["packets"]),
        (Some(2), &"running".into(), &0.into())
    );
    send(&mut daemon, 0..5);
    daemon.configure("pcap trace off\npcap dispatch trace off");
    assert_eq!(packets(&files.read(FILE).expect("begun")).len(), 5);
    // Ended captures need no acknowledgment: only the last ones are listed.
    for number in 0..100 {
        daemon.configure(&format!("pcap trace rx max 1 file seen{number}.pcap"));
        send(&mut daemon, 0..1);
        daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    }
    let told = status(&mut daemon).json;
    assert_eq!((told.as_array().map(Vec::len), &told[63]["file"]), (Some(64), &"/tmp/seen99.pcap".into()));
    daemon.finish().expect("nothing leaks");
}

#[test]
fn captures_run_side_by_side_each_to_its_file() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    let written = |daemon: &mut Daemon, command: &str| -> Vec<(String, u64)> {
        let said = daemon.run(command).expect("some are running").json;
        let told = said.as_array().expect("a list").iter();
        told.map(|one| (one["file"].as_str().unwrap_or_default().to_owned(), one["packets"].as_u64().unwrap_or(0)))
            .collect()
    };
    let of = |name: &str, packets| (format!("/tmp/{name}.pcap"), packets);
    daemon.configure(
        "pcap trace rx
         pcap trace tx
         pcap trace drop
         pcap trace rx tx max 2 intfc pg1 file both.pcap
         pcap dispatch trace on",
    );
    send(&mut daemon, 0..3);
    // Each has what it wanted: pg1 only sends.
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    let all = written(&mut daemon, "pcap trace status");
    assert_eq!(all[..4], [of("rx", 3), of("tx", 3), of("drop", 0), of("both", 2)]);
    assert_eq!((all.len(), all[4].0.as_str()), (5, "/tmp/dispatch.pcap"));
    assert_eq!(written(&mut daemon, "pcap trace off file both.pcap"), [of("both", 2)]);
    assert_eq!(written(&mut daemon, "pcap trace drop off"), [of("drop", 0)]);
    daemon.configure("set interface state pg1 down\npcap trace drop");
    send(&mut daemon, 0..1);
    for (command, why) in
        [("pcap trace off file both.pcap", "it has ended"), ("pcap dispatch trace on file d.pcap", "one at a time")]
    {
        daemon.run(command).expect_err(why);
    }
    // What comes to nodes is another matter.
    assert_eq!(written(&mut daemon, "pcap trace off"), [of("rx", 4), of("tx", 3), of("drop", 1)]);
    assert!(written(&mut daemon, "pcap dispatch trace off")[0].1 > 4);
    for (name, count) in [("rx", 4), ("tx", 3), ("drop", 1), ("both", 2)] {
        assert_eq!(packets(&files.read(of(name, 0).0).expect("it was begun")).len(), count, "{name}");
    }
    daemon.finish().expect("nothing leaks");
}

#[test]
fn what_is_sent_by_an_output_counts_as_received_by_whom_the_stream_says() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure(
        "loopback create-interface
         pcap trace rx intfc pg0
         pcap trace tx intfc pg1
         pcap trace drop intfc loop0
         packet-generator new { name x limit 3 size 64 interface loop0 tx-interface pg1 node pg1-output data { IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }",
    );
    let all = |daemon: &mut Daemon, counts: [usize; 3]| {
        daemon.configure("pcap trace off");
        let count = |name: &str| files.read(format!("/tmp/{name}.pcap")).map_or(0, |file| packets(&file).len());
        assert_eq!(["rx", "tx", "drop"].map(count), counts);
    };
    daemon.configure("packet-generator en x");
    all(&mut daemon, [3, 3, 0]);
    // What the interface has to do with it: who sends is asked whether it can.
    daemon.configure("pcap trace drop intfc loop0\nset interface state pg1 down\npacket-generator en x");
    all(&mut daemon, [3, 3, 3]);
    // It takes with it what names it.
    daemon.configure("loopback delete-interface intfc loop0");
    daemon.run("packet-generator delete x").expect_err("there is none any more");
    daemon.finish().expect("nothing leaks");
}

/// A disk with room for two times, or with none at all.
struct Full(bool);

impl CaptureFiles for Full {
    fn folder(&self) -> PathBuf {
        PathBuf::from("/tmp")
    }
    fn check(&self, reach: &Reach, path: &Path) -> Result<(), FileError> {
        self.create(reach, path).map(drop)
    }
    fn create(&self, _: &Reach, path: &Path) -> Result<Rc<dyn CaptureFile>, FileError> {
        if self.0 { Ok(Rc::new(Full(true))) } else { Err(FileError::refused(path, io::ErrorKind::StorageFull.into())) }
    }
}

impl CaptureFile for Full {
    fn append(&self, bytes: Vec<u8>) -> LocalFuture<io::Result<()>> {
        // The file's header alone has 24 bytes.
        Box::pin(ready(if bytes.len() < 200 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }))
    }
}

#[test]
fn a_file_that_fails_ends_the_capture_and_is_told() {
    let mut daemon = daemon(Rc::new(Full(true)));
    daemon.configure("pcap trace rx");
    send(&mut daemon, 0..1);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    send(&mut daemon, 0..9);
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    let said = daemon.run("pcap trace off").expect("it is told of still").text;
    assert!(said.starts_with("Write 1 packets to /tmp/rx.pcap, "), "{said}");
    assert!(said.contains("then the file failed: "), "{said}");
    daemon.finish().expect("nothing leaks");
    let mut daemon = self::daemon(Rc::new(Full(false)));
    let error = daemon.run("pcap trace rx").expect_err("no file").to_string();
    assert!(error.starts_with("/tmp/rx.pcap: "), "{error}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn pcapng_says_where_packets_were_seen_and_why_they_were_dropped() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure("pcap trace rx drop file seen.pcapng");
    // The cross-connect forwards whatever comes; layer 3 does not know what this is.
    daemon.send("pg0", &[7; 60]).expect("it has room");
    daemon.settle().expect("nothing circles");
    daemon.configure("set interface l3 pg0");
    daemon.send("pg0", &[7; 60]).expect("it has room");
    daemon.advance(std::time::Duration::from_millis(50)).expect("nothing circles");
    daemon.configure("pcap trace off");
    let bytes = files.read("/tmp/seen.pcapng").expect("it was begun");
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a section");
    let (mut names, mut comments) = (vec![], vec![]);
    while let Some(block) = reader.next_block() {
        match block.expect("a whole block") {
            Block::InterfaceDescription(interface) => {
                names.extend(interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                }))
            }
            Block::EnhancedPacket(packet) => {
                assert_eq!((packet.interface_id, packet.original_len, &packet.data[..]), (0, 60, &[7; 60][..]));
                comments.extend(packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
                    _ => None,
                }));
            }
            other => panic!("nobody wrote {other:?}"),
        }
    }
    assert_eq!(names, ["pg0"]);
    assert_eq!(comments, ["received", "received", "dropped by ethernet-input: unknown-ethertype"]);
    daemon.finish().expect("nothing leaks");
}

#[test]
fn drops_are_chosen_by_their_reason_also_as_clients_call_it() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure(
        "set interface l3 pg0
         set interface ip address pg0 10.0.0.1/24
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02",
    );
    let packet = |text: &str| text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    let nobody = packet(
        "eth 02:00:00:00:00:02 > 02:fe:70:67:00:00 / ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 2345 > 1234 / payload 18",
    );
    let nowhere = packet(
        "eth 02:00:00:00:00:02 > 02:fe:70:67:00:00 / ip4 10.0.0.2 > 10.9.0.1 ttl 64 / udp 2345 > 1234 / payload 18",
    );
    for (number, reason) in
        ["{icmp4-error}.{port-unreachable}", "{ip4-udp-lookup}.{no_listener}", "icmp4-error.port_unreachable"]
            .into_iter()
            .enumerate()
    {
        daemon.configure(&format!("pcap trace drop error {reason} file seen{number}.pcap"));
        for bytes in [&nobody, &nowhere] {
            daemon.send("pg0", bytes).expect("pg0 is up");
        }
        daemon.settle().expect("nothing circles");
        daemon.run("pcap trace off").expect("it runs");
        let seen = packets(&files.read(format!("/tmp/seen{number}.pcap")).expect("it was begun"));
        assert_eq!(seen, [(nobody.len() as u32, nobody.clone())], "{reason}");
    }
    let unknown =
        daemon.run("pcap trace drop error {ip4-udp-lookup}.{no_speaker}").expect_err("nothing is").to_string();
    assert!(unknown.starts_with("no node drops packets as `{ip4-udp-lookup}.{no_speaker}`"), "{unknown}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn drops_of_parts_are_written_as_they_were_received() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(Rc::new(files.clone()));
    daemon.configure(
        "create packet-generator interface pg2 hw-addr 02:00:00:00:00:a2
         set interface state pg2 up
         create sub-interfaces pg2 100
         create sub-interfaces pg2 7 dot1ad 7 inner-dot1q 8 exact-match
         set interface state pg2.100 up
         set interface state pg2.7 up
         set interface ip address pg2.100 10.1.0.1/24
         set interface ip address pg2.7 10.2.0.1/24
         ip route add 20.0.0.0/8 via drop
         pcap trace drop file seen.pcap",
    );
    let frame = |tags: &str| {
        let text = format!(
            "eth 02:00:00:00:00:31 > 02:00:00:00:00:a2 / {tags} / ip4 10.1.0.2 > 20.0.0.1 ttl 64 / udp 1 > 2 / payload 18"
        );
        text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
    };
    let frames = [frame("dot1q 100"), frame("dot1ad 7 / dot1q 8")];
    for frame in &frames {
        daemon.send("pg2", frame).expect("it is up");
    }
    daemon.settle().expect("nothing circles");
    daemon.configure("pcap trace off");
    let seen = packets(&files.read(FILE).expect("something was dropped"));
    assert_eq!(seen, frames.map(|frame| (frame.len() as u32, frame)));
}
