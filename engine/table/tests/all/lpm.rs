//! The LPM table against a naive oracle, at its limits, and under readers while it changes.
#![cfg(not(loom))]
use proptest::prelude::*;
use quiver_table::{Domain, LpmConfig, LpmError, LpmWriter};
use std::collections::BTreeMap;
use std::thread;

const BLOCKS: u32 = 600;
const SHAPES: [LpmConfig; 2] = [LpmConfig::large().with_blocks_max(BLOCKS), LpmConfig::small().with_blocks_max(BLOCKS)];

/// Routes by length and prefix; a lookup scans them all.
#[derive(Default)]
struct Oracle(BTreeMap<(u8, u32), u32>);

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

impl Oracle {
    fn lookup(&self, address: u32) -> u32 {
        let mut covering = self.0.iter().filter(|&(&(length, prefix), _)| address & mask(length) == prefix);
        covering.next_back().map_or(0, |(_, &leaf)| leaf)
    }
    /// Blocks that routes longer than `bits` need.
    fn blocks(&self, bits: u8) -> usize {
        let mut blocks: Vec<u32> =
            self.0.keys().filter(|(length, _)| *length > bits).map(|(_, prefix)| prefix & mask(bits)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.len()
    }
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u32, u8, u32),
    Remove(u32, u8),
    Replace(u32, u32),
}

/// Addresses that nest and collide: few values per byte, extremes among them.
fn address() -> impl Strategy<Value = u32> {
    let byte = || prop::sample::select(vec![0_u8, 1, 2, 10, 127, 128, 254, 255]);
    (byte(), byte(), byte(), any::<u8>()).prop_map(|(a, b, c, d)| u32::from_be_bytes([a % 2, b, c, d]))
}

