//! TCP throughput between two namespaces through two TAP interfaces that one worker joins, beside a direct veth pair:
//! `cargo run --release -p quiver-tap --example throughput [seconds] [words of create tap]`.
//!
//! It shows the cost of driver and worker alone; the demo adds the whole graph.

use std::error::Error;
use std::time::Duration;

use quiver_control::cli::Output;
use quiver_engine::*;
use quiver_netns::{Namespace, Program, World, enter, run, veth};
use quiver_testkit::crossing;
use quiver_testkit::executor::Executor;

fn main() -> Result<(), Box<dyn Error>> {
    let world = enter()?;
    let mut words = std::env::args().skip(1);
    let seconds = words.next().unwrap_or_else(|| "3".into());
    let more: Vec<_> = words.collect();
    let (a, b) = (Namespace::add(&world, "a")?, Namespace::add(&world, "b")?);
    veth((&a, "direct"), (&b, "direct"), 1500)?;
    a.ip("address add 10.8.0.1/24 dev direct")?;
    b.ip("address add 10.8.0.2/24 dev direct")?;
    let (dataplane, threads) = daemon(&world, &more.join(" "))?;
    let mut server = Program::start(b.command("iperf3").args(["--server", "--forceflush"]))?;
    server.wait_for_output("listening", Duration::from_secs(5))?;
    for (path, address) in [("direct veth", "10.8.0.2"), ("tap to tap", "10.9.0.2")] {
        run(a.command("ping").args(["-c", "3", "-i", "0.01", address]))?;
        let ping = run(a.command("ping").args(["-c", "100", "-i", "0.01", "-q", address]))?;
        println!("{path}: {}", ping.lines().last().unwrap_or_default());
        let before = cpu_seconds()?;
        let said = run(a.command("iperf3").args(["--client", address, "--time", &seconds, "--format", "g"]))?;
        let summary = said.lines().filter(|line| line.contains("sender") || line.contains("receiver"));
        summary.for_each(|line| println!("{path}: {line}"));
        println!("{path}: {:.2} s of CPU in this process", cpu_seconds()? - before);
    }
    if let Some(counters) = dataplane.worker_counters(0) {
        println!("{counters:?}");
    }
    dataplane.stop();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}

/// A data plane, and the threads of its workers.
type Running = (Dataplane, Vec<std::thread::JoinHandle<Worker>>);

fn daemon(_: &World, more: &str) -> Result<Running, Box<dyn Error>> {
    let executor = Executor::new(1);
    let control = executor.control();
    control.insert_room(Dataplane::new(Settings { buffers: 32_768, ..Settings::default() })?);
    quiver_interface::register(&control)?;
    crossing::register(&control)?;
    quiver_tap::register(&control)?;
    let workers = control.room_mut::<Dataplane>().start()?;
    for (id, host) in ["a", "b"].into_iter().enumerate() {
        let create =
            format!("create tap id {id} host-ns {host} host-if-name tap host-ip4-addr 10.9.0.{}/24 {more}", id + 1);
        for line in [create, format!("set interface state tap{id} up")] {
            executor.block_on(control.commands().run(&control, &line, &Output::default()))?;
        }
    }
    let spawn = |worker| thread::spawn(worker, None, thread::monotonic());
    let threads = workers.into_iter().map(spawn).collect::<Result<_, _>>()?;
    let dataplane = std::mem::replace(&mut *control.room_mut::<Dataplane>(), Dataplane::new(Settings::default())?);
    Ok((dataplane, threads))
}

/// CPU seconds that this process has used, in user space and kernel.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}
