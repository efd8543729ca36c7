//! The LPM table for IPv6 against a naive oracle, at its limits, and under readers while it changes.
#![cfg(not(loom))]
use proptest::prelude::*;
use quiver_table::{Domain, Lpm6Config, Lpm6View, Lpm6Writer, LpmError};
use std::collections::BTreeMap;
use std::thread;

const SHAPES: [Lpm6Config; 2] = [Lpm6Config::large(), Lpm6Config::small()];
const BASE: u128 = 0x2001_0db8_0000_0000_0123_4567_89ab_cdef;

/// Routes by length and prefix; a lookup scans them all.
#[derive(Default)]
struct Oracle(BTreeMap<(u8, u128), u32>);

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl Oracle {
    fn lookup(&self, address: u128) -> u32 {
        let mut covering = self.0.iter().filter(|&(&(length, prefix), _)| address & mask(length) == prefix);
        covering.next_back().map_or(0, |(_, &leaf)| leaf)
    }
}

/// Sixteen lookups, one by one, together, and when some have been walked ahead, each another number of steps.
fn sixteen_agree(view: Lpm6View<'_>, lanes: [u128; 16], oracle: &Oracle) -> Result<(), TestCaseError> {
    let expected = lanes.map(|address| oracle.lookup(address));
    prop_assert_eq!(lanes.map(|address| view.lookup(address)), expected);
    prop_assert_eq!(view.lookup_each(&lanes), expected);
    let ahead = |lane: usize| (0..lane % 5).fold(view.begin(lanes[lane]), |word, _| view.descend(word, lanes[lane]));
    prop_assert_eq!(view.finish_each(std::array::from_fn(ahead), &lanes), expected);
    Ok(())
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u128, u8, u32),
    Remove(u128, u8),
    Replace(u128, u8, u32),
}

