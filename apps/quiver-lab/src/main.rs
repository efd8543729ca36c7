//! `quiver-lab`, which `quiver lab` runs: measurements after CSIT's method: what there is to measure, measuring it, and what
//! was measured.

// They panic where a reader has gone away; `quiver_terminal` has what takes their place.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bisect;
mod compare;
mod connections;
mod display;
mod estimate;
mod export;
mod gate;
mod judge;
mod keep;
mod measured;
mod run;
mod send;
mod serve;
mod server;
mod site;
mod testbed;
mod told;
mod top;
mod within;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::{env, fs, io, thread};

use clap::Parser;
use nix::sys::utsname::uname;
use nix::unistd::{AccessFlags, access};
use quiver_compare::GitError;
use quiver_store::{Unlisted, UrlError};
use quiver_suite::{Case, Lack, Machine, Part, Selection, SelectionError, SuiteError};
use quiver_terminal::{print, say};
use quiver_testbed::Testbed;
use serde_json::Value;

/// Measure Quiver and its peers after CSIT's method
///
/// `quiver lab` is this program.
#[derive(Debug, Parser)]
#[command(name = "quiver-lab", bin_name = "quiver lab", version, disable_help_subcommand = true)]
struct Arguments {
    /// Answer in JSON; may also stand behind the command
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    List(List),
    Run(run::Run),
    Connections(connections::Connections),
    Compare(compare::Compare),
    Gate(gate::GateOf),
    Bisect(bisect::BisectOf),
    Export(export::ExportOf),
    Send(send::Send),
    Site(site::SiteOf),
    Serve(serve::Serve),
    Top(top::Top),
}

