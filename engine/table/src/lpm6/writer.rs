//! The writer of an LPM table for IPv6: it keeps the nodes in step with the routes.
//!
//! Every word has one owner: the route that is the longest for all the addresses of the word. So a route is painted over the
//! words that no longer route owns, and a new route gets words of its own before it is painted.
use super::change::Refused;
use super::node::Slot;
use super::{Lpm6, Lpm6Config, Table, shape};
use crate::epoch::Domain;
use crate::hash::{ExactWriter, Keys128};
use crate::lpm::blocks::Blocks;
use crate::lpm::root::RootPages;
use crate::lpm::{BLOCK, LpmError, NEAR, Shared};
use crate::routes::{Address, Routes};
use crate::simulation::seam;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The only writer of a table, on the control thread. Host bits of the prefixes given to it are ignored.
pub struct Lpm6Writer {
    shared: Arc<Shared<Table>>,
    routes: Routes<u128>,
    blocks: Blocks<AtomicU64>,
    root: RootPages,
    /// The routes of 128 bits, but for those that it refused.
    hosts: ExactWriter<Keys128>,
}

/// Which share of the routes are hosts, at least, where these are asked for first.
const HOSTS_SHARE: usize = 4;

impl Lpm6Writer {
    /// An empty table in the readers' domain.
    pub fn new(domain: &Domain, config: Lpm6Config) -> Result<Lpm6Writer, LpmError> {
        let refused = |source| LpmError::Memory {
            bytes: (4 << config.root_bits) + (config.blocks_max as usize + 1) * 32,
            source,
        };
        let table = Table::new(config).map_err(refused)?;
        let hosts = ExactWriter::of_lines(domain, config.blocks_max as usize, RandomState::new().hash_one(0));
        Ok(Lpm6Writer {
            hosts: hosts.map_err(|error| refused(io::Error::other(error)))?,
            routes: Routes::new(),
            blocks: Blocks::new(domain, &table.blocks, super::BLOCK_CELLS, shape::SIZES, config.blocks_max),
            root: RootPages::new(&table.root, config.root_bits),
            shared: Arc::new(Shared::new(table, domain)),
        })
    }

    /// A reader's handle.
    pub fn reader(&self) -> Lpm6 {
        Lpm6 { shared: Arc::clone(&self.shared), hosts: self.hosts.reader() }
    }

    /// Adds a route or changes its leaf; returns the leaf it had. After an error no route has changed.
    pub fn insert(&mut self, prefix: u128, length: u8, leaf: u32) -> Result<Option<u32>, LpmError> {
        let name = Ipv6Addr::from(prefix).into();
        if length > 128 {
            return Err(LpmError::Length { prefix: name, length });
        }
        if leaf == 0 || leaf & BLOCK != 0 {
            return Err(LpmError::Leaf { prefix: name, length, leaf });
        }
        if let Some(old) = self.replace(prefix, length, leaf) {
            return Ok(Some(old));
        }
        let prefix = prefix.range(length).0;
        if let Err(refused) = self.shared.table().make_room(&mut self.blocks, prefix, length) {
            // Half a path is of no use, and nobody would find it to take it back.
            self.shared.table().collapse(&mut self.blocks, prefix);
            self.root.untouched(&self.shared.table().root, prefix);
            return Err(match refused {
                Refused::Memory(source) => LpmError::Memory { bytes: 32, source },
                Refused::Full => LpmError::Full { prefix: name, length, blocks_max: self.blocks.max() },
            });
        }
        self.routes.insert(prefix, length, leaf);
        self.root.enter(prefix, length);
        self.paint(prefix, length, leaf);
        self.note_host(prefix, length, leaf);
        self.note_size();
        Ok(None)
    }

    /// Changes the leaf of a route that is there, and returns the one it had. None, and nothing changed, if it is not there
    /// or `leaf` is none. It needs no room, so a full table does not refuse it.
    pub fn replace(&mut self, prefix: u128, length: u8, leaf: u32) -> Option<u32> {
        let prefix = prefix.range(length).0;
        if leaf == 0 || leaf & BLOCK != 0 || self.routes.get(prefix, length).is_none() {
            return None;
        }
        let old = self.routes.insert(prefix, length, leaf);
        self.paint(prefix, length, leaf);
        self.note_host(prefix, length, leaf);
        old
    }

    /// Removes a route and returns its leaf. What it covered falls to the next shorter route.
    pub fn remove(&mut self, prefix: u128, length: u8) -> Option<u32> {
        let prefix = prefix.range(length).0;
        let old = self.routes.remove(prefix, length)?;
        if length == 128 {
            self.hosts.remove(prefix);
        }
        // The default route has no words of its own: zero stands for it.
        let shorter = self.routes.longest_match(prefix, length).filter(|&(_, length, _)| length > 0);
        self.paint(prefix, length, shorter.map_or(0, |(_, _, leaf)| leaf));
        self.shared.table().leave(&mut self.blocks, prefix, length);
        self.root.leave(&self.shared.table().root, prefix, length);
        self.note_size();
        Some(old)
    }

