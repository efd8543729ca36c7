//! A configuration with objects of every kind of every room changes as a whole: whichever step fails, what runs is what
//! ran before, in the rooms' own words, not only in the registry's.

use std::cell::Cell;
use std::rc::Rc;

use libtest_mimic::Failed;
use quiver_control::docs;
use quiver_control::object::ObjectError;
use quiver_interface::Interfaces;
use quiver_netns::{Namespace, World, veth};
use quiver_scenarios::ROOMS;
use quiver_scenarios::state::{compare, state};
use quiver_testkit::daemon::{Daemon, Setup};
use quiver_testkit::trials::Trial;

const BEFORE: &str = include_str!("before.yaml");
const AFTER: &str = include_str!("after.yaml");
/// Kinds whose objects need what only their rooms' own tests build: a plugin's library.
const ELSEWHERE: [&str; 1] = ["plugins"];

pub const TRIALS: &[Trial<World>] = &[
    ("every_kind_of_every_room_takes_part", every_kind),
    ("whichever_step_fails_everything_is_as_before", every_step),
    ("what_a_room_refuses_is_undone", refused_by_a_room),
    ("going_back_restores_every_room", going_back),
    ("what_is_refused_leaves_every_device_alone", left_alone),
];

/// The namespaces that the configurations speak of, a daemon that runs the first of them, and the second. A test's
/// sockets have names of their own, for they are the whole process's.
fn ready(world: &World, sockets: &str, setup: Setup) -> Result<([Namespace; 2], Daemon, String), Failed> {
    let of_test = |text: &str| text.replace("@transactions", &format!("@{sockets}"));
    let namespaces = [Namespace::add(world, "left")?, Namespace::add(world, "right")?];
    veth((&namespaces[0], "wire0"), (&namespaces[1], "wire1"), 1500)?;
    let mut daemon = Daemon::new(ROOMS, setup)?;
    daemon.apply("before.yaml", &of_test(BEFORE))?;
    daemon.settle()?;
    Ok((namespaces, daemon, of_test(AFTER)))
}

fn every_kind(world: &World) -> Result<(), Failed> {
    let (_namespaces, daemon, _) = ready(world, "kinds", Setup::default())?;
    let schema = docs::schema(daemon.control());
    let kinds = schema["properties"].as_object().ok_or("a schema")?.keys();
    let missing: Vec<_> =
        kinds.filter(|kind| !BEFORE.contains(&format!("\n{kind}:")) && !ELSEWHERE.contains(&kind.as_str())).collect();
    if !missing.is_empty() {
        return Err(format!(
            "add objects of {missing:?} to before.yaml and after.yaml in scenarios/tests/namespaces/transactions"
        )
        .into());
    }
    Ok(())
}

fn every_step(world: &World) -> Result<(), Failed> {
    // With a rehearsal before each it would take minutes; what fails here fails when that is over.
    let (_namespaces, mut daemon, after) = ready(world, "steps", Setup { rehearses: false, ..Setup::default() })?;
    let before = state(&mut daemon)?;
    let left = Rc::new(Cell::new(usize::MAX));
    daemon.control().objects().inject({
        let left = left.clone();
        move |_| match left.replace(left.get().wrapping_sub(1)) {
            0 => Err(ObjectError::whole("planted")),
            _ => Ok(()),
        }
    });
    for step in 0.. {
        left.set(step);
        let applied = daemon.apply("after.yaml", &after);
        left.set(usize::MAX);
        let error = match applied {
            Ok(_) if step > 60 => return Ok(()),
            Ok(_) => return Err(format!("there were only {step} steps").into()),
            Err(error) => error.to_string(),
        };
        if !error.ends_with("planted") || error.contains("undone") {
            return Err(format!("step {step}: {error}").into());
        }
        compare(&state(&mut daemon)?, &before, &format!("step {step}, {error}"))?;
    }
    Ok(())
}

