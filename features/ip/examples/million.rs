//! A million routes through the FIB: how long it takes, and what it takes.

use std::time::Instant;

use quiver_engine::Domain;
use quiver_interface::InterfaceId;
use quiver_ip::adjacency::Link;
use quiver_ip::fib::{Fib, FibError, Path, Size, Source, TableId, Target};
use quiver_wire::{Prefix, V4};

const ROUTES: u32 = 1_000_000;

fn main() -> Result<(), FibError> {
    for counted in [false, true] {
        let mut fib = Fib::<V4>::new(&Domain::new(), 1);
        fib.add_table(TableId(1), Size::Large, counted)?;
        fib.set_link(InterfaceId(1), Some(Link { up: true, mtu: 1500, ..Link::default() }));
        let next_hop = |i: u32| Path::to(Target::NextHop(InterfaceId(1), (0x0a00_0001 + i % 8).into()));
        // Spread over the space, with the lengths that are most common among real routes.
        let prefix = |i: u32| {
            let address = i.wrapping_mul(0x9e37_79b1);
            Prefix::<V4>::new(address.into(), [24, 24, 24, 22, 23, 20, 16, 32][i as usize % 8]).ok()
        };
        let start = Instant::now();
        for (i, prefix) in (0..ROUTES).filter_map(|i| Some((i, prefix(i)?))) {
            fib.insert(TableId(1), prefix, Source::Static, vec![next_hop(i)])?;
        }
        let took = start.elapsed();
        if let Some(table) = fib.table(TableId(1)) {
            let (lookup, control) = table.memory_bytes();
            println!(
                "counters {counted}: {} routes in {:.2} s, {} groups; lookup at most {} MB, notes on routes {} MB",
                table.len(),
                took.as_secs_f64(),
                fib.groups.len(),
                lookup >> 20,
                control >> 20
            );
        }
        let start = Instant::now();
        for prefix in (0..ROUTES).filter_map(prefix) {
            fib.remove(TableId(1), prefix, Source::Static);
        }
        println!("  removed in {:.2} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
