//! A configuration that is refused changes nothing, not even for a moment, and planning it says so. Random configurations follow
//! each other, whose objects are often at odds in ways that only their rooms know.

use fastrand::Rng;
use quiver_interface::Interfaces;
use quiver_scenarios::ROOMS;
use quiver_testkit::daemon::{Daemon, Setup};

const ROUNDS: u64 = 40;
const SEEDS: u64 = 2;

/// A configuration of a few things that get in each other's way: addresses, tags, networks, stations, numbers, filenames. Those of a
/// tame one do not.
fn configuration(rng: &mut Rng) -> String {
    let (mut text, is_tame) = (String::new(), rng.bool());
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("{name}:\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {{{line}}}\n")));
        }
    };
    let some = |rng: &mut Rng, of: usize, most: usize| -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..of).collect();
        rng.shuffle(&mut numbers);
        numbers.truncate(rng.usize(..=most));
        numbers
    };
    // One of so many, or a fixed one in a tame configuration.
    let any = |rng: &mut Rng, of: usize, tame: usize| if is_tame { tame } else { rng.usize(..of) };
    let mut interfaces = vec!["pg0".to_owned()];
    interfaces.extend(some(rng, 2, 2).iter().map(|n| format!("pg{}", n + 1)));
    section("packet-generators", interfaces.iter().map(|name| format!("name: {name}")).collect());
    let whole = interfaces.clone();
    let loops: Vec<String> = some(rng, 3, 2).iter().map(|n| format!("loop{n}")).collect();
    section("loopbacks", loops.iter().map(|name| format!("name: {name}")).collect());
    let parts = some(rng, 3, 2);
    let part =
        |n: &usize, rng: &mut Rng| (format!("{}.{}", whole[rng.usize(..whole.len())], n + 10), 10 + any(rng, 2, *n));
    let parts: Vec<_> = parts.iter().map(|n| part(n, rng)).collect();
    section("sub-interfaces", parts.iter().map(|(name, outer)| format!("name: {name}, outer: {outer}")).collect());
    interfaces.extend(loops);
    interfaces.extend(parts.into_iter().map(|(name, _)| name));
    let tunnels = some(rng, 3, 2);
    let tunnel = |n: &usize, rng: &mut Rng| {
        format!("name: vxlan_tunnel{n}, source: 10.0.0.1, destination: 10.0.0.7, vni: {}", 1 + any(rng, 3, *n))
    };
    section("vxlan-tunnels", tunnels.iter().map(|n| tunnel(n, rng)).collect());
    interfaces.extend(tunnels.iter().map(|n| format!("vxlan_tunnel{n}")));
    let one = |rng: &mut Rng| interfaces[rng.usize(..interfaces.len())].clone();
    let mut each = |rng: &mut Rng, name: &str, rest: &dyn Fn(&mut Rng, usize) -> String| {
        let mut chosen: Vec<String> = (0..rng.usize(..3)).map(|_| one(rng)).collect();
        chosen.sort();
        chosen.dedup();
        let line = |(n, interface): (usize, &String)| format!("interface: {interface}, {}", rest(rng, n));
        section(name, chosen.iter().enumerate().map(line).collect());
    };
    each(rng, "interface-addresses", &|rng, n| format!("address: 10.{}.0.{}/24", any(rng, 2, n), 1 + any(rng, 3, 0)));
    each(rng, "interface-tables", &|rng, _| format!("table: {}", rng.u8(7..9)));
    if !is_tame {
        each(rng, "layer2-interfaces", &|rng, _| format!("domain: 1, bvi: {}", rng.bool()));
        each(rng, "tag-rewrites", &|rng, _| format!("pop: {}", rng.u8(1..3)));
        each(rng, "rx-queues", &|rng, _| format!("queue: {}", rng.u8(..2)));
        each(rng, "handoffs", &|rng, _| format!("workers: [{}]", rng.u8(..2)));
    }
    section("ip-tables", (7..9).map(|id| format!("id: {id}")).collect());
    section("bridge-domains", vec!["id: 1".to_owned()]);
    let stations = some(rng, 2, 2);
    let station =
        |n: &usize, rng: &mut Rng| format!("name: pg0.{}, station: \"02:00:00:00:00:8{}\"", n + 1, any(rng, 2, *n));
    section("p2p-ethernets", stations.iter().map(|n| station(n, rng)).collect());
    let sockets = some(rng, 3, 2);
    let socket = |n: &usize, rng: &mut Rng| format!("id: {}, filename: \"@refused-{}\"", n + 1, any(rng, 3, *n));
    section("memif-sockets", sockets.iter().map(|n| socket(n, rng)).collect());
    section("memifs", sockets.iter().map(|n| format!("name: memif{0}/0, socket: {0}", n + 1)).collect());
    let path = |rng: &mut Rng| match is_tame || rng.bool() {
        true => format!("via: 10.0.0.{}", rng.u8(2..5)),
        false => format!("interface: {}", one(rng)),
    };
    let routes = some(rng, 3, 2);
    section("routes", routes.iter().map(|n| format!("prefix: 20.{n}.0.0/16, paths: [{{{}}}]", path(rng))).collect());
    text
}