/// List the cases of the suites, and what this machine lacks for each
///
/// `quiver lab run` measures them.
#[derive(Debug, clap::Args)]
struct List {
    /// A tag expression, such as: ip4_routing AND 64b AND 1c AND ndrpdr
    ///
    /// It means what Robot Framework's mean: AND binds closest, then OR, then NOT; *, ? and [...] stand for letters; case
    /// and underscores do not matter. Parentheses may group. All cases without one.
    #[arg(value_name = "EXPR")]
    expression: Vec<String>,
    /// Suites beside the built-in ones: all files *.yaml of a folder
    #[arg(long, value_name = "DIR")]
    suites: Option<PathBuf>,
    /// The cases that run on this testbed, as `quiver lab run --testbed` would
    #[arg(long, value_name = "FILE")]
    testbed: Option<PathBuf>,
    /// As a list in JSON, with all fields, tags and needs
    #[arg(long)]
    json: bool,
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
enum LabError {
    #[error("{}: {error}; name a folder with suites, files *.yaml", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("the expression: {0}")]
    Selection(#[from] SelectionError),
    #[error("{}", .0.iter().map(SuiteError::to_string).collect::<Vec<_>>().join("\n"))]
    Suites(Vec<SuiteError>),
    #[error(transparent)]
    Place(quiver_netns::Error),
    #[error("{path}: what is below {files} is gone when the run ends: name another folder")]
    Lost { path: String, files: &'static str },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Testbed(Vec<quiver_testbed::TestbedError>),
    #[error("{}: {error}; name the file of a testbed", path.display())]
    NoTestbed { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Hosts { path: PathBuf, error: Box<quiver_run::Error> },
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    #[error(transparent)]
    Keep(#[from] keep::KeepError),
    #[error(transparent)]
    Side(#[from] quiver_compare::SelectionError),
    #[error("{}: {error}; name a folder with a build", path.display())]
    Build { path: PathBuf, error: io::Error },
    #[error("{text}: stored results are not compared with a build: name two of one kind")]
    Mixed { text: String },
    #[error(
        "the expression is empty: name cases by their tags, such as: ip4_routing AND 64b AND mrr; perftest are all"
    )]
    Empty,
    #[error("{expression}: no case has such tags: `quiver lab list --json` has all cases with theirs")]
    NoMatch { expression: String },
    #[error("{expression}: no case of Quiver that this machine can run: `quiver lab list` has them")]
    NoCase { expression: String },
    #[error("{0}")]
    Gate(String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{0}")]
    Bisect(String),
    #[error(transparent)]
    Export(#[from] quiver_export::ExportError),
    #[error("{stored} sent, {failed} are still in {}", from.display())]
    Unsent { stored: usize, failed: usize, from: PathBuf },
    #[error(transparent)]
    Connections(#[from] connections::ConnectionsError),
    #[error(transparent)]
    Read(#[from] quiver_export::ReadError),
    #[error(transparent)]
    Site(#[from] quiver_dashboard::SiteError),
    #[error(transparent)]
    Server(#[from] server::ServerError),
    #[error("{0}")]
    Top(String),
    #[error("a temporary folder: {0}; TMPDIR names another one")]
    Folder(io::Error),
    #[error("this machine's clock is wrong: {0}")]
    Clock(String),
    #[error("signals cannot be received: {0}")]
    Signals(io::Error),
}

fn main() -> ExitCode {
    let Arguments { json, task } = Arguments::parse();
    let done = match &task {
        Task::List(list) => self::list(list, json || list.json),
        Task::Run(run) => return run::status(run, json),
        Task::Connections(asked) => return connections::run(asked, json),
        Task::Compare(compare) => compare::run(compare, json),
        Task::Export(export) => export::run(export),
        Task::Send(send) => send::run(send),
        Task::Site(site) => site::run(site),
        Task::Serve(serve) => serve::run(serve),
        Task::Top(top) => top::run(top),
        Task::Gate(gate) => return gate::run(gate, json),
        Task::Bisect(bisect) => {
            return bisect::run(bisect, json).unwrap_or_else(|error| {
                show_error(&error);
                ExitCode::FAILURE
            });
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            show_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Says why it cannot be done.
fn show_error(error: &LabError) {
    quiver_terminal::error("quiver-lab", error);
}

fn list(list: &List, json: bool) -> Result<(), LabError> {
    let testbed = list.testbed.as_deref().map(testbed::read).transpose()?;
    let (chosen, all) = select(&list.expression, list.suites.as_deref(), testbed.as_ref())?;
    let chosen: Vec<_> = chosen.iter().map(|case| (case, lacking(case, testbed.as_ref()))).collect();
    if json {
        let cases: Vec<_> = chosen.iter().map(|(case, lacks)| with_lacks(case, lacks)).collect();
        print(format_args!("{:#}", Value::from(cases)));
    } else {
        for (case, lacks) in &chosen {
            let mut lacks: Vec<_> = lacks.iter().map(Lack::to_string).collect();
            let needs = case.needs();
            if needs.may_share_cores && needs.is_oversubscribed(cores()) {
                lacks.push(format!("oversubscribed: {} cores wanted, {} here", needs.cores, cores()));
            }
            let lacks = if lacks.is_empty() { String::new() } else { format!("   ({})", lacks.join(", ")) };
            print(format_args!("{}{lacks}", case.name()));
        }
    }
    let complete = chosen.iter().filter(|(_, lacks)| lacks.is_empty()).count();
    say(format_args!(
        "{} of {} cases; this machine has programs, cores and memory for {complete} of them.",
        chosen.len(),
        all
    ));
    Ok(())
}

/// The cases that an expression means, all without one, and how many there are; on the ports of a testbed if it has some.
fn select(
    expression: &[String],
    suites: Option<&Path>,
    testbed: Option<&Testbed>,
) -> Result<(Vec<Case>, usize), LabError> {
    let words = expression.join(" ");
    if !expression.is_empty() && words.trim().is_empty() {
        return Err(LabError::Empty);
    }
    let selection = (!words.is_empty()).then(|| Selection::parse(&words)).transpose()?;
    let mut cases = cases(suites)?;
    if let Some(topology) = testbed.and_then(testbed::ports) {
        cases = cases.into_iter().filter_map(|case| case.on_ports(topology)).collect();
    }
    let all = cases.len();
    cases.retain(|case| selection.as_ref().is_none_or(|selection| selection.matches(case)));
    if cases.is_empty() {
        return Err(LabError::NoMatch { expression: words });
    }
    Ok((cases, all))
}

/// Requirements of a case that this machine, or a testbed, lacks.
fn lacking(case: &Case, testbed: Option<&Testbed>) -> Vec<Lack> {
    if let Some(testbed) = testbed {
        return testbed::lacking(case, testbed);
    }
    case.needs().lacking(Machine {
        cores: cores(),
        memory_gib: memory_gib(),
        has_program: &has_program,
        has_part: &has_part,
    })
}

/// The built-in cases, and those of a folder.
fn cases(folder: Option<&Path>) -> Result<Vec<Case>, LabError> {
    let Some(folder) = folder else { return quiver_suite::builtin().map_err(LabError::Suites) };
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| LabError::Unreadable { path, error }
    };
    let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
        files.push((path.display().to_string(), text));
    }
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    quiver_suite::with_builtin(files).map_err(LabError::Suites)
}

fn with_lacks(case: &Case, lacks: &[Lack]) -> Value {
    let mut value = serde_json::to_value(case).unwrap_or_default();
    value["lacks"] = lacks.iter().map(Lack::to_string).collect();
    value
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The kernel's total memory in GiB, rounded: the kernel counts less than there is.
fn memory_gib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    (kib.unwrap_or(0) + (1 << 19)) >> 20
}

fn has_program(name: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| access(&folder.join(name), AccessFlags::X_OK).is_ok())
}

/// Whether this machine has a requirement other than programs, cores and memory.
fn has_part(part: Part) -> bool {
    match part {
        Part::OwnPackets => false,
        Part::VhostNet => access(Path::new("/dev/vhost-net"), AccessFlags::R_OK | AccessFlags::W_OK).is_ok(),
        Part::Vlans => Path::new("/proc/net/vlan").exists() || has_module("8021q"),
        Part::Namespaces => may_make_namespaces(),
    }
}

/// Tried once: it starts a program.
fn may_make_namespaces() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| !matches!(quiver_netns::rights(), quiver_netns::Rights::None(_)))
}

/// Whether the kernel has a module, or loads it when it is asked for what is in it.
fn has_module(name: &str) -> bool {
    let Ok(kernel) = uname() else { return false };
    let folder = Path::new("/lib/modules").join(kernel.release());
    Path::new("/sys/module").join(name).exists() || may_have(&folder, name)
}

/// Whether a kernel's folder of modules lists one. True where it cannot be read, as in most containers: then the device
/// reports a missing module.
fn may_have(folder: &Path, name: &str) -> bool {
    let lists = ["modules.dep", "modules.builtin"].map(|file| fs::read_to_string(folder.join(file)));
    lists[0].is_err() || lists.iter().flatten().any(|list| is_listed(list, name))
}

/// Whether a module is in a list of files, `kernel/net/8021q/8021q.ko.zst: ...` (modules.dep(5)).
fn is_listed(list: &str, name: &str) -> bool {
    let file = |line: &str| Some(line.split(':').next()?.rsplit('/').next()?.split('.').next()? == name);
    list.lines().any(|line| file(line) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_is_that_of_these_options() {
        quiver_manual::check(&Arguments::command(), "quiver-lab", "1");
    }

    #[test]
    fn modules_are_listed_by_their_files() {
        let list = "kernel/net/802/mrp.ko.zst:\nkernel/net/8021q/8021q.ko.zst: kernel/net/802/mrp.ko.zst\n";
        assert!(is_listed(list, "8021q") && is_listed("kernel/drivers/vhost/vhost_net.ko", "vhost_net"));
        assert!(!is_listed(list, "8021") && !is_listed(list, "vhost_net") && !is_listed("", "8021q"));
        assert!(!has_part(Part::OwnPackets));
        let folder = tempfile::tempdir().unwrap();
        assert!(may_have(folder.path(), "8021q"), "nobody knows");
        fs::write(folder.path().join("modules.dep"), list).unwrap();
        assert!(may_have(folder.path(), "8021q") && !may_have(folder.path(), "vhost_net"));
    }
}
