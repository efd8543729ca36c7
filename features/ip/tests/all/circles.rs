//! Ways that lead from family to family, against naive ones: random routes of IPv4 and IPv6 come and go, by each other's next hops,
//! and no path is one that leads back to where it began.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use quiver_ip::fib::hop::{self, Continuation};
use quiver_ip::fib::{TableId, Target};
use quiver_ip::{Family, Ip};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_wire::{V4, V6};

/// Routes of a family that there may be.
const ROUTES: usize = 5;

/// A path: by a neighbour, by a next hop that a route of the same family covers, or by one that a route of the other does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Neighbor,
    Own(usize),
    Other(usize),
}

/// A set of paths of a family: 0 is IPv4, 1 is IPv6.
type Node = (usize, BTreeSet<By>);

#[derive(Default)]
struct Naive {
    routes: [BTreeMap<usize, BTreeSet<By>>; 2],
}

impl Naive {
    fn route(&self, family: usize, number: usize) -> Option<Node> {
        Some((family, self.routes[family].get(&number)?.clone()))
    }
    /// Where a path leads, within its family or to the other.
    fn next(&self, family: usize, by: By) -> Option<Node> {
        match by {
            By::Neighbor => None,
            By::Own(number) => self.route(family, number),
            By::Other(number) => Some((1 - family, BTreeSet::from([By::Own(number)]))),
        }
    }
    /// Whether paths lead to others, after a step at least; over both families, or within one.
    fn reaches(&self, from: &Node, to: &Node, over_both: bool) -> bool {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from.clone()]);
        while let Some((family, paths)) = ahead.pop() {
            for by in paths {
                let Some(next) = self.next(family, by).filter(|(to, _)| over_both || *to == family) else { continue };
                if next == *to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    ahead.push(next);
                }
            }
        }
        false
    }
    /// Ends that the paths of a node resolve to, each once; none if they are unresolved.
    fn ends(&self, node: &Node) -> BTreeSet<String> {
        let mut ends = BTreeSet::new();
        for by in &node.1 {
            let Some(next) = self.next(node.0, *by) else {
                ends.extend((*by == By::Neighbor).then(|| "neighbour".to_owned()));
                continue;
            };
            match by {
                By::Other(number) => {
                    let leads = !self.reaches(&next, &next, true) && !self.ends(&next).is_empty();
                    ends.extend(leads.then(|| format!("way {}", via(next.0, *number))));
                }
                _ if next == *node || self.reaches(&next, node, false) => {}
                _ => ends.extend(self.ends(&next)),
            }
        }
        ends
    }
}

fn prefix(family: usize, number: usize) -> String {
    if family == 0 { format!("20.{number}.0.0/16") } else { format!("2001:db8:2{number}::/48") }
}
fn via(family: usize, number: usize) -> String {
    if family == 0 { format!("20.{number}.0.1") } else { format!("2001:db8:2{number}::1") }
}

/// Ends that a route resolves to in the daemon, each once.
fn found<F: Family>(daemon: &Daemon, to: &str) -> BTreeSet<String> {
    let to: F::Address = to.parse().unwrap_or_else(|_| panic!("{to} is an address"));
    let ip = daemon.control().room::<Ip<F>>();
    let (_, group) = ip.fib.table(TableId::DEFAULT).expect("there").find(to).expect("a route");
    let name = |hop: u32| match Continuation::of(hop) {
        Some(Continuation::Crossing(number)) => {
            let mut paths = ip.fib.groups.iter().flat_map(|(_, group)| group.ways());
            let via = paths.find_map(|path| match path.target {
                Target::Crossing(other, way) if other == number => Some(way.via),
                _ => None,
            });
            Some(format!("way {}", via.expect("a path has the number")))
        }
        _ if hop >= hop::FIRST_ADJACENCY => Some("neighbour".to_owned()),
        _ => {
            assert_eq!(hop, hop::UNRESOLVED);
            None
        }
    };
    ip.fib.groups.get(group).expect("there").hops.iter().filter_map(|hop| name(*hop)).collect()
}

#[test]
fn no_path_leads_back_to_where_it_began() {
    let (mut circles, mut healed, mut crossed) = (0, 0, 0);
    for seed in 0..4 {
        let (mut r, mut naive) = (Rng::with_seed(seed), Naive::default());
        let mut daemon = Daemon::new(ROOMS, Setup { seed, ..Setup::default() }).expect("the rooms fit");
        daemon.configure(
            "create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
             set interface state pg0 up
             set interface ip address pg0 10.0.0.1/24
             set interface ip address pg0 2001:db8::1/64",
        );
        let mut before = 0;
        for step in 0..300 {
            let (family, number) = (r.usize(..2), r.usize(..ROUTES));
            let at = prefix(family, number);
            if naive.routes[family].remove(&number).is_some() {
                daemon.run(&format!("ip route del {at}")).unwrap_or_else(|error| panic!("{at}: {error}"));
            }
            if r.u8(..4) > 0 {
                let by = |r: &mut Rng| match r.u8(..8) {
                    0 => By::Neighbor,
                    1..4 => By::Own(r.usize(..ROUTES)),
                    _ => By::Other(r.usize(..ROUTES)),
                };
                let paths: BTreeSet<By> = (0..r.u8(1..3)).map(|_| by(&mut r)).collect();
                let words = paths.iter().map(|by| match by {
                    By::Neighbor if family == 0 => " via 10.0.0.2 pg0".to_owned(),
                    By::Neighbor => " via 2001:db8::2 pg0".to_owned(),
                    By::Own(number) => format!(" via {}", via(family, *number)),
                    By::Other(number) => format!(" via {}", via(1 - family, *number)),
                });
                let line = format!("ip route add {at}{}", words.collect::<String>());
                daemon.run(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
                naive.routes[family].insert(number, paths);
            }
            daemon.settle().expect("ways settle");
            let mut now = 0;
            for family in [0, 1] {
                for (number, paths) in &naive.routes[family] {
                    let expected = naive.ends(&(family, paths.clone()));
                    let to = via(family, *number);
                    let found = if family == 0 { found::<V4>(&daemon, &to) } else { found::<V6>(&daemon, &to) };
                    assert_eq!(found, expected, "seed {seed}, step {step}: {to} of {:?}", naive.routes);
                    crossed += found.iter().filter(|end| end.starts_with("way")).count();
                    let next = |by: &By| naive.next(family, *by).filter(|_| matches!(by, By::Other(_)));
                    now += paths.iter().filter_map(next).filter(|next| naive.reaches(next, next, true)).count();
                }
            }
            circles += usize::from(now > before);
            healed += usize::from(now < before);
            before = now;
        }
        daemon.finish().expect("nothing leaks");
    }
    assert!(circles > 50 && healed > 50 && crossed > 500, "{circles} circles, {healed} healed, {crossed} ways");
}
