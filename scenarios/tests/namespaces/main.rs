//! The tests that need network namespaces, in one world. Real programs talk across quiverd, and across a veth pair as the proof
//! that the tests themselves work; [`conntrack`], [`cookies`], [`downloads`], [`feed`], [`gateway`], [`names`], [`peers`], [`readme`],
//! [`strict`], [`transactions`] and [`waiting`] say what they test.
//!
//! Every other trial is one kind of traffic on one site. Trials run one after the other, for they share the machine's cores
//! and the names of a world's namespaces. A missing program or right fails with its remedy; only the trials with DPDK's
//! testpmd are ignored where that is missing.

mod application;
mod connections;
mod conntrack;
mod cookies;
mod downloads;
mod feed;
mod file;
mod gateway;
mod memif;
mod names;
mod peers;
mod pings;
mod readme;
mod sockets;
mod streams;
mod strict;
mod testpmd;
mod transactions;
mod waiting;
mod workers;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_netns::{Error, Purpose, World, enter, missing_packages};
use quiver_site::{Driver, Function, Join, Site};
use quiver_testkit::trials;

/// One kind of traffic: its name, the layer-3 MTU that it needs, and what it does.
type Traffic = (&'static str, u16, fn(&Site) -> Result<(), Failed>);

const TRAFFIC: [Traffic; 5] = [
    ("pings_of_56_to_8972_bytes", 9000, pings::of_all_sizes),
    ("tcp_stream", 1500, streams::tcp),
    ("udp_stream", 1500, streams::udp),
    ("file_of_200_megabytes_over_http", 1500, file::over_http),
    ("1000_parallel_tcp_connections", 1500, connections::in_parallel),
];

fn main() -> ExitCode {
    if let Some(ended) = application::is_this() {
        eprintln!("{ended:?}");
        return ExitCode::FAILURE;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let world: &'static World = match prepare() {
        Ok(world) => Box::leak(Box::new(world)),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let trials = joins().into_iter().flat_map(|join| {
        TRAFFIC.into_iter().map(move |(name, mtu, traffic)| {
            Trial::test(format!("{join}: {name}"), move || traffic(&Site::build(world, join, mtu)?))
        })
    });
    let memif = [true, false].into_iter().flat_map(|master_at_client| {
        [true, false].map(|is_zero_copy| {
            let join = Join::Memif { master_at_client, is_zero_copy };
            Trial::test(join.to_string(), move || {
                memif::carries_traffic(&Site::build(world, join, 9000)?, is_zero_copy)
            })
        })
    });
    let narrow = Trial::test("pings notice a link that is too narrow", || pings_notice_a_narrow_link(world));
    libtest_mimic::run(
        &arguments,
        trials
            .chain(memif)
            .chain(memif::outlives(world))
            .chain(sockets::trials(world))
            .chain(application::trials(world))
            .chain(testpmd::trials(world))
            .chain(workers::trials(world))
            .chain([narrow])
            .chain(trials::of("conntrack", world, conntrack::TRIALS))
            .chain(trials::of("cookies", world, cookies::TRIALS))
            .chain(trials::of("names", world, names::TRIALS))
            .chain(trials::of("downloads", world, downloads::TRIALS))
            .chain(trials::of("feed", world, feed::TRIALS))
            .chain(trials::of("gateway", world, gateway::TRIALS))
            .chain(trials::of("peers", world, peers::TRIALS))
            .chain(trials::of("readme", world, readme::TRIALS))
            .chain(trials::of("strict", world, strict::TRIALS))
            .chain(trials::of("transactions", world, transactions::TRIALS))
            .chain(trials::of("waiting", world, waiting::TRIALS))
            .collect(),
    )
    .exit_code()
}

/// The largest pings fit only links with the MTU that they are given elsewhere.
fn pings_notice_a_narrow_link(world: &World) -> Result<(), Failed> {
    match pings::of_all_sizes(&Site::build(world, Join::Veth, 1500)?) {
        Ok(()) => Err("pings of 8972 bytes crossed a link of 1500".into()),
        Err(_) => Ok(()),
    }
}

fn prepare() -> Result<World, Error> {
    let missing = missing_packages(&[Purpose::Run, Purpose::Test]);
    if !missing.is_empty() {
        return Err(Error::Missing { packages: missing.join(" ") });
    }
    enter()
}

/// The control group, then every function of quiverd over every driver.
fn joins() -> Vec<Join> {
    let mut joins = vec![Join::Veth, Join::LinuxBridge];
    for function in [Function::CrossConnect, Function::Bridge, Function::Router] {
        joins.extend([Driver::Tap, Driver::AfPacket].map(|driver| Join::Quiver { function, driver }));
    }
    joins
}
