//! The Quiver daemon: the control thread, hosted by tokio, and its command socket.

mod api;
mod background;
mod captures;
mod cli;
mod dataplane;
mod heap;
mod host;
mod import;
mod log;
mod metrics;
#[cfg(test)]
mod pages;
mod peer;
mod places;
mod punts;
mod realtime;
mod server;
mod settings;
mod socket;
mod state;
mod statistics;
mod traces;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use nix::unistd::{Gid, Group};
use places::{Places, by_open_files};
use quiver_compat::startup::Severity;
use quiver_compat::trace;
use quiver_control::cli::{Piece, Scripts, exec_from};
use quiver_control::transaction::Terms;
use quiver_control::{Control, LocalFuture, protocol};
use quiverd::features;
use server::Server;
use settings::{Given, SettingsError};
use socket::Socket;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let given = match settings::read(&arguments, &settings::this_machine()) {
        Ok(given) => given,
        Err(SettingsError::Options(error)) => error.exit(),
        Err(error) => return failed(&error.to_string()),
    };
    if let [startup, script @ ..] = &given.settings.import[..] {
        return import(startup, script.first()).unwrap_or_else(|error| failed(&error));
    }
    let is_daemon = given.settings.daemon;
    let ended = match (is_daemon, background::is_there()) {
        (true, false) => return background::start().unwrap_or_else(|error| failed(&error)),
        (true, true) => background::leave_session(),
        (false, _) => Ok(()),
    };
    match ended.and_then(|()| begin(given)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_daemon => {
            tracing::error!("{error}");
            failed(&error)
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "quiverd: {error}");
    ExitCode::FAILURE
}

/// Says what was given, and runs the daemon on this thread.
fn begin(given: Given) -> Result<(), String> {
    let (lines, levels) = log::begin(&given.settings)?;
    for note in &given.notes {
        match note.severity {
            Severity::Info => tracing::info!("{note}"),
            Severity::Warning => tracing::warn!("{note}"),
        }
    }
    if let Some(options) = &given.from_startup {
        tracing::info!("VPP's startup configuration was taken as: quiverd {}", options.join(" "));
    }
    on_this_thread(run(given, lines, levels))
}

