//! Programs get the packets that they are registered for, as frames; and no more than they can be held for.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use quiver_punt::{Sockets, Unspoken, set_unspoken};
use quiver_testkit::daemon::Daemon;
use quiver_testkit::packet::Packet;

/// Keeps what it is given; the path `/gone` is nobody's.
#[derive(Default)]
struct Kept(RefCell<Vec<(String, Vec<u8>)>>);

impl Sockets for Kept {
    fn send(&self, path: &str, datagram: &[u8]) -> std::io::Result<()> {
        if path == "/gone" {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        self.0.borrow_mut().push((path.into(), datagram.into()));
        Ok(())
    }
}

fn router() -> (Daemon, Rc<Kept>) {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
         create sub-interfaces pg0 100
         create sub-interfaces pg0 7 dot1ad 20 inner-dot1q 30 exact-match
         set interface state pg0 up
         set interface state pg0.100 up
         set interface state pg0.7 up
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg0.100 10.0.100.1/24
         set interface ip address pg0.7 10.0.7.1/24
         set interface ip address pg0 2001:db8::1/64",
    );
    daemon.advance(Duration::from_secs(3)).expect("it settles");
    let kept = Rc::new(Kept::default());
    quiver_punt::send_by(daemon.control(), kept.clone());
    (daemon, kept)
}

fn bytes(text: &str) -> Vec<u8> {
    let text = format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / {text}");
    text.parse::<Packet>().unwrap_or_else(|error| panic!("{text}: {error}")).to_bytes()
}

