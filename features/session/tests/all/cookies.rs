//! SYN cookies: a router of two workers, clients behind pg0 and a server behind pg1.

use std::collections::BTreeSet;
use std::time::Duration;

use quiver_scenarios::{ROOMS, two_networks};
use quiver_session::room::Room;
use quiver_session::{SessionDefaults, set_session_defaults};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::packet::{Checksum, Layer, Packet, Tcp};
use quiver_wire::TcpFlags;

use crate::packets::{ACK, FIN, RST, SYN};

/// Initial numbers of client and server.
const CLIENT: u32 = 0xffff_fff0;
const SERVER: u32 = 0x7fff_ff00;
/// Options of a client's SYN as Linux sends them, without timestamps, and those of the SYN that the server is to receive.
const OPTIONS: &str = "020405b40402080a00000001000000000103030a";
const OPTIONS_THERE: &str = "020405b401010402 0103030a";

/// A segment that leaves: the interface, and its header.
type Left = (String, Tcp);

struct Path {
    daemon: Daemon,
    ip6: bool,
}

/// Hexadecimal digits as bytes.
fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

impl Path {
    /// With room for so many sessions; the tenant's settings behind its services.
    fn new(ip6: bool, sessions: usize, settings: &[&str]) -> Path {
        Path::with((2, 16_384), ip6, sessions, settings)
    }
    /// The same with so many workers and buffers.
    fn with((workers, buffers): (usize, u32), ip6: bool, sessions: usize, settings: &[&str]) -> Path {
        let setup = Setup { workers, buffers, rehearses: false, ..Setup::default() };
        let mut daemon = Daemon::new(ROOMS, setup).expect("the rooms fit");
        set_session_defaults(daemon.control(), SessionDefaults { sessions, ..SessionDefaults::default() });
        daemon.configure(two_networks::ROUTER);
        let lookup = if ip6 { "ip6-lookup" } else { "ip4-lookup" };
        let family = if ip6 { " ip6" } else { "" };
        daemon.configure(&format!(
            "set interface rx-placement pg0 worker 0
             set interface rx-placement pg1 worker {}
             ip route add 198.18.0.0/15 via 10.0.0.2 pg0
             ip route add 2001:db8:9::/48 via 2001:db8::2 pg0
             sfdp tenant add 1
             set sfdp entry tenant 1 policy-first
             set sfdp services tenant 1 sfdp-l4-lifecycle {lookup} forward
             set sfdp services tenant 1 sfdp-l4-lifecycle {lookup} reverse
             set sfdp interface-input pg0 tenant 1{family}
             set sfdp interface-input pg1 tenant 1{family}",
            workers - 1
        ));
        settings.iter().for_each(|line| daemon.configure(line));
        daemon.advance(Duration::from_secs(3)).expect("it settles");
        daemon.sent();
        Path { daemon, ip6 }
    }
    /// The addresses of client and server.
    fn ends(&self) -> [&'static str; 2] {
        if self.ip6 { ["2001:db8::2", "2001:db8:1::2"] } else { ["10.0.0.2", "10.0.1.2"] }
    }
    /// The frame of what is behind an IP header.
    fn frame(&self, [from, to]: [&str; 2], behind: &str) -> Vec<u8> {
        let (family, hops) = if self.ip6 { ("ip6", "hlim") } else { ("ip4", "ttl") };
        let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {family} {from} > {to} {hops} 64 / {behind}");
        text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
    }
    /// Sends what is behind an IP header, from the client or from the server. What leaves has right checksums.
    fn send(&mut self, from_server: bool, behind: &str) -> Vec<Left> {
        let mut ends = self.ends();
        if from_server {
            ends.reverse();
        }
        let frame = self.frame(ends, behind);
        self.send_frame(from_server, &frame)
    }
    fn send_frame(&mut self, from_server: bool, frame: &[u8]) -> Vec<Left> {
        self.daemon.send(if from_server { "pg1" } else { "pg0" }, frame).expect("it is up");
        self.daemon.settle().expect("it settles");
        self.left()
    }
    fn left(&mut self) -> Vec<Left> {
        let mut left: Vec<_> = self
            .daemon
            .sent()
            .into_iter()
            .filter_map(|(interface, frame)| {
                let packet = Packet::dissect(&frame);
                let tcp = packet.layers.iter().find_map(|layer| match layer {
                    Layer::Tcp(tcp) => Some(tcp.clone()),
                    _ => None,
                })?;
                assert_eq!(tcp.checksum, Checksum::Right, "{packet}");
                Some((interface.to_owned(), tcp))
            })
            .collect();
        left.sort_by(|one, other| one.0.cmp(&other.0));
        left
    }
    fn client(&mut self, segment: &str) -> Vec<Left> {
        self.send(false, &format!("tcp 1000 > 80 {segment}"))
    }
    fn server(&mut self, segment: &str) -> Vec<Left> {
        self.send(true, &format!("tcp 80 > 1000 {segment}"))
    }
    /// The cookie that answers the client's SYN.
    fn cookie(&mut self, options: &str) -> u32 {
        let left = self.client(&format!("syn seq {CLIENT} window 64240 options {options}"));
        assert_eq!((left.len(), left[0].0.as_str()), (1, "pg0"), "{left:?}");
        let answer = &left[0].1;
        let numbers = (answer.flags, answer.ack, answer.window, answer.source, answer.destination);
        assert_eq!(numbers, (TcpFlags(SYN | ACK), CLIENT.wrapping_add(1), 0, 80, 1000));
        answer.seq
    }
    /// Opens a connection behind a cookie, whose server says these options.
    fn open(&mut self, options: &str) -> u32 {
        let cookie = self.cookie(OPTIONS);
        let left = self.client(&format!("ack seq {} ack {} window 63", CLIENT.wrapping_add(1), cookie.wrapping_add(1)));
        assert_eq!((left.len(), left[0].1.flags), (1, TcpFlags(SYN)), "{left:?}");
        let options = if options.is_empty() { String::new() } else { format!("options {options}") };
        let left = self.server(&format!("syn,ack seq {SERVER} ack {} window 29200 {options}", CLIENT.wrapping_add(1)));
        assert_eq!(left.len(), 2, "{left:?}");
        cookie
    }
    fn tenant(&mut self) -> serde_json::Value {
        self.daemon.run("show sfdp tenant 1 detail").expect("it is a command").json
    }
    /// Cookies sent, valid and invalid.
    fn counted(&mut self) -> [u64; 3] {
        let shown = self.tenant();
        ["sent", "valid", "invalid"].map(|name| shown["syn-cookies-counted"][name].as_u64().expect("a number"))
    }
    /// State and flags of the TCP sessions.
    fn seen(&mut self) -> Vec<(String, String)> {
        let rows = self.daemon.run("show sfdp tcp session-table").expect("it is a command").json;
        let text = |row: &serde_json::Value, name: &str| row[name].as_str().expect("a text").to_owned();
        rows.as_array().expect("a list").iter().map(|row| (text(row, "state"), text(row, "seen"))).collect()
    }
    fn live(&self) -> usize {
        self.daemon.control().room::<Room>().sessions().expect("they have begun").len()
    }
    fn dropped(&self, node: &'static str, reason: &'static str) -> u64 {
        self.daemon.drops().get(&(node, reason)).copied().unwrap_or(0)
    }
    fn finish(self) {
        self.daemon.finish().expect("nothing leaks");
    }
}

