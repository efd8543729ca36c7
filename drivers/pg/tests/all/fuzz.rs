//! Fuzz targets of this room: the words of a stream. How to run: fuzz/README.md.

use quiver_control::Record;
use quiver_control::object::Problems;
use quiver_pg::PgStream;
use quiver_pg::text::{ParsedStream, stream};

/// Any words are a stream or an error.
#[test]
fn stream_words() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            read(text.split_whitespace());
        }
    });
}

/// Like `stream_words`, with words of the grammar, so that random input gets past the first of them.
#[test]
fn stream_sentences() {
    // A stream that is whole but for its end, to which most words can be added.
    const BEGIN: &str = "{ name x interface pg0";
    const WORDS: &str = "{ } data IP4: UDP: -> - name interface pg1 limit rate burst maxframe window seed ttl size \
        IP6: ip4-input ip6-input buffer-flags buffer-offload-flags ip4 offload offload-udp-cksum unnumbered latency \
        vlan pcap node ethernet-input length checksum incrementing 0 1 64 255 65535 65536 1e6 1e300 -1 64-128 \
        128-64 64,65,66 imix 3x64,9000 0x 4294967295x9 profile reverse ethip4-ip4dst1k ethip4-macsrc1dst1 vlan-tag dot1ad \
        inner-vlan , random:1-9 random: 1.2.3 ffff.ffff.10000 02:00:00:00:00:01-02:00:00:00:00:09 10.0.0.1 \
        10.0.0.1-10.0.0.9 10.0.0.9,10.0.0.1 random:10.0.0.1-10.0.0.9 4095 ip6-source \
        ip6-destination vxlan tunnel-source tunnel-destination tunnel-port inner-source-mac inner-destination-mac repeat \
        2001:db8::1 2001:db8::1-2001:db8::9 ::1-1::1 random:1::1-1::f ethip6-ip6src253 ethip4vxlan-ip4src1udpsrcrnd";
    // Whole phrases, so that every second choice or so is one that fits.
    const PHRASES: [&str; 8] = [
        "data { IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.1 - 10.0.0.9 -> 10.0.1.1 UDP: 1 -> 2",
        "data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02",
        "size 64-64",
        "size 64 - 128",
        "vlan 1-9 vlan-tag dot1ad inner-vlan 1,2",
        "rate 1e6 limit 10",
        "node ethernet-input",
        "} }",
    ];
    let words: Vec<_> = WORDS.split(' ').collect();
    bolero::check!().with_max_len(24).for_each(|bytes: &[u8]| {
        let word = |byte: &u8| match usize::from(*byte) {
            byte @ ..128 => PHRASES[byte % PHRASES.len()],
            byte => words[byte % words.len()],
        };
        let chosen: Vec<_> = [BEGIN].into_iter().chain(bytes.iter().map(word)).collect();
        read(chosen.iter().flat_map(|phrase| phrase.split(' ')));
        // The end that is missing, for one level of braces and for two.
        for end in ["}", "} }"] {
            read(chosen.iter().flat_map(|phrase| phrase.split(' ')).chain(end.split(' ')));
        }
    });
}

/// Words that are a stream are, as configuration, one that reads as the same; others are told in words.
fn read<'w>(words: impl Iterator<Item = &'w str>) {
    let words: Vec<_> = words.map(str::to_owned).collect();
    match stream(&words) {
        Ok(ParsedStream { stream, .. }) => {
            let mut problems = Problems::default();
            let again = PgStream::read_record(&stream.write_record(), &mut problems);
            assert_eq!((again.as_ref(), problems.found), (Some(&stream), vec![]), "{words:?}");
        }
        Err(why) => assert!(!why.is_empty(), "{words:?}"),
    }
}