/// State that must not change: the number of changes, the interfaces with their numbers and addresses, and the saved file.
fn identity(daemon: &Daemon) -> (u64, Vec<String>, String) {
    let control = daemon.control();
    let interfaces = control.room::<Interfaces>();
    let interface = |one: &quiver_interface::Interface| format!("{:?} {} {}", one.id, one.name, one.mac);
    (control.changes(), interfaces.iter().map(interface).collect(), control.save().text)
}

#[test]
fn planning_refuses_what_applying_refuses_and_neither_changes_anything() {
    let (mut by_rooms, mut applied) = (0, 0);
    for seed in 0..SEEDS {
        let mut rng = Rng::with_seed(seed);
        let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("the rooms fit together");
        daemon.apply("first.yaml", "packet-generators:\n- {name: pg0}\n").expect("it is applied");
        for round in 0..ROUNDS {
            let text = configuration(&mut rng);
            let before = identity(&daemon);
            let is_right = daemon.diff("f.yaml", &text).is_ok();
            let planned = daemon.plan("f.yaml", &text).map(drop).map_err(|error| error.to_string());
            assert_eq!(identity(&daemon), before, "planning changes nothing\n{text}");
            let done = daemon.apply("f.yaml", &text).map(drop).map_err(|error| error.to_string());
            assert_eq!(planned, done, "seed {seed}, round {round}: planned and applied\n{text}");
            match done {
                Ok(()) => applied += 1,
                Err(error) => {
                    assert_eq!(identity(&daemon), before, "seed {seed}, round {round}: {error}\n{text}");
                    by_rooms += usize::from(is_right);
                }
            }
        }
        daemon.finish().expect("nothing leaks");
    }
    assert!(by_rooms > 20 && applied > 20, "{by_rooms} were refused by rooms, {applied} were applied");
}

/// Bytes that this process has mapped.
fn mapped() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux says it");
    text.split(' ').next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}

#[test]
fn what_a_rehearsal_needs_goes_with_its_daemon() {
    let rehearse = || {
        let mut daemon = Daemon::new(ROOMS, Setup::default()).expect("the rooms fit together");
        for names in [["pg0", "pg1"], ["pg1", "pg2"], ["pg0", "pg2"]] {
            let text = names.map(|name| format!("- {{name: {name}}}\n")).concat();
            daemon.apply("f.yaml", &format!("packet-generators:\n{text}")).expect("it is applied");
        }
        daemon.finish().expect("nothing leaks");
    };
    (0..3).for_each(|_| rehearse());
    let before = mapped();
    (0..6).for_each(|_| rehearse());
    // Other tests of this program may run meanwhile, with a daemon or two each.
    let more = mapped().saturating_sub(before) >> 20;
    eprintln!("mapped {more} MiB more");
    assert!(more < 6 * 256, "{more} MiB are mapped for what is gone");
}