/// Settings of the tenant under test: all SYNs are answered by cookies.
const ALWAYS: &str = "set sfdp syn-cookies tenant 1 watermark 0";
const STRICT: &str = "set sfdp tcp tenant 1 strict";

#[test]
fn a_client_that_returns_its_cookie_is_connected_and_numbers_differ_by_the_same_for_life() {
    for (ip6, settings) in
        [(false, &[ALWAYS][..]), (false, &[ALWAYS, STRICT]), (true, &[ALWAYS]), (true, &[ALWAYS, STRICT])]
    {
        let mut path = Path::new(ip6, 1000, settings);
        let cookie = path.cookie(OPTIONS);
        assert_eq!((path.live(), path.counted()), (0, [1, 0, 0]), "nothing is kept");
        // The wrong number, and the wrong port.
        let (next, behind) = (CLIENT.wrapping_add(1), cookie.wrapping_add(1));
        assert!(path.client(&format!("ack seq {next} ack {} window 63", behind ^ 0x100)).is_empty());
        assert!(path.send(false, &format!("tcp 1001 > 80 ack seq {next} ack {behind}")).is_empty());
        assert_eq!((path.counted(), path.dropped("sfdp-l4-lifecycle", "no-syn"), path.live()), ([1, 0, 2], 2, 0));
        // The cookie: the server receives a SYN with the client's offer.
        let left = path.client(&format!("ack seq {next} ack {behind} window 63 / payload 5"));
        let expected =
            Tcp { seq: CLIENT, window: 64512, options: bytes_of(OPTIONS_THERE), ..Tcp::new(1000, 80, TcpFlags(SYN)) };
        assert_eq!(left, [("pg1".to_owned(), expected.clone())], "{ip6} {settings:?}");
        assert_eq!(path.seen(), [("embryonic".to_owned(), "proxied".to_owned())]);
        // Nothing else comes from the client until the server answers, and repeats the SYN.
        for segment in [
            format!("ack seq {CLIENT} ack {behind} window 63"),
            format!("ack seq {next} ack {behind} window 63 / payload 1"),
        ] {
            assert_eq!(path.client(&segment), [("pg1".to_owned(), expected.clone())], "{segment}");
        }
        // The server answers, and once more, as if our acknowledgment was lost.
        for _ in 0..2 {
            let left =
                path.server(&format!("syn,ack seq {SERVER} ack {next} window 29200 options 020405b4010104020103030d"));
            let to_client = Tcp { seq: behind, ack: next, window: 29200 >> 7, ..Tcp::new(80, 1000, TcpFlags(ACK)) };
            let to_server =
                Tcp { seq: next, ack: SERVER.wrapping_add(1), window: 63, ..Tcp::new(1000, 80, TcpFlags(ACK)) };
            assert_eq!(left, [("pg0".to_owned(), to_client), ("pg1".to_owned(), to_server)], "{ip6} {settings:?}");
        }
        assert_eq!(path.seen()[0].0, "established");
        // Data, selective acknowledgments, and windows: the server's shift is 13, ours is 7.
        let left = path.client(&format!("ack seq {next} ack {behind} window 70 / payload 100"));
        assert_eq!((left[0].1.seq, left[0].1.ack, left[0].1.window), (next, SERVER.wrapping_add(1), 70));
        let left = path.server(&format!(
            "ack seq {} ack {} window 3 / payload 200",
            SERVER.wrapping_add(101),
            next.wrapping_add(100)
        ));
        assert_eq!((left[0].1.seq, left[0].1.ack), (behind.wrapping_add(100), next.wrapping_add(100)));
        assert_eq!(left[0].1.window, 3 << 6);
        let block = |begin: u32| format!("{:08x}{:08x}", begin.wrapping_add(100), begin.wrapping_add(300));
        let left = path.client(&format!(
            "ack seq {} ack {behind} window 70 options 0101050a{}",
            next.wrapping_add(100),
            block(behind)
        ));
        let sack = bytes_of(&format!("0101050a{}", block(SERVER.wrapping_add(1))));
        assert_eq!((left[0].1.ack, &left[0].1.options), (SERVER.wrapping_add(1), &sack));
        // Both ends close.
        let end = next.wrapping_add(100);
        let left = path.client(&format!("fin,ack seq {end} ack {} window 70", behind.wrapping_add(300)));
        assert_eq!(left[0].1.ack, SERVER.wrapping_add(301));
        let left =
            path.server(&format!("fin,ack seq {} ack {} window 3", SERVER.wrapping_add(301), end.wrapping_add(1)));
        assert_eq!((left[0].1.seq, left[0].1.flags), (behind.wrapping_add(300), TcpFlags(FIN | ACK)));
        path.client(&format!("ack seq {} ack {} window 70", end.wrapping_add(1), behind.wrapping_add(301)));
        assert_eq!(path.seen()[0].0, "time-wait");
        // The same ports again, while the session is there: a connection of one piece.
        let left = path.client("syn seq 5 window 1000");
        assert_eq!((left[0].0.as_str(), left[0].1.seq), ("pg1", 5));
        let left = path.server(&format!("syn,ack seq {SERVER} ack 6 window 1000"));
        assert_eq!((left.len(), left[0].1.seq), (1, SERVER));
        assert!(!path.seen()[0].1.contains("proxied"));
        assert_eq!((path.counted(), path.dropped("sfdp-l4-lifecycle", "tcp-out-of-window")), ([1, 1, 2], 0));
        path.finish();
    }
}