fn change() -> impl Strategy<Value = Change> {
    // Lengths around the borders of words and blocks are the likely ones.
    let length = || prop_oneof![0_u8..=32, prop::sample::select(vec![0_u8, 8, 15, 16, 17, 23, 24, 25, 31, 32])];
    prop_oneof![
        3 => (address(), length(), 1_u32..1000).prop_map(|(prefix, length, leaf)| Change::Insert(prefix, length, leaf)),
        2 => (address(), length()).prop_map(|(prefix, length)| Change::Remove(prefix, length)),
        1 => (address(), 0_u32..1000).prop_map(|(near, leaf)| Change::Replace(near, leaf)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees_with_the_oracle(changes in prop::collection::vec(change(), 1..120), probes in prop::collection::vec(address(), 16)) {
        for (config, levels) in SHAPES.into_iter().zip([&[24_u8][..], &[16, 24]]) {
            let domain = Domain::new();
            let reader = domain.register();
            let mut table = LpmWriter::new(&domain, config).unwrap();
            let lpm = table.reader();
            let mut oracle = Oracle::default();
            for change in &changes {
                let (prefix, length) = match *change {
                    Change::Insert(prefix, length, leaf) => {
                        let old = oracle.0.insert((length, prefix & mask(length)), leaf);
                        prop_assert_eq!(table.insert(prefix, length, leaf).unwrap(), old);
                        (prefix & mask(length), length)
                    }
                    Change::Replace(near, leaf) => {
                        // Most are of a route that exists; a leaf of zero is none.
                        let key = oracle.0.range((near as u8 % 33, near)..).next().map(|(key, _)| *key);
                        let (length, prefix) = key.unwrap_or((24, near & mask(24)));
                        let old = oracle.0.get_mut(&(length, prefix)).filter(|_| leaf != 0);
                        let expected = old.map(|old| std::mem::replace(old, leaf));
                        prop_assert_eq!(table.replace(prefix, length, leaf), expected);
                        (prefix, length)
                    }
                    Change::Remove(prefix, length) => {
                        // Half of the removals are of a route that exists.
                        let key = oracle.0.range((length, prefix)..).next().map(|(key, _)| *key);
                        let (length, prefix) = key.filter(|_| prefix & 1 == 0).unwrap_or((length, prefix & mask(length)));
                        prop_assert_eq!(table.remove(prefix, length), oracle.0.remove(&(length, prefix)));
                        (prefix, length)
                    }
                };
                let (first, last) = (prefix, prefix | !mask(length));
                let edges = [first.wrapping_sub(1), first, first | 1, last & !1, last, last.wrapping_add(1)];
                for address in edges {
                    let expected = oracle.lookup(address);
                    prop_assert_eq!(lpm.lookup(reader.guard(), address), expected, "{:x}", address);
                    prop_assert_eq!(table.longest_match(address).map_or(0, |(_, _, leaf)| leaf), expected);
                }
                let lanes: [u32; 16] = probes.clone().try_into().unwrap();
                let (view, expected) = (lpm.view(reader.guard()), lanes.map(|address| oracle.lookup(address)));
                prop_assert_eq!(view.lookup_each(&lanes), expected);
                prop_assert_eq!(view.finish_each(lanes.map(|address| view.begin(address)), &lanes), expected);
                prop_assert_eq!(table.get(prefix, length), oracle.0.get(&(length, prefix)).copied());
            }
            let mut routes: Vec<_> = oracle.0.iter().map(|(&(length, prefix), &leaf)| (prefix, length, leaf)).collect();
            routes.sort_unstable();
            prop_assert_eq!(table.iter().collect::<Vec<_>>(), routes.clone());
            prop_assert_eq!(table.len(), routes.len());
            let blocks: usize = levels.iter().map(|&bits| oracle.blocks(bits)).sum();
            prop_assert_eq!(table.blocks_in_use() as usize, blocks, "no block is kept without need");
            for (prefix, length, leaf) in routes {
                prop_assert_eq!(table.remove(prefix, length), Some(leaf));
            }
            prop_assert!(table.is_empty() && table.blocks_in_use() == 0);
            for address in probes.iter().chain(&[0, u32::MAX]) {
                prop_assert_eq!(lpm.lookup(reader.guard(), *address), 0);
            }
        }
    }
}

#[test]
fn the_limit_on_blocks_is_a_typed_error_that_changes_nothing() {
    let domain = Domain::new();
    for (config, room) in [(LpmConfig::large().with_blocks_max(2), 2), (LpmConfig::small().with_blocks_max(3), 1)] {
        let mut table = LpmWriter::new(&domain, config).unwrap();
        for i in 0..room {
            table.insert(i << 16, 32, 7).unwrap();
        }
        let before = table.blocks_in_use();
        let error = table.insert(0x0a00_0001, 32, 7).unwrap_err();
        assert!(matches!(error, LpmError::Full { .. }));
        assert!(error.to_string().starts_with("route 10.0.0.1/32: all "), "{error}");
        assert_eq!((table.get(0x0a00_0001, 32), table.blocks_in_use(), table.len()), (None, before, room as usize));
        assert_eq!(table.insert(0x0a00_0000, 8, 7).unwrap(), None, "short prefixes need no block");
        table.remove(0, 32).unwrap();
        table.insert(0x0a00_0001, 32, 9).expect("the block came back, as no reader is online");
        assert_eq!((table.lookup(0x0a00_0001), table.lookup(0x0a00_0002)), (9, 7));
    }
}

#[test]
fn what_cannot_be_a_route_is_refused() {
    let mut table = LpmWriter::new(&Domain::new(), SHAPES[1]).unwrap();
    assert!(matches!(table.insert(1, 33, 1), Err(LpmError::Length { .. })));
    assert!(matches!(table.insert(1, 32, 0), Err(LpmError::Leaf { .. })));
    assert!(matches!(table.insert(1, 32, 1 << 31), Err(LpmError::Leaf { .. })));
    assert!(table.insert(1, 32, (1 << 31) - 1).is_ok());
    assert_eq!((table.remove(1, 33), table.get(1, 40), table.len()), (None, None, 1));
}

#[test]
fn a_view_outlives_its_handles() {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = LpmWriter::new(&domain, SHAPES[1]).unwrap();
    table.insert(0x0102_0304, 32, 5).unwrap();
    let view = table.reader().view(reader.guard());
    drop(table);
    domain.reclaim();
    assert_eq!((view.lookup(0x0102_0304), view.lookup(0x0102_0305)), (5, 0));
    reader.quiescent();
    assert_eq!((domain.reclaim(), domain.pending()), (1, 0));
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused() {
    let table = LpmWriter::new(&Domain::new(), SHAPES[1]).unwrap();
    table.reader().lookup(Domain::new().register().guard(), 0);
}

/// Blocks move between /24s all the time; leaves name the /24 they belong to, so a reader that is inside a
/// block which was given out again too early reads a foreign leaf.
#[test]
fn readers_see_the_leaf_before_or_after_and_no_foreign_one() {
    const TURNS: usize = if cfg!(miri) { 3 } else { 500_000 };
    const NETWORKS: u32 = 16;
    // Miri checks each word of the root whenever the writer looks at it; 16 million are too many.
    let shapes = [LpmConfig::small(), LpmConfig::large()].into_iter().take(if cfg!(miri) { 1 } else { 2 });
    for config in shapes.map(|config| config.with_blocks_max(6)) {
        let domain = Domain::new();
        let mut table = LpmWriter::new(&domain, config).unwrap();
        // Network n is 10.n.n.0/24 within 10.n.0.0/16, whose leaf is always n + 1.
        let prefix = |n: u32| 0x0a00_0000 | n << 16 | n << 8;
        for n in 0..NETWORKS {
            table.insert(prefix(n), 16, n + 1).unwrap();
        }
        thread::scope(|scope| {
            let readers = [(); 2].map(|()| {
                let (lpm, mut reader) = (table.reader(), domain.register());
                scope.spawn(move || {
                    for turn in 0..TURNS {
                        let view = lpm.view(reader.guard());
                        for n in 0..NETWORKS {
                            let addresses = [0_u32, 1, 8, 9, 127, 128, 254, 255].map(|host| prefix(n) | host);
                            for leaf in view.lookup_each(&addresses) {
                                assert_eq!(leaf % 100, n + 1);
                            }
                            assert_eq!(view.lookup(prefix(n)) % 100, n + 1);
                        }
                        if turn.is_multiple_of(7) { reader.offline() } else { reader.quiescent() }
                    }
                })
            });
            let mut networks = (0..NETWORKS).cycle();
            while readers.iter().any(|reader| !reader.is_finished()) {
                let n = networks.next().unwrap();
                // The limit on blocks makes the writer wait for readers now and then, as a client would retry.
                for (length, leaf) in [(24, 101), (32, 201), (28, 301), (25, 401)] {
                    while let Err(error) = table.insert(prefix(n), length, leaf + n) {
                        assert!(matches!(error, LpmError::Full { .. }));
                        thread::yield_now();
                    }
                }
                for length in [32, 25, 24, 28] {
                    assert!(table.remove(prefix(n), length).is_some());
                }
            }
        });
        assert_eq!(table.blocks_in_use(), 0);
        domain.reclaim();
        assert_eq!(domain.pending(), 0);
    }
}
