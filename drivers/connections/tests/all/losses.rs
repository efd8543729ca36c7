//! Accuracy: every drop of the line is accounted for.

use quiver_scenarios::line::Sent;

use crate::pair::{CLEAN, Pair, number, numbers};

const DROPPED: fn(&[Sent]) -> u64 = |log| log.iter().filter(|sent| sent.copies == 0).count() as u64;

#[test]
fn every_drop_is_accounted_for() {
    // At known places: each 97th packet there, each 89th back.
    let mut pair = Pair::new([
        |number| if number % 97 == 13 { vec![] } else { vec![20_000] },
        |number| if number % 89 == 7 { vec![] } else { vec![20_000] },
    ]);
    pair.start("profile tcp-cps timeout 20", "connections 20000 rate 100000");
    pair.pass(3000);
    let [client, server] = pair.shown();
    assert_eq!(
        numbers(&client, ["attempted", "established", "closed", "failed", "open"]),
        [20_000, 20_000, 20_000, 0, 0]
    );
    let log = pair.log();
    let dropped = log.each_ref().map(|log| DROPPED(log));
    assert!(dropped[0] > 800 && dropped[1] > 600, "{dropped:?}");
    for (log, dropped, from, to) in [(&log[0], dropped[0], &client, &server), (&log[1], dropped[1], &server, &client)] {
        assert_eq!(number(from, "packets-sent"), log.len() as u64, "as many as in the capture");
        assert_eq!(number(from, "packets-sent") - number(to, "packets-received"), dropped);
        assert_eq!(numbers(to, ["bad-checksums", "foreign"]), [0, 0]);
    }
    // The server may not have heard of the end of connections that their clients have closed and opened again, or closed last.
    let [closed, superseded, failed, open] = numbers(&server, ["closed", "superseded", "failed", "open"]);
    assert_eq!((closed + superseded, failed, open), (20_000, 0, 0), "{server:#}");
    pair.finish();
}

/// As many connections as `QUIVER_CONNECTIONS` says, through a line that loses 1 of 10,000 packets.
#[test]
fn a_loss_in_ten_thousand_is_accounted_for_however_many_there_are() {
    let asked = std::env::var("QUIVER_CONNECTIONS").ok().map(|text| text.parse().expect("a number"));
    let connections: u64 = asked.unwrap_or(50_000);
    let plan = |number| if number % 10_000 == 4711 { vec![] } else { vec![10_000] };
    let mut pair = Pair::counted([plan, plan]);
    pair.start("profile tcp-cps timeout 20", &format!("connections {connections} rate 500000"));
    let mut seconds = 0;
    let [client, server] = loop {
        pair.pass(1000);
        seconds += 1;
        let [client, server] = pair.shown();
        let is_over = [&client, &server].iter().all(|shown| number(shown, "open") == 0);
        if client["opening"] == false && is_over {
            break [client, server];
        }
        assert!(seconds < 10 + connections / 100_000, "{client:#} {server:#}");
    };
    assert_eq!(
        numbers(&client, ["attempted", "established", "closed", "failed"]),
        [connections, connections, connections, 0]
    );
    assert_eq!(number(&server, "closed") + number(&server, "superseded"), connections);
    for ((sent, dropped), from, to) in pair
        .counts()
        .into_iter()
        .zip([(&client, &server), (&server, &client)])
        .map(|(line, (from, to))| (line, from, to))
    {
        assert_eq!((sent, dropped), (number(from, "packets-sent"), sent / 10_000 + u64::from(sent % 10_000 > 4711)));
        assert_eq!(number(from, "packets-sent") - number(to, "packets-received"), dropped);
        assert_eq!(numbers(to, ["bad-checksums", "foreign"]), [0, 0]);
    }
    // Each loss is a packet that goes again, but for acknowledgements, which the next packet stands for.
    let dropped: u64 = pair.counts().iter().map(|(_, dropped)| dropped).sum();
    let again = number(&client, "retransmitted") + number(&server, "retransmitted");
    println!("{connections} connections: {dropped} packets lost, {again} sent again");
    assert!(again <= 2 * dropped && again * 4 >= dropped, "{again} of {dropped}");
    pair.finish();
}

