//! A configuration whose namespaces and devices are missing runs without them, and with them when they come.

use std::rc::Rc;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_control::transaction::Memory;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, veth};
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::trials::Trial;

pub const TRIALS: &[Trial<World>] = &[
    ("what_is_missing_at_the_start_runs_when_it_comes", start),
    ("what_goes_at_run_time_runs_again_when_it_is_back", run_time),
];

const SITE: &str = "\
taps:
- {name: tap0, host-namespace: left}
- {name: tap1, host-namespace: right}
host-interfaces:
- {name: host-wire0, namespace: left}
interfaces:
- {name: tap0, state: up}
- {name: tap1, state: up}
- {name: host-wire0, state: up}
interface-addresses:
- {interface: tap0, address: 10.0.0.1/24}
- {interface: tap1, address: 10.1.0.1/24}
- {interface: host-wire0, address: 10.2.0.1/24}
routes:
- {prefix: 20.0.0.0/8, paths: [{via: 10.0.0.2, interface: tap0}, {via: 10.1.0.2, interface: tap1}]}
- {prefix: 21.0.0.0/8, paths: [{via: 10.2.0.2, interface: host-wire0}]}
";

/// Longer than the longest pause before the next try.
const A_WHILE: Duration = Duration::from_secs(10);

fn link(daemon: &Daemon, name: &str) -> Option<bool> {
    daemon.control().room::<Interfaces>().find(name).map(|interface| interface.link)
}

/// The names of the pending objects.
fn waits(daemon: &mut Daemon) -> Result<Vec<String>, Failed> {
    let rows = daemon.run("show configuration pending")?.json;
    let name = |row: &serde_json::Value| row["object"].as_str().unwrap_or_default().to_owned();
    Ok(rows.as_array().ok_or("rows")?.iter().map(name).collect())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, is: T, expected: T) -> Result<(), Failed> {
    if is == expected { Ok(()) } else { Err(format!("{what}: {is:?} instead of {expected:?}").into()) }
}

fn begin() -> Result<Daemon, Failed> {
    let mut daemon = Daemon::new(ROOMS, Setup::default())?;
    let control = daemon.control().clone();
    let begun = daemon.run_task(async move {
        control.open_history(Rc::new(Memory::default())).await?;
        control.start_with("site.yaml", SITE).await
    });
    begun?;
    Ok(daemon)
}

fn start(world: &World) -> Result<(), Failed> {
    let left = Namespace::add(world, "left")?;
    let mut daemon = begin()?;
    let waiting = [
        "host-interfaces host-wire0",
        "interface-addresses host-wire0 10.2.0.1/24",
        "interface-addresses tap1 10.1.0.1/24",
        "interfaces host-wire0",
        "interfaces tap1",
        "routes 21.0.0.0/8",
        "routes 20.0.0.0/8",
        "taps tap1",
    ];
    let mut now = waits(&mut daemon)?;
    let missing: Vec<_> = waiting.iter().filter(|name| !now.iter().any(|one| words(one) == words(name))).collect();
    if !missing.is_empty() || now.len() != waiting.len() {
        return Err(format!("{missing:?} are not among {now:?}").into());
    }
    expect("what runs", (link(&daemon, "tap0"), link(&daemon, "tap1")), (Some(true), None))?;
    expect("a part of a route", daemon.run("show ip fib 20.0.0.0/8")?.text.contains("10.0.0.2"), true)?;
    let saved = daemon.control().save().text;
    for part in ["tap1", "host-wire0", "10.1.0.2", "21.0.0.0/8"] {
        expect(part, saved.contains(part), true)?;
    }
    // Interactively the same is refused, if it did not wait already.
    daemon.apply("again.yaml", SITE)?;
    let more = SITE.replace("host-interfaces:", "- {name: tap2, host-namespace: nowhere}\nhost-interfaces:");
    let refused = daemon.apply("more.yaml", &more).err().map(|error| error.to_string()).unwrap_or_default();
    expect(&refused, refused.contains("there is no network namespace nowhere"), true)?;

    let _right = Namespace::add(world, "right")?;
    veth((&left, "wire0"), (&left, "wire1"), 1500)?;
    daemon.advance(A_WHILE)?;
    now = waits(&mut daemon)?;
    expect("what waits", now, vec![])?;
    expect("what runs", (link(&daemon, "tap1"), link(&daemon, "host-wire0")), (Some(true), Some(true)))?;
    expect("all of a route", daemon.run("show ip fib 20.0.0.0/8")?.text.contains("10.1.0.2"), true)?;
    expect("what is saved", daemon.control().save().text, saved)
}

/// A name without its defaults.
fn words(name: &str) -> Vec<&str> {
    name.split(' ').filter(|word| *word != "0").collect()
}

fn run_time(world: &World) -> Result<(), Failed> {
    let left = Namespace::add(world, "left")?;
    let right = Namespace::add(world, "right")?;
    veth((&left, "wire0"), (&left, "wire1"), 1500)?;
    let mut daemon = begin()?;
    expect("what waits", waits(&mut daemon)?, vec![])?;
    let saved = daemon.control().save().text;

    left.ip("link del wire0")?;
    daemon.advance(Duration::from_secs(2))?;
    expect("what waits", waits(&mut daemon)?, vec!["host-interfaces host-wire0".to_owned()])?;
    expect("the link", link(&daemon, "host-wire0"), Some(false))?;
    expect("what is saved", daemon.control().save().text, saved.clone())?;
    veth((&left, "wire0"), (&left, "wire1"), 1500)?;
    daemon.advance(A_WHILE)?;
    expect("what waits", waits(&mut daemon)?, vec![])?;
    expect("the link", link(&daemon, "host-wire0"), Some(true))?;

    // The namespace goes on without its name, for the daemon has it open; another one gets the name.
    drop(right);
    daemon.advance(A_WHILE)?;
    expect("what waits", waits(&mut daemon)?, vec!["taps tap1".to_owned()])?;
    let right = Namespace::add(world, "right")?;
    daemon.advance(A_WHILE)?;
    expect("what waits", waits(&mut daemon)?, vec![])?;
    right.ip("link show tap1")?;
    expect("the link", link(&daemon, "tap1"), Some(true))?;

    // Who deletes a device of ours gets it back.
    left.ip("link del tap0")?;
    daemon.advance(A_WHILE)?;
    left.ip("link show tap0")?;
    expect("what is saved", daemon.control().save().text, saved)
}
