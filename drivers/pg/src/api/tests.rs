//! The messages, and the commands that go with them, as VPP's users script them.

use std::fs;
use std::path::PathBuf;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use quiver_compat::{Caller, Retval};
use quiver_interface::{Events, Interfaces};
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};

use super::*;
use crate::stream::PgStream;

/// A daemon whose interfaces 1 and 2 are joined, a client, and an empty folder.
struct Bench {
    daemon: Daemon,
    caller: Caller,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            crossing::register(control).map_err(|error| error.to_string())?;
            crate::register(control).map_err(|error| error.to_string())
        };
        // Nobody looks at what is sent but captures.
        let rooms = Rooms { send: crate::send, ..Rooms::without_wires(register, Events::answer) };
        let daemon = Daemon::new(rooms, Setup::default()).expect("a daemon");
        let caller = Caller::connect(daemon.control());
        Bench { daemon, caller, folder: tempfile::tempdir().expect("a folder") }
    }
    fn create(&mut self, number: u32, mode: PgInterfaceMode) -> Result<u32, Retval> {
        let (interface_id, pg_flags) = (InterfaceIndex(number), PgInterfaceFlags::NONE);
        let request = PgCreateInterfaceV3 { interface_id, pg_flags, gso_size: 0, mode };
        self.caller.request(&request).map(|reply| reply.sw_if_index.0)
    }
    /// pg0 and pg1, for frames.
    fn create_two(&mut self) {
        for number in 0..2 {
            self.create(number, PgInterfaceMode::Ethernet).expect("there is room");
        }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// A file with so many packets, each of another length.
    fn recorded(&self, count: u8) -> PathBuf {
        let path = self.path("in.pcap");
        let file = fs::File::create(&path).expect("a file");
        let mut writer = PcapWriter::with_header(file, PcapHeader::default()).expect("a header");
        for number in 0..count {
            let bytes = packet(number);
            let packet = PcapPacket::new(std::time::Duration::ZERO, bytes.len() as u32, &bytes);
            writer.write_packet(&packet).expect("a packet");
        }
        path
    }
    fn is_on(&mut self) -> bool {
        self.daemon.run("show packet-generator").expect("streams").text.contains("Yes")
    }
    fn enable(&mut self, stream: &str, is_enabled: bool) -> Result<(), Retval> {
        self.caller.request(&PgEnableDisable { is_enabled, stream_name: stream.into() }).map(drop)
    }
    fn capture(&mut self, number: u32, count: u32, file: Option<&str>) -> Result<(), Retval> {
        let pcap_file_name = file.map(|file| self.path(file).display().to_string()).unwrap_or_default();
        let (interface_id, is_enabled) = (InterfaceIndex(number), file.is_some());
        self.caller.request(&PgCapture { interface_id, is_enabled, count, pcap_file_name }).map(drop)
    }
}

fn packet(number: u8) -> Vec<u8> {
    let ethernet = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]].concat();
    [ethernet, vec![8, 0, 0x45], vec![number; 46 + usize::from(number)]].concat()
}

/// The kind of link that a file is of, and its packets.
fn read(path: &std::path::Path) -> (u32, Vec<Vec<u8>>) {
    let mut reader = PcapReader::new(fs::File::open(path).expect("the file is there")).expect("a header");
    let link = u32::from(reader.header().datalink);
    let mut packets = vec![];
    while let Some(packet) = reader.next_packet() {
        packets.push(packet.expect("whole").data.into_owned());
    }
    (link, packets)
}

