//! However a world ends, nothing of it is left; a kept one is left until it is stopped.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio, exit};
use std::time::{Duration, Instant};
use std::{fs, thread};

use libtest_mimic::{Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quiver_netns::{KeptWorld, Namespace, Program, World, run, veth};

/// Name of the kept world.
const KEPT: &CStr = c"netns-kept";

pub fn trials() -> Vec<Trial> {
    let ends = [
        ("success", None, Some(0)),
        ("failure", None, Some(7)),
        ("panic", None, Some(101)),
        ("interrupt", Some(Signal::SIGINT), Some(130)),
        ("terminate", Some(Signal::SIGTERM), Some(143)),
        ("hang-up", Some(Signal::SIGHUP), Some(129)),
        ("kill", Some(Signal::SIGKILL), None),
    ];
    let mut trials: Vec<_> = ends
        .into_iter()
        .map(|(name, signal, code)| {
            Trial::test(format!("lifetime::nothing_is_left_after_{name}"), move || nothing_is_left(name, signal, code))
        })
        .collect();
    trials.push(Trial::test("lifetime::a_kept_world_can_be_entered_and_stopped", kept));
    trials
}

/// The part of the program inside the world.
pub fn play(role: &str, world: World) -> ! {
    let client = Namespace::add(&world, "client").expect("make a namespace");
    let server = Namespace::add(&world, "server").expect("make a namespace");
    veth((&client, "eth0"), (&server, "eth0"), 1500).expect("make a link");
    let sleeper = Program::start(client.command("sleep").arg("1000")).expect("start a program");
    println!("ready {}", fs::read_link("/proc/self/ns/pid").expect("know the process namespace").display());
    match role {
        "end-success" => exit(0),
        "end-failure" => exit(7),
        "end-panic" => panic!("as asked"),
        "end-kept" => world.keep(KEPT).expect("be kept"),
        _ => {}
    }
    thread::sleep(Duration::from_secs(60));
    drop(sleeper);
    exit(1)
}

/// Starts a player and waits until its world stands; returns also its process namespace.
fn start(role: &str) -> Result<(Child, BufReader<ChildStdout>, String), Failed> {
    let mut child = crate::again(role)?.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    let world = line.strip_prefix("ready ").ok_or("the world did not get ready")?.trim().to_owned();
    Ok((child, output, world))
}

fn nothing_is_left(name: &str, signal: Option<Signal>, code: Option<i32>) -> Result<(), Failed> {
    let role = format!("end-{name}");
    let before = traces()?;
    let (mut child, mut output, world) = start(&role)?;
    if let Some(signal) = signal {
        assert!(processes_of(&world)? >= 2, "the world and its sleeper should be alive");
        kill(Pid::from_raw(child.id().cast_signed()), signal)?;
    }
    let status = child.wait()?;
    assert_eq!(status.code(), code, "{status:?}");
    if code.is_none() {
        assert_eq!(status.signal(), signal.map(|signal| signal as i32));
    }
    // The pipe ends when the last process that holds it has ended.
    output.read_to_string(&mut String::new())?;
    vanishes(&world)?;
    assert_eq!(before, traces()?);
    Ok(())
}

fn kept() -> Result<(), Failed> {
    let role = "end-kept";
    let before = traces()?;
    let (mut child, mut output, namespace) = start(role)?;
    output.read_to_string(&mut String::new())?;
    assert_eq!(child.wait()?.code(), Some(0));
    let [world] = KeptWorld::all(KEPT)[..] else { return Err("the kept world should be found".into()) };
    let links = run(world.command("server", "ip").args(["-brief", "link"]))?;
    assert!(links.contains("eth0@"), "{links}");
    assert!(world.path("/run/netns/client").exists());
    world.stop()?;
    vanishes(&namespace)?;
    assert_eq!(before, traces()?);
    Ok(())
}

/// Links, namespaces and other traces that a careless program would leave on the machine.
fn traces() -> Result<BTreeSet<String>, Failed> {
    let links = run(Command::new("ip").args(["-brief", "link"]))?;
    let namespaces = run(Command::new("ip").args(["netns", "list"]))?;
    let mut traces: BTreeSet<_> =
        links.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    traces.extend(namespaces.lines().map(|line| format!("namespace {line}")));
    traces.extend(fs::read_to_string("/proc/self/mountinfo")?.lines().map(str::to_owned));
    Ok(traces)
}

fn processes_of(namespace: &str) -> Result<usize, Failed> {
    let processes = fs::read_dir("/proc")?.flatten().map(|entry| entry.path().join("ns/pid"));
    Ok(processes.filter(|path| fs::read_link(path).is_ok_and(|link| link.to_string_lossy() == namespace)).count())
}

/// Waits until no process of the world is left; the kernel takes a moment to end it.
fn vanishes(world: &str) -> Result<(), Failed> {
    let limit = Instant::now() + Duration::from_secs(5);
    while processes_of(world)? > 0 {
        if Instant::now() > limit {
            return Err("the world is still there".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
