//! The connection generator: a client and a server joined by memif, each in a daemon of its own, or both in one. A row's count is of
//! a connection, and its vector is the connections that are open at a time.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::cli::Output;
use quiver_engine::Level;
use quiver_scenarios::UNSEEN;
use quiver_testkit::daemon::{Daemon, Setup};
use serde_json::Value;
use tempfile::TempDir;

use super::turns::{counted_turns, say, warm_turns};
use crate::command::command;

/// Connections that are open at a time.
const AT_ONCE: usize = 250;
/// Profiles: TCP's 7 packets a connection, and its 16.
const PROFILES: [&str; 2] = ["tcp-cps", "tcp-tput"];
/// Rounds before counting, and counted ones. A connection takes some rounds.
const WARM: usize = 60;
const COUNTED: usize = 120;
/// Times that both daemons are asked whether they are connected.
const LOOKS: usize = 100;

/// Counts connections of each profile.
pub fn count(level: Level) -> Result<(), String> {
    for profile in PROFILES {
        apart(level, profile)?;
        together(level, profile)?;
    }
    Ok(())
}

/// A generator, the role of its memif interface, and the socket of that.
type End<'end> = (&'end str, &'end str, &'end Path);

/// A daemon with generators and their ends of memif.
fn daemon(level: Level, ends: &[End<'_>]) -> Result<Daemon, String> {
    let setup = Setup { level, buffers: 16_384, ..Setup::default() };
    let mut daemon = Daemon::new(UNSEEN, setup).map_err(|error| error.to_string())?;
    for (at, (generator, role, socket)) in ends.iter().enumerate() {
        let (number, memif) = (at + 1, format!("memif{}/0", at + 1));
        for line in [
            format!("create memif socket id {number} filename {}", socket.display()),
            format!("create interface memif id 0 socket-id {number} {role} ring-size 2048"),
            format!("create connection-generator interface {generator}"),
            format!("set interface l2 xconnect {generator} {memif}"),
            format!("set interface l2 xconnect {memif} {generator}"),
            format!("set interface state {generator} up"),
            format!("set interface state {memif} up"),
        ] {
            command(&mut daemon, &line)?;
        }
    }
    Ok(daemon)
}

/// A folder for a socket.
fn folder() -> Result<TempDir, String> {
    TempDir::with_prefix("quiver-bench-").map_err(|error| error.to_string())
}

/// Whether all links of a daemon are up.
fn is_up(daemon: &mut Daemon) -> Result<bool, String> {
    daemon.advance(Duration::from_millis(20)).map_err(|error| error.to_string())?;
    let shown = daemon.run("show interface").map_err(|error| error.to_string())?.json;
    let rows = shown.as_array().ok_or("`show interface` gives no list")?;
    let is_memif = |row: &&Value| row["name"].as_str().is_some_and(|name| name.starts_with("memif"));
    Ok(rows.iter().filter(is_memif).all(|row| row["link"] == "up"))
}

fn connect(daemons: &mut [&mut Daemon]) -> Result<(), String> {
    for _ in 0..LOOKS {
        let mut all = true;
        for daemon in &mut *daemons {
            all &= is_up(daemon)?;
        }
        if all {
            return Ok(());
        }
    }
    Err("both ends of memif found no connection".into())
}

fn start(daemon: &mut Daemon, generator: &str, side: &str, profile: &str) -> Result<(), String> {
    command(daemon, &format!("connections start {generator} side {side} profile {profile} at-once {AT_ONCE}"))
}

/// Counts of the client's run, without a turn of the worker.
fn shown(daemon: &mut Daemon) -> Result<Value, String> {
    let control = daemon.control().clone();
    let answer = Rc::new(RefCell::new(None));
    daemon.control().spawn("show", {
        let answer = answer.clone();
        async move {
            let reply = control.commands().run(&control, "show connections client", &Output::default()).await;
            *answer.borrow_mut() = Some(reply);
        }
    });
    daemon.executor().run_ready();
    match answer.take() {
        Some(Ok(mut reply)) => Ok(reply.json[0].take()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("`show connections` does not answer at once".into()),
    }
}

/// Counts the client's turns alone, as if the server were on another core.
fn apart(level: Level, profile: &str) -> Result<(), String> {
    let folder = folder()?;
    let socket = folder.path().join("memif");
    let mut client = daemon(level, &[("client", "master", &socket)])?;
    let mut server = daemon(level, &[("server", "slave", &socket)])?;
    connect(&mut [&mut client, &mut server])?;
    start(&mut server, "server", "server", profile)?;
    start(&mut client, "client", "client", profile)?;
    for _ in 0..WARM {
        warm_turns(&mut client.workers()[0], 1);
        warm_turns(&mut server.workers()[0], 1);
    }
    let before = closed(&mut client)?;
    for _ in 0..COUNTED {
        counted_turns(&mut client.workers()[0], 1);
        warm_turns(&mut server.workers()[0], 1);
    }
    let connections = closed(&mut client)? - before;
    tell(&format!("connections, client, {profile}"), connections)
}

/// Counts the turns of a worker that has both ends.
fn together(level: Level, profile: &str) -> Result<(), String> {
    let folder = folder()?;
    // A daemon that is both master and slave knows the socket by two names.
    let name = folder.path().file_name().unwrap_or_default();
    let [socket, again] =
        [folder.path().to_owned(), folder.path().join("..").join(name)].map(|path| path.join("memif"));
    let mut both = daemon(level, &[("client", "master", &socket), ("server", "slave", &again)])?;
    connect(&mut [&mut both])?;
    start(&mut both, "server", "server", profile)?;
    start(&mut both, "client", "client", profile)?;
    warm_turns(&mut both.workers()[0], WARM);
    let before = closed(&mut both)?;
    counted_turns(&mut both.workers()[0], COUNTED);
    let connections = closed(&mut both)? - before;
    tell(&format!("connections, both ends, {profile}"), connections)
}

/// The client's closed connections, none of which may have been disturbed: a packet that went twice would count, too.
fn closed(daemon: &mut Daemon) -> Result<u64, String> {
    let shown = shown(daemon)?;
    let of = |name: &str| shown[name].as_u64().ok_or_else(|| format!("`show connections` has no {name}"));
    for name in ["retransmitted", "failed", "unexpected", "no-buffer"] {
        match of(name)? {
            0 => {}
            count => return Err(format!("the client counts {count} {name}")),
        }
    }
    of("closed")
}

/// Ends the count of so many connections.
fn tell(path: &str, connections: u64) -> Result<(), String> {
    if connections == 0 {
        return Err(format!("{path}: no connection closed"));
    }
    say(path, AT_ONCE, connections as usize);
    Ok(())
}