#[test]
fn interfaces_are_created_found_again_and_deleted() {
    let mut bench = Bench::new();
    let index = bench.create(7, PgInterfaceMode::Ethernet).expect("there is room");
    assert_eq!(bench.create(7, PgInterfaceMode::Ethernet), Ok(index), "it is there already");
    assert_eq!(bench.daemon.control().room::<Interfaces>().find("pg7").map(|found| found.id.0), Some(index));
    let older = PgCreateInterfaceV2 {
        interface_id: InterfaceIndex(8),
        gso_enabled: false,
        gso_size: 0,
        mode: PgInterfaceMode::Ip4,
    };
    let ip4 = bench.caller.request(&older).expect("there is room").sw_if_index;
    let oldest = PgCreateInterface { interface_id: InterfaceIndex(9), gso_enabled: false, gso_size: 0 };
    bench.caller.request(&oldest).expect("there is room");
    let mode = |name: &str| bench.daemon.control().objects().get::<PacketGenerator>(&name.into()).map(|pg| pg.mode);
    assert_eq!(
        (mode("pg7"), mode("pg8"), mode("pg9")),
        (Some(PgMode::Ethernet), Some(PgMode::Ip4), Some(PgMode::Ethernet))
    );

    bench.caller.request(&PgDeleteInterface { sw_if_index: ip4 }).expect("it is there");
    assert!(bench.daemon.control().room::<Interfaces>().find("pg8").is_none());
    let again = bench.caller.request(&PgDeleteInterface { sw_if_index: ip4 });
    assert_eq!(again.err(), Some(Retval::INVALID_SW_IF_INDEX));
    let local = bench.caller.request(&PgDeleteInterface { sw_if_index: InterfaceIndex(0) });
    assert_eq!(local.err(), Some(Retval::INVALID_SW_IF_INDEX), "it is no generator's");
}

#[test]
fn what_the_generator_cannot_do_is_refused() {
    let mut bench = Bench::new();
    bench.create(6, PgInterfaceMode::Ip6).expect("there is room");
    let ip6 = bench.daemon.control().objects().get::<PacketGenerator>(&"pg6".into()).map(|pg| pg.mode);
    assert_eq!(ip6, Some(PgMode::Ip6));
    for (pg_flags, gso_size, retval) in [
        (PgInterfaceFlags::GRO_COALESCE, 1458, Retval::UNIMPLEMENTED),
        (PgInterfaceFlags::GSO, 0, Retval::INVALID_VALUE),
        (PgInterfaceFlags::GSO, 65_536, Retval::INVALID_VALUE),
    ] {
        let (interface_id, mode) = (InterfaceIndex(0), PgInterfaceMode::Ethernet);
        let refused = bench.caller.request(&PgCreateInterfaceV3 { interface_id, pg_flags, gso_size, mode });
        assert_eq!(refused.err(), Some(retval));
    }
    assert!(bench.daemon.control().room::<Interfaces>().find("pg0").is_none());
    let sw_if_index = InterfaceIndex(bench.create(0, PgInterfaceMode::Ethernet).expect("there is room"));
    let coalesce = |coalesce_enabled| PgInterfaceEnableDisableCoalesce { sw_if_index, coalesce_enabled };
    assert_eq!(bench.caller.request(&coalesce(true)).err(), Some(Retval::UNIMPLEMENTED));
    assert!(bench.caller.request(&coalesce(false)).is_ok());
    assert_eq!(bench.enable("x", true), Err(Retval::NO_SUCH_ENTRY));
}

#[test]
fn a_file_is_played_once_and_its_packets_are_in_another_when_no_stream_says_yes() {
    let mut bench = Bench::new();
    bench.create_two();
    bench.daemon.run("set interface state pg1 up").expect("it is there");
    let input = bench.recorded(9);
    let new = format!("packet-generator new pcap {} source pg0 name in maxframe 4", input.display());
    bench.daemon.run(&new).expect("a stream");
    // It was read by now.
    fs::remove_file(&input).expect("the file is there");
    assert_eq!(bench.capture(1, 0, Some("out.pcap")), Ok(()));
    assert!(!bench.path("out.pcap").exists(), "no file before the first packet");
    assert!(!bench.is_on());

    // pg0 is down: the stream sets it up.
    assert_eq!(bench.enable("", true), Ok(()));
    bench.daemon.settle().expect("an end");
    assert!(!bench.is_on());
    let (link, packets) = read(&bench.path("out.pcap"));
    assert_eq!((link, packets), (1, (0..9).map(packet).collect()));
    assert_eq!(bench.capture(0, 0, Some("out.pcap")), Err(Retval::CANNOT_CREATE_PCAP_FILE), "it is there");

    // Again, and the capture ends first: the file stays as it is.
    assert_eq!(bench.capture(1, 0, None), Ok(()));
    assert_eq!(bench.capture(1, 0, None), Ok(()), "whether or not there is one");
    assert_eq!(bench.enable("in", true), Ok(()));
    bench.daemon.settle().expect("an end");
    assert_eq!(read(&bench.path("out.pcap")).1.len(), 9);
    let tx =
        |bench: &mut Bench| bench.daemon.run("show packet-generator in").expect("it is there").json[0]["sent"].clone();
    assert_eq!(tx(&mut bench), 9, "of the second run");
}

