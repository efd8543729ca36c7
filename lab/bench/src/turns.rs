//! `bench turns`: how long the control thread's turns are while a large configuration is applied, shown, compared, rolled
//! back and saved: the counts of `show control turns` of a quiverd, in CPU time of its control thread.

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use quiver_control::protocol::REQUEST_LENGTH_MAX;
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
        measure(*size, |step, Turns { turns, over, longest_us, task }| {
            println!("{size:>9} {step:<26}{turns:>9}{over:>11}{longest_us:>15.0}  {task}");
            rows.push(format!("{date},{revision},{size},{step},{turns},{over},{longest_us:.0},{task},\"{cpu}\""));
        })?;
    }
    println!("goal: no turn above {GOAL_US:.0} us of CPU time");
    csv.map_or(Ok(()), |path| {
        append_lines(path, "date,revision,routes,step,turns,over_5ms,longest_us,task,cpu", rows.into_iter())
    })
}

/// Counts the turns of each step. A configuration that is too long for a request is that of the start; then a part of it is
/// merged in place of comparisons with a whole.
fn measure(routes: u32, mut counted: impl FnMut(&'static str, Turns)) -> Result<(), String> {
    let file = |folder: &Path, name: &str, text: String| -> Result<PathBuf, String> {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    };
    let (all, few) = (site(routes), routes / 100);
    // JSON has two bytes for the end of a line, and the rest of the request takes some.
    let fits = all.len() + routes as usize + 1024 < REQUEST_LENGTH_MAX;
    let quiverd = Quiverd::start_with(|folder| {
        let start = if fits { site(0) } else { all.clone() };
        let start = file(folder, "start.yaml", start)?;
        Ok(vec!["--state".into(), folder.join("state").into(), "--config".into(), start.into()])
    })?;
    let folder = quiverd.folder();
    let client = Client::new(&quiverd)?;
    let [all, fewer, part] = [("all.yaml", all), ("fewer.yaml", site(routes - few)), ("part.yaml", other(few))]
        .map(|(name, text)| file(folder, name, text).map(|path| path.display().to_string()));
    let (all, fewer, part, saved) = (all?, fewer?, part?, folder.join("saved.yaml").display().to_string());
    let whole: &[(&'static str, &[&str])] = &[
        ("diff", &["diff", &fewer]),
        ("plan with 1 % fewer", &["plan", &fewer]),
        ("apply with 1 % fewer", &["apply", &fewer]),
    ];
    let steps: [(&'static str, &[&str]); 5] = [
        ("show ip fib", &["show", "ip", "fib"]),
        ("show configuration", &["show", "configuration"]),
        ("merge 1 % more", &["apply", "--merge", &part]),
        ("rollback", &["rollback", "1"]),
        ("save to a file", &["save", &saved]),
    ];
    let first: &[(&'static str, &[&str])] = &[("apply", &["apply", &all])];
    if !fits {
        counted("start", turns(&quiverd)?);
    }
    let [first, whole] = [first, whole].map(|steps| steps.iter().filter(|_| fits));
    for (name, arguments) in first.chain(&steps[..2]).chain(whole).chain(&steps[2..]) {
        quiverd.ask("clear control turns")?;
        client.run(arguments)?;
        counted(name, turns(&quiverd)?);
    }
    Ok(())
}

/// A loopback interface, and so many routes of 24 bits to a neighbor on it.
fn site(routes: u32) -> String {
    let base = "loopbacks: [{name: loop0}]\ninterfaces: [{name: loop0, state: up}]\n\
                interface-addresses: [{interface: loop0, address: 10.0.0.1/8}]\n";
    format!("{base}{}", section(0x1400_0000, routes))
}

/// So many other routes.
fn other(routes: u32) -> String {
    section(0x8000_0000, routes)
}

/// Routes of 24 bits from an address on.
fn section(first: u32, routes: u32) -> String {
    let mut text = String::from("routes:\n");
    for route in 0..routes {
        let prefix = Ipv4Addr::from(first + (route << 8));
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