#[test]
fn windows_of_ends_that_do_not_scale_are_translated() {
    // The server does not: it is told in bytes.
    let mut path = Path::new(false, 1000, &[ALWAYS, STRICT]);
    let cookie = path.open("020405b4");
    let (next, behind) = (CLIENT.wrapping_add(1), cookie.wrapping_add(1));
    for (window, told) in [(5, 5 << 10), (64, u16::MAX)] {
        let left = path.client(&format!("ack seq {next} ack {behind} window {window}"));
        assert_eq!(left[0].1.window, told);
    }
    let left = path.server(&format!("ack seq {} ack {next} window 65535", SERVER.wrapping_add(1)));
    assert_eq!(left[0].1.window, 511);
    path.finish();
    // The client does not, and nothing was promised to it.
    let mut path = Path::new(false, 1000, &[ALWAYS, STRICT]);
    let cookie = path.cookie("020405b4");
    let left = path.client(&format!("ack seq {next} ack {} window 500", cookie.wrapping_add(1)));
    assert_eq!((left[0].1.window, &left[0].1.options), (500, &bytes_of("020405b4")));
    let left = path.server(&format!("syn,ack seq {SERVER} ack {next} window 29200 options 020405b4"));
    assert_eq!(left.iter().map(|left| left.1.window).collect::<Vec<_>>(), [29200, 500]);
    path.finish();
}

