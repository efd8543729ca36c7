//! Flows of a capture, replayed with other addresses and ports.

use std::path::Path;

use quiver_testkit::packet::{Layer, Packet};

use crate::pair::{CLEAN, Pair, number, numbers};
use crate::tshark::{shown, write};

/// The packets of a capture in their order: what a client and a server of this profile sent.
fn captured(profile: &str) -> Vec<Vec<u8>> {
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start(&format!("profile {profile} hosts 1 ports 1"), "connections 1 rate 1000");
    pair.pass(200);
    let [there, back] = pair.log().map(|log| log.into_iter().map(|sent| sent.bytes).collect::<Vec<_>>());
    pair.finish();
    // In turns, as each answers the other: both have their first packet before the other's second one.
    let (mut there, mut back, mut all) = (there.into_iter(), back.into_iter(), vec![]);
    loop {
        match (there.next(), back.next()) {
            (None, None) => return all,
            (client, server) => all.extend(client.into_iter().chain(server)),
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn flows_go_as_they_were_captured_between_other_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, sent] = ["in.pcap", "sent.pcap"].map(|name| folder.path().join(name));
    for (profile, transport, packets) in [("tcp-tput", "tcp", [9, 7]), ("udp-cps", "udp", [1, 1])] {
        let capture = captured(profile);
        write(&file, capture.iter().cloned());
        let mut pair = Pair::new([CLEAN; 2]);
        let ends = "clients 10.9.0.0 servers 10.8.0.0 hosts 30 ports 10 client-port 5000 server-port 443";
        let words = format!("transport {transport} replay {} {ends}", text(&file));
        pair.start(&words, "connections 300 rate 10000");
        pair.pass(500);
        let [client, server] = pair.shown();
        assert_eq!(numbers(&client, ["attempted", "closed", "failed", "open"]), [300, 300, 0, 0], "{client:#}");
        assert_eq!(numbers(&server, ["attempted", "closed", "failed", "open"]), [300, 300, 0, 0], "{server:#}");
        assert_eq!([number(&client, "packets-sent"), number(&server, "packets-sent")], packets.map(|each| each * 300));
        let [there, back] = pair.log();
        write(&sent, there.iter().chain(&back).map(|sent| sent.bytes.clone()));
        let fields = ["ip.src", "tcp.checksum.status", "udp.checksum.status", "ip.checksum.status"];
        let rows = shown(&sent, &fields);
        assert!(rows.iter().all(|row| row[3] == "1" && (row[1] == "1" || row[2] == "1")), "{rows:?}");
        // What is behind the ports is what was captured.
        let behind = |bytes: &Vec<u8>| {
            let packet = Packet::dissect(bytes);
            assert!(!format!("{packet}").contains("bad-"), "{packet}");
            packet.layers.into_iter().find_map(|layer| match layer {
                Layer::Tcp(tcp) => Some((tcp.seq, tcp.ack, tcp.flags.0)),
                Layer::Udp(_) => Some((0, 0, bytes.len() as u8)),
                _ => None,
            })
        };
        let mut of_one: Vec<_> = there[..].iter().chain(&back).map(|sent| behind(&sent.bytes)).collect();
        let mut of_capture: Vec<_> = capture.iter().map(behind).cycle().take(of_one.len()).collect();
        of_one.sort_unstable();
        of_capture.sort_unstable();
        assert_eq!(of_one, of_capture);
        pair.finish();
    }
}

#[test]
fn a_lost_packet_fails_its_flow_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("in.pcap");
    write(&file, captured("tcp-cps").into_iter());
    let mut pair = Pair::new([|number| if number % 400 == 100 { vec![] } else { vec![20_000] }, CLEAN]);
    pair.start(&format!("replay {} timeout 20 hosts 100 ports 10", text(&file)), "connections 1000 rate 50000");
    pair.pass(1000);
    let [client, server] = pair.shown();
    let dropped = pair.log()[0].iter().filter(|sent| sent.copies == 0).count() as u64;
    assert!(dropped >= 9, "{dropped}");
    assert_eq!(numbers(&client, ["attempted", "failed", "open"])[0], 1000);
    // The loss of a last acknowledgement ends a flow at the server alone.
    let [failed, closed] = numbers(&client, ["failed", "closed"]);
    assert!(failed <= dropped && failed >= dropped / 2 && closed + failed == 1000, "{client:#}");
    assert_eq!(numbers(&server, ["closed", "open"])[1], 0, "{server:#}");
    pair.finish();
}

#[test]
fn several_flows_take_turns_and_other_packets_are_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("in.pcap");
    // The second flow has other ports, the third a client that comes again from the same one.
    let other = captured("tcp-tput client-port 2000");
    let flows = [captured("tcp-cps"), other, captured("tcp-cps"), captured("udp-cps"), vec![vec![0xff; 60]]];
    write(&file, flows.concat().into_iter());
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start(&format!("replay {} hosts 10 ports 3", text(&file)), "connections 30 rate 1000");
    pair.pass(500);
    let [client, _] = pair.shown();
    assert_eq!(numbers(&client, ["closed", "failed"]), [30, 0], "{client:#}");
    // 7 of the first, 16 of the second, 7 of the third.
    assert_eq!(number(&client, "packets-sent") + number(&client, "packets-received"), 10 * (7 + 16 + 7));
    pair.finish();
}

#[test]
fn what_cannot_be_replayed_is_said_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, cut, long] = ["in.pcap", "cut.pcap", "long.pcap"].map(|name| folder.path().join(name));
    let flow = captured("tcp-tput");
    write(&file, flow.iter().cloned());
    write(&cut, flow.iter().map(|frame| frame[..frame.len() - 30].to_vec()));
    let large = captured("tcp-cps request 8900 segment 8900 rounds 1");
    write(
        &long,
        large.into_iter().map(|mut frame| {
            if frame.len() > 8000 {
                // As if the kernel had put segments together.
                frame.resize(20_000, 0);
                frame[16..18].copy_from_slice(&19_986_u16.to_be_bytes());
            }
            frame
        }),
    );
    let mut pair = Pair::new([CLEAN; 2]);
    for (words, error) in [
        (format!("replay {}", text(&folder.path().join("none.pcap"))), "No such file"),
        (format!("replay {} transport udp", text(&file)), "no packet is of udp over IPv4"),
        (format!("replay {} clients 2001:db8:: servers 2001:db8:1::", text(&file)), "no packet is of tcp over IPv6"),
        (format!("replay {}", text(&cut)), "it is cut off"),
        (format!("replay {}", text(&long)), "ethtool -K DEVICE tso off"),
        (format!("replay {} stay yes", text(&file)), "replay: leave out stay"),
        (format!("replay {} get /x", text(&file)), "replay: leave out get"),
    ] {
        let said = pair.daemon.run(&format!("connections start client {words}")).expect_err(&words).to_string();
        assert!(said.contains(error), "{words}: {said}");
    }
    pair.finish();
}