/// Failures that rooms find themselves, each after most of the other steps.
fn refused_by_a_room(world: &World) -> Result<(), Failed> {
    let (_namespaces, mut daemon, after) = ready(world, "refused", Setup::default())?;
    let before = state(&mut daemon)?;
    for (more, expected) in [
        ("taps:\n  - {name: tap9, host-namespace: nowhere}", "there is no network namespace nowhere"),
        ("taps:\n  - {name: tap9, host-namespace: left, host-interface: wire0}", "there is a Linux interface wire0"),
        (
            "interface-addresses:\n  - {interface: tap3, address: 10.3.0.7/24}\n  - {interface: tap1, address: 10.3.0.8/24}",
            "overlaps",
        ),
        ("layer2-interfaces:\n  - {interface: loop0, domain: 3}", "a loopback can only be"),
        ("sub-interfaces:\n  - {name: pg0.40, outer: 30}", "takes these frames already"),
        ("pg-streams:\n  - {name: bad, interface: tap0, enabled: true}", "is no interface of the packet generator"),
        ("tag-rewrites:\n  - {interface: tap0, pop: 2}", "begin with 0 known tags"),
    ] {
        let (section, objects) = more.split_once('\n').ok_or("a section")?;
        let text = after.replace(&format!("\n{section}\n"), &format!("\n{section}\n{objects}\n"));
        let error = match daemon.apply("after.yaml", &text) {
            Ok(_) => return Err(format!("{more}: it was applied").into()),
            Err(error) => error.to_string(),
        };
        if !error.contains(expected) || error.contains("undone") {
            return Err(format!("{more}: {error}").into());
        }
        compare(&state(&mut daemon)?, &before, more)?;
    }
    Ok(())
}

fn going_back(world: &World) -> Result<(), Failed> {
    let (_namespaces, mut daemon, after) = ready(world, "back", Setup::default())?;
    let before = state(&mut daemon)?;
    daemon.apply("after.yaml", &after)?;
    let applied = state(&mut daemon)?;
    daemon.run("rollback 1")?;
    compare(&state(&mut daemon)?, &before, "back")?;
    daemon.run("rollback 1")?;
    Ok(compare(&state(&mut daemon)?, &applied, "and forth")?)
}

/// Refusals, by a room or by Linux, come before any device is deleted that would come back as another one. `plan` reports those
/// that do not need the outside.
fn left_alone(world: &World) -> Result<(), Failed> {
    const RUNS: &str = "taps:\n- {name: tap0, host-namespace: left}\nloopbacks:\n- {name: loop0}\n";
    let (left, right) = (Namespace::add(world, "left")?, Namespace::add(world, "right")?);
    veth((&left, "wire0"), (&right, "wire1"), 1500)?;
    let mut daemon = Daemon::new(ROOMS, Setup::default())?;
    daemon.apply("runs.yaml", RUNS)?;
    let identity = |daemon: &Daemon| -> Result<_, Failed> {
        let interfaces = daemon.control().room::<Interfaces>();
        let tap = interfaces.find("tap0").ok_or("tap0 is gone")?;
        let linux = left.ip("-o link show tap0")?;
        Ok((tap.id, tap.mac, linux, daemon.control().save().text))
    };
    let before = identity(&daemon)?;
    for (text, expected, is_planned) in [
        (
            "taps:\n- {name: tap1, host-namespace: left}\nloopbacks:\n- {name: loop0}\n- {name: loop1}\n\
             interface-addresses:\n- {interface: loop0, address: 10.9.0.1/24}\n- {interface: loop1, address: 10.9.0.9/24}\n",
            "which overlaps",
            false,
        ),
        ("taps:\n- {name: tap1, host-namespace: nowhere}\n", "there is no network namespace nowhere", false),
        ("taps:\n- {name: tap0, host-namespace: nowhere}\n", "there is no network namespace nowhere", false),
        ("host-interfaces:\n- {name: host-eth7, namespace: left}\n", "there is no Linux interface eth7", false),
        // Only the attempt shows it; but nothing has gone by then.
        (
            "taps:\n- {name: tap1, host-namespace: left, host-interface: wire0}\n",
            "there is a Linux interface wire0",
            true,
        ),
    ] {
        let planned = daemon.plan("f.yaml", text).map(drop).map_err(|error| error.to_string());
        let applied = daemon.apply("f.yaml", text).map(drop).map_err(|error| error.to_string());
        let Err(error) = &applied else { return Err(format!("{text}: it was applied").into()) };
        if !error.contains(expected) || planned.is_ok() != is_planned || !is_planned && planned != applied {
            return Err(format!("{text}: planned: {planned:?}, applied: {error}").into());
        }
        let after = identity(&daemon)?;
        if after != before {
            return Err(format!("{text}: {error}\n{before:?}\n{after:?}").into());
        }
    }
    // A name in Linux that one gives back another takes.
    daemon.apply("f.yaml", "taps:\n- {name: tap1, host-namespace: left, host-interface: tap0}\n")?;
    Ok(())
}
