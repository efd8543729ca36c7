//! CPU time of configuration commands, at the beginning and at the end of a long series of equal ones. Equal times show
//! that the cost of a change does not depend on the size of the configuration.

use std::path::Path;

use quiver_engine::Dataplane;
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};

use crate::command::command;
use crate::graph::cpu;
use crate::machine::Machine;
use crate::report::append_lines;

/// A row of equal changes.
struct Series {
    name: &'static str,
    count: u32,
    /// The commands of change `n`.
    commands: fn(u32) -> Vec<String>,
}

/// In this order, in one daemon.
const SERIES: [Series; 10] = [
    Series {
        name: "sub-interface with address",
        count: 4000,
        commands: |n| {
            let sub = format!("pg0.{}", n + 1);
            vec![
                format!(
                    "create sub-interfaces pg0 {} dot1ad {} inner-dot1q {} exact-match",
                    n + 1,
                    n / 2000 + 1,
                    n % 2000 + 1
                ),
                format!("set interface state {sub} up"),
                format!("set interface ip address {sub} 10.{}.{}.1/24", 100 + n / 250, n % 250),
            ]
        },
    },
    Series {
        name: "bridge member",
        count: 4000,
        commands: |n| {
            vec![
                format!(
                    "create sub-interfaces pg1 {} dot1ad {} inner-dot1q {} exact-match",
                    n + 1,
                    n / 2000 + 1,
                    n % 2000 + 1
                ),
                format!("set interface l2 bridge pg1.{} {}", n + 1, n / 100 + 1),
            ]
        },
    },
    Series { name: "neighbour", count: 100_000, commands: |n| vec![neighbour(n, 1)] },
    Series { name: "another address of a neighbour", count: 1000, commands: |n| vec![neighbour(n * 97, 2)] },
    Series {
        name: "interface comes and goes",
        count: 100,
        commands: |n| {
            let name = format!("pg{}", 100 + n);
            vec![
                format!("create packet-generator interface {name}"),
                format!("set interface state {name} up"),
                format!("delete packet-generator interface {name}"),
            ]
        },
    },
    Series {
        name: "interface",
        count: 200,
        commands: |n| {
            let name = format!("pg{}", 1000 + n);
            vec![format!("create packet-generator interface {name}"), format!("set interface state {name} up")]
        },
    },
    Series {
        name: "neighbour goes",
        count: 1000,
        commands: |n| vec![format!("ip neighbor del pg2 {}", address(n * 97))],
    },
    Series {
        name: "sub-interface goes",
        count: 4000,
        commands: |n| vec![format!("delete sub-interface pg0.{}", n + 1)],
    },
    Series { name: "loopback", count: 100_000, commands: |_| vec!["create loopback interface".to_owned()] },
    Series { name: "loopback up", count: 100_000, commands: |n| vec![format!("set interface state loop{n} up")] },
];

fn address(n: u32) -> String {
    format!("10.{}.{}.{}", n / 62_500, n / 250 % 250, n % 250 + 2)
}

fn neighbour(n: u32, version: u8) -> String {
    let [_, a, b, c] = n.to_be_bytes();
    format!("ip neighbor pg2 {} 02:00:{version:02x}:{a:02x}:{b:02x}:{c:02x}", address(n))
}

/// Measures all of them, and prints a table; appends the rows to a file if one is given.
pub fn run(csv: Option<&Path>) -> Result<(), String> {
    let setup = Setup { buffers: 4096, statistics: 4 << 30, ..Setup::default() };
    let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
    let before = ["create packet-generator interface pg0", "create packet-generator interface pg1"];
    let address = ["create packet-generator interface pg2", "set interface ip address pg2 10.0.0.1/11"];
    for line in before.into_iter().chain(address).chain(["set interface state pg2 up"]) {
        command(&mut daemon, line)?;
    }
    let machine = Machine::here(daemon.control().room::<Dataplane>().buffers().backing(), setup.level);
    println!("{:<32}{:>8}{:>16}{:>16}", "change", "count", "first, us each", "last, us each");
    let mut rows = vec![];
    for series in SERIES {
        let mut each = vec![];
        for n in 0..series.count {
            let start = cpu();
            for line in (series.commands)(n) {
                command(&mut daemon, &line)?;
            }
            each.push((cpu() - start) as f64 / 1000.0);
        }
        let (first, last) = ends(&mut each);
        println!("{:<32}{:>8}{first:>16.1}{last:>16.1}", series.name, series.count);
        let Machine { date, revision, cpu, .. } = &machine;
        let Series { name, count, .. } = series;
        rows.push(format!("{date},{revision},\"{name}\",{count},{first:.1},{last:.1},\"{cpu}\""));
    }
    csv.map_or(Ok(()), |path| append_lines(path, "date,revision,change,count,first_us,last_us,cpu", rows.into_iter()))
}

/// The medians of the first and of the last twentieth.
fn ends(each: &mut [f64]) -> (f64, f64) {
    let part = (each.len() / 20).max(5);
    let median = |part: &mut [f64]| {
        part.sort_by(f64::total_cmp);
        part[part.len() / 2]
    };
    let last = each.len() - part;
    (median(&mut each[..part]), median(&mut each[last..]))
}