/// Prefixes that part at any bit, and such as lie close together.
fn prefix() -> impl Strategy<Value = (u128, u8)> {
    let apart =
        (0_u32..128, 0_u32..128, 0_u8..=128).prop_map(|(one, other, length)| (BASE ^ 1 << one ^ 1 << other, length));
    let close = (0_u128..4096, 60_u8..=92).prop_map(|(n, length)| (BASE ^ n << 40, length));
    let hosts = (0_u128..512).prop_map(|n| (BASE ^ n, 128));
    prop_oneof![2 => apart, 3 => close, 1 => hosts]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (prefix(), 1_u32..1000).prop_map(|((prefix, length), leaf)| Change::Insert(prefix, length, leaf)),
        2 => prefix().prop_map(|(prefix, length)| Change::Remove(prefix, length)),
        1 => (prefix(), 0_u32..1000).prop_map(|((prefix, length), leaf)| Change::Replace(prefix, length, leaf)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees_with_the_oracle(changes in prop::collection::vec(change(), 1..250), probes in prop::collection::vec(prefix(), 16)) {
        for config in SHAPES {
            let domain = Domain::new();
            let reader = domain.register();
            let mut table = Lpm6Writer::new(&domain, config).unwrap();
            let lpm = table.reader();
            let mut oracle = Oracle::default();
            for change in &changes {
                // Most removals and replacements are of a route that exists.
                let near = |oracle: &Oracle, prefix: u128, length: u8| {
                    let key = oracle.0.range((length, prefix & mask(length))..).next().map(|(key, _)| *key);
                    key.filter(|_| prefix & 7 != 0).unwrap_or((length, prefix & mask(length)))
                };
                let (length, prefix) = match *change {
                    Change::Insert(prefix, length, leaf) => {
                        let old = oracle.0.insert((length, prefix & mask(length)), leaf);
                        prop_assert_eq!(table.insert(prefix, length, leaf).unwrap(), old);
                        (length, prefix & mask(length))
                    }
                    Change::Replace(prefix, length, leaf) => {
                        let (length, prefix) = near(&oracle, prefix, length);
                        let old = oracle.0.get_mut(&(length, prefix)).filter(|_| leaf != 0);
                        let expected = old.map(|old| std::mem::replace(old, leaf));
                        prop_assert_eq!(table.replace(prefix, length, leaf), expected);
                        (length, prefix)
                    }
                    Change::Remove(prefix, length) => {
                        let (length, prefix) = near(&oracle, prefix, length);
                        prop_assert_eq!(table.remove(prefix, length), oracle.0.remove(&(length, prefix)));
                        (length, prefix)
                    }
                };
                let (first, last) = (prefix, prefix | !mask(length));
                for address in [first.wrapping_sub(1), first, first | 1, last & !1, last, last.wrapping_add(1)] {
                    let expected = oracle.lookup(address);
                    prop_assert_eq!(lpm.lookup(reader.guard(), address), expected, "{:x}", address);
                    prop_assert_eq!(table.longest_match(address).map_or(0, |(_, _, leaf)| leaf), expected);
                }
                sixteen_agree(lpm.view(reader.guard()), std::array::from_fn(|lane| probes[lane].0), &oracle)?;
                prop_assert_eq!(table.get(prefix, length), oracle.0.get(&(length, prefix)).copied());
            }
            let mut routes: Vec<_> = oracle.0.iter().map(|(&(length, prefix), &leaf)| (prefix, length, leaf)).collect();
            for address in routes.iter().flat_map(|&(prefix, length, _)| [prefix, prefix | !mask(length)]) {
                prop_assert_eq!(table.lookup(address), oracle.lookup(address), "{:x}", address);
            }
            routes.sort_unstable();
            prop_assert_eq!(table.iter().collect::<Vec<_>>(), routes.clone());
            prop_assert_eq!(table.len(), routes.len());
            for (prefix, length, leaf) in routes {
                prop_assert_eq!(table.remove(prefix, length), Some(leaf));
            }
            prop_assert!(table.is_empty());
            prop_assert_eq!(table.blocks_in_use(), 0);
            for (address, _) in probes.iter().chain(&[(0, 0), (u128::MAX, 0)]) {
                prop_assert_eq!(lpm.lookup(reader.guard(), *address), 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    /// Among so many hosts that these are asked for first, and when they have become few.
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn many_hosts_agree_with_the_oracle(changes in prop::collection::vec(change(), 1..100), probes in prop::collection::vec(prefix(), 16)) {
        const HOSTS: u128 = 1500;
        // One in sixteen has no lower half, which the table of hosts does not take.
        let host = |n: u128| if n.is_multiple_of(16) { ((BASE >> 64) + n) << 64 } else { BASE ^ n << 3 };
        for config in SHAPES {
            let domain = Domain::new();
            let reader = domain.register();
            let mut table = Lpm6Writer::new(&domain, config).unwrap();
            let lpm = table.reader();
            let mut oracle = Oracle::default();
            for n in 0..HOSTS {
                prop_assert_eq!(table.insert(host(n), 128, 2000 + n as u32).unwrap(), None);
                oracle.0.insert((128, host(n)), 2000 + n as u32);
            }
            let agree = |table: &Lpm6Writer, oracle: &Oracle, around: u128| {
                let mut addresses: [u128; 16] = std::array::from_fn(|lane| probes[lane].0);
                addresses[..5].copy_from_slice(&[around, around ^ 1, host(around % HOSTS), host(16), host(HOSTS - 1)]);
                sixteen_agree(lpm.view(reader.guard()), addresses, oracle)?;
                let expected = addresses.map(|address| oracle.lookup(address));
                prop_assert_eq!(addresses.map(|address| table.lookup(address)), expected);
                Ok(())
            };
            for change in &changes {
                let around = match *change {
                    Change::Insert(prefix, length, leaf) => {
                        let old = oracle.0.insert((length, prefix & mask(length)), leaf);
                        prop_assert_eq!(table.insert(prefix, length, leaf).unwrap(), old);
                        prefix
                    }
                    // Most changes are of hosts that are there.
                    Change::Replace(n, _, leaf) => {
                        let old = oracle.0.get_mut(&(128, host(n % HOSTS))).filter(|_| leaf != 0);
                        let expected = old.map(|old| std::mem::replace(old, leaf));
                        prop_assert_eq!(table.replace(host(n % HOSTS), 128, leaf), expected);
                        host(n % HOSTS)
                    }
                    Change::Remove(n, _) => {
                        prop_assert_eq!(table.remove(host(n % HOSTS), 128), oracle.0.remove(&(128, host(n % HOSTS))));
                        host(n % HOSTS)
                    }
                };
                agree(&table, &oracle, around)?;
            }
            for n in 0..HOSTS {
                table.remove(host(n), 128);
                oracle.0.remove(&(128, host(n)));
                if n % 100 == 0 {
                    agree(&table, &oracle, host(n))?;
                }
            }
            agree(&table, &oracle, BASE)?;
        }
    }
}

#[test]
fn all_lengths_of_one_address() {
    for config in SHAPES {
        let mut table = Lpm6Writer::new(&Domain::new(), config).unwrap();
        // Odd lengths upwards, then even ones downwards; they go the other way round.
        let lengths: Vec<u8> = (0..=128).filter(|length| length % 2 == 1).chain((0..=128).rev().step_by(2)).collect();
        for length in &lengths {
            assert_eq!(table.insert(BASE, *length, 1 + u32::from(*length)).unwrap(), None);
        }
        // The address that shares `common` bits and no more.
        let beside = |common: u8| if common == 128 { BASE } else { BASE ^ 1 << (127 - common) };
        assert_eq!([0, 7, 64, 127, 128].map(|common| table.lookup(beside(common))), [1, 8, 65, 128, 129]);
        for (gone, length) in (0..).zip(lengths) {
            assert_eq!(table.remove(BASE, length), Some(1 + u32::from(length)));
            let left = |common: u8| (0..=common).rev().find(|length| table.get(BASE, *length).is_some());
            for common in 0..=128 {
                let expected = left(common).map_or(0, |length| 1 + u32::from(length));
                assert_eq!(table.lookup(beside(common)), expected, "{common} bits after {gone} removals");
            }
        }
        assert_eq!(table.blocks_in_use(), 0);
    }
}

/// A host route, the routes that cover it, and the addresses beside it, while the covering ones come and go.
#[test]
fn a_host_route_falls_to_what_covers_it() {
    let mut table = Lpm6Writer::new(&Domain::new(), SHAPES[0]).unwrap();
    table.insert(BASE, 128, 5).unwrap();
    assert_eq!((table.lookup(BASE), table.lookup(BASE + 1), table.blocks_in_use()), (5, 0, 1));
    for (length, leaf) in [(0, 1), (48, 3), (32, 2), (64, 4)] {
        table.insert(BASE, length, leaf).unwrap();
    }
    assert_eq!((table.lookup(BASE), table.lookup(BASE + 1)), (5, 4));
    table.remove(BASE, 128).unwrap();
    assert_eq!((table.lookup(BASE), table.lookup(BASE + 1)), (4, 4));
    table.remove(BASE, 64).unwrap();
    table.remove(BASE, 32).unwrap();
    assert_eq!((table.lookup(BASE), table.lookup(BASE ^ 1 << 70), table.lookup(0)), (3, 3, 1));
    table.insert(BASE, 128, 6).unwrap();
    table.remove(BASE, 48).unwrap();
    assert_eq!((table.lookup(BASE), table.lookup(BASE - 1)), (6, 1));
    table.remove(0, 0).unwrap();
    assert_eq!((table.lookup(BASE), table.lookup(BASE - 1)), (6, 0));
}

/// Where a node begins right below its parent, no address can fall back from it, until the parent has gone.
#[test]
fn a_node_that_moves_up_falls_back_to_the_route_of_now() {
    let mut table = Lpm6Writer::new(&Domain::new(), SHAPES[0]).unwrap();
    let beside = |bit: u8| BASE ^ 1 << (127 - bit);
    table.insert(BASE, 64, 1).unwrap();
    // Behind a root of 23 bits these part in a node that begins at bit 104, and in one at bit 101.
    [BASE, beside(105), beside(102)].iter().for_each(|host| _ = table.insert(*host, 128, 7).unwrap());
    table.replace(BASE, 64, 2).unwrap();
    table.remove(beside(102), 128).unwrap();
    assert_eq!([BASE, beside(105), beside(102)].map(|address| table.lookup(address)), [7, 7, 2]);
}

#[test]
fn dense_routes_share_wide_nodes() {
    // Behind a root of 23 bits nodes of 64 words begin at bit 119, of 8 at 116 and 125; behind one of 14, at 116 and 122.
    for (config, blocks) in SHAPES.into_iter().zip([2 + 8 * 10 + 512 * 2, 10 + 64 * 10]) {
        let mut table = Lpm6Writer::new(&Domain::new(), config).unwrap();
        let host = |n: u32| BASE & mask(116) | u128::from(n);
        (0..4096).for_each(|n| _ = table.insert(host(n), 128, 1 + n).unwrap());
        assert!((0..4096).all(|n| table.lookup(host(n)) == 1 + n));
        assert_eq!(table.blocks_in_use(), blocks);
        (0..4095).for_each(|n| _ = table.remove(host(n), 128).unwrap());
        assert_eq!((table.lookup(host(4094)), table.lookup(host(4095))), (0, 4096));
        table.remove(host(4095), 128).unwrap();
        assert_eq!(table.blocks_in_use(), 0);
    }
}

#[test]
fn the_limit_on_blocks_is_a_typed_error_that_changes_nothing() {
    let domain = Domain::new();
    let other = BASE ^ 1 << 64;
    // A page has 127 tails at first. Another has no narrow node, or one, for which then a tail is missing.
    for (blocks_max, others) in [(127, 0), (129, 126)] {
        let mut table = Lpm6Writer::new(&domain, Lpm6Config::small().with_blocks_max(blocks_max)).unwrap();
        table.insert(BASE, 128, 7).unwrap();
        (1..=others).for_each(|i| _ = table.insert(u128::from(i) << 114, 128, 7).unwrap());
        for _ in 0..3 {
            let error = table.insert(other, 128, 8).unwrap_err();
            assert!(matches!(error, LpmError::Full { .. }));
            let message = format!("route 2001:db8::1:123:4567:89ab:cdef/128: all {blocks_max} blocks");
            assert!(error.to_string().starts_with(&message.replace("::1:", ":0:1:")), "{error}");
            assert_eq!((table.get(other, 128), table.len(), table.lookup(BASE)), (None, 1 + others as usize, 7));
            assert_eq!((table.lookup(other), table.blocks_in_use()), (0, 1 + others));
        }
        assert_eq!(table.insert(BASE, 8, 9).unwrap(), None, "short prefixes need no block");
        assert_eq!(table.replace(BASE, 128, 10), Some(7));
        table.remove(BASE, 128).unwrap();
        table.insert(other, 128, 11).expect("the block came back, as no reader is online");
        assert_eq!((table.lookup(other), table.lookup(BASE), table.blocks_in_use()), (11, 9, 1 + others));
    }
}

#[test]
fn what_cannot_be_a_route_is_refused() {
    let mut table = Lpm6Writer::new(&Domain::new(), SHAPES[1]).unwrap();
    let error = table.insert(1, 129, 1).unwrap_err();
    assert_eq!(error.to_string(), "route ::1/129: the prefix length of an IPv6 route is 0 to 128");
    assert!(matches!(table.insert(1, 128, 0), Err(LpmError::Leaf { .. })));
    assert!(matches!(table.insert(1, 128, 1 << 31), Err(LpmError::Leaf { .. })));
    assert!(table.insert(1, 128, (1 << 31) - 1).is_ok());
    assert_eq!((table.remove(1, 129), table.get(1, 140), table.len()), (None, None, 1));
}

#[test]
fn what_many_routes_need_is_far_away() {
    let mut table = Lpm6Writer::new(&Domain::new(), SHAPES[1]).unwrap();
    let lpm = table.reader();
    assert!((0..1024).all(|n| table.insert(BASE + n, 128, 1).is_ok()) && !lpm.is_far());
    assert!(table.insert(BASE, 64, 1).is_ok() && lpm.is_far());
    assert!(table.remove(BASE, 64).is_some() && !lpm.is_far());
}

#[test]
fn a_view_outlives_its_handles() {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = Lpm6Writer::new(&domain, SHAPES[1]).unwrap();
    table.insert(BASE, 128, 5).unwrap();
    let view = table.reader().view(reader.guard());
    drop(table);
    domain.reclaim();
    assert_eq!((view.lookup(BASE), view.lookup(BASE + 1)), (5, 0));
    reader.quiescent();
    assert_eq!((domain.reclaim(), domain.pending()), (2, 0));
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused() {
    let table = Lpm6Writer::new(&Domain::new(), SHAPES[1]).unwrap();
    table.reader().lookup(Domain::new().register().guard(), 0);
}

/// Blocks move between networks all the time, and between nodes of all sizes; leaves name the network they belong to, so a
/// reader that is inside a node which was given out again too early reads a foreign leaf, or none.
#[test]
fn readers_see_the_leaf_before_or_after_and_no_foreign_one() {
    const TURNS: usize = if cfg!(miri) { 3 } else { 20_000 };
    const NETWORKS: u32 = 16;
    // Miri checks each word of the root whenever the writer looks at it; eight million are too many.
    let shapes = [Lpm6Config::small().with_blocks_max(800), Lpm6Config::large()];
    for config in shapes.into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
        let domain = Domain::new();
        let mut table = Lpm6Writer::new(&domain, config).unwrap();
        let prefix = |n: u32| 0x2001 << 112 | u128::from(n) << 80;
        // Whether an address of a network is inside its route of this number; 0 is the whole network.
        let is_of = |route: u32, host: u128| match route {
            0 => true,
            1 => host >> 64 == 0,
            2 => host >> 58 == 0,
            3 => host >> 20 == 0,
            route => host == u128::from(route - 4) << 3,
        };
        // The leaf of a whole network is always n + 1.
        for n in 0..NETWORKS {
            table.insert(prefix(n), 48, n + 1).unwrap();
        }
        thread::scope(|scope| {
            let readers = [(); 2].map(|()| {
                let (lpm, mut reader) = (table.reader(), domain.register());
                scope.spawn(move || {
                    for turn in 0..TURNS {
                        let view = lpm.view(reader.guard());
                        for n in 0..NETWORKS {
                            let hosts = [0_u128, 1, 8, 0o777, 1 << 20, 1 << 40, 1 << 64, 1 << 79];
                            let addresses = hosts.map(|host| prefix(n) | host);
                            for (host, leaf) in hosts.into_iter().zip(view.lookup_each(&addresses)) {
                                assert_eq!(leaf % 100, n + 1);
                                assert!(is_of(leaf / 100, host), "{leaf} of {host:x}");
                            }
                            let leaf = view.lookup(prefix(n));
                            assert!(leaf % 100 == n + 1 && is_of(leaf / 100, 0), "{leaf}");
                        }
                        if turn.is_multiple_of(7) { reader.offline() } else { reader.quiescent() }
                    }
                })
            });
            let mut networks = (0..NETWORKS).cycle();
            while readers.iter().any(|reader| !reader.is_finished()) {
                let n = networks.next().unwrap();
                // The hosts make nodes of all sizes. The limit on blocks makes the writer wait for readers now and then.
                let hosts = (0..64).map(|host| (prefix(n) | host << 3, 128));
                let routes: Vec<_> = [64, 70, 108].map(|length| (prefix(n), length)).into_iter().chain(hosts).collect();
                for (leaf, (prefix, length)) in (1..).zip(&routes) {
                    while let Err(error) = table.insert(*prefix, *length, leaf * 100 + n + 1) {
                        assert!(matches!(error, LpmError::Full { .. }));
                        thread::yield_now();
                    }
                }
                for (prefix, length) in routes {
                    assert!(table.remove(prefix, length).is_some());
                }
            }
        });
        (0..NETWORKS).for_each(|n| assert!(table.remove(prefix(n), 48).is_some()));
        assert_eq!(table.blocks_in_use(), 0);
        domain.reclaim();
        assert_eq!(domain.pending(), 0);
    }
}