    /// Keeps a host in the table beside the trie, too.
    fn note_host(&mut self, prefix: u128, length: u8, leaf: u32) {
        if length == 128 {
            // What is refused is found in the trie.
            let _ = self.hosts.insert(prefix, leaf, 0);
        }
    }

    /// Tells readers how best to look up among so many routes.
    fn note_size(&self) {
        let (table, hosts) = (self.shared.table(), self.hosts.len());
        table.is_far.store(self.routes.len() > NEAR, Ordering::Relaxed);
        table.hosts_first.store(hosts > NEAR && hosts * HOSTS_SHARE >= self.routes.len(), Ordering::Relaxed);
    }

    /// The leaf of exactly this route.
    pub fn get(&self, prefix: u128, length: u8) -> Option<u32> {
        self.routes.get(prefix.range(length).0, length)
    }

    /// The longest route that contains the address: prefix, length, leaf.
    pub fn longest_match(&self, address: u128) -> Option<(u128, u8, u32)> {
        self.routes.longest_match(address, 128)
    }

    /// The leaf that a reader finds now; zero if there is none.
    pub fn lookup(&self, address: u128) -> u32 {
        self.shared.table().view().lookup(address)
    }

    /// All routes by prefix, shorter first: prefix, length, leaf.
    pub fn iter(&self) -> impl Iterator<Item = (u128, u8, u32)> + '_ {
        self.routes.iter()
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// How many blocks of 32 bytes nodes use, of at most [`Lpm6Config::with_blocks_max`].
    pub fn blocks_in_use(&self) -> u32 {
        self.blocks.in_use()
    }

    /// The table's memory: the pages of the root and of nodes that routes touch, the table of hosts, and the ordered set of
    /// routes. An upper bound, as where the system has no huge pages it gives small ones.
    pub fn memory_bytes(&self) -> usize {
        self.root.memory_bytes() + self.blocks.memory_bytes() + self.hosts.memory_bytes() + self.routes.memory_bytes()
    }

    /// Gives a leaf to all addresses of a prefix that no longer route claims.
    fn paint(&self, prefix: u128, length: u8, leaf: u32) {
        let table = self.shared.table();
        if length == 0 {
            return table.default.store(leaf, Ordering::Release);
        }
        for (first, last) in self.routes.gaps(prefix, length) {
            seam("a route half painted");
            for index in first.leading(table.root_bits)..=last.leading(table.root_bits) {
                table.fill(Slot::Root(index), first, last, leaf);
            }
        }
    }
}

#[cfg(all(test, not(loom), not(miri), target_os = "linux"))]
mod tests {
    use super::*;

    /// Prefixes over all of unicast space, nodes of all sizes among them.
    fn prefix(n: u32) -> (u128, u8) {
        let network = 1 << 125 | u128::from(n / 256 * 256).wrapping_mul(0x9e37_79b9_7f4a_7c15) << 61 >> 3;
        let host = u128::from(n % 256);
        if host < 128 { ((network + host).range(128).0, 128) } else { ((network + (host << 70)).range(58).0, 58) }
    }

    /// Who has loaded a word goes on in the node that it led to, whatever comes in between meanwhile.
    #[test]
    fn a_reader_between_two_loads_gets_no_leaf_that_was_never_its_own() {
        let here = 0x2001_0db8 << 96;
        let (inside, outside) = (here | 1 << 64, here | 0xff << 80 | 1 << 64);
        let (domain, table) = (Domain::new(), |writer: &Lpm6Writer| Arc::clone(&writer.shared));
        let mut reader = domain.register();
        let mut writer = Lpm6Writer::new(&domain, Lpm6Config::large()).expect("a table");
        writer.insert(inside, 64, 1).expect("room");
        let (lpm, shared) = (writer.reader(), table(&writer));
        let view = lpm.view(reader.guard());
        let word = view.root_word(outside);
        // A node comes in between, and what is below falls back to another route.
        writer.insert(here, 48, 5).expect("room");
        assert_eq!(shared.table().view().follow(word, outside), 0);
        assert_eq!((view.lookup(outside), view.lookup(inside ^ 1), view.lookup(inside ^ 1 << 65)), (0, 1, 5));
        reader.quiescent();

        // Below a node that becomes wide: the first word is the root's, the next that of the narrow one.
        let mut writer = Lpm6Writer::new(&domain, Lpm6Config::large()).expect("a table");
        let at = |bits: u128, from: u8| here | bits << (128 - from - 3);
        // A narrow node behind bit 35, a deep one below its first word, and four narrow ones, which make it wide.
        let deep = at(0, 35) | 1;
        writer.insert(deep, 128, 2).expect("room");
        writer.insert(deep ^ 2, 128, 3).expect("room");
        for part in 1..4 {
            (0..2).for_each(|n| _ = writer.insert(at(part, 35) | n << 87, 41, 4).expect("room"));
        }
        let (lpm, shared) = (writer.reader(), table(&writer));
        let view = lpm.view(reader.guard());
        let beside = deep | 1 << 88;
        let (root, blocks) = (view.root_word(beside), writer.blocks_in_use());
        let narrow = view.below(root & !BLOCK, beside);
        assert_ne!(narrow & BLOCK, 0, "the deep node, below the narrow one");
        (0..2).for_each(|n| _ = writer.insert(at(4, 35) | n << 87, 41, 4).expect("room"));
        writer.insert(deep, 41, 6).expect("room");
        assert!(writer.blocks_in_use() > blocks);
        assert_eq!(shared.table().view().follow(narrow, beside), 0);
        assert_eq!((view.lookup(beside), view.lookup(deep ^ 8)), (0, 6));
    }

