//! Fuzz targets of this room: the words of a filter. How to run: fuzz/README.md.

use quiver_classify::table::{Chain, MASK_MAX, Table};
use quiver_classify::text::words;

/// Any words are a filter or an error; what a mask lets through is found again.
#[test]
fn filter_words() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            read(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        }
    });
}

/// As `filter_words`, but the words are the grammar's own, so that random input gets past the first of them.
#[test]
fn filter_sentences() {
    const WORDS: &str = "mask match del hex l2 l3 l4 ip4 ip6 tcp udp src dst proto src/24 dst/0 src/129 ttl tos \
        src_port dst_port checksum 0 17 255 65535 65536 10.0.0.1 2001:db8::1 02:00:00:00:00:01 00f0 ip 0x806 arp buckets";
    let known: Vec<_> = WORDS.split_whitespace().collect();
    bolero::check!().with_max_len(24).for_each(|bytes: &[u8]| {
        read(&bytes.iter().map(|byte| known[usize::from(*byte) % known.len()].to_owned()).collect::<Vec<_>>());
    });
}

fn read(given: &[String]) {
    let Ok(read) = words(given) else { return };
    let (Some(mask), Some(value)) = (read.mask, read.value) else { return };
    assert_eq!((mask.len(), value.len()), (MASK_MAX, MASK_MAX));
    let Ok(mut table) = Table::new(0, &mask) else { return };
    let fits = value.iter().zip(&mask).all(|(value, mask)| value & !mask == 0);
    assert_eq!(table.add(&value).is_ok(), fits);
    let mut chain = Chain::default();
    chain.add(table);
    // Whatever the mask hides does not matter.
    let packet: Vec<_> = value.iter().zip(&mask).map(|(value, mask)| value | !mask).collect();
    assert_eq!(chain.takes(&packet), fits);
    let other: Vec<_> = packet.iter().map(|byte| !byte).collect();
    assert!(!chain.takes(&other));
}
