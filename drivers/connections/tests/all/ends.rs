//! Ends that differ from each other, commands and limits.

use crate::pair::{CLEAN, Pair, number, numbers};

#[test]
fn a_server_behind_a_translator_answers_any_client() {
    // The client's addresses are not those that the server's plan has, as if a device translated them.
    let mut pair = Pair::new([CLEAN; 2]);
    let server = "profile tcp-tput servers 20.0.0.0 hosts 100 ports 10 any-client yes";
    pair.start_apart(
        server,
        "profile tcp-tput clients 10.7.0.0 hosts 100 ports 10 connections 3000 rate 100000 client-port 30000",
    );
    pair.pass(200);
    let [client, server] = pair.shown();
    assert_eq!(numbers(&client, ["closed", "failed", "open"]), [3000, 0, 0]);
    assert_eq!(numbers(&server, ["closed", "failed", "open", "unexpected"]), [3000, 0, 0, 0]);
    pair.finish();
    // Without this word it does not know them.
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start_apart(
        "profile tcp-cps hosts 100 ports 10",
        "profile tcp-cps clients 10.7.0.0 hosts 100 ports 10 connections 10",
    );
    pair.pass(10);
    let [client, server] = pair.shown();
    assert_eq!((number(&client, "established"), number(&server, "unexpected")), (0, 10));
    pair.finish();
}

#[test]
fn connections_that_stay_are_open_until_their_end() {
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start("profile tcp-tput stay yes hosts 100 ports 10 timeout 20", "connections 1000 rate 100000");
    pair.pass(60_000);
    let [client, server] = pair.shown();
    assert_eq!(numbers(&client, ["established", "closed", "failed", "open", "retransmitted"]), [1000, 0, 0, 1000, 0]);
    assert_eq!(numbers(&server, ["established", "closed", "failed", "open"]), [1000, 0, 0, 1000]);
    assert_eq!(number(&client, "memory"), 64_000);
    pair.daemon.configure("connections end client\nconnections end server");
    assert_eq!(pair.daemon.run("show connections client").expect("it is there").json, serde_json::json!([]));
    pair.finish();
}

#[test]
fn more_than_there_are_connections_is_told_as_busy_and_unsent() {
    let mut pair = Pair::new([|_| vec![5_000_000]; 2]);
    pair.start("profile tcp-cps hosts 10 ports 1", "rate 10000 connections 1000");
    pair.pass(105);
    pair.daemon.configure("connections stop client");
    pair.pass(100);
    let [client, _] = pair.shown();
    let [attempted, closed, unsent, busy] = numbers(&client, ["attempted", "closed", "unsent", "busy"]);
    // Each takes two rounds of 10 ms.
    assert!((40..=70).contains(&attempted), "{attempted}");
    assert_eq!((closed, attempted + unsent), (attempted, 1000));
    assert!(busy > 0);
    pair.finish();
}

#[test]
fn a_flood_is_syns_alone() {
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start_apart(
        "profile tcp-cps hosts 1000 ports 10 timeout 50 retries 0",
        "profile tcp-cps hosts 1000 ports 10 flood yes order random rate 50000 connections 5000",
    );
    pair.pass(105);
    let [client, server] = pair.shown();
    assert_eq!(numbers(&client, ["attempted", "packets-sent", "established", "open"]), [5000, 5000, 0, 0]);
    assert_eq!(numbers(&server, ["attempted", "established"]), [5000, 0]);
    pair.pass(200);
    let [_, server] = pair.shown();
    assert_eq!(numbers(&server, ["failed", "open"]), [5000, 0], "half-open connections expire");
    pair.finish();
}

#[test]
fn wrong_words_and_interfaces_are_refused_with_the_remedy() {
    let mut pair = Pair::new([CLEAN; 2]);
    for (line, error) in [
        ("connections start client hosts 0", "hosts 0: write a number from 1 to 16777216"),
        ("connections start line0 side server", "line0 is no connection generator"),
        ("connections stop line0", "line0 is no connection generator"),
        ("show connections digests client", "start one with `digest yes`"),
        ("create connection-generator interface x,y", "'x,y' is no name for an interface"),
    ] {
        let said = pair.daemon.run(line).expect_err(line).to_string();
        assert!(said.contains(error), "{line}: {said}");
    }
    let shown = pair.daemon.run("show connections profiles").expect("a list").text;
    assert!(shown.contains("tcp-tput               9               7"), "{shown}");
    pair.daemon.configure("delete connection-generator interface client");
    assert!(pair.daemon.run("show connections client").is_err());
    pair.finish();
}

#[test]
fn garbage_harms_no_run() {
    let mut pair = Pair::new([CLEAN; 2]);
    pair.start("profile tcp-cps hosts 10 ports 10", "rate 1000");
    pair.pass(50);
    let frames: Vec<Vec<u8>> = pair.log().concat().into_iter().map(|sent| sent.bytes).collect();
    pair.daemon.configure(
        "create packet-generator interface pg0\ncreate packet-generator interface pg1\nset interface state pg0 up\n\
         delete packet-generator interface pg1\ncreate connection-generator interface other\nset interface state other up",
    );
    for side in ["client", "server"] {
        pair.daemon.configure(&format!(
            "connections start other side {side} profile tcp-cps hosts 10 ports 10 connections 50"
        ));
        let mut rng = fastrand::Rng::with_seed(9);
        for _ in 0..3000 {
            let mut frame = frames[rng.usize(..frames.len())].clone();
            for _ in 0..rng.usize(0..4) {
                let at = rng.usize(..frame.len());
                frame[at] = rng.u8(..);
            }
            frame.truncate(rng.usize(1..=frame.len()));
            pair.daemon.send("pg0", &frame).expect("pg0 is up");
        }
        pair.pass(10);
        let shown = pair.daemon.run("show connections other").expect("a run").json;
        assert!(number(&shown[0], "foreign") > 100, "{shown:#}");
    }
    pair.finish();
}
