//! The FIB against a naive one: random routes of several tables come and go, and lead through each other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::rows::{Paths, fib, group, row_of, text, up};
use proptest::prelude::*;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Forwarding, Path, Size, Source, Special, TableId, Target};
use quiver_wire::{Prefix, V4, V6};

/// The FIB as one would write it without thinking of speed: everything is found again after each change.
struct Naive<F: Forwarding> {
    routes: BTreeMap<(TableId, u8, F::Address, Source), Paths<F>>,
    down: BTreeSet<u32>,
    /// The rows of all paths that were asked for since the last change.
    known: RefCell<BTreeMap<Paths<F>, Rc<Vec<String>>>>,
}
impl<F: Forwarding> Naive<F> {
    fn find(&self, table: TableId, to: F::Address) -> Option<&Paths<F>> {
        let covers = |(of, length, at, _): &(TableId, u8, F::Address, Source)| {
            *of == table && Prefix::<F>::new(*at, *length).expect("valid").contains(to)
        };
        let covering: Vec<_> = self.routes.iter().filter(|(key, _)| covers(key)).collect();
        let longest = covering.iter().map(|(key, _)| key.1).max()?;
        covering.into_iter().find(|(key, _)| key.1 == longest).map(|(_, paths)| paths)
    }
    fn next(&self, paths: &Paths<F>) -> Vec<&Paths<F>> {
        let cover = |path: &Path<F>| match path.target {
            Target::Recursive(table, to) => self.find(table, to),
            _ => None,
        };
        paths.iter().filter(|path| !path.gone).filter_map(cover).collect()
    }
    fn reaches(&self, from: &Paths<F>, to: &Paths<F>) -> bool {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(at) = ahead.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                ahead.extend(self.next(at));
            }
        }
        false
    }
    /// The sixteen buckets of a route.
    fn row(&self, paths: &Paths<F>) -> Rc<Vec<String>> {
        if let Some(row) = self.known.borrow().get(paths) {
            return row.clone();
        }
        let row = Rc::new(self.found(paths));
        self.known.borrow_mut().insert(paths.clone(), row.clone());
        row
    }
    fn found(&self, paths: &Paths<F>) -> Vec<String> {
        let mut shares = vec![];
        for path in paths {
            match path.target {
                _ if path.gone => shares.push(None),
                Target::Special(special) => shares.push(Some(vec![special.to_string(); 16])),
                Target::Link(on) | Target::NextHop(on, _) if self.down.contains(&on.0) => shares.push(None),
                Target::Link(on) => shares.push(Some(vec![text::<F>(on, None); 16])),
                Target::NextHop(on, to) => shares.push(Some(vec![text::<F>(on, Some(to)); 16])),
                Target::Lookup(_)
                | Target::SourceLookup(_)
                | Target::Received(_)
                | Target::Kind(..)
                | Target::Crossing(..) => {
                    unreachable!("none is made")
                }
                Target::Recursive(table, to) => {
                    let Some(cover) = self.find(table, to).filter(|cover| !self.reaches(cover, paths)) else {
                        shares.push(None);
                        continue;
                    };
                    let through = self.row(cover);
                    let nowhere = |end: &String| ["unresolved", "local", "broadcast"].contains(&end.as_str());
                    let leads = !through.iter().all(nowhere);
                    shares
                        .push(leads.then(|| through.iter().map(|end| end.replace("glean", &to.to_string())).collect()));
                }
            }
        }
        // Equal weights: the first ones get what the division leaves over.
        let (n, mut row) = (shares.len(), vec![]);
        let counts: Vec<usize> = (0..n).map(|i| 16 / n + usize::from(i < 16 % n)).collect();
        for (i, count) in counts.iter().enumerate() {
            for k in 0..*count {
                // What a path leaves that leads nowhere goes one by one to whoever has least, as if all others led somewhere;
                // and so on with what one of those leaves.
                let (mut at, mut left, mut has) = (i, vec![], counts.clone());
                let mut alike: Vec<usize> = (0..*count).collect();
                while shares[at].is_none() {
                    left.push(at);
                    let mut gets = BTreeMap::<usize, Vec<usize>>::new();
                    for bucket in &alike {
                        let least = (0..n).filter(|i| !left.contains(i)).min_by_key(|i| (has[*i], *i));
                        let Some(least) = least else { break };
                        has[least] += 1;
                        gets.entry(least).or_default().push(*bucket);
                    }
                    let Some((next, with)) = gets.into_iter().find(|(_, gets)| gets.contains(&k)) else { break };
                    (at, alike) = (next, with);
                }
                row.push(shares[at].as_ref().map_or("unresolved".into(), |share| share[k * 16 / count].clone()));
            }
        }
        row
    }
}

