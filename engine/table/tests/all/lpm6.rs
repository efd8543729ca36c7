//! The LPM table for IPv6: nodes of all sizes, hosts, its limits, and readers while it changes.
#![cfg(not(loom))]
use crate::tries::{Change, Churn, Oracle, Reader, agrees_with_the_oracle, change, network};
use proptest::array::uniform16;
use proptest::prelude::*;
use quiver_table::lpm6::Table;
use quiver_table::{Domain, Lpm6Writer, LpmConfig, LpmError};
use std::collections::BTreeMap;

const SHAPES: [LpmConfig; 2] = [LpmConfig::large(), LpmConfig::small()];
const BASE: u128 = 0x2001_0db8_0000_0000_0123_4567_89ab_cdef;

/// Prefixes that part at any bit, and such as lie close together.
fn prefix() -> impl Strategy<Value = (u128, u8)> + Clone {
    let apart =
        (0_u32..128, 0_u32..128, 0_u8..=128).prop_map(|(one, other, length)| (BASE ^ 1 << one ^ 1 << other, length));
    let close = (0_u128..4096, 60_u8..=92).prop_map(|(n, length)| (BASE ^ n << 40, length));
    let hosts = (0_u128..512).prop_map(|n| (BASE ^ n, 128));
    prop_oneof![2 => apart, 3 => close, 1 => hosts]
}

fn address() -> impl Strategy<Value = u128> {
    prefix().prop_map(|(prefix, _)| prefix)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees(changes in prop::collection::vec(change(prefix()), 1..250), probes in uniform16(address())) {
        for config in SHAPES {
            agrees_with_the_oracle::<Table>(config, &changes, &probes, |_| None)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    /// Among so many hosts that these are asked for first, and when they have become few.
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn many_hosts_agree_with_the_oracle(changes in prop::collection::vec(change(prefix()), 1..100), probes in uniform16(address())) {
        const HOSTS: u128 = 1500;
        // One in sixteen has no lower half, which the table of hosts does not take.
        let host = |n: u128| if n.is_multiple_of(16) { ((BASE >> 64) + n) << 64 } else { BASE ^ n << 3 };
        for config in SHAPES {
            let domain = Domain::new();
            let reader = domain.register();
            let mut table = Lpm6Writer::new(&domain, config).unwrap();
            let lpm = table.reader();
            let mut oracle = Oracle(BTreeMap::new());
            for n in 0..HOSTS {
                prop_assert_eq!(table.insert(host(n), 128, 2000 + n as u32).unwrap(), None);
                oracle.0.insert((128, host(n)), 2000 + n as u32);
            }
            let agree = |table: &Lpm6Writer, oracle: &Oracle<u128>, around: u128| {
                let mut addresses = probes;
                addresses[..5].copy_from_slice(&[around, around ^ 1, host(around % HOSTS), host(16), host(HOSTS - 1)]);
                for addresses in addresses.as_chunks().0 {
                    oracle.agrees(Reader::view(&lpm, reader.guard()), *addresses)?;
                }
                let expected = addresses.map(|address| oracle.lookup(address));
                prop_assert_eq!(addresses.map(|address| table.lookup(address)), expected);
                Ok(())
            };
            for change in &changes {
                // Most of those that are not new are of hosts that are there.
                let change = match *change {
                    Change::Insert(..) => change.clone(),
                    Change::Replace(n, _, leaf) => Change::Replace(host(n % HOSTS), 128, leaf),
                    Change::Remove(n, _) => Change::Remove(host(n % HOSTS), 128),
                };
                let (_, around) = oracle.change(&mut table, &change)?;
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
        let host = |n: u32| network(BASE, 116) | u128::from(n);
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
        let mut table = Lpm6Writer::new(&domain, LpmConfig::small().with_blocks_max(blocks_max)).unwrap();
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
fn readers_see_the_leaf_before_or_after_and_no_foreign_one() {
    // The hosts make nodes of all sizes.
    let hosts = (0..64).map(|host| (host << 3, 128));
    let churn = Churn {
        turns: if cfg!(miri) { 3 } else { 20_000 },
        networks: (0..16).map(|n| 0x2001 << 112 | n << 80).collect(),
        length: 48,
        routes: [(0, 64), (0, 70), (0, 108)].into_iter().chain(hosts).collect(),
        parts: [0, 1, 8, 0o777, 1 << 20, 1 << 40, 1 << 64, 1 << 79],
    };
    // Miri checks each word of the root whenever the writer looks at it; eight million are too many.
    let shapes = [LpmConfig::small().with_blocks_max(800), LpmConfig::large()];
    shapes.into_iter().take(if cfg!(miri) { 1 } else { 2 }).for_each(|config| churn.run::<Table>(config));
}
