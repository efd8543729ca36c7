//! Long answers are made in short turns, and given out as they are made. Judged by what is done in a turn, not by time.

use std::cell::{Cell, RefCell};
use std::net::Ipv4Addr;
use std::rc::Rc;

use quiver_control::cli::{CommandError, Output, Reply};
use quiver_ip::Ip4;
use quiver_ip::fib::{Path, Source, Special, TableId, Target};
use quiver_testkit::daemon::Daemon;
use quiver_wire::Prefix;

const ROUTES: u32 = 20_000;
const INTERFACES: usize = 1_000;
const NEIGHBORS: usize = 1_000;
const STATIONS: usize = 1_000;
/// Limits of rows in a turn and of bytes in a part, with some rows on top of the listing's own limits.
const ROWS_OF_TURN: usize = 64;
const PART_MAX: usize = 64 << 10;

fn with_routes() -> Daemon {
    let daemon = quiver_scenarios::daemon("");
    let mut ip = daemon.control().room_mut::<Ip4>();
    for route in 0..ROUTES {
        let prefix = Prefix::new(Ipv4Addr::from(0x0100_0000 + (route << 8)), 24).expect("no host bits");
        let path = vec![Path::to(Target::Special(Special::Drop))];
        ip.fib.insert(TableId::DEFAULT, prefix, Source::Static, path).expect("there is room");
    }
    drop(ip);
    daemon
}

fn with_interfaces() -> Daemon {
    let mut lines: Vec<String> = (0..INTERFACES).map(|_| "create loopback interface\n".to_owned()).collect();
    lines.push("set interface ip address loop0 10.0.0.1/8\nset interface state loop0 up\n".into());
    let host = |i: usize| (i / 200 + 1, i % 200 + 1);
    lines.extend((0..NEIGHBORS).map(|i| {
        let (high, low) = host(i);
        format!("ip neighbor loop0 10.0.{high}.{low} 02:00:00:00:{high:02x}:{low:02x}\n")
    }));
    lines.push("create bridge-domain 5\nset interface l2 bridge loop1 5 bvi\n".into());
    lines.extend((0..STATIONS).map(|i| {
        let (high, low) = host(i);
        format!("l2fib add 02:00:00:01:{high:02x}:{low:02x} 5 loop1 static\n")
    }));
    quiver_scenarios::daemon(&lines.concat())
}