fn a_prefix<F: Forwarding>() -> impl Strategy<Value = Prefix<F>> {
    // Few bits differ, so that prefixes cover each other and next hops.
    let all = F::ADDRESS_BITS;
    (0u32..64, prop::sample::select(vec![0u8, 8, 16, 24, all - 4, all - 2, all]))
        .prop_map(|(bits, length)| Prefix::new(an_address_of::<F>(bits), length).expect("valid"))
}
fn an_address_of<F: Forwarding>(bits: u32) -> F::Address {
    // Two bits in each of three octets: the second, the third and the last.
    let at = |octet: u8| F::ADDRESS_BITS - 8 * octet;
    let two = |shift: u32| u128::from(bits >> shift & 3);
    F::from_bits(10 << at(1) | two(0) << at(2) | two(2) << at(3) | two(4))
}
fn a_path<F: Forwarding>() -> impl Strategy<Value = Path<F>> {
    let to = (0u32..64).prop_map(an_address_of::<F>);
    prop_oneof![
        4 => (0u32..2, to.clone()).prop_map(|(table, to)| Target::Recursive(TableId(table), to)),
        1 => (1u32..5, to).prop_map(|(on, to)| Target::NextHop(InterfaceId(on), to)),
        2 => (1u32..5).prop_map(|on| Target::Link(InterfaceId(on))),
        1 => prop::sample::select(vec![Special::Drop, Special::Unreachable, Special::Local]).prop_map(Target::Special),
    ]
    .prop_map(Path::to)
}

/// The paths of a route that had others before, with those that only went.
fn kept<F: Forwarding>(before: Option<&Paths<F>>, now: Paths<F>) -> Paths<F> {
    let known = |path: &Path<F>| before.is_some_and(|before| before.iter().any(|old| old.target == path.target));
    let mut all = now.clone();
    if now.len() > 1 && now.iter().all(known) {
        let gone = before.into_iter().flatten().filter(|old| now.iter().all(|path| path.target != old.target));
        all.extend(gone.map(|old| Path { gone: true, ..*old }));
    }
    all.sort();
    all
}

#[derive(Clone, Debug)]
enum Step<F: Forwarding> {
    Insert(TableId, Prefix<F>, Source, Paths<F>),
    /// Of the paths of a route, this one is gone, if there are others.
    Lose(TableId, Prefix<F>, Source, usize),
    Remove(TableId, Prefix<F>, Source),
    Link(u32, bool),
}
fn a_step<F: Forwarding>() -> impl Strategy<Value = Step<F>> {
    let table = (0u32..2).prop_map(TableId);
    let source = prop::sample::select(vec![Source::Interface, Source::Static, Source::Neighbor]);
    prop_oneof![
        6 => (table.clone(), a_prefix(), source.clone(), prop::collection::vec(a_path(), 1..6))
            .prop_map(|(table, prefix, source, mut paths)| {
                // What is the same path twice is a matter of weights, which the naive FIB does not know.
                paths.sort();
                paths.dedup();
                Step::Insert(table, prefix, source, paths)
            }),
        3 => (table.clone(), a_prefix(), source.clone(), 0usize..5)
            .prop_map(|(table, prefix, source, lost)| Step::Lose(table, prefix, source, lost)),
        3 => (table, a_prefix(), source).prop_map(|(table, prefix, source)| Step::Remove(table, prefix, source)),
        1 => (1u32..5, any::<bool>()).prop_map(|(interface, up)| Step::Link(interface, up)),
    ]
}

