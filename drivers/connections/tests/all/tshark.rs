//! Each profile's packets as tshark counts them, and its opinion of their checksums.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapWriter};
use quiver_connections::profile::{NAMES, Profile};

use crate::pair::{CLEAN, Pair, number as number_of};

const CONNECTIONS: u64 = 100;

/// Fields of each packet of a file. An interface and a listener for tshark are not needed: it reads.
pub fn shown(path: &std::path::Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-T", "fields"]);
    for checksum in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{checksum}.check_checksum:TRUE")]);
    }
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().expect("install it: apt-get install --no-install-recommends tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Writes frames to a capture.
pub fn write(path: &std::path::Path, frames: impl Iterator<Item = Vec<u8>>) {
    let mut writer = PcapWriter::new(std::fs::File::create(path).expect("a file")).expect("a head");
    for (at, frame) in frames.enumerate() {
        let packet = PcapPacket::new(Duration::from_micros(at as u64), frame.len() as u32, &frame);
        writer.write_packet(&packet).expect("room in the file");
    }
}

/// Words for a profile's addresses, and the beginning of its clients' addresses.
fn ends(number: usize, is_ip4: bool) -> (String, String) {
    match is_ip4 {
        true => (format!("clients 10.{number}.0.0 servers 20.{number}.0.0"), format!("10.{number}.")),
        false => (format!("clients 2001:{number}:: servers 2002:{number}::"), format!("2001:{number}:")),
    }
}

#[test]
fn tshark_counts_each_profiles_packets_and_finds_no_wrong_checksum() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("packets.pcap");
    let mut frames = vec![];
    let mut expected = vec![];
    for is_ip4 in [true, false] {
        for (number, (profile, _)) in NAMES.into_iter().enumerate() {
            let packets = Profile::named(profile).and_then(|(profile, _)| profile.packets()).expect("known packets");
            let (words, clients) = ends(number + 1, is_ip4);
            let mut pair = Pair::new([CLEAN; 2]);
            let words = format!("profile {profile} hosts 20 ports 10 {words}");
            pair.start(&words, &format!("connections {CONNECTIONS} rate 10000"));
            pair.pass(100);
            let [client, _] = pair.shown();
            assert_eq!(number_of(&client, "closed"), CONNECTIONS, "{profile}: {client:#}");
            let [there, back] = pair.log();
            frames.extend(there.into_iter().chain(back).map(|sent| sent.bytes));
            expected.push((clients, packets));
            pair.finish();
        }
    }
    // One run of tshark for all: it takes seconds to start.
    write(&path, frames.into_iter());
    let fields = [
        "ip.src",
        "ip.dst",
        "ipv6.src",
        "ipv6.dst",
        "tcp.stream",
        "udp.stream",
        "ip.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "_ws.malformed",
    ];
    let mut streams: BTreeMap<(usize, String), [u32; 2]> = BTreeMap::new();
    for row in shown(&path, &fields) {
        let [source, destination] = [format!("{}{}", row[0], row[2]), format!("{}{}", row[1], row[3])];
        let of = |address: &str| expected.iter().position(|(clients, _)| address.starts_with(clients.as_str()));
        let (profile, is_server) = match of(&source) {
            Some(profile) => (profile, false),
            None => (of(&destination).unwrap_or_else(|| panic!("{row:?}")), true),
        };
        let stream = format!("{} {}", row[4], row[5]);
        streams.entry((profile, stream)).or_default()[usize::from(is_server)] += 1;
        // 1 is good. IPv6 has no checksum of its own, and a packet has one transport.
        assert!(row[6..9].iter().all(|status| ["1", ""].contains(&status.as_str())), "{row:?}");
        assert!(row[7] == "1" || row[8] == "1", "{row:?}");
        assert_eq!(row.get(9).map(String::as_str).unwrap_or_default(), "", "malformed: {row:?}");
    }
    for (at, (clients, packets)) in expected.iter().enumerate() {
        let own: Vec<_> =
            streams.iter().filter(|((profile, _), _)| *profile == at).map(|(_, counted)| counted).collect();
        assert_eq!(own.len() as u64, CONNECTIONS, "{clients}");
        assert!(own.iter().all(|counted| *counted == packets), "{clients}: {packets:?}: {own:?}");
    }
}