#[test]
fn a_server_that_refuses_is_told_to_the_client_and_an_old_connection_is_reset() {
    let mut path = Path::new(false, 1000, &[ALWAYS]);
    let cookie = path.cookie(OPTIONS);
    let (next, behind) = (CLIENT.wrapping_add(1), cookie.wrapping_add(1));
    path.client(&format!("ack seq {next} ack {behind} window 63"));
    // What answers another SYN, and an acknowledgment of an old connection, which is reset.
    assert!(path.server("rst,ack seq 0 ack 99").is_empty());
    let left = path.server("ack seq 77 ack 99 window 5");
    assert_eq!(left, [("pg1".to_owned(), Tcp { seq: 99, window: 0, ..Tcp::new(1000, 80, TcpFlags(RST)) })]);
    assert_eq!((path.dropped("sfdp-syn-proxy", "not-connected"), path.seen()[0].0.as_str()), (2, "embryonic"));
    let left = path.server(&format!("rst,ack seq 0 ack {next}"));
    let reset = Tcp { seq: behind, ack: next, window: 0, ..Tcp::new(80, 1000, TcpFlags(RST | ACK)) };
    assert_eq!(left, [("pg0".to_owned(), reset)]);
    // What is late of the client does not ask again.
    assert!(path.client(&format!("ack seq {next} ack {behind} window 63 / payload 9")).is_empty());
    assert_eq!(path.dropped("sfdp-syn-proxy", "not-connected"), 3);
    path.daemon.advance(Duration::from_secs(3)).expect("it settles");
    // A client that gives up before the server answers: what it acknowledges is a cookie.
    let cookie = path.cookie(OPTIONS);
    path.client(&format!("ack seq {next} ack {} window 63", cookie.wrapping_add(1)));
    let left = path.client(&format!("rst,ack seq {next} ack {}", cookie.wrapping_add(1)));
    assert_eq!(left, [("pg1".to_owned(), Tcp { seq: next, window: 0, ..Tcp::new(1000, 80, TcpFlags(RST)) })]);
    path.finish();
}

#[test]
fn cookies_are_valid_for_a_minute_at_most_and_a_session_without_answer_begins_again() {
    let mut path = Path::new(true, 1000, &[ALWAYS]);
    let cookie = path.cookie(OPTIONS);
    let returned = format!("ack seq {} ack {} window 63", CLIENT.wrapping_add(1), cookie.wrapping_add(1));
    for second in [1, 20] {
        path.daemon.advance(Duration::from_secs(second)).expect("it settles");
        assert_eq!((path.live(), path.client(&returned).len()), (0, 1), "{second}");
    }
    path.daemon.advance(Duration::from_secs(64)).expect("it settles");
    path.cookie(OPTIONS);
    assert!(path.client(&returned).is_empty());
    assert_eq!(path.counted(), [2, 2, 1]);
    // Without cookies in the last two slots, none is looked for.
    path.daemon.advance(Duration::from_secs(96)).expect("it settles");
    assert!(path.client(&returned).is_empty());
    assert_eq!(path.counted(), [2, 2, 1]);
    path.finish();
}

