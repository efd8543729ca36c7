//! Finds a server's connection by its client's address and port, where a device translates these: linear probing, half full at most.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::record::Record;

/// Numbers of records by the hash of their tuples; 0 is none, others have 1 added.
#[derive(Debug)]
pub struct Tuples {
    places: Box<[AtomicU32]>,
    mask: u32,
    /// Where a free record is looked for next.
    hand: AtomicU32,
}

/// Records that are looked at for a free one.
const LOOKS: u32 = 64;

/// The key: a client's address and port, and the server's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The client's address.
    pub address: u128,
    /// Its port.
    pub port: u16,
    /// The server's number.
    pub host: u32,
}

impl Key {
    /// That of a record.
    pub fn of(record: &Record) -> Key {
        Key { address: record.address(), port: record.port(), host: record.host() }
    }
    fn hash(&self) -> u32 {
        let low = self.address as u64 ^ (self.address >> 64) as u64;
        let mixed = (low ^ u64::from(self.port) << 40 ^ u64::from(self.host) << 16).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_shr(32) as u32
    }
}

impl Tuples {
    /// A table for so many connections.
    pub fn new(connections: u32) -> Tuples {
        let places = (connections.max(2) * 2).next_power_of_two();
        Tuples { places: (0..places).map(|_| AtomicU32::new(0)).collect(), mask: places - 1, hand: AtomicU32::new(0) }
    }
    fn at(&self, place: u32) -> Option<u32> {
        self.places.get((place & self.mask) as usize)?.load(Relaxed).checked_sub(1)
    }
    fn put(&self, place: u32, id: Option<u32>) {
        if let Some(cell) = self.places.get((place & self.mask) as usize) {
            cell.store(id.map_or(0, |id| id + 1), Relaxed);
        }
    }
    /// The place of a key, and the connection there.
    fn place(&self, records: &[Record], key: &Key) -> (u32, Option<u32>) {
        let mut place = key.hash();
        loop {
            let found = self.at(place);
            let Some(record) = found.and_then(|id| records.get(id as usize)) else { return (place, None) };
            if Key::of(record) == *key {
                return (place, found);
            }
            place = place.wrapping_add(1);
        }
    }
    /// The connection of a key.
    pub fn find(&self, records: &[Record], key: &Key) -> Option<u32> {
        self.place(records, key).1
    }
    /// Gives a free record to a key that has none. None if no free record is found soon.
    pub fn take(&self, records: &[Record], key: &Key, now: u64) -> Option<u32> {
        let count = records.len() as u32;
        for _ in 0..LOOKS.min(count) {
            let id = self.hand.load(Relaxed) % count;
            self.hand.store(id + 1, Relaxed);
            let record = records.get(id as usize)?;
            if record.state() == crate::record::FREE {
                // Its last tuple stays findable for late packets until now.
                self.remove(records, id);
                record.set_address(key.address);
                record.set_port(key.port);
                record.begin(now, key.host);
                let (place, _) = self.place(records, key);
                self.put(place, Some(id));
                return Some(id);
            }
        }
        None
    }
    /// Takes a record out, if it is in. Those behind it move up (Knuth, volume 3, section 6.4, algorithm R).
    fn remove(&self, records: &[Record], id: u32) {
        let Some(record) = records.get(id as usize) else { return };
        let (mut hole, found) = self.place(records, &Key::of(record));
        if found != Some(id) {
            return;
        }
        let mut place = hole;
        loop {
            place = place.wrapping_add(1);
            let next = self.at(place);
            let Some(other) = next.and_then(|id| records.get(id as usize)) else { break };
            let home = Key::of(other).hash();
            // It may move up to its home, and no further.
            if place.wrapping_sub(home) & self.mask >= place.wrapping_sub(hole) & self.mask {
                self.put(hole, next);
                hole = place;
            }
        }
        self.put(hole, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FREE, OPEN};
    use std::collections::BTreeMap;

    #[test]
    fn it_finds_what_a_map_finds() {
        let mut rng = fastrand::Rng::with_seed(3);
        let records: Vec<Record> = (0..200).map(|_| Record::default()).collect();
        let tuples = Tuples::new(200);
        let mut known = BTreeMap::new();
        for round in 0..20_000 {
            let key = Key { address: rng.u128(0..40) << rng.u32(0..2), port: rng.u16(0..10), host: rng.u32(0..2) };
            let name = (key.address, key.port, key.host);
            let open = |id: u32| records[id as usize].state() == OPEN;
            match (known.get(&name).copied(), rng.bool()) {
                (Some(id), true) => records[id as usize].set_state(FREE),
                (Some(id), false) => assert_eq!(tuples.find(&records, &key), Some(id), "{round}"),
                (None, _) => {
                    let Some(id) = tuples.take(&records, &key, round) else {
                        assert!((0..200).filter(|id| open(*id)).count() > 100, "{round}: there is room");
                        continue;
                    };
                    assert_eq!(records[id as usize].state(), FREE);
                    known.retain(|_, other| *other != id);
                    records[id as usize].set_state(OPEN);
                    known.insert(name, id);
                }
            }
            for ((address, port, host), id) in &known {
                let key = Key { address: *address, port: *port, host: *host };
                assert_eq!(tuples.find(&records, &key), Some(*id), "{round}: {key:?}");
            }
        }
    }
}
