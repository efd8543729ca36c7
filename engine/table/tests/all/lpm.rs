//! The LPM table for IPv4: blocks where they are needed, its limits, and readers while it changes.
#![cfg(not(loom))]
use crate::tries::{Churn, Oracle, agrees_with_the_oracle, change, network};
use proptest::array::uniform16;
use proptest::prelude::*;
use quiver_table::lpm::Table;
use quiver_table::{Domain, LpmConfig, LpmError, LpmWriter};

const BLOCKS: u32 = 600;
const SHAPES: [LpmConfig; 2] = [LpmConfig::large().with_blocks_max(BLOCKS), LpmConfig::small().with_blocks_max(BLOCKS)];

/// Blocks that routes longer than `bits` need.
fn blocks(oracle: &Oracle<u32>, bits: u8) -> usize {
    let longer = oracle.0.keys().filter(|(length, _)| *length > bits);
    let mut blocks: Vec<u32> = longer.map(|(_, prefix)| network(*prefix, bits)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.len()
}

/// Addresses that nest and collide: few values per byte, extremes among them.
fn address() -> impl Strategy<Value = u32> + Clone {
    let byte = || prop::sample::select(vec![0_u8, 1, 2, 10, 127, 128, 254, 255]);
    (byte(), byte(), byte(), any::<u8>()).prop_map(|(a, b, c, d)| u32::from_be_bytes([a % 2, b, c, d]))
}

fn prefix() -> impl Strategy<Value = (u32, u8)> + Clone {
    // Lengths around the borders of words and blocks are the likely ones.
    (address(), prop_oneof![0_u8..=32, prop::sample::select(vec![0_u8, 8, 15, 16, 17, 23, 24, 25, 31, 32])])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    #[cfg_attr(miri, ignore = "it is about answers, not memory, and would take hours")]
    fn agrees(changes in prop::collection::vec(change(prefix()), 1..120), probes in uniform16(address())) {
        for (config, levels) in SHAPES.into_iter().zip([&[24_u8][..], &[16, 24]]) {
            let needed = |oracle: &Oracle<u32>| Some(levels.iter().map(|bits| blocks(oracle, *bits)).sum());
            agrees_with_the_oracle::<Table>(config, &changes, &probes, needed)?;
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
fn readers_see_the_leaf_before_or_after_and_no_foreign_one() {
    // Network n is 10.n.n.0/24 within 10.n.0.0/16.
    let churn = Churn {
        turns: if cfg!(miri) { 3 } else { 500_000 },
        networks: (0..16).map(|n| 0x0a00_0000 | n << 16 | n << 8).collect(),
        length: 16,
        routes: vec![(0, 24), (0, 32), (0, 28), (0, 25)],
        parts: [0, 1, 8, 9, 127, 128, 254, 255],
    };
    // Miri checks each word of the root whenever the writer looks at it; 16 million are too many.
    let shapes = [LpmConfig::small(), LpmConfig::large()].into_iter().take(if cfg!(miri) { 1 } else { 2 });
    shapes.for_each(|config| churn.run::<Table>(config.with_blocks_max(6)));
}
