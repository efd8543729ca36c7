//! Tables and chains of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quiver_control::behind;

/// Bytes that a mask has at most.
pub const MASK_MAX: usize = 256;

/// Why there is no such table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The mask lets no bit through.
    #[error("mask: no bit of it is set; name a field, such as `l3 ip4 src`")]
    Empty,
    /// The mask is too long.
    #[error("mask: it has {0} bytes; at most {MASK_MAX} are looked at")]
    Long(usize),
    /// The value has bits that the mask hides.
    #[error("match: byte {0} has bits that the mask hides; name the same fields in both")]
    Hidden(usize),
}

/// A mask, and the values that are looked for behind it. Clones share the counts of hits.
#[derive(Clone, Debug)]
pub struct Table {
    /// By which people name it.
    pub number: u32,
    mask: Vec<u8>,
    values: BTreeMap<Vec<u8>, Arc<AtomicU64>>,
}

impl Table {
    /// A table without values. Bytes of the mask count from the beginning of a frame.
    pub fn new(number: u32, mask: &[u8]) -> Result<Table, TableError> {
        let length = mask.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        match length {
            0 => Err(TableError::Empty),
            1..=MASK_MAX => Ok(Table { number, mask: mask[..length].to_vec(), values: BTreeMap::new() }),
            _ => Err(TableError::Long(length)),
        }
    }
    /// The mask, up to its last bit.
    pub fn mask(&self) -> &[u8] {
        &self.mask
    }
    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// The value behind this one, or the first one, and how many packets had it.
    pub fn value_behind(&self, last: Option<&Vec<u8>>) -> Option<(&Vec<u8>, u64)> {
        behind(&self.values, last).map(|(value, hits)| (value, hits.load(Ordering::Relaxed)))
    }
    /// Looks for a value from now on, too; bytes that are not given are zero.
    pub fn add(&mut self, value: &[u8]) -> Result<(), TableError> {
        let bits = |at: usize| self.mask.get(at).copied().unwrap_or(0);
        if let Some(hidden) = (0..value.len()).find(|at| value[*at] & !bits(*at) != 0) {
            return Err(TableError::Hidden(hidden));
        }
        let mut whole = value[..value.len().min(self.mask.len())].to_vec();
        whole.resize(self.mask.len(), 0);
        self.values.entry(whole).or_default();
        Ok(())
    }
    /// Whether a packet has one of the values; it is counted then. One that is shorter than the mask has none.
    fn takes(&self, packet: &[u8]) -> bool {
        let Some(packet) = packet.get(..self.mask.len()) else { return false };
        let mut masked = [0; MASK_MAX];
        for (to, (byte, mask)) in masked.iter_mut().zip(packet.iter().zip(&self.mask)) {
            *to = byte & mask;
        }
        let hits = self.values.get(&masked[..self.mask.len()]);
        hits.inspect(|hits| _ = hits.fetch_add(1, Ordering::Relaxed)).is_some()
    }
}

/// Tables one after the other, those with more bits in their masks first.
#[derive(Clone, Debug, Default)]
pub struct Chain(Vec<Table>);

impl Chain {
    /// The tables in their order.
    pub fn tables(&self) -> &[Table] {
        &self.0
    }
    /// The table with this mask.
    pub fn find(&mut self, mask: &[u8]) -> Option<&mut Table> {
        let length = mask.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.0.iter_mut().find(|table| table.mask == mask[..length])
    }
    /// Puts a table in its place.
    pub fn add(&mut self, table: Table) {
        let bits = |table: &Table| table.mask.iter().map(|byte| byte.count_ones()).sum::<u32>();
        let place = self.0.partition_point(|before| bits(before) >= bits(&table));
        self.0.insert(place, table);
    }
    /// Takes the table with this mask out; false if there is none.
    pub fn remove(&mut self, mask: &[u8]) -> bool {
        let Some(number) = self.find(mask).map(|table| table.number) else { return false };
        self.0.retain(|table| table.number != number);
        true
    }
    /// Whether a packet, from the beginning of its frame on, has a value of one of the tables.
    pub fn takes(&self, packet: &[u8]) -> bool {
        self.0.iter().any(|table| table.takes(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_by_what_the_mask_lets_through() {
        let mut table = Table::new(0, &[0, 0xf0, 0, 0]).expect("it has bits");
        assert_eq!(table.mask(), [0, 0xf0]);
        table.add(&[0, 0x40]).expect("it fits");
        table.add(&[]).expect("zeros fit");
        assert_eq!(table.add(&[0, 0x41]), Err(TableError::Hidden(1)));
        assert_eq!(table.add(&[0, 0, 0, 1]), Err(TableError::Hidden(3)));
        let mut chain = Chain::default();
        assert!(!chain.takes(&[9, 0x4f, 9]), "no table, no packet");
        chain.add(table);
        let copy = chain.clone();
        assert!(copy.takes(&[9, 0x4f, 9]) && copy.takes(&[9, 0x05]) && !copy.takes(&[9, 0x5f]));
        assert!(!copy.takes(&[9]), "it is too short");
        let table = &chain.tables()[0];
        let hits = |behind: Option<&Vec<u8>>| table.value_behind(behind).map(|(value, hits)| (value.clone(), hits));
        assert_eq!(
            (hits(None), hits(Some(&vec![0, 0]))),
            (Some((vec![0, 0], 1)), Some((vec![0, 0x40], 1))),
            "copies count together"
        );
        assert_eq!((hits(Some(&vec![0, 0x40])), table.len()), (None, 2));
    }

    #[test]
    fn tables_with_more_bits_come_first() {
        let mut chain = Chain::default();
        for (number, mask) in [(0, &[1][..]), (1, &[0xff, 0xff]), (2, &[0, 1]), (3, &[0xff])] {
            chain.add(Table::new(number, mask).expect("it has bits"));
        }
        assert_eq!(chain.tables().iter().map(|table| table.number).collect::<Vec<_>>(), [1, 3, 0, 2]);
        assert_eq!(chain.find(&[0, 1, 0]).map(|table| table.number), Some(2));
        assert!(chain.remove(&[1]) && !chain.remove(&[1]) && !chain.remove(&[]));
        assert_eq!(chain.tables().len(), 3);
    }

    #[test]
    fn a_mask_has_bits_but_not_too_many_bytes() {
        assert_eq!(Table::new(0, &[0; 200]).err(), Some(TableError::Empty));
        assert_eq!(Table::new(0, &[1; MASK_MAX + 1]).err(), Some(TableError::Long(MASK_MAX + 1)));
        assert!(Table::new(0, &[1; MASK_MAX]).is_ok());
    }
}
