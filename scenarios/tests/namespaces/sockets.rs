//! memif's sockets across network namespaces: a path is the same in all of them, an abstract name belongs to one.

use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use quiver_netns::{Namespace, World};
use quiver_site::Daemon;

use crate::memif::{address, attach, memif, ten_pings};

/// Longest time until two quiverd are connected.
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);

/// Where the master in namespace `quiver` listens, where the slave in `quiver2` connects to, and whether that is the same.
const SOCKETS: [(&str, &str, bool); 4] = [
    ("/run/across.sock", "/run/across.sock", true),
    ("abstract:across,netns_name=quiver2", "@across", true),
    ("@across", "@across,netns_name=quiver", true),
    ("@across", "abstract:across", false),
];

pub fn trials(world: &'static World) -> impl Iterator<Item = Trial> {
    SOCKETS.into_iter().map(move |(master, slave, is_same)| {
        let outcome = if is_same { "meets" } else { "does not meet" };
        Trial::test(format!("memif master on {master} {outcome} slave on {slave}"), move || {
            meet(world, master, slave, is_same)
        })
    })
}

fn meet(world: &World, master: &str, slave: &str, is_same: bool) -> Result<(), Failed> {
    let (client, server) = (Namespace::add(world, "client")?, Namespace::add(world, "server")?);
    let (one, other) = (Namespace::add(world, "quiver")?, Namespace::add(world, "quiver2")?);
    let (at_master, at_slave) = (Daemon::start(&one)?, Daemon::start_at(&other, "/run/quiver/cli2.sock", &[])?);
    attach(&at_master, &client, master, "master")?;
    attach(&at_slave, &server, slave, "slave")?;
    let wanted = if is_same { "connected" } else { "waiting: no listener" };
    let start = Instant::now();
    while memif(&at_slave)?["state"] != wanted {
        if start.elapsed() > CONNECTED_WITHIN {
            return Err(format!("master: {}, slave: {}", memif(&at_master)?, memif(&at_slave)?).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if !is_same {
        return Ok(());
    }
    address(&client, 1)?;
    address(&server, 2)?;
    ten_pings(&client, "56")
}
