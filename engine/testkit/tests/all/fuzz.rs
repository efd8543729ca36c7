//! Fuzz targets of this room: dissecting and reading packets lose nothing and never panic. How to run: fuzz/README.md.
use quiver_testkit::packet::{LAYERS, Packet};

/// Any bytes come back out of the text that they print as.
#[test]
fn packet_dissection() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let printed = Packet::dissect(bytes).to_string();
        assert_eq!(printed.parse::<Packet>().expect("what prints can be read").to_bytes(), bytes);
    });
}

/// Any text is a packet or an error.
#[test]
fn packet_text() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            read(text);
        }
    });
}

/// As `packet_text`, but the words are the grammar's own, so that random input gets past the first of them.
#[test]
fn packet_sentences() {
    const VALUES: [&str; 30] = [
        "/",
        ">",
        "02:00:00:00:00:01",
        "10.0.0.1",
        "0",
        "7",
        "64",
        "0xffff",
        "65536",
        "0a0b",
        "request",
        "reply",
        "echo-request",
        "unreachable",
        "syn,ack",
        "none",
        "ip4",
        "0x9000",
        "udp",
        "df",
        "2001:db8::1",
        "2001:db8::/64",
        "050200000100",
        "packet-too-big",
        "neighbor-advertisement",
        "router-advertisement",
        "redirect",
        "router,override",
        "managed",
        "onlink",
    ];
    const FIELDS: [&str; 41] = [
        "type",
        "priority",
        "drop-eligible",
        "ttl",
        "dscp",
        "ecn",
        "id",
        "mf",
        "offset",
        "reserved",
        "options",
        "protocol",
        "length",
        "version",
        "ihl",
        "checksum",
        "bad-checksum",
        "partial-checksum",
        "no-checksum",
        "code",
        "seq",
        "window",
        "data-offset",
        "mtu",
        "hlim",
        "class",
        "flow",
        "next",
        "more",
        "pointer",
        "target",
        "destination",
        "flags",
        "source-link",
        "target-link",
        "prefix",
        "valid",
        "preferred",
        "lifetime",
        "reachable",
        "retrans",
    ];
    let words = [&VALUES[..], &FIELDS, &LAYERS].concat();
    // Whole layers, so that every second choice or so begins a new one.
    let starts = [
        "eth 02:00:00:00:00:01 > 02:00:00:00:00:02",
        "/ dot1q 10",
        "/ arp request 02:00:00:00:00:01 10.0.0.1 > 00:00:00:00:00:00 10.0.0.2",
        "/ ip4 10.0.0.1 > 10.0.0.2",
        "/ icmp echo-request",
        "/ ip6 2001:db8::1 > 2001:db8::2",
        "/ hbh hex 050200000100",
        "/ routing hex 040000000000",
        "/ dstopt hex 010400000000",
        "/ frag id 7",
        "/ icmp6 neighbor-solicitation",
        "/ icmp6 router-advertisement",
        "/ nd target 2001:db8::1",
        "/ ra",
        "prefix 2001:db8::/64 flags auto valid 9 preferred 8",
        "/ udp 1 > 2",
        "/ tcp 1 > 2 syn",
        "/ payload 9",
        "/ padding 3",
    ];
    bolero::check!().with_max_len(32).for_each(|bytes: &[u8]| {
        let word = |byte: &u8| match usize::from(*byte) {
            byte @ ..128 => starts[byte % starts.len()],
            byte => words[byte % words.len()],
        };
        read(&bytes.iter().map(word).collect::<Vec<_>>().join(" "));
    });
}

/// A text that is a packet prints as one that builds the same bytes, and so does what these bytes dissect to.
fn read(text: &str) {
    let Ok(packet) = text.parse::<Packet>() else { return };
    let bytes = packet.to_bytes();
    assert_eq!(packet.to_string().parse::<Packet>().expect("what prints can be read").to_bytes(), bytes, "{text}");
    assert_eq!(Packet::dissect(&bytes).to_bytes(), bytes, "{text}");
}
