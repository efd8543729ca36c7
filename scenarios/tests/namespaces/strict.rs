//! Sessions whose policy comes first, and whose checks of TCP are strict: connections of kernels pass, and no segment of theirs is
//! taken for one of an attacker.

use libtest_mimic::Failed;
use quiver_netns::World;
use quiver_site::{Driver, Function, Join, Site};
use quiver_testkit::trials::Trial;
use serde_json::Value;

use crate::{connections, file, streams};

pub const TRIALS: &[Trial<World>] = &[("connections_of_kernels_pass_strict_checks", pass)];

fn pass(world: &World) -> Result<(), Failed> {
    let site = Site::build(world, Join::Quiver { function: Function::Router, driver: Driver::Tap }, 1500)?;
    let daemon = site.daemon().ok_or("a quiverd")?;
    for line in [
        "sfdp tenant add 1",
        "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward",
        "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup reverse",
        "set sfdp entry tenant 1 policy-first",
        "set sfdp tcp tenant 1 strict",
        "set sfdp interface-input tap0 tenant 1",
        "set sfdp interface-input tap1 tenant 1",
    ] {
        daemon.command(line)?;
    }
    streams::tcp(&site)?;
    file::over_http(&site)?;
    connections::in_parallel(&site)?;
    let shown: Value = serde_json::from_str(&daemon.command("--json show sfdp tenant 1 detail")?)?;
    let began = shown["created-sessions"].as_u64().ok_or("a number")?;
    let errors = daemon.command("show errors")?;
    if began < 1000 || shown["tcp"] != "strict" || errors.contains("sfdp-l4-lifecycle") {
        return Err(format!("{shown:#}\n{errors}").into());
    }
    Ok(())
}
