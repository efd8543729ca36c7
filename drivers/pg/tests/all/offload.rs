//! Long packets leave an interface as they were to be sent, and it remarks on those that a device would not have sent.

use std::time::Duration;

use pcap_file::pcap::{PcapPacket, PcapWriter};
use quiver_testkit::packet::Packet;

#[test]
fn long_packets_are_shown_uncut_and_remarked_on() {
    let long: Packet = "eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > 10.0.1.2 ttl 64 df / \
         tcp 1 > 2 ack seq 1 ack 2 window 9 / payload 3000"
        .parse()
        .expect("a packet");
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("long.pcap");
    let mut file = PcapWriter::new(std::fs::File::create(&path).expect("a file")).expect("it takes a header");
    let bytes = long.to_bytes();
    let packet = PcapPacket::new(Duration::ZERO, bytes.len() as u32, &bytes);
    file.write_packet(&packet).expect("there is room in it");
    drop(file);

    let mut daemon = quiver_scenarios::daemon("");
    daemon.sent();
    daemon.configure(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0 gso-enabled gso-size 1000
         create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg0 up
         set interface state pg1 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:12",
    );
    daemon.advance(Duration::from_secs(3)).expect("time passes");
    daemon.sent();
    daemon.run(&format!("packet-generator new pcap {} source pg0 name x", path.display())).expect("it is read");
    daemon.run("packet-generator enable x").expect("it is there");
    daemon.settle().expect("nothing circles");
    let sent: Vec<_> = daemon.sent().into_iter().filter(|(interface, _)| interface == "pg1").collect();
    let lengths: Vec<_> = sent.iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [bytes.len()], "one packet, uncut");
    let shown = Packet::dissect(&sent[0].1).to_string();
    assert!(shown.contains("ttl 63") && !shown.contains("checksum"), "its checksums are right: {shown}");
    // Clients read the line by its columns.
    let errors = daemon.run("show errors").expect("it is shown").text;
    let line = format!("{:>10}{:15}pg1-tx{:14}gso disabled on itf  -- gso packet {:3}error", 1, "", "", "");
    assert!(errors.lines().any(|shown| shown == line), "{errors}");
    daemon.run("clear errors").expect("it is cleared");
    assert!(!daemon.run("show errors").expect("it is shown").text.contains("gso"), "it was cleared");
    daemon.run("delete packet-generator interface pg1").expect("it goes");
    assert!(!daemon.run("show errors verbose").expect("it is shown").text.contains("pg1-tx"), "it has gone");
    daemon.finish().expect("nothing leaks");
}