    #[test]
    fn many_hosts_are_found_at_once() {
        let domain = Domain::new();
        let reader = domain.register();
        let mut writer = Lpm6Writer::new(&domain, Lpm6Config::large()).expect("a table");
        let lpm = writer.reader();
        let host = |n: usize| (0x2001_0db8 << 96) | (1 + n as u128);
        // What the first word for a host says: its leaf, or nothing if that is behind nodes.
        let first = |n: usize| Some(lpm.view(reader.guard()).begin(host(n))).filter(|word| word & BLOCK == 0);
        for n in 0..NEAR {
            assert!(writer.insert(host(n), 128, 1 + n as u32).is_ok());
        }
        assert_eq!(first(5), None, "they are few");
        assert!(writer.insert(host(NEAR), 128, 7).is_ok());
        assert_eq!((first(5), first(NEAR), first(NEAR + 1)), (Some(6), Some(7), None));
        assert_eq!((writer.replace(host(5), 128, 9), first(5)), (Some(6), Some(9)));
        // Among four times as many other routes they are not worth the question.
        for n in 0..3 * NEAR + 4 {
            let is_few = first(5) == Some(9);
            assert_eq!(is_few, n <= 3 * NEAR + 3, "at {n}");
            assert!(writer.insert((n as u128) << 100, 28, 1).is_ok());
        }
        assert_eq!((first(5), writer.lookup(host(5))), (None, 9));
        assert_eq!((writer.remove(0, 28), first(5)), (Some(1), Some(9)));
        assert_eq!((writer.remove(host(NEAR), 128), first(5), writer.lookup(host(NEAR))), (Some(7), None, 0));
    }

    #[test]
    fn memory_is_given_back_when_routes_have_gone() {
        for config in [Lpm6Config::small(), Lpm6Config::large()] {
            let domain = Domain::new();
            let mut reader = domain.register();
            let mut writer = Lpm6Writer::new(&domain, config).expect("a table");
            let resident = |writer: &Lpm6Writer| {
                let table = writer.shared.table();
                table.root.resident() + table.blocks.resident()
            };
            let tables = |writer: &Lpm6Writer| writer.root.memory_bytes() + writer.blocks.memory_bytes();
            let page = writer.shared.table().root.page_bytes();
            assert!(writer.insert(0, 0, 9).is_ok());
            let nothing = tables(&writer);
            assert!(nothing <= 2 * page, "{nothing}");
            const ROUTES: u32 = 100_000;
            (0..ROUTES).for_each(|n| assert_eq!(writer.insert(prefix(n).0, prefix(n).1, 1 + n).ok(), Some(None)));
            let full = resident(&writer);
            assert!(full > 20 * ROUTES as usize, "{full}");
            assert!(tables(&writer) >= full, "{} are reported of {full}", tables(&writer));
            // A worker that reads meanwhile holds the blocks back, and then no longer.
            let lpm = writer.reader();
            let view = lpm.view(reader.guard());
            (0..ROUTES).for_each(|n| assert!(writer.remove(prefix(n).0, prefix(n).1).is_some()));
            assert_eq!(writer.blocks_in_use(), 0);
            assert!(resident(&writer) > full / 2);
            assert_eq!(view.lookup(prefix(7).0), 9, "the default route");
            reader.quiescent();
            domain.reclaim();
            // What stays: the page of block 0, and of root and blocks the last ones that became empty.
            assert!(resident(&writer) <= 3 * page, "{} of {full}", resident(&writer));
            assert!(tables(&writer) <= 3 * page, "{}", tables(&writer));
            assert!(writer.insert(prefix(7).0, 128, 5).is_ok());
            assert_eq!((writer.lookup(prefix(7).0), writer.lookup(prefix(8).0)), (5, 9));
        }
    }
}