#[test]
fn cookies_are_sent_from_the_watermark_on() {
    let mut path = Path::new(false, 1000, &["set sfdp syn-cookies tenant 1 watermark 3 mss 1400"]);
    for port in 1..=3 {
        let left = path.send(false, &format!("tcp {port} > 80 syn seq 9"));
        assert_eq!((left.len(), left[0].0.as_str()), (1, "pg1"));
    }
    let left = path.send(false, "tcp 4 > 80 syn seq 9 options 020405b4");
    assert_eq!((left[0].0.as_str(), &left[0].1.options), ("pg0", &bytes_of("02040578")));
    // One of them is answered.
    path.send(true, "tcp 80 > 1 syn,ack seq 7 ack 10");
    path.send(false, "tcp 1 > 80 ack seq 10 ack 8");
    assert_eq!(path.send(false, "tcp 5 > 80 syn seq 9")[0].0, "pg1");
    assert_eq!(path.send(false, "tcp 6 > 80 syn seq 9")[0].0, "pg0");
    path.daemon.configure("set sfdp syn-cookies tenant 1 none");
    assert_eq!(path.send(false, "tcp 6 > 80 syn seq 9")[0].0, "pg1");
    assert_eq!((path.live(), path.counted()), (5, [2, 0, 0]));
    path.finish();
}

#[test]
fn policy_is_asked_before_a_syn_is_answered_and_again_for_a_returned_cookie() {
    let mut path = Path::new(false, 1000, &[ALWAYS]);
    let cookie = path.cookie(OPTIONS);
    let refuse = "set sfdp services tenant 1 sfdp-l4-lifecycle sfdp-drop forward";
    path.daemon.configure(refuse);
    assert!(path.client(&format!("syn seq {CLIENT}")).is_empty());
    assert!(path.client(&format!("ack seq {} ack {}", CLIENT.wrapping_add(1), cookie.wrapping_add(1))).is_empty());
    assert_eq!((path.live(), path.counted()), (0, [1, 0, 0]));
    let denied = path.tenant()["denied"].clone();
    assert_eq!((&denied["policy"], &denied["no-syn"]), (&1.into(), &1.into()), "{denied}");
    path.finish();
}

/// Keys of rooms' own formats do not say between which addresses an answer would go.
#[test]
fn syns_of_other_formats_begin_sessions() {
    let mut path = Path::new(false, 1000, &[ALWAYS]);
    path.daemon.configure(
        "set sfdp interface-input pg0 tenant 1 disable
         set sfdp sample-parser pg0 tenant 1",
    );
    let left = path.client("syn seq 9");
    assert_eq!((left.len(), left[0].0.as_str(), path.live(), path.counted()), (1, "pg1", 1, [0, 0, 0]), "{left:?}");
    path.finish();
}

/// No SYN is answered by a tenant whose chain drops what it would connect.
#[test]
fn where_all_packets_are_dropped_no_syn_is_answered() {
    let mut path = Path::new(false, 1000, &["set sfdp services tenant 1 sfdp-l4-lifecycle sfdp-drop forward", ALWAYS]);
    assert_eq!(path.client(&format!("syn seq {CLIENT}")), []);
    assert_eq!(["sfdp-l4-lifecycle", "sfdp-syn-cookie"].map(|node| path.dropped(node, "sfdp-drop")), [1, 0]);
    path.finish();
}

/// The server's answer becomes two packets. Where no buffer is left for one of them, it is dropped, and the server repeats it.
#[test]
fn without_a_buffer_an_answer_of_the_server_is_dropped_by_name() {
    let is_found = (2..40).any(|buffers| {
        let mut path = Path::with((1, buffers), false, 1000, &[ALWAYS]);
        let left = path.client(&format!("syn seq {CLIENT}"));
        if let [(_, answer)] = &left[..] {
            let next = CLIENT.wrapping_add(1);
            path.client(&format!("ack seq {next} ack {}", answer.seq.wrapping_add(1)));
            path.server(&format!("syn,ack seq {SERVER} ack {next}"));
        }
        let is_dropped = path.dropped("sfdp-syn-proxy", "no-buffers") > 0;
        path.finish();
        is_dropped
    });
    assert!(is_found);
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let mut path = Path::new(false, 1000, &[]);
    for (before, line, words) in [
        (
            "set sfdp entry tenant 1 session-first",
            ALWAYS,
            ["syn-cookies", "the entry is session-first", "policy-first"],
        ),
        (
            "set sfdp services tenant 1 ip4-lookup forward",
            ALWAYS,
            ["forward", "need a service that follows TCP connections", "sfdp-l4-lifecycle"],
        ),
        (
            "set sfdp services tenant 1 ip4-lookup reverse",
            ALWAYS,
            ["reverse", "need a service that follows TCP connections", "sfdp-tcp-check"],
        ),
        (
            "set sfdp entry tenant 1 policy-first",
            "set sfdp syn-cookies tenant 1 watermark 5 mss 100",
            ["syn-cookies-mss", "100 is out of range", "536 to 8960"],
        ),
    ] {
        path.daemon.configure(before);
        let error = path.daemon.run(line).expect_err("it cannot be").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        path.daemon.configure(
            "set sfdp entry tenant 1 policy-first
             set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward
             set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup reverse",
        );
    }
    path.finish();
}

