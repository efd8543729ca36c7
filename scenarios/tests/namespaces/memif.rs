//! Two quiverd joined by memif.

use libtest_mimic::{Failed, Trial};
use quiver_netns::{Namespace, World, run};
use quiver_site::{Daemon, Join, Site};
use serde_json::Value;

use crate::TRAFFIC;

/// All kinds of traffic cross both, whose packets are copied or not as they should be.
pub fn carries_traffic(site: &Site, is_zero_copy: bool) -> Result<(), Failed> {
    for (name, _, traffic) in TRAFFIC {
        traffic(site).map_err(|failed| format!("{name}: {}", failed.message().unwrap_or_default()))?;
    }
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

/// Has a quiverd cross-connect `eth0` in a namespace with an interface `memif1/7`, of which `options` are the rest.
pub fn attach(daemon: &Daemon, end: &Namespace, filename: &str, options: &str) -> Result<(), Failed> {
    for command in [
        &format!("create tap id 0 host-ns {} host-if-name eth0 host-mtu-size 9000", end.name()),
        &format!("create memif socket id 1 filename {filename}"),
        &format!("create interface memif id 7 socket-id 1 {options}"),
        "set interface state tap0 up",
        "set interface state memif1/7 up",
        "set interface l2 xconnect tap0 memif1/7",
        "set interface l2 xconnect memif1/7 tap0",
    ] {
        daemon.command(command)?;
    }
    Ok(())
}

/// Gives `eth0` of a namespace an address in 10.0.0.0/24.
pub fn address(end: &Namespace, last: u8) -> Result<(), Failed> {
    end.ip(&format!("address add 10.0.0.{last}/24 dev eth0"))?;
    end.ip("link set dev eth0 up")?;
    Ok(())
}

/// Each of ten echo requests with so many bytes is answered. One at a time: of several at once, `ping` waits for the last
/// no longer than its interval.
pub fn ten_pings(client: &Namespace, bytes: &str) -> Result<(), Failed> {
    for _ in 0..10 {
        let mut ping = client.command("ping");
        run(ping.args(["-n", "-q", "-M", "do", "-W", "20", "-c", "1", "-s", bytes, "10.0.0.2"]))?;
    }
    Ok(())
}
