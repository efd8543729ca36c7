//! The FIB: next hops are lost and found, loops heal, nothing is left behind.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::rows::{Paths, fib, group, row_of, up};
use quiver_engine::Domain;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Fib, Forwarding, Path, Reader, Size, Source, TableId, Target, View};
use quiver_wire::{Prefix, V4, V6};

fn prefix(text: &str) -> Prefix<V4> {
    text.parse().expect("a prefix")
}
fn address(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}
fn via(text: &str) -> Paths {
    vec![Path::to(Target::Recursive(TableId::DEFAULT, address(text)))]
}
fn link<F: Forwarding>(interface: u32) -> Paths<F> {
    vec![Path::to(Target::Link(InterfaceId(interface)))]
}

/// Where packets for an address go, by bucket.
fn row<F: Forwarding>(fib: &Fib<F>, table: TableId, to: F::Address) -> Vec<String> {
    group(fib, table, to).map_or_else(|| vec!["no-route".into(); 16], |group| row_of(fib, group))
}
/// The same, each end once.
fn ends<F: Forwarding>(fib: &Fib<F>, table: TableId, to: F::Address) -> BTreeSet<String> {
    row(fib, table, to).into_iter().collect()
}

#[test]
fn losing_a_next_hop_under_many_routes_writes_one_row() {
    let mut fib = fib();
    let table = TableId::DEFAULT;
    fib.insert(table, prefix("192.0.2.0/24"), Source::Interface, link(1)).expect("fits");
    fib.insert(table, prefix("198.51.100.0/24"), Source::Interface, link(2)).expect("fits");
    fib.insert(table, prefix("203.0.113.7/32"), Source::Static, via("192.0.2.1")).expect("fits");
    fib.insert(table, prefix("203.0.113.0/24"), Source::Static, via("198.51.100.1")).expect("fits");
    let routes: Vec<Prefix<V4>> =
        (0..100_000u32).map(|i| Prefix::new((0x0a00_0000 + (i << 4)).into(), 28).expect("28 is a length")).collect();
    for route in &routes {
        fib.insert(table, *route, Source::Static, via("203.0.113.7")).expect("fits");
    }
    let groups = fib.groups.len();
    assert_eq!(groups, 5, "the routes share a group");
    assert!(routes.iter().all(|route| ends(&fib, table, route.address()) == ["1 192.0.2.1".to_string()].into()));

    let before = (fib.groups.publications(), fib.leaf_stores());
    assert!(fib.remove(table, prefix("203.0.113.7/32"), Source::Static));
    let after = (fib.groups.publications(), fib.leaf_stores());
    assert_eq!((after.0 - before.0, after.1 - before.1), (1, 1), "one row, and the leaf of the route that went");
    assert!(routes.iter().all(|route| ends(&fib, table, route.address()) == ["2 198.51.100.1".to_string()].into()));

    fib.set_link(InterfaceId(2), Some(Link { up: false, ..up() }));
    let down = (fib.groups.publications() - after.0, fib.leaf_stores() - after.1);
    assert_eq!(down, (3, 0), "the link's group, the one through it, and the routes' one");
    assert_eq!(ends(&fib, table, routes[7].address()), ["unresolved".to_string()].into());
}

#[test]
fn loops_of_any_length_are_unresolved_and_heal() {
    let mut fib = fib();
    let table = TableId::DEFAULT;
    fib.insert(table, prefix("10.0.1.0/24"), Source::Static, via("10.0.2.1")).expect("fits");
    fib.insert(table, prefix("10.0.2.0/24"), Source::Static, via("10.0.3.1")).expect("fits");
    fib.insert(table, prefix("10.0.3.0/24"), Source::Static, via("10.0.1.1")).expect("fits");
    fib.insert(table, prefix("10.0.4.0/24"), Source::Static, via("10.0.4.1")).expect("fits");
    for to in ["10.0.1.9", "10.0.2.9", "10.0.3.9", "10.0.4.9"] {
        assert_eq!(ends(&fib, table, address(to)), ["unresolved".to_string()].into(), "{to}");
    }
    fib.insert(table, prefix("10.0.3.0/24"), Source::Interface, link(3)).expect("fits");
    for to in ["10.0.1.9", "10.0.2.9"] {
        assert_eq!(ends(&fib, table, address(to)), ["3 10.0.3.1".to_string()].into(), "{to}");
    }
    assert!(fib.remove(table, prefix("10.0.3.0/24"), Source::Interface));
    assert_eq!(ends(&fib, table, address("10.0.1.9")), ["unresolved".to_string()].into());
}