#[test]
fn errors_about_segments_quote_the_numbers_that_their_receiver_knows() {
    let mut path = Path::new(false, 1000, &[ALWAYS]);
    let cookie = path.open("020405b4");
    let behind = cookie.wrapping_add(1);
    // From the client's side, about a segment of the server as the client's side knows it; and from the server's side.
    let quoted = |source: &str, ports: &str, sequence: u32, acknowledgment: u32| {
        format!(
            "icmp unreachable code 1 / ip4 {source} ttl 60 / tcp {ports} ack seq {sequence} ack {acknowledgment} window 9"
        )
    };
    let about = |daemon: &mut Daemon| {
        let sent = daemon.sent();
        let texts =
            sent.iter().map(|(interface, frame)| (*interface).to_string() + &Packet::dissect(frame).to_string());
        texts.filter(|text| text.contains("icmp")).collect::<Vec<_>>()
    };
    let text = quoted("10.0.1.2 > 10.0.0.2", "80 > 1000", behind, CLIENT.wrapping_add(1));
    let frame = path.frame(["10.0.0.9", "10.0.1.2"], &text);
    path.daemon.send("pg0", &frame).expect("it is up");
    path.daemon.settle().expect("it settles");
    let texts = about(&mut path.daemon);
    let expected = format!("seq {} ack {}", SERVER.wrapping_add(1), CLIENT.wrapping_add(1));
    assert!(texts.len() == 1 && texts[0].contains(&expected) && !texts[0].contains("bad"), "{texts:?}");
    let text = quoted("10.0.0.2 > 10.0.1.2", "1000 > 80", CLIENT.wrapping_add(1), SERVER.wrapping_add(1));
    let frame = path.frame(["10.0.1.9", "10.0.0.2"], &text);
    path.daemon.send("pg1", &frame).expect("it is up");
    path.daemon.settle().expect("it settles");
    let texts = about(&mut path.daemon);
    let expected = format!("seq {} ack {behind}", CLIENT.wrapping_add(1));
    assert!(texts.len() == 1 && texts[0].contains(&expected) && !texts[0].contains("bad"), "{texts:?}");
    path.finish();
}

