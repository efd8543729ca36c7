//! Two quiverd joined by memif.

use libtest_mimic::{Failed, Trial};
use quiver_netns::World;
use quiver_site::{Daemon, Join, Site};
use serde_json::Value;

use crate::{pings, streams};

/// Pings of all sizes and a TCP stream cross both, whose packets are copied or not as they should be.
pub fn carries_traffic(site: &Site, is_zero_copy: bool) -> Result<(), Failed> {
    pings::of_all_sizes(site)?;
    streams::tcp(site)?;
    let daemons = [site.daemon().ok_or("a quiverd")?, site.other_daemon().ok_or("a second one")?];
    let mut pids = vec![];
    for daemon in daemons {
        let memif = memif(daemon)?;
        let slave_shares = is_zero_copy && memif["role"] == "slave";
        if memif["state"] != "connected" || memif["zero-copy"] != Value::Bool(slave_shares) {
            return Err(format!("connected, zero-copy if it is to be: {memif}").into());
        }
        pids.push(memif["process"].clone());
    }
    // Each names the other.
    if pids[0] == pids[1] || pids.iter().any(|pid| !pid.is_u64() && !pid.is_i64() && !pid.is_string()) {
        return Err(format!("the peers' processes: {pids:?}").into());
    }
    Ok(())
}

/// Either quiverd is killed and started again, and the other lives on.
pub fn outlives(world: &'static World) -> impl Iterator<Item = Trial> {
    [true, false].into_iter().map(move |master_at_client| {
        let join = Join::Memif { master_at_client, is_zero_copy: true };
        Trial::test(format!("{join}: either end is killed and comes again"), move || {
            let mut site = Site::build(world, join, 1500)?;
            for _ in 0..3 {
                for number in [0, 1] {
                    site.kill_and_restart(number)?;
                    let survivor = if number == 0 { site.other_daemon() } else { site.daemon() };
                    let survivor = survivor.ok_or("a quiverd")?;
                    let memif = memif(survivor)?;
                    if memif["state"] != "connected" {
                        return Err(format!("the one that was not killed is connected again: {memif}").into());
                    }
                }
            }
            Ok(())
        })
    })
}

pub fn memif(daemon: &Daemon) -> Result<Value, Failed> {
    let memifs: Vec<Value> = serde_json::from_str(&daemon.command("show memif --json")?)?;
    memifs.into_iter().next().ok_or_else(|| "there is a memif interface".into())
}