#[test]
fn removal_succeeds_in_a_table_that_is_full() {
    for counted in [false, true] {
        let (mut fib, table) = (fib(), TableId(1));
        fib.add_table(table, Size::Small, counted).expect("new");
        fib.insert(table, prefix("192.0.2.1/32"), Source::Static, link(1)).expect("fits");
        fib.insert(table, prefix("192.0.2.1/32"), Source::Interface, link(2)).expect("fits");
        // Each /25 in a /24 of its own takes one of the table's blocks.
        let fills = (0..1 << 17).map(|i: u32| Prefix::new(((10 << 24) + (i << 8)).into(), 25).expect("25 is a length"));
        let error = fills.map(|route| fib.insert(table, route, Source::Static, link(3))).find_map(Result::err);
        assert!(error.expect("it is limited").to_string().contains("in use"));
        let before = fib.table(table).expect("there").len();
        assert!(fib.insert(table, prefix("192.0.3.1/32"), Source::Static, link(1)).is_err());
        assert_eq!(fib.table(table).expect("there").len(), before, "what was refused left nothing behind");

        assert!(fib.remove(table, prefix("192.0.2.1/32"), Source::Interface));
        assert_eq!(ends(&fib, table, address("192.0.2.1")), ["1 192.0.2.1".to_string()].into());
        assert!(fib.remove(table, prefix("192.0.2.1/32"), Source::Static));
        assert!(!fib.remove(table, prefix("192.0.2.1/32"), Source::Static), "it is gone");
        assert!(!fib.remove(TableId(2), prefix("192.0.2.1/32"), Source::Static), "there is no such table");
        assert_eq!(ends(&fib, table, address("192.0.2.1")), ["no-route".to_string()].into());
    }
}

#[test]
fn who_takes_a_path_from_a_route_keeps_the_others_flows_in_place() {
    let (mut fib, table, to) = (fib(), TableId::DEFAULT, address("20.0.0.1"));
    let path = |n: u8| Path::to(Target::NextHop(InterfaceId(1), Ipv4Addr::new(192, 0, 2, n)));
    let mut set = |paths: &[u8]| {
        let paths: Paths = paths.iter().map(|n| path(*n)).collect();
        fib.insert(table, prefix("20.0.0.0/8"), Source::Static, paths).expect("fits");
        let (_, group) = fib.table(table).expect("there").find(to).expect("a route");
        let ways = fib.groups.get(group).expect("there").ways().count();
        (row(&fib, table, to), ways)
    };
    let whole = set(&[1, 2, 3, 4]);
    for lost in 1..=4u8 {
        let rest: Vec<u8> = (1..=4).filter(|n| *n != lost).collect();
        let (now, ways) = set(&rest);
        assert_eq!(ways, 3);
        for (bucket, (was, is)) in whole.0.iter().zip(&now).enumerate() {
            assert_eq!(was == is, *was != format!("1 192.0.2.{lost}"), "without {lost}, bucket {bucket}: {was}, {is}");
        }
        // A second one goes, and both come back: as it was.
        let twice: Vec<u8> = rest[1..].to_vec();
        let (later, _) = set(&twice);
        assert!(now.iter().zip(&later).all(|(was, is)| was == is || *was == format!("1 192.0.2.{}", rest[0])));
        assert_eq!(set(&[1, 2, 3, 4]), whole);
    }
    // The last one has all buckets, and what it was once among is forgotten.
    assert_eq!(set(&[2]), (vec!["1 192.0.2.2".to_string(); 16], 1));
    assert_eq!(set(&[2, 9]).0.iter().filter(|end| *end == "1 192.0.2.9").count(), 8);
    // Nothing is left of a path that a route does not have any more.
    assert_eq!(fib.adjacencies.iter().count(), 2);
}

#[test]
fn nothing_is_left_behind() {
    let mut fib = fib();
    fib.add_table(TableId(9), Size::Small, true).expect("new");
    for (table, at, paths) in
        [(0, "10.0.0.0/8", via("10.9.9.9")), (9, "10.9.0.0/16", link(2)), (9, "0.0.0.0/0", via("1.1.1.1"))]
    {
        fib.insert(TableId(table), prefix(at), Source::Static, paths).expect("fits");
    }
    let table = fib.take_table(TableId(9)).expect("there");
    fib.discard(table);
    assert!(fib.remove(TableId(0), prefix("10.0.0.0/8"), Source::Static));
    assert_eq!((fib.groups.len(), fib.adjacencies.iter().count()), (0, 0));
    assert!(fib.insert(TableId(9), prefix("10.0.0.0/8"), Source::Static, link(1)).is_err());
    assert!(fib.insert(TableId(0), prefix("10.0.0.0/8"), Source::Static, vec![]).is_err());
    let many = vec![link(1)[0]; 17];
    let error = fib.insert(TableId(0), prefix("10.0.0.0/8"), Source::Static, many).expect_err("too many");
    assert_eq!(error.to_string(), "the route 10.0.0.0/8 has 17 paths; a route has at most 16");
}

