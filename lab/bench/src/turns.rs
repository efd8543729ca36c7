//! `bench turns`: how long the control thread's turns are while a large configuration is applied, shown, compared, rolled
//! back and saved: the counts of `show control turns` of a quiverd, in CPU time of its control thread.

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use quiver_engine::{Backing, Level};

use crate::machine::Machine;
use crate::quiverd::Quiverd;
use crate::report::append_lines;

/// Routes of the configurations.
pub const SIZES: [u32; 2] = [200_000, 1_000_000];
/// Invariant of the control thread.
const GOAL_US: f64 = 5_000.0;

/// Counts of a step.
struct Turns {
    turns: u64,
    over: u64,
    longest_us: f64,
    task: String,
}

/// Measures each step of each size, and prints a table; appends the rows to a file if one is given.
pub fn run(csv: Option<&Path>, sizes: &[u32]) -> Result<(), String> {
    let Machine { date, revision, cpu, .. } = Machine::here(Backing::Plain, Level::best());
    println!("{:>9} {:<26}{:>9}{:>11}{:>15}  task", "routes", "step", "turns", "over 5 ms", "longest, us");
    let mut rows = vec![];
    for size in sizes {
        for (step, Turns { turns, over, longest_us, task }) in measure(*size)? {
            println!("{size:>9} {step:<26}{turns:>9}{over:>11}{longest_us:>15.0}  {task}");
            rows.push(format!("{date},{revision},{size},{step},{turns},{over},{longest_us:.0},{task},\"{cpu}\""));
        }
    }
    println!("goal: no turn above {GOAL_US:.0} us of CPU time");
    csv.map_or(Ok(()), |path| {
        append_lines(path, "date,revision,routes,step,turns,over_5ms,longest_us,task,cpu", rows.into_iter())
    })
}

fn measure(routes: u32) -> Result<Vec<(&'static str, Turns)>, String> {
    let quiverd = Quiverd::start(|_| "create loopback interface\nset interface state loop0 up\n".into())?;
    let client = Client::new(&quiverd)?;
    let file = |name: &str, count: u32| -> Result<PathBuf, String> {
        let path = quiverd.folder().join(name);
        fs::write(&path, site(count)).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    };
    let (all, fewer) = (file("all.yaml", routes)?, file("fewer.yaml", routes - routes / 100)?);
    let saved = quiverd.folder().join("saved.yaml");
    let [all, fewer, saved] = [&all, &fewer, &saved].map(|path| path.display().to_string());
    let steps: [(&str, &[&str]); 8] = [
        ("apply", &["apply", &all]),
        ("show ip fib", &["show", "ip", "fib"]),
        ("show configuration", &["show", "configuration"]),
        ("diff", &["diff", &fewer]),
        ("plan with 1 % fewer", &["plan", &fewer]),
        ("apply with 1 % fewer", &["apply", &fewer]),
        ("rollback", &["rollback"]),
        ("save to a file", &["save", &saved]),
    ];
    let mut counted = vec![];
    for (name, arguments) in steps {
        quiverd.ask("clear control turns")?;
        client.run(arguments)?;
        counted.push((name, turns(&quiverd)?));
    }
    Ok(counted)
}

/// A loopback interface, and so many routes of 24 bits to a neighbor on it.
fn site(routes: u32) -> String {
    let mut text = String::from(
        "loopbacks: [{name: loop0}]\ninterfaces: [{name: loop0, state: up}]\n\
         interface-addresses: [{interface: loop0, address: 10.0.0.1/8}]\nroutes:\n",
    );
    for route in 0..routes {
        let prefix = Ipv4Addr::from(0x1400_0000 + (route << 8));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {{prefix: {prefix}/24, paths: [{{via: 10.0.0.2, interface: loop0}}]}}");
    }
    text
}

/// The program `quiver`, as users run it.
struct Client {
    program: PathBuf,
    socket: PathBuf,
}

impl Client {
    fn new(quiverd: &Quiverd) -> Result<Client, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("quiver");
        Ok(Client { program, socket: quiverd.folder().join("cli") })
    }
    fn run(&self, arguments: &[&str]) -> Result<(), String> {
        let output = Command::new(&self.program).arg("--socket").arg(&self.socket).args(arguments).output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("quiver {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// The sum over all tasks, and the task with the longest turn.
fn turns(quiverd: &Quiverd) -> Result<Turns, String> {
    let tasks = quiverd.ask("show control turns")?;
    let mut sum = Turns { turns: 0, over: 0, longest_us: 0.0, task: String::new() };
    for task in tasks.as_array().ok_or("`show control turns` lists no tasks")? {
        let count = |column: &str| task[column].as_u64().ok_or(format!("`show control turns` has no {column}: {task}"));
        sum.turns += count("turns")?;
        sum.over += count("over-5-ms")?;
        let longest = task["longest-us"].as_f64().ok_or(format!("`show control turns` has no longest-us: {task}"))?;
        if longest > sum.longest_us {
            (sum.longest_us, sum.task) = (longest, task["task"].as_str().unwrap_or_default().to_owned());
        }
    }
    Ok(sum)
}