/// Runs the control side, and nothing else, on this thread.
fn on_this_thread<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the control thread cannot start: {error}"))?;
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// Prints what a startup.conf and a script lead to; the status says whether something had to be left out.
fn import(startup: &Path, script: Option<&PathBuf>) -> Result<ExitCode, String> {
    let imported = on_this_thread(import::import(startup, script))?;
    std::io::stdout().write_all(imported.text.as_bytes()).map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(if imported.has_left { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Runs the daemon until it is told to stop.
async fn run(
    given: Given,
    lines: quiver_runtime::log::Lines,
    levels: quiver_runtime::log::SetLevels,
) -> Result<(), String> {
    let Given { settings, configuration, .. } = given;
    if let Some(folder) = &settings.runtime_dir {
        let entered = std::fs::create_dir_all(folder).and_then(|()| std::env::set_current_dir(folder));
        entered.map_err(|error| format!("--runtime-dir {}: {error}; name another", folder.display()))?;
    }
    let (control, start) = (host::control(), quiver_engine::thread::monotonic());
    dataplane::insert(&control, &settings.dataplane, settings.statistics.segment())?;
    features::register(&control).map_err(|error| error.to_string())?;
    quiver_ip::set_table_defaults(&control, settings.table_defaults()).map_err(|error| error.to_string())?;
    quiver_neighbor::set_announcing(&control, !settings.no_announcements);
    quiver_neighbor::set_neighbor_defaults(&control, settings.neighbor_defaults());
    quiver_punt::set_unspoken(&control, settings.unspoken);
    if settings.runtime_dir.is_some() {
        let folder = std::env::current_dir().map_err(|error| format!("--runtime-dir: {error}; name another"))?;
        quiver_memif::sockets_in(&control, &folder);
    }
    quiver_mld::set_reporting(&control, true);
    quiver_statistics::set(&control, settings.statistics.upkeep());
    quiver_runtime::show_lines(&control, lines, levels);
    quiver_runtime::read_memory(&control, Rc::new(heap::read));
    quiver_runtime::capture_to(&control, Rc::new(captures::Files));
    quiver_punt::send_by(&control, Rc::new(punts::Datagrams::default()));
    trace::save_to(&control, Rc::new(traces::Traces));
    if let Some(messages) = settings.vpp.api_trace {
        trace::start(&control, messages);
    }
    exec_from(&control, Rc::new(ScriptFiles));
    quiver_plugins::load(&control, &settings.plugin);
    control.commands().check()?;
    if let Some(folder) = &settings.write_api {
        return api::write(&control, folder);
    }

    let is_root = nix::unistd::geteuid().is_root();
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let terminal = settings.vpp.terminal();
    let own_socket = settings.socket.as_deref();
    let runtime = || directory("XDG_RUNTIME_DIR");
    let api_sockets = socket::paths("api.sock", settings.vpp.api_socket, own_socket, is_root, runtime());
    let stats_sockets = socket::paths("stats.sock", settings.statistics.stats_socket, own_socket, is_root, runtime());
    let has_state = settings.socket.is_none() && !settings.no_state;
    let state = settings.state.or_else(|| state::standard(is_root, directory).filter(|_| has_state));
    let group = settings.group.as_deref().map(group).transpose()?;
    let socket = settings.socket.or_else(|| settings.runtime_dir.is_some().then(|| PathBuf::from("quiver.sock")));
    let path = protocol::socket_path(socket, is_root, directory("XDG_RUNTIME_DIR"));
    // One process's clients at all of these together leave room for others.
    let places = Places::new(by_open_files());
    let socket = Socket::bind(&path, group, &places).map_err(|error| error.to_string())?;
    tracing::info!("serving commands at {}", path.display());
    // Who finds the API's socket expects the statistics to be there, too.
    let statistics = statistics::Servers::bind(&stats_sockets, group)?;
    let programs = match &settings.punt_socket {
        Some(path) => {
            let programs = punts::Programs::bind(path, group).map_err(|error| error.to_string())?;
            tracing::info!("taking packets of programs at {}", path.display());
            quiver_punt::served_at(&control, &path.display().to_string());
            Some(programs)
        }
        None => None,
    };
    let cli = settings.vpp.cli_listen.map(|listen| cli::Server::bind(&listen, group, &places, terminal)).transpose()?;
    let endpoint = metrics::Endpoint::bind(settings.statistics.metrics).await?;
    let (server, api) = (Server::new(socket), api::Servers::bind(&api_sockets, group, &places)?);

    let threads = dataplane::start(&control, &settings.dataplane, start)?;
    if let Some(to) = settings.statistics.otlp {
        control.spawn("metrics", metrics::report(control.clone(), to, settings.statistics.otlp_interval));
    }
    match &state {
        Some(path) => {
            let folder = state::Folder::open(path).map_err(|error| error.to_string())?;
            control.open_history(Rc::new(folder)).await.map_err(|error| error.to_string())?;
        }
        None => tracing::info!("the history of the configuration ends with this daemon: --state says where to keep it"),
    }
    match configuration {
        Some((name, text)) => {
            // Its mistakes are told all at once.
            control.apply(&name, &text, Terms::default()).await.map_err(|error| error.to_string())?;
        }
        None => resume(&control).await,
    }
    if let Some(file) = &settings.exec {
        exec(&control, file, settings.exec_all).await?;
    }
    let _pid_file = settings.pid_file.map(PidFile::write).transpose()?;

    let (mut terminate, mut interrupt) = (stop_signal(SignalKind::terminate())?, stop_signal(SignalKind::interrupt())?);
    if settings.daemon {
        background::serves()?;
    }
    tokio::select! {
        () = server.serve(&control) => {}
        () = api.serve(&control) => {}
        () = statistics.serve(&control) => {}
        () = cli::serve(cli, &control) => {}
        () = endpoint.serve(&control) => {}
        () = punts::serve(programs, &control) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    if let Some(by) = control.unsaved_by() {
        tracing::warn!("changes by commands of {by} were never saved, and are lost");
    }
    tracing::info!("stopping");
    threads.stop(&control);
    Ok(())
}

/// A group of this machine.
fn group(name: &str) -> Result<Gid, String> {
    let found = Group::from_name(name).map_err(|error| format!("--group {name}: {error}"))?;
    let numbered = || name.parse().ok().map(Gid::from_raw);
    let group = found.map(|group| group.gid).or_else(numbered);
    group.ok_or_else(|| format!("--group {name}: there is no such group: `groupadd {name}` adds it, or name another"))
}

/// A file with the process id, removed with this.
struct PidFile(PathBuf);

impl PidFile {
    fn write(path: PathBuf) -> Result<PidFile, String> {
        match std::fs::write(&path, format!("{}\n", std::process::id())) {
            Ok(()) => Ok(PidFile(path)),
            Err(error) => Err(format!("--pid-file {}: {error}; name another", path.display())),
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Gone already is as good as removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Starts with the saved configuration. One that does not fit this machine any more must not keep its operators out.
async fn resume(control: &Control) {
    match control.resume().await {
        Ok(Some(version)) => tracing::info!("started with version {} ({})", version.number, version.what),
        Ok(None) => {}
        Err(error) => tracing::error!(
            "the saved configuration does not run, so quiverd runs without any: {error}; mend what it says, then: \
            quiver rollback 0"
        ),
    }
}

/// The scripts of `exec` are files of this machine.
struct ScriptFiles;

impl Scripts for ScriptFiles {
    fn read(&self, path: &Path) -> LocalFuture<std::io::Result<String>> {
        let path = path.to_owned();
        state::aside(move || std::fs::read_to_string(path))
    }
}

/// Runs the commands of a file; the first that is refused ends it, unless all are to be tried.
async fn exec(control: &Control, file: &Path, all: bool) -> Result<(), String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if all => {
            tracing::error!("{}: {error}", file.display());
            return Ok(());
        }
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    for Piece { line, text, .. } in quiver_control::cli::script(&text) {
        if let (_, Err(error)) = control.commands().run_script(control, &text).await {
            let refused = format!("{}:{line}: `{text}`: {error}", file.display());
            if !all {
                return Err(refused);
            }
            tracing::error!("{refused}");
        }
    }
    Ok(())
}

fn stop_signal(kind: SignalKind) -> Result<tokio::signal::unix::Signal, String> {
    signal(kind).map_err(|error| format!("signals cannot be received: {error}"))
}