#[test]
fn a_stream_says_yes_until_its_packets_have_left_the_graph() {
    let mut bench = Bench::new();
    bench.create_two();
    bench.daemon.run("set interface state pg1 up").expect("it is there");
    let input = bench.recorded(3);
    bench
        .daemon
        .run(&format!("packet-generator new pcap {} source pg0 name in limit 1000", input.display()))
        .expect("new");
    assert_eq!(bench.capture(1, 0, Some("out.pcap")), Ok(()));
    assert_eq!(bench.enable("in", true), Ok(()));
    // No worker has had a turn yet.
    let is_on = |bench: &Bench| bench.daemon.control().room::<PacketGenerators>().streams.is_on("in");
    assert!(is_on(&bench));
    let mut seen = 0;
    while is_on(&bench) {
        let now = bench.daemon.time().0;
        for worker in bench.daemon.workers() {
            worker.turn(now);
        }
        Events::answer(bench.daemon.control());
        bench.daemon.executor().run_ready();
        seen += 1;
        assert!(seen < 1000, "it never ends");
    }
    assert!(seen > 4, "1000 packets take several turns");
    assert_eq!(read(&bench.path("out.pcap")).1.len(), 1000);
}

#[test]
fn a_capture_of_ip_packets_has_their_link_type_and_no_more_packets_than_were_wanted() {
    let mut bench = Bench::new();
    bench.create(0, PgInterfaceMode::Ip4).expect("there is room");
    bench.create(1, PgInterfaceMode::Ethernet).expect("there is room");
    bench.daemon.configure("set interface state pg0 up\nset interface state pg1 up");
    assert_eq!(bench.capture(0, 2, Some("out.pcap")), Ok(()));
    for number in 0..3 {
        bench.daemon.send("pg1", &packet(number)).expect("it is up");
    }
    bench.daemon.settle().expect("an end");
    let (link, packets) = read(&bench.path("out.pcap"));
    assert_eq!((link, packets), (12, (0..2).map(|number| packet(number)[14..].to_vec()).collect()));
}

#[test]
fn a_capture_whose_file_cannot_be_written_says_so_at_its_end() {
    let mut bench = Bench::new();
    bench.create_two();
    bench.daemon.configure("set interface state pg0 up\nset interface state pg1 up");
    assert_eq!(bench.capture(1, 0, Some("nowhere/out.pcap")), Err(Retval::CANNOT_CREATE_PCAP_FILE));
    assert_eq!(bench.capture(1, 0, Some("out.pcap")), Ok(()));
    // Somebody takes the name before there is a packet.
    std::os::unix::fs::symlink("elsewhere", bench.path("out.pcap")).expect("linked");
    bench.daemon.send("pg0", &packet(1)).expect("it is up");
    bench.daemon.settle().expect("an end");
    let error = bench.daemon.run("packet-generator capture pg1 disable").expect_err("nothing was written");
    assert!(error.what.contains("/out.pcap: "), "{error}");
    assert!(!bench.path("elsewhere").exists());
}