#[test]
fn programs_get_frames() {
    let (mut daemon, kept) = router();
    daemon.configure(
        "punt socket register udp 1111 socket /four
         punt socket register ip6 udp all socket /six
         punt socket register protocol 89 socket /gone",
    );
    let frames = [
        "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 1111 / payload 18",
        "dot1q 100 / ip4 10.0.100.2 > 10.0.100.1 ttl 64 / udp 9 > 1111 / payload 30",
        "dot1ad 20 / dot1q 30 / ip4 10.0.7.2 > 10.0.7.1 ttl 64 / udp 9 > 1111 / payload 40",
        "ip6 2001:db8::2 > 2001:db8::1 hlim 64 / udp 9 > 7 / payload 3000",
        // Of these, one is for another port, and the other for a program that is gone.
        "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 1112 / payload 18",
        "ip4 10.0.0.2 > 10.0.0.1 ttl 64 protocol 89 / payload 26",
    ];
    frames.iter().for_each(|frame| daemon.send("pg0", &bytes(frame)).expect("it is up"));
    daemon.settle().expect("it comes to rest");
    let datagram =
        |interface: u32, frame: usize| [&interface.to_ne_bytes()[..], &[0; 4], &bytes(frames[frame])].concat();
    // Frames of sub-interfaces come with their tags.
    let wanted =
        [("/four", datagram(1, 0)), ("/four", datagram(2, 1)), ("/four", datagram(3, 2)), ("/six", datagram(1, 3))];
    let mut found = kept.0.borrow().clone();
    found.sort();
    assert_eq!(found, wanted.map(|(path, bytes)| (path.to_owned(), bytes)));
    let shown = daemon.run("show punt socket registrations").expect("a table");
    let lost = shown.text.lines().find(|line| line.contains("/gone")).expect("its row");
    assert_eq!(lost.split_whitespace().collect::<Vec<_>>()[3..], ["/gone", "0", "1"], "{lost}");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn what_comes_in_fragments_says_what_it_carries() {
    let (mut daemon, kept) = router();
    daemon.configure("punt socket register protocol 89 socket /four");
    let part = |rest: &str| bytes(&format!("ip4 10.0.0.2 > 10.0.0.1 id 7 {rest}"));
    daemon.send("pg0", &part("mf protocol 89 / payload 16")).expect("it is up");
    daemon.send("pg0", &part("offset 16 protocol 89 / payload 8")).expect("it is up");
    daemon.settle().expect("it comes to rest");
    let kept = kept.0.borrow();
    let [(_, datagram)] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(
        (&datagram[8..20], &datagram[20..23], datagram.len()),
        (&[0; 12][..], &[8, 0, 0x45][..], 8 + 14 + 20 + 24)
    );
}

/// Packets that nobody takes, by the reason, of one family and the other.
const UNTAKEN: [(&str, &str); 6] = [
    ("ip4-unknown-protocol", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 protocol 89 / payload 26"),
    ("ip4-unknown-port", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 1111 / payload 18"),
    ("ip4-unawaited-echo-reply", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / icmp echo-reply id 1 seq 1 / payload 18"),
    ("ip6-unknown-protocol", "ip6 2001:db8::2 > 2001:db8::1 hlim 64 next 89 / payload 26"),
    ("ip6-unknown-port", "ip6 2001:db8::2 > 2001:db8::1 hlim 64 / udp 9 > 1111 / payload 18"),
    ("ip6-unawaited-echo-reply", "ip6 2001:db8::2 > 2001:db8::1 hlim 64 / icmp6 echo-reply id 1 seq 1 / payload 18"),
];

#[test]
fn programs_get_what_nobody_takes_by_reason() {
    let (mut daemon, kept) = router();
    for (reason, _) in UNTAKEN {
        daemon.configure(&format!("punt socket register reason {reason} socket /{reason}"));
    }
    // Who has packets by their port has them before those who want all that nobody takes.
    daemon.configure("punt socket register udp 7 socket /port");
    let by_port = ("port", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 7 / payload 18");
    let all: Vec<_> = UNTAKEN.into_iter().chain([by_port]).collect();
    all.iter().for_each(|(_, packet)| daemon.send("pg0", &bytes(packet)).expect("it is up"));
    daemon.settle().expect("it comes to rest");
    let datagram = |frame: &str| [&1u32.to_ne_bytes()[..], &[0; 4], &bytes(frame)].concat();
    let mut wanted: Vec<_> = all.iter().map(|(name, frame)| (format!("/{name}"), datagram(frame))).collect();
    wanted.sort();
    let mut found = kept.0.borrow().clone();
    found.sort();
    assert_eq!(found, wanted);
    let shown = daemon.run("show punt reason").expect("a table").text;
    let row = shown.lines().find(|line| line.contains("ip6-unknown-port ")).expect("its row");
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["5", "ip6-unknown-port", "/ip6-unknown-port", "1", "0"]);
    daemon.configure("punt socket deregister reason ip4-unknown-port");
    let shown = daemon.run("show punt socket registrations exception").expect("a table").text;
    assert!(shown.contains("ip4-unknown-protocol") && !shown.contains("ip4-unknown-port"), "{shown}");
    daemon.send("pg0", &bytes(UNTAKEN[1].1)).expect("it is up");
    daemon.settle().expect("it comes to rest");
    assert_eq!(kept.0.borrow().len(), all.len(), "nobody has it any more");
    daemon.finish().expect("nothing leaks");
}

#[test]
fn what_nobody_takes_is_redirected_by_reason() {
    let (mut daemon, _) = router();
    daemon.configure(
        "create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
         set interface state pg1 up
         set interface ip address pg1 10.0.1.1/24
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
         ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
         ip punt redirect add rx pg0 via 10.0.1.2 pg1",
    );
    for (commands, to) in
        [("", "pg0"), ("set punt reason ip4-unknown-port", "pg1"), ("set punt reason ip4-unknown-port del", "pg0")]
    {
        daemon.configure(commands);
        daemon.sent();
        daemon.send("pg0", &bytes(UNTAKEN[1].1)).expect("it is up");
        daemon.settle().expect("it comes to rest");
        let sent: Vec<_> = daemon.sent().into_iter().map(|(interface, _)| interface).collect();
        assert_eq!(sent, [to], "{commands}");
    }
}

#[test]
fn control_that_does_not_keep_up_is_named() {
    let of_ports = [
        ("udp 1111", "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 1111 / payload 18"),
        ("ip6 udp 1111", "ip6 2001:db8::2 > 2001:db8::1 hlim 64 / udp 9 > 1111 / payload 18"),
    ];
    let of_reasons = UNTAKEN.map(|(reason, packet)| (format!("reason {reason}"), packet));
    for (what, packet) in of_ports.map(|(what, packet)| (what.to_owned(), packet)).into_iter().chain(of_reasons) {
        let (mut daemon, kept) = router();
        daemon.configure(&format!("punt socket register {what} socket /program"));
        let packet = bytes(packet);
        (0..1100).for_each(|_| daemon.send("pg0", &packet).expect("it is up"));
        daemon.stall(Duration::from_millis(5));
        daemon.settle().expect("it comes to rest");
        let lost: u64 =
            daemon.drops().into_iter().filter(|((_, why), _)| *why == "punt-queue-full").map(|(_, n)| n).sum();
        assert_eq!((lost, kept.0.borrow().len()), (76, 1024), "{what}");
    }
}

#[test]
fn what_nobody_speaks_is_punted_where_that_is_wanted() {
    for (unspoken, punted) in [(Unspoken::Tell, 0), (Unspoken::Punt, 2)] {
        let (mut daemon, _) = router();
        set_unspoken(daemon.control(), unspoken);
        daemon.configure(
            "create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
             set interface state pg1 up
             set interface ip address pg1 10.0.1.1/24
             set interface ip address pg1 2001:db8:1::1/64
             ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
             ip neighbor pg0 2001:db8::2 02:00:00:00:00:02
             ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
             ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:12
             ip punt redirect add rx pg0 via 10.0.1.2 pg1
             ip6 punt redirect add rx pg0 via 2001:db8:1::2 pg1",
        );
        daemon.advance(Duration::from_secs(3)).expect("it settles");
        daemon.sent();
        // A port of UDP on which nobody listens is another matter.
        for frame in [
            "ip4 10.0.0.2 > 10.0.0.1 ttl 64 protocol 89 / payload 26",
            "ip6 2001:db8::2 > 2001:db8::1 hlim 64 next 89 / payload 26",
            "ip4 10.0.0.2 > 10.0.0.1 ttl 64 / udp 9 > 1111 / payload 18",
        ] {
            daemon.send("pg0", &bytes(frame)).expect("it is up");
        }
        daemon.settle().expect("it comes to rest");
        let sent = daemon.sent();
        let by = |name: &str| sent.iter().filter(|(interface, _)| interface.as_str() == name).count();
        assert_eq!((by("pg1"), by("pg0")), (punted, 3 - punted), "{unspoken}: the rest is told to senders");
    }
}