fn agrees_with_the_naive<F: Forwarding>(steps: &[Step<F>], counted: bool) -> Result<(), TestCaseError> {
    let mut fib = fib::<F>();
    fib.add_table(TableId(1), Size::Small, counted).expect("new");
    let (mut naive, mut inserted) =
        (Naive { routes: BTreeMap::new(), down: BTreeSet::new(), known: RefCell::default() }, BTreeSet::new());
    for step in steps {
        let lost = match step {
            Step::Lose(table, prefix, source, lost) => {
                let Some(paths) = naive.routes.get(&(*table, prefix.length(), prefix.address(), *source)) else {
                    continue;
                };
                let mut paths: Paths<F> = paths.iter().filter(|path| !path.gone).copied().collect();
                if paths.len() > 1 {
                    paths.remove(lost % paths.len());
                }
                Some(Step::Insert(*table, *prefix, *source, paths))
            }
            _ => None,
        };
        match lost.as_ref().unwrap_or(step) {
            Step::Insert(table, prefix, source, paths) => {
                fib.insert(*table, *prefix, *source, paths.clone()).expect("fits");
                // To one host on a link goes what goes to that host.
                let host = |path: &Path<F>| match path.target {
                    Target::Link(on) if prefix.length() == F::ADDRESS_BITS && *source != Source::Interface => {
                        Path::to(Target::NextHop(on, prefix.address()))
                    }
                    _ => *path,
                };
                let key = (*table, prefix.length(), prefix.address(), *source);
                let paths = kept(naive.routes.get(&key), paths.iter().map(host).collect());
                naive.routes.insert(key, paths);
                inserted.insert((*table, *prefix, *source));
            }
            Step::Lose(..) => unreachable!("it is an insertion by now"),
            Step::Remove(table, prefix, source) => {
                let gone = naive.routes.remove(&(*table, prefix.length(), prefix.address(), *source));
                prop_assert_eq!(fib.remove(*table, *prefix, *source), gone.is_some());
                inserted.remove(&(*table, *prefix, *source));
            }
            Step::Link(interface, is_up) => {
                fib.set_link(InterfaceId(*interface), Some(Link { up: *is_up, ..up() }));
                if *is_up {
                    naive.down.remove(interface)
                } else {
                    naive.down.insert(*interface)
                };
            }
        }
        naive.known.take();
        // The rows of those that addresses before have led to.
        let mut rows = BTreeMap::new();
        for (table, bits) in (0..2).flat_map(|table| (0..64).map(move |bits| (TableId(table), bits))) {
            let to = an_address_of::<F>(bits);
            let expected = naive.find(table, to).map(|paths| naive.row(paths));
            let row = group(&fib, table, to).map(|group| &*rows.entry(group).or_insert_with(|| row_of(&fib, group)));
            prop_assert_eq!(row, expected.as_deref(), "table {} {}", table, to);
        }
    }
    for (table, prefix, source) in inserted {
        prop_assert!(fib.remove(table, prefix, source));
    }
    prop_assert_eq!((fib.groups.len(), fib.adjacencies.iter().count()), (0, 0), "nothing is left behind");
    prop_assert_eq!(fib.table(TableId(0)).expect("there").len(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_fib(steps in prop::collection::vec(a_step::<V4>(), 1..60), counted: bool) {
        agrees_with_the_naive(&steps, counted)?;
    }

    #[test]
    fn agrees_with_the_naive_fib_of_ip6(steps in prop::collection::vec(a_step::<V6>(), 1..60), counted: bool) {
        agrees_with_the_naive(&steps, counted)?;
    }
}