/// The whole answer of a command, in the course of which another task had so many turns.
fn answer_beside(daemon: &mut Daemon, line: &str, turns: usize) -> Reply {
    let (answer, parts) = (Rc::new(RefCell::new(None::<Result<Reply, CommandError>>)), Rc::default());
    let (output, others, was_answered) = (Output::default(), Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let control = daemon.control().clone();
    control.spawn("command", {
        let (control, line, output, answer) = (control.clone(), line.to_owned(), output.clone(), answer.clone());
        async move {
            let end = control.commands().run(&control, &line, &output).await;
            *answer.borrow_mut() = Some(end);
        }
    });
    let parts: Rc<RefCell<Vec<Reply>>> = parts;
    control.spawn("reader", {
        let parts = parts.clone();
        async move {
            while let Some(part) = output.next().await {
                parts.borrow_mut().push(part);
            }
        }
    });
    control.spawn("other", {
        let (control, others, answer, was_answered) =
            (control.clone(), others.clone(), answer.clone(), was_answered.clone());
        async move {
            for turn in 0..turns {
                others.set(turn);
                control.yield_now().await;
            }
            was_answered.set(answer.borrow().is_some());
        }
    });
    let (waiting, here) = (answer.clone(), control.clone());
    daemon.run_task(async move {
        while waiting.borrow().is_none() {
            here.yield_now().await;
        }
    });
    let end = answer.take().expect("it was waited for").expect("it is a command");
    assert!(!was_answered.get(), "{line}: only {} turns of others until it was answered", others.get());
    let mut whole = Reply::default();
    for part in parts.take().into_iter().chain([end]) {
        assert!(part.text.len() <= PART_MAX, "{line}: a part of {} bytes", part.text.len());
        whole.append(part);
    }
    whole
}

/// The number of times that a text is in another.
fn count(of: &str, within: &str) -> usize {
    within.matches(of).count()
}

#[test]
fn routes_are_listed_in_short_turns() {
    let mut daemon = with_routes();
    let turns = ROUTES as usize / ROWS_OF_TURN / 2;
    let all = answer_beside(&mut daemon, "show ip fib", turns);
    assert_eq!(count("\n1.0.7.0/24\n", &all.text), 1);
    assert!(count("/24\n", &all.text) >= ROUTES as usize, "{}", count("/24\n", &all.text));
    let prefixes: Vec<&str> =
        all.json.as_array().expect("a list").iter().filter_map(|r| r["prefix"].as_str()).collect();
    let mut different = prefixes.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!((prefixes.len(), different.len() >= ROUTES as usize), (different.len(), true), "each once");
    let summary = daemon.run("show ip fib summary").expect("it is a command").json;
    let of_length = summary.as_array().and_then(|rows| rows.iter().find(|row| row["prefix-length"] == 24));
    assert_eq!(of_length.map(|row| &row["count"]), Some(&ROUTES.into()));
}

#[test]
fn interfaces_and_neighbors_are_listed_in_short_turns() {
    let mut daemon = with_interfaces();
    let turns = INTERFACES / ROWS_OF_TURN / 2;
    for (line, name) in [
        ("show interface", "loop333"),
        ("show hardware-interfaces", "loop333"),
        ("show interface address", "loop333"),
        ("show interface secondary-mac-address", "loop333"),
        ("show mode", "loop333"),
        ("show configuration", "loop333"),
        ("show ip4 neighbors", "10.0.3.33"),
        ("show adjacency", "10.0.3.33"),
    ] {
        let all = answer_beside(&mut daemon, line, turns);
        let list = if line == "show configuration" { &all.json["loopbacks"] } else { &all.json };
        let listed = list.as_array().map_or(0, Vec::len);
        assert!(listed >= INTERFACES.min(NEIGHBORS), "{line}: {listed}");
        assert!(count(name, &all.text) >= 1, "{line}: {name} is missing");
    }
    let stations = answer_beside(&mut daemon, "show l2fib all", turns);
    assert_eq!((count("02:00:00:01:", &stations.text), count("02:00:00:01:03:21 ", &stations.text)), (STATIONS, 1));
    // The virtual interface of the domain has an address as well.
    assert_eq!(stations.json["entries"].as_array().map(Vec::len), Some(STATIONS + 1));
    // Each interface has a dozen counters and more.
    let entries = 10 * INTERFACES;
    let statistics = answer_beside(&mut daemon, "show statistics segment /interfaces/", entries / ROWS_OF_TURN / 2);
    assert!(statistics.json["entries"].as_object().is_some_and(|all| all.len() > entries), "{}", statistics.text);
    assert_eq!(count("/interfaces/loop333/rx ", &statistics.text), 1);
}

#[test]
fn tables_are_charged_before_they_take_memory() {
    let mut daemon = quiver_scenarios::daemon("");
    daemon.control().set_object_memory(200 << 20);
    for table in 1..=3 {
        daemon.run(&format!("ip table add {table} large")).expect("there is room");
    }
    let refused = daemon.run("ip table add 4 large").expect_err("there is none");
    let told = "ip-tables 4: it takes 67108864 bytes, and 201326592 of the 209715200 bytes for objects are used, 201326592 of \
                them by ip-tables; delete some, or start quiverd with more --object-memory";
    assert_eq!(refused.what, told);
    daemon.run("ip table del 2").expect("it is there");
    daemon.run("ip table add 4 large").expect("what went gave back");
}
