//! A next hop is lost under all routes of both families: how long until none of their packets goes there.

use quiver_engine::Domain;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Fib, Forwarding, Path, Size, Source, TableId, Target};
use quiver_wire::{Prefix, V4, V6};

use super::{Row, median};
use crate::graph::cpu;
use crate::shape;

const TABLE: TableId = TableId::DEFAULT;
const RUNS: usize = 9;
const ROUTES4: u32 = 1_000_000;
const ROUTES6: u32 = 200_000;
/// Routes that are looked at, every so many of them.
const EVERY: u32 = 37;
const LOST: InterfaceId = InterfaceId(1);
const OTHER: InterfaceId = InterfaceId(2);

fn link_that_is(up: bool) -> Link {
    Link { up, mtu: 1500, ..Link::default() }
}
fn prefix4((bits, length): (u32, u8)) -> Result<Prefix<V4>, String> {
    Prefix::new(bits.into(), length).map_err(|error| error.to_string())
}
fn prefix6((bits, length): (u128, u8)) -> Result<Prefix<V6>, String> {
    Prefix::new(bits.into(), length).map_err(|error| error.to_string())
}

/// How routes name their two next hops.
#[derive(Clone, Copy)]
enum Via {
    /// Next hops that are neighbors on a link each.
    Neighbours,
    /// Next hops further away, each with a route of its own, as BGP has them.
    Addresses,
}

/// A FIB with routes by two next hops, of which each is by a link of its own.
struct Routed<F: Forwarding> {
    fib: Fib<F>,
    routes: Vec<Prefix<F>>,
}

impl<F: Forwarding> Routed<F> {
    fn new(
        domain: &Domain,
        routes: Vec<Prefix<F>>,
        hops: [F::Address; 2],
        far: [Prefix<F>; 2],
        via: Via,
    ) -> Result<Self, String> {
        let mut fib = Fib::new(domain, 1);
        let paths: [Path<F>; 2] = std::array::from_fn(|n| Path::to(Target::NextHop([LOST, OTHER][n], hops[n])));
        [LOST, OTHER].into_iter().for_each(|link| fib.set_link(link, Some(link_that_is(true))));
        fib.add_table(TABLE, Size::Large, false).map_err(|error| error.to_string())?;
        let mut insert =
            |route, paths| fib.insert(TABLE, route, Source::Static, paths).map_err(|error| error.to_string());
        let paths = match via {
            Via::Neighbours => paths.to_vec(),
            Via::Addresses => {
                for (route, path) in far.into_iter().zip(paths) {
                    insert(route, vec![path])?;
                }
                far.map(|route| Path::to(Target::Recursive(TABLE, route.address()))).to_vec()
            }
        };
        routes.iter().try_for_each(|route| insert(*route, paths.clone()))?;
        Ok(Routed { fib, routes })
    }
    fn set(&mut self, up: bool) {
        self.fib.set_link(LOST, Some(link_that_is(up)));
    }
    /// An error unless the routes go by both links, or by the other one alone.
    fn check(&self, both: bool) -> Result<(), String> {
        let table = self.fib.table(TABLE).ok_or("the table is gone")?;
        for route in self.routes.iter().step_by(EVERY as usize) {
            let (_, group) = table.find(route.address()).ok_or_else(|| format!("{route} is gone"))?;
            let hops = &self.fib.groups.get(group).ok_or("a leaf leads nowhere")?.hops;
            let by = |link| {
                hops.iter().filter(|hop| self.fib.adjacencies.get(**hop).is_some_and(|to| to.interface == link)).count()
            };
            let expected = if both { [8, 8] } else { [0, 16] };
            if [by(LOST), by(OTHER)] != expected {
                return Err(format!(
                    "{route} has {} buckets by the lost next hop, {} by the other",
                    by(LOST),
                    by(OTHER)
                ));
            }
        }
        Ok(())
    }
}

/// Losing one of two next hops of a million IPv4 and 200,000 IPv6 routes, and getting it back:
/// when it is done, the next packet of any route goes by the other one.
pub fn converge() -> Result<Vec<Row>, String> {
    let mut rows = vec![];
    for (via, name) in [(Via::Neighbours, "neighbours"), (Via::Addresses, "addresses with routes of their own")] {
        let domain = Domain::new();
        let routes4 = (0..ROUTES4).map(|n| prefix4(shape::bgp(n))).collect::<Result<_, _>>()?;
        let routes6 = (0..ROUTES6).map(|n| prefix6(shape::bgp6(n))).collect::<Result<_, _>>()?;
        let far4 = [prefix4((0x0a00_0102, 32))?, prefix4((0x0a00_0202, 32))?];
        let far6 = [prefix6((0xfd01 << 112 | 2, 128))?, prefix6((0xfd02 << 112 | 2, 128))?];
        let mut ip4 = Routed::new(&domain, routes4, far4.map(|far| far.address()), far4, via)?;
        let mut ip6 = Routed::new(&domain, routes6, far6.map(|far| far.address()), far6, via)?;
        let mut times = [vec![], vec![]];
        for _ in 0..RUNS {
            for (up, times) in [false, true].into_iter().zip(&mut times) {
                let start = cpu();
                ip4.set(up);
                ip6.set(up);
                times.push((cpu() - start) as f64 / 1e6);
                ip4.check(up)?;
                ip6.check(up)?;
            }
        }
        let to = format!("1.2 million routes by two next hops, {name}");
        let worst = times[0].iter().copied().fold(0.0, f64::max);
        let [lost, back] = times.map(median);
        rows.extend([
            Row { what: "lose one of two next hops", to: to.clone(), value: lost, unit: "ms" },
            Row { what: "lose one of two next hops, longest", to: to.clone(), value: worst, unit: "ms" },
            Row { what: "get it back", to, value: back, unit: "ms" },
        ]);
    }
    Ok(rows)
}