#[test]
fn what_is_lost_with_data_goes_again() {
    let mut pair = Pair::new([
        |number| if number % 31 == 5 { vec![] } else { vec![20_000] },
        |number| if number % 37 == 9 { vec![] } else { vec![20_000] },
    ]);
    pair.start("profile tcp-tput timeout 10", "connections 2000 rate 20000");
    pair.pass(3000);
    let [client, server] = pair.shown();
    assert_eq!(numbers(&client, ["closed", "failed", "open"]), [2000, 0, 0], "{client:#}");
    let payload = 5 * 42 * 2000;
    assert_eq!((number(&client, "bytes-received"), number(&server, "bytes-received")), (payload, payload));
    assert!(number(&client, "retransmitted") + number(&server, "retransmitted") >= 1000, "{client:#}");
    let dropped = pair.log().each_ref().map(|log| DROPPED(log));
    let lost = |from, to| number(from, "packets-sent") - number(to, "packets-received");
    assert_eq!([lost(&client, &server), lost(&server, &client)], dropped);
    pair.finish();
}

#[test]
fn long_answers_survive_losses_duplicates_and_disorder() {
    let mut pair = Pair::new([
        |number| if number % 23 == 5 { vec![] } else { vec![20_000] },
        |number| match number % 29 {
            3 => vec![],
            9 => vec![20_000, 40_000],
            17 => vec![90_000],
            _ => vec![20_000],
        },
    ]);
    let words = "profile tcp-tput rounds 1 request 100 response 200000 segment 1000 timeout 5 digest yes";
    pair.start(words, "connections 20 hosts 20 ports 1 rate 1000");
    pair.pass(10_000);
    let [client, _] = pair.shown();
    assert_eq!(
        numbers(&client, ["closed", "failed", "open", "bytes-received"]),
        [20, 0, 0, 20 * 200_000],
        "{client:#}"
    );
    assert!(number(&client, "out-of-order") > 20 && number(&client, "duplicates") > 20, "{client:#}");
    let digests = pair.daemon.run("show connections digests client").expect("digests").json;
    let crc = crc32fast(&[0; 200_000]);
    for row in digests.as_array().expect("rows") {
        assert_eq!((&row["bytes"], &row["crc-32"]), (&200_000.into(), &crc.into()), "{row}");
    }
    assert_eq!(digests.as_array().map(Vec::len), Some(20));
    pair.finish();
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32fast(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[test]
fn without_an_answer_connections_fail_after_their_retries() {
    for (profile, tries) in [("tcp-cps", 3), ("udp-cps", 1)] {
        let mut pair = Pair::new([CLEAN, |_| vec![]]);
        pair.start(&format!("profile {profile} timeout 10 retries 2"), "connections 100 rate 10000");
        pair.pass(1000);
        let [client, _] = pair.shown();
        assert_eq!(numbers(&client, ["attempted", "closed", "failed", "open"]), [100, 0, 100, 0], "{profile}");
        assert_eq!(numbers(&client, ["packets-sent", "retransmitted"]), [100 * tries, 100 * (tries - 1)], "{profile}");
        pair.finish();
    }
}

#[test]
fn a_datagram_that_is_lost_fails_its_connection_and_no_other() {
    let mut pair = Pair::new([|number| if number % 100 == 50 { vec![] } else { vec![20_000] }, CLEAN]);
    // Five times over the same connections: none that is left over meets the next.
    pair.start("profile udp-tput timeout 10 hosts 20 ports 10", "connections 1000 rate 5000");
    pair.pass(2000);
    let [client, server] = pair.shown();
    let dropped = DROPPED(&pair.log()[0]);
    assert_eq!(dropped, 50);
    assert_eq!(numbers(&client, ["attempted", "closed", "failed", "open"]), [1000, 950, 50, 0], "{client:#}");
    assert_eq!(numbers(&server, ["closed", "failed", "open"]), [950, 50, 0], "{server:#}");
    pair.finish();
}