/// The flood has random sources; the table has room for 256 sessions, of which 100 are established.
#[test]
fn under_a_flood_memory_is_flat_established_sessions_stay_and_new_clients_connect() {
    const FLOOD: u32 = 20_000;
    for ip6 in [false, true] {
        let mut path = Path::new(ip6, 256, &["set sfdp syn-cookies tenant 1 watermark 50"]);
        for port in 1..=100 {
            path.send(false, &format!("tcp {port} > 80 syn seq 9"));
            path.send(true, &format!("tcp 80 > {port} syn,ack seq 7 ack 10"));
            path.send(false, &format!("tcp {port} > 80 ack seq 10 ack 8"));
        }
        let bytes = |path: &Path| path.daemon.control().room::<Room>().sessions().expect("they have begun").bytes();
        let mut random = fastrand::Rng::with_seed(1);
        let mut after_a_while = 0;
        let (mut answers, mut connected) = (0, 0);
        for number in 0..FLOOD {
            let source = match ip6 {
                true => format!("2001:db8:9::{:x}:{:x}", random.u16(..), random.u16(1..)),
                false => format!("198.18.{}.{}", random.u8(..), random.u8(..)),
            };
            let server = path.ends()[1];
            let segment = format!("tcp {} > 80 syn seq {} options 020405b4", random.u16(1..), random.u32(..));
            let frame = path.frame([&source, server], &segment);
            path.daemon.send("pg0", &frame).expect("it is up");
            if number % 64 == 63 {
                path.daemon.settle().expect("it settles");
                answers += path.left().iter().filter(|(interface, _)| interface == "pg0").count();
                path.daemon.advance(Duration::from_millis(20)).expect("it settles");
            }
            if number == FLOOD / 4 {
                after_a_while = bytes(&path);
            }
            // A real client, beside the flood.
            if number % 100 == 50 {
                path.left();
                let port = 2000 + number;
                let left = path.send(false, &format!("tcp {port} > 80 syn seq 9 options 020405b4"));
                let mine = |left: &[Left], to: &str| {
                    let (to, port) = (to.to_owned(), port as u16);
                    left.iter()
                        .find(|(interface, tcp)| *interface == to && [tcp.source, tcp.destination].contains(&port))
                        .map(|left| left.1.clone())
                };
                let has_cookie = mine(&left, "pg0");
                let seen = match &has_cookie {
                    Some(answer) => {
                        let left =
                            path.send(false, &format!("tcp {port} > 80 ack seq 10 ack {}", answer.seq.wrapping_add(1)));
                        mine(&left, "pg1").is_some()
                    }
                    None => mine(&left, "pg1").is_some(),
                };
                let left = path.send(true, &format!("tcp 80 > {port} syn,ack seq 7 ack 10 options 020405b4"));
                connected += u32::from(seen && mine(&left, "pg0").is_some());
                // It is done, and makes room for others.
                path.send(true, &format!("tcp 80 > {port} rst seq 8 ack 10"));
            }
        }
        let clients = FLOOD / 100;
        assert!(connected * 100 >= clients * 95, "{connected} of {clients}");
        assert!(answers as u32 > FLOOD / 2, "{answers}");
        assert_eq!(bytes(&path), after_a_while, "memory is flat");
        for port in 1..=100 {
            let left = path.send(false, &format!("tcp {port} > 80 ack seq 10 ack 8 / payload 8"));
            assert!(left.iter().any(|(interface, tcp)| interface == "pg1" && tcp.source == port), "{port}");
        }
        path.finish();
    }
}

/// Segments and numbers of both sides in any order: what leaves has right checksums, and nothing panics or leaks.
#[test]
fn any_segments_of_both_sides_pass_or_are_dropped() {
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let settings: &[&str] = if seed & 2 == 0 { &[ALWAYS] } else { &[ALWAYS, STRICT] };
        let mut path = Path::new(seed & 1 != 0, 1000, settings);
        // Numbers that some packet has had, so that segments fit more often.
        let mut numbers = vec![CLIENT, SERVER];
        let mut kinds = BTreeSet::new();
        for _ in 0..3000 {
            let from_server = random.bool();
            let number =
                |random: &mut fastrand::Rng| numbers[random.usize(..numbers.len())].wrapping_add(random.u32(..3));
            let (sequence, acknowledgment) = (number(&mut random), number(&mut random));
            let flags = ["syn", "syn,ack", "ack", "ack", "ack", "rst", "rst,ack", "fin,ack", "none", "psh,ack,urg"];
            let options =
                ["", "", "options 020405b4010104020103030a", "options 0101050a0000000100000002", "options 05020500"];
            let (flags, options) = (flags[random.usize(..flags.len())], options[random.usize(..options.len())]);
            let payload = if random.bool() { " / payload 9" } else { "" };
            let ports = if from_server { "80 > 1000" } else { "1000 > 80" };
            let window = random.u16(..);
            let segment =
                format!("tcp {ports} {flags} seq {sequence} ack {acknowledgment} window {window} {options}{payload}");
            for (interface, tcp) in path.send(from_server, &segment) {
                numbers.extend([tcp.seq, tcp.seq.wrapping_add(1)]);
                kinds.insert((interface, tcp.flags.0));
            }
            let kept = numbers.len().saturating_sub(40);
            numbers.drain(..kept);
            if random.u8(..20) == 0 {
                path.daemon.advance(Duration::from_millis(random.u64(..3000))).expect("it settles");
            }
        }
        let [sent, valid, _] = path.counted();
        assert!(sent > 10 && valid > 0 && kinds.len() > 6, "{seed}: {sent} {valid} {kinds:?}");
        path.finish();
    }
}
