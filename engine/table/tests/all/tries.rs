//! Properties of the tables of both families: they agree with a naive oracle, keep to their limits, and serve readers
//! while they change.
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quiver_table::lpm::Table as V4;
use quiver_table::lpm6::Table as V6;
use quiver_table::{Address, Domain, Guard, Lpm, Lpm6, LpmConfig, LpmError, Trie, TrieWriter};
use std::collections::BTreeMap;
use std::fmt::{Debug, LowerHex};
use std::thread;

/// An address as a number.
pub trait Bits: Address + LowerHex + Into<u128> + TryFrom<u128, Error: Debug> + Send + Sync + 'static {}
impl Bits for u32 {}
impl Bits for u128 {}

/// A table in the hands of a worker.
pub trait Reader<A>: Send + 'static {
    /// Looks addresses up during a frame: one by one, together, and with words walked ahead.
    fn view<'g>(&self, guard: Guard<'g>) -> impl Fn([A; 8]) -> [[u32; 8]; 3] + Copy + use<'g, Self, A>;
}

impl Reader<u32> for Lpm {
    fn view<'g>(&self, guard: Guard<'g>) -> impl Fn([u32; 8]) -> [[u32; 8]; 3] + Copy + use<'g> {
        let view = self.view(guard);
        move |all| {
            let ahead = view.finish_each(all.map(|address| view.begin(address)), &all);
            [all.map(|address| view.lookup(address)), view.lookup_each(&all), ahead]
        }
    }
}

impl Reader<u128> for Lpm6 {
    fn view<'g>(&self, guard: Guard<'g>) -> impl Fn([u128; 8]) -> [[u32; 8]; 3] + Copy + use<'g> {
        let view = self.view(guard);
        move |all| {
            // Each is walked another number of steps.
            let steps =
                |lane: usize| (0..lane % 5).fold(view.begin(all[lane]), |word, _| view.descend(word, all[lane]));
            let ahead = view.finish_each(std::array::from_fn(steps), &all);
            [all.map(|address| view.lookup(address)), view.lookup_each(&all), ahead]
        }
    }
}

/// A family's table.
pub trait Family: Trie<Address: Bits, Reader: Reader<<Self as Trie>::Address>> {}
impl<T: Trie<Address: Bits, Reader: Reader<<T as Trie>::Address>>> Family for T {}

/// The last bits of a number, as many as an address has.
fn narrow<A: Bits>(number: u128) -> A {
    A::try_from(number & u128::MAX >> (128 - A::BITS)).expect("an address")
}

/// The bits behind a prefix.
fn host_bits<A: Bits>(length: u8) -> u128 {
    !u128::MAX.checked_shl((A::BITS - length).into()).unwrap_or(0)
}

/// The prefix of this length around an address.
pub fn network<A: Bits>(address: A, length: u8) -> A {
    narrow(address.into() & !host_bits::<A>(length))
}

/// Routes by length and prefix; a lookup scans them all.
#[derive(Default)]
pub struct Oracle<A>(pub BTreeMap<(u8, A), u32>);

impl<A: Bits> Oracle<A> {
    pub fn lookup(&self, address: A) -> u32 {
        let mut covering = self.0.iter().filter(|&(&(length, prefix), _)| network(address, length) == prefix);
        covering.next_back().map_or(0, |(_, &leaf)| leaf)
    }

    /// A route near a prefix. Most are there.
    fn near(&self, prefix: A, length: u8) -> (u8, A) {
        let route = (length, network(prefix, length));
        let next = self.0.range(route..).next().map(|(route, _)| *route);
        next.filter(|_| prefix.into() & 7 != 0).unwrap_or(route)
    }

    /// Changes a table, too, and returns the route.
    pub fn change<T: Trie<Address = A>>(
        &mut self,
        table: &mut TrieWriter<T>,
        change: &Change<A>,
    ) -> Result<(u8, A), TestCaseError> {
        let route = match *change {
            Change::Insert(prefix, length, leaf) => {
                let route = (length, network(prefix, length));
                prop_assert_eq!(table.insert(prefix, length, leaf).unwrap(), self.0.insert(route, leaf));
                route
            }
            Change::Replace(prefix, length, leaf) => {
                let route = self.near(prefix, length);
                // A leaf of zero is none.
                let old = self.0.get_mut(&route).filter(|_| leaf != 0).map(|old| std::mem::replace(old, leaf));
                prop_assert_eq!(table.replace(route.1, route.0, leaf), old);
                route
            }
            Change::Remove(prefix, length) => {
                let route = self.near(prefix, length);
                prop_assert_eq!(table.remove(route.1, route.0), self.0.remove(&route));
                route
            }
        };
        prop_assert_eq!(table.get(route.1, route.0), self.0.get(&route).copied());
        Ok(route)
    }

