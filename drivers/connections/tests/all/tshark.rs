//! Each profile's packets as tshark counts them, and its opinion of their checksums.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapWriter};
use quiver_connections::profile::{NAMES, Profile};

use crate::pair::{CLEAN, Pair, number};

const CONNECTIONS: u64 = 200;
/// Families, and the first bytes of the clients' addresses.
const FAMILIES: [(&str, &str); 2] = [("", "192.168."), (" clients 2001:db8:1:: servers 2001:db8:2::", "2001:db8:1:")];

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

#[test]
fn tshark_counts_each_profiles_packets_and_finds_no_wrong_checksum() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("packets.pcap");
    for (profile, _) in NAMES {
        let expected = Profile::named(profile).and_then(|(profile, _)| profile.packets()).expect("known packets");
        for (family, clients) in FAMILIES {
            let mut pair = Pair::new([CLEAN; 2]);
            let words = format!("profile {profile} hosts 20 ports 10{family}");
            pair.start(&words, &format!("connections {CONNECTIONS} rate 10000"));
            pair.pass(200);
            let [client, _] = pair.shown();
            assert_eq!(number(&client, "closed"), CONNECTIONS, "{profile}: {client:#}");
            let [there, back] = pair.log();
            write(&path, there.into_iter().chain(back).map(|sent| sent.bytes));
            pair.finish();
            let fields = [
                "ip.src",
                "ipv6.src",
                "tcp.stream",
                "udp.stream",
                "ip.checksum.status",
                "tcp.checksum.status",
                "udp.checksum.status",
                "_ws.malformed",
            ];
            let mut streams: BTreeMap<String, [u32; 2]> = BTreeMap::new();
            for row in shown(&path, &fields) {
                let is_server = !row[0].starts_with(clients) && !row[1].starts_with(clients);
                streams.entry(format!("{}{}", row[2], row[3])).or_default()[usize::from(is_server)] += 1;
                // 1 is good; a family without a header checksum, or another transport, has none.
                assert!(row[4..7].iter().all(|status| ["1", ""].contains(&status.as_str())), "{profile}: {row:?}");
                assert!(row[5] == "1" || row[6] == "1", "{profile}: {row:?}");
                assert_eq!(row.get(7).map(String::as_str).unwrap_or_default(), "", "{profile}: malformed");
            }
            assert_eq!(streams.len() as u64, CONNECTIONS, "{profile}{family}");
            assert!(streams.values().all(|packets| *packets == expected), "{profile}{family}: {streams:?}");
        }
    }
}