/// Opening a FIFO as a file blocks until its other end is open, and would block control.
#[test]
fn streams_of_what_is_no_file_are_refused_at_once() {
    let mut bench = Bench::new();
    bench.create_two();
    let fifo = bench.path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo is there").success());
    let said = |bench: &mut Bench, path: &str| {
        let error = bench.daemon.run(&format!("packet-generator new pcap {path} source pg0 name x"));
        error.expect_err("it is no file").what
    };
    let told = said(&mut bench, &fifo.display().to_string());
    assert!(told.contains(&format!("{} is a FIFO, not a regular file", fifo.display())), "{told}");
    assert!(said(&mut bench, "/dev/zero").contains("is a device"));
    // In a configuration, too.
    let stream = PgStream { name: "y".into(), pcap: Some(fifo.display().to_string()), ..PgStream::unnamed() };
    let stream = PgStream { interface: InterfaceName("pg0".into()), ..stream };
    let control = bench.daemon.control().clone();
    let error = control.put(stream.clone()).expect_err("it was not read");
    assert!(error.what.ends_with("fifo was not read") && error.remedy.contains("packet-generator new"), "{error}");
    let put = async move { control.put_with_content(stream, |_, _| Ok(())).await };
    let error = bench.daemon.run_task(put).expect_err("it is no file");
    assert_eq!((error.field.as_str(), error.what.contains("is a FIFO")), ("pcap", true), "{error}");
    let text = format!("pg-streams: [{{name: y, interface: pg0, pcap: {}}}]", fifo.display());
    let whole = format!("packet-generators: [{{name: pg0}}, {{name: pg1}}]\n{text}\n");
    let error = bench.daemon.apply("f.yaml", &whole).expect_err("it is no file").to_string();
    assert!(error.starts_with("f.yaml:2:") && error.contains("pcap: ") && error.contains("is a FIFO"), "{error}");
    // A file without an end is not read to it.
    let long = bench.path("long");
    fs::File::create(&long).expect("a file").set_len(1 << 40).expect("it is sparse");
    assert!(said(&mut bench, &long.display().to_string()).contains("has more than 67108864 bytes"));
}

/// Returns the lengths of the packets that pg1 sends for one packet from a file on pg0.
fn sent_of(bench: &mut Bench, name: &str, bytes: &[u8]) -> Vec<usize> {
    let path = bench.path(name);
    let file = fs::File::create(&path).expect("a file");
    let mut writer = PcapWriter::with_header(file, PcapHeader::default()).expect("a header");
    let packet = PcapPacket::new(std::time::Duration::ZERO, bytes.len() as u32, bytes);
    writer.write_packet(&packet).expect("a packet");
    let new = format!("packet-generator new pcap {} source pg0 name {name}", path.display());
    bench.daemon.run(&new).expect("a stream");
    let out = format!("{name}.out");
    assert_eq!(bench.capture(1, 0, Some(&out)), Ok(()));
    assert_eq!(bench.enable(name, true), Ok(()));
    while bench.is_on() {
        bench.daemon.advance(std::time::Duration::from_millis(1)).expect("nothing to wait for");
    }
    assert_eq!(bench.capture(1, 0, None), Ok(()));
    assert_eq!(bench.enable(name, false), Ok(()));
    let packets = read(&bench.path(&out)).1;
    for packet in &packets {
        let mut whole = packet.clone();
        let left = crate::offload::Offloads { checksums: true, segment: None }.of(&mut whole).expect("tcp or udp");
        left.complete_checksum(&mut whole).expect("within the packet");
        assert_eq!(*packet, whole, "{name}: checksums are right");
    }
    packets.iter().map(Vec::len).collect()
}

#[test]
fn what_an_interface_leaves_to_others_is_done_where_packets_leave() {
    use quiver_testkit::packet::Packet;
    let mut bench = Bench::new();
    let (interface_id, mode) = (InterfaceIndex(0), PgInterfaceMode::Ethernet);
    let pg_flags = PgInterfaceFlags::CSUM_OFFLOAD | PgInterfaceFlags::GSO;
    let request = PgCreateInterfaceV3 { interface_id, pg_flags, gso_size: 1000, mode };
    bench.caller.request(&request).expect("there is room");
    bench.create(1, PgInterfaceMode::Ethernet).expect("there is room");
    bench.daemon.run("set interface state pg1 up").expect("it is there");
    let of = |text: &str| text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes();
    let udp = of("eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / udp 1 > 2 / payload 48");
    // Whatever the file says, it is not believed.
    let wrong: Vec<u8> = udp.iter().enumerate().map(|(at, byte)| if at == 40 { !byte } else { *byte }).collect();
    assert_eq!(sent_of(&mut bench, "udp", &wrong), [udp.len()]);
    let tcp = of(
        "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / ip4 10.0.0.1 > 10.0.1.1 ttl 64 / tcp 1 > 2 ack seq 1 ack 2 window 9 / payload 2500",
    );
    assert_eq!(sent_of(&mut bench, "tcp", &tcp), [tcp.len()], "shown uncut");
}