    /// Whether lookups of all kinds find what this one does.
    pub fn agrees(&self, look_up: impl Fn([A; 8]) -> [[u32; 8]; 3], addresses: [A; 8]) -> TestCaseResult {
        let expected = addresses.map(|address| self.lookup(address));
        prop_assert_eq!(look_up(addresses), [expected; 3], "{:x?}", addresses);
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub enum Change<A> {
    Insert(A, u8, u32),
    Remove(A, u8),
    Replace(A, u8, u32),
}

/// A change of a route for one of these prefixes.
pub fn change<A: Bits>(prefix: impl Strategy<Value = (A, u8)> + Clone) -> impl Strategy<Value = Change<A>> {
    prop_oneof![
        4 => (prefix.clone(), 1_u32..1000).prop_map(|((prefix, length), leaf)| Change::Insert(prefix, length, leaf)),
        2 => prefix.clone().prop_map(|(prefix, length)| Change::Remove(prefix, length)),
        1 => (prefix, 0_u32..1000).prop_map(|((prefix, length), leaf)| Change::Replace(prefix, length, leaf)),
    ]
}

/// Makes changes and compares each step with the oracle. `blocks` says how many blocks the routes need, if that is known.
pub fn agrees_with_the_oracle<T: Family>(
    config: LpmConfig,
    changes: &[Change<T::Address>],
    probes: &[T::Address; 16],
    blocks: impl Fn(&Oracle<T::Address>) -> Option<usize>,
) -> TestCaseResult {
    let domain = Domain::new();
    let reader = domain.register();
    let mut table = TrieWriter::<T>::new(&domain, config).unwrap();
    let lpm = table.reader();
    let mut oracle = Oracle(BTreeMap::new());
    for change in changes {
        let (length, prefix) = oracle.change(&mut table, change)?;
        let (first, last) = (prefix.into(), prefix.into() | host_bits::<T::Address>(length));
        let edges =
            [first.wrapping_sub(1), first, first | 1, first | 2, last & !2, last & !1, last, last.wrapping_add(1)];
        for addresses in [edges.map(narrow)].iter().chain(probes.as_chunks().0) {
            oracle.agrees(lpm.view(reader.guard()), *addresses)?;
        }
        for address in edges.map(narrow) {
            prop_assert_eq!(table.longest_match(address).map_or(0, |(_, _, leaf)| leaf), oracle.lookup(address));
        }
    }
    let mut routes: Vec<_> = oracle.0.iter().map(|(&(length, prefix), &leaf)| (prefix, length, leaf)).collect();
    for (prefix, length, _) in &routes {
        for address in [*prefix, narrow((*prefix).into() | host_bits::<T::Address>(*length))] {
            prop_assert_eq!(table.lookup(address), oracle.lookup(address), "{:x}", address);
        }
    }
    routes.sort_unstable();
    prop_assert_eq!(table.iter().collect::<Vec<_>>(), routes.clone());
    prop_assert_eq!(table.len(), routes.len());
    let in_use = table.blocks_in_use() as usize;
    prop_assert_eq!(blocks(&oracle).unwrap_or(in_use), in_use, "no block is kept without need");
    for (prefix, length, leaf) in routes {
        prop_assert_eq!(table.remove(prefix, length), Some(leaf));
    }
    prop_assert!(table.is_empty() && table.blocks_in_use() == 0);
    let ends = [0, 0, 0, 0, u128::MAX, u128::MAX, u128::MAX, u128::MAX].map(narrow);
    for addresses in [ends].iter().chain(probes.as_chunks().0) {
        prop_assert_eq!(lpm.view(reader.guard())(*addresses), [[0; 8]; 3]);
    }
    Ok(())
}

/// A table is far away with more than 1,024 routes.
fn becomes_far<T: Family>(is_far: impl Fn(&T::Reader) -> bool) {
    let mut table = TrieWriter::<T>::new(&Domain::new(), LpmConfig::small()).unwrap();
    let (lpm, host) = (table.reader(), |n: u128| narrow(0x0a00_0000 + n));
    assert!((0..1024).all(|n| table.insert(host(n), T::Address::BITS, 1).is_ok()) && !is_far(&lpm));
    assert!(table.insert(host(0), 8, 1).is_ok() && is_far(&lpm));
    assert!(table.remove(host(0), 8).is_some() && !is_far(&lpm));
}

#[test]
fn what_many_routes_need_is_far_away() {
    becomes_far::<V4>(Lpm::is_far);
    becomes_far::<V6>(Lpm6::is_far);
}

fn refuses_what_cannot_be_a_route<T: Family>(message: &str) {
    let mut table = TrieWriter::<T>::new(&Domain::new(), LpmConfig::small()).unwrap();
    let (bits, one) = (T::Address::BITS, narrow(1));
    let error = table.insert(one, bits + 1, 1).unwrap_err();
    assert!(matches!(error, LpmError::Length { .. }));
    assert_eq!(error.to_string(), message);
    assert!(matches!(table.insert(one, bits, 0), Err(LpmError::Leaf { .. })));
    assert!(matches!(table.insert(one, bits, 1 << 31), Err(LpmError::Leaf { .. })));
    assert!(table.insert(one, bits, (1 << 31) - 1).is_ok());
    assert_eq!((table.remove(one, bits + 1), table.get(one, bits + 8), table.len()), (None, None, 1));
}

#[test]
fn what_cannot_be_a_route_is_refused() {
    refuses_what_cannot_be_a_route::<V4>("route 0.0.0.1/33: the prefix length of an IPv4 route is 0 to 32");
    refuses_what_cannot_be_a_route::<V6>("route ::1/129: the prefix length of an IPv6 route is 0 to 128");
}

/// `retired` is how many objects a table leaves to the domain.
fn view_outlives_its_handles<T: Family>(retired: usize) {
    let domain = Domain::new();
    let mut reader = domain.register();
    let mut table = TrieWriter::<T>::new(&domain, LpmConfig::small()).unwrap();
    let addresses = [0, 1, 2, 3, 4, 5, 6, 7].map(|n: u128| narrow(0x0102_0300 + n));
    table.insert(addresses[4], T::Address::BITS, 5).unwrap();
    let look_up = table.reader().view(reader.guard());
    drop(table);
    domain.reclaim();
    assert_eq!(look_up(addresses), [[0, 0, 0, 0, 5, 0, 0, 0]; 3]);
    reader.quiescent();
    assert_eq!((domain.reclaim(), domain.pending()), (retired, 0));
}

#[test]
fn a_view_outlives_its_handles() {
    view_outlives_its_handles::<V4>(1);
    view_outlives_its_handles::<V6>(2);
}

fn looks_up_with_a_foreign_guard<T: Family>() {
    let table = TrieWriter::<T>::new(&Domain::new(), LpmConfig::small()).unwrap();
    let _ = table.reader().view(Domain::new().register().guard());
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused() {
    looks_up_with_a_foreign_guard::<V4>();
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused_by_ipv6() {
    looks_up_with_a_foreign_guard::<V6>();
}

/// Networks that a writer fills with routes and empties again, while two workers look up in them.
pub struct Churn<A> {
    /// Number of rounds in which a worker looks up in all networks.
    pub turns: usize,
    /// The prefix of each network, and their length. The leaf of a whole network is always its number and 1.
    pub networks: Vec<A>,
    pub length: u8,
    /// Routes inside each network, by their bits behind it and their length.
    pub routes: Vec<(u128, u8)>,
    /// Addresses looked up in each network, by the bits behind its prefix.
    pub parts: [u128; 8],
}

impl<A: Bits> Churn<A> {
    /// Blocks move between networks all the time, and between nodes of all sizes. Leaves name the network and route they belong
    /// to, so that a worker inside a block that was given out again too early reads a foreign leaf, or none.
    pub fn run<T: Trie<Address = A, Reader: Reader<A>>>(&self, config: LpmConfig) {
        let domain = Domain::new();
        let mut table = TrieWriter::<T>::new(&domain, config).unwrap();
        let address = |n: usize, part: u128| narrow::<A>(self.networks[n].into() | part);
        // Route 0 is the whole network.
        let leaf = |route: usize, n: usize| (route * 100 + n + 1) as u32;
        for (n, prefix) in self.networks.iter().enumerate() {
            table.insert(*prefix, self.length, leaf(0, n)).unwrap();
        }
        thread::scope(|scope| {
            let workers = [(); 2].map(|()| {
                let (lpm, mut reader) = (table.reader(), domain.register());
                scope.spawn(move || {
                    for turn in 0..self.turns {
                        let look_up = lpm.view(reader.guard());
                        for n in 0..self.networks.len() {
                            let leaves = look_up(self.parts.map(|part| address(n, part)));
                            for (part, leaf) in self.parts.iter().cycle().zip(leaves.as_flattened()) {
                                let (route, found) = (*leaf as usize / 100, *leaf as usize % 100);
                                assert_eq!(found, n + 1);
                                let inside = route.checked_sub(1).is_none_or(|route| {
                                    let (bits, length) = self.routes[route];
                                    network(address(n, *part), length) == network(address(n, bits), length)
                                });
                                assert!(inside, "{leaf} of {part:x}");
                            }
                        }
                        if turn.is_multiple_of(7) { reader.offline() } else { reader.quiescent() }
                    }
                })
            });
            let mut networks = (0..self.networks.len()).cycle();
            while workers.iter().any(|worker| !worker.is_finished()) {
                let n = networks.next().unwrap();
                let mut routes: Vec<_> =
                    self.routes.iter().map(|(part, length)| (address(n, *part), *length)).collect();
                for (route, (prefix, length)) in (1..).zip(&routes) {
                    // The limit on blocks makes the writer wait for workers now and then, as a client would retry.
                    while let Err(error) = table.insert(*prefix, *length, leaf(route, n)) {
                        assert!(matches!(error, LpmError::Full { .. }));
                        thread::yield_now();
                    }
                }
                // Some go in the order in which they came, some the other way round.
                if n % 2 == 1 {
                    routes.reverse();
                }
                for (prefix, length) in routes {
                    assert!(table.remove(prefix, length).is_some());
                }
            }
        });
        self.networks.iter().for_each(|prefix| assert!(table.remove(*prefix, self.length).is_some()));
        assert_eq!(table.blocks_in_use(), 0);
        domain.reclaim();
        assert_eq!(domain.pending(), 0);
    }
}