#[test]
fn short_prefixes_take_little_memory_where_changes_are_rehearsed() {
    let domain = Domain::new();
    let mut fib = Fib::<V4>::new(&domain, 1);
    for (number, size, at_most) in [(1, Size::Large, 16 << 20), (2, Size::Rehearsed, 64 << 10)] {
        let table = TableId(number);
        fib.add_table(table, size, false).expect("new");
        for short in ["224.0.0.0/4", "240.0.0.0/4"] {
            fib.insert(table, prefix(short), Source::Special, link(1)).expect("fits");
        }
        let (lookup, _) = fib.table(table).expect("there").memory_bytes();
        assert!((at_most / 4..=at_most).contains(&lookup), "{size:?}: {lookup}");
    }
}

/// A change is visible with the call that makes it: to views that workers took before, without any publication between.
fn a_view_from_before_shows_a_change<F: Forwarding>(routes: [&str; 4]) {
    let domain = Domain::new();
    let reader = domain.register();
    let routes = routes.map(|route| route.parse::<Prefix<F>>().expect("a prefix"));
    let to = F::bits(routes[3].address());
    for (size, counted) in [(Size::Small, false), (Size::Large, false), (Size::Large, true), (Size::Rehearsed, false)] {
        let mut fib = Fib::<F>::new(&domain, 1);
        fib.add_table(TableId(1), size, counted).expect("new");
        let lpm = fib.table(TableId(1)).expect("there").reader();
        let leaf = || lpm.view(reader.guard()).lookup(to);
        for route in routes {
            let before = leaf();
            fib.insert(TableId(1), route, Source::Static, link(1)).expect("fits");
            let after = leaf();
            // Routes that are not counted share a group, the first one's.
            assert!(after != 0 && (after != before || (!counted && before != 0)), "{route}: {before} {after}");
        }
        for route in routes.into_iter().rev() {
            assert!(fib.remove(TableId(1), route, Source::Static));
        }
        assert_eq!(leaf(), 0);
    }
}

#[test]
fn a_view_from_before_shows_a_change_at_once() {
    a_view_from_before_shows_a_change::<V4>(["10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32"]);
    a_view_from_before_shows_a_change::<V6>(["::/0", "2001:db8::/33", "2001:db8:1::/64", "2001:db8:1::3/128"]);
}

#[test]
fn tables_take_memory_for_their_routes_and_give_it_back() {
    let domain = Domain::new();
    let mut fib = Fib::<V4>::new(&domain, 1);
    // A thousand tables of customers, with a link, two neighbours, a default route and some nets.
    let few = ["192.0.2.0/24", "192.0.2.1/32", "192.0.2.2/32", "0.0.0.0/0", "10.0.0.0/8", "172.16.0.0/12"];
    for table in (1..=1000).map(TableId) {
        fib.add_table(table, Size::Small, false).expect("new");
        few.iter().for_each(|route| fib.insert(table, prefix(route), Source::Static, link(1)).expect("fits"));
        let (lookup, notes) = fib.table(table).expect("there").memory_bytes();
        assert!(lookup + notes < 24 << 10, "{lookup} and {notes}");
    }
    for size in [Size::Small, Size::Large, Size::Rehearsed] {
        let table = TableId(2000 + size as u32);
        fib.add_table(table, size, false).expect("new");
        let bytes = |fib: &Fib<V4>| {
            let (lookup, notes) = fib.table(table).expect("there").memory_bytes();
            lookup + notes
        };
        let route = |i: u32| Prefix::new(i.wrapping_mul(0x9e37_79b1).into(), 26 + (i % 7) as u8).expect("valid");
        let empty = bytes(&fib);
        (0..20_000).for_each(|i| fib.insert(table, route(i), Source::Static, link(1)).expect("fits"));
        let full = bytes(&fib);
        assert!(full > 20 << 20, "{full}");
        (0..20_000).for_each(|i| _ = fib.remove(table, route(i), Source::Static));
        domain.reclaim();
        // One page of the root and one of blocks stay, for the next route.
        let page = if size == Size::Large { 2 << 20 } else { 4 << 10 };
        assert_eq!(fib.table(table).expect("there").len(), 0);
        assert!(bytes(&fib) <= empty + 2 * page, "{} after {full}", bytes(&fib));
    }
}
