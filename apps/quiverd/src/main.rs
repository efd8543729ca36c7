//! The Quiver daemon: the control thread, hosted by tokio, and its command socket.

mod api;
mod audit;
mod background;
mod budget;
mod captures;
mod cli;
mod configuration;
mod dataplane;
mod descriptors;
mod events;
mod hangup;
mod heap;
mod host;
mod import;
mod inspection;
mod line;
mod log;
mod metrics;
mod outside;
#[cfg(test)]
mod pages;
mod passing;
mod peer;
mod permitted;
mod places;
mod private;
mod punts;
mod realtime;
#[cfg(test)]
mod schema;
mod server;
mod service;
mod settings;
mod signals;
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
use outside::Outside;
use places::{Places, by_open_files};
use private::PrivateFolder;
use quiver_compat::startup::Severity;
use quiver_compat::trace;
use quiver_control::cli::{Piece, exec_from};
use quiver_control::files::{self, SCRIPT_MAX};
use quiver_control::transaction::Source;
use quiver_control::{Control, protocol};
use quiverd::features;
use quiverd::rehearsal::rehearse;
use server::Server;
use settings::{SettingsError, StartSettings};
use socket::Socket;

fn main() -> ExitCode {
    // Before other threads start, which inherit the capabilities. If this fails, quiverd reports later which operation
    // was refused.
    let _ = permitted::take();
    let passed = match descriptors::take() {
        Ok(passed) => passed,
        Err(error) => return failed(&error),
    };
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
        (true, false) if !passed.is_empty() => {
            return failed(
                "descriptors were passed to quiverd, and --daemon starts another process; leave --daemon out",
            );
        }
        (true, false) => return background::start().unwrap_or_else(|error| failed(&error)),
        (true, true) => background::leave_session(),
        (false, _) => Ok(()),
    };
    match ended.and_then(|()| begin(given, passed)) {
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

/// Prints notes on the settings, and runs the daemon on this thread.
fn begin(given: StartSettings, passed: descriptors::Passed) -> Result<(), String> {
    let log = log::begin(&given.settings)?;
    heap::set_malloc_options();
    for note in &given.notes {
        match note.severity {
            Severity::Info => tracing::info!("{note}"),
            Severity::Warning => tracing::warn!("{note}"),
        }
    }
    if let Some(options) = &given.from_startup {
        tracing::info!("VPP's startup configuration was taken as: quiverd {}", options.join(" "));
    }
    on_this_thread(run(given, passed, log)).inspect_err(|error| service::status(error))
}

/// Runs the control side, and nothing else, on this thread.
fn on_this_thread<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the control thread cannot start: {error}"))?;
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// Prints the conversion of a startup.conf and a script; the status tells whether settings had to be left out.
fn import(startup: &Path, script: Option<&PathBuf>) -> Result<ExitCode, String> {
    let imported = on_this_thread(import::import(startup, script))?;
    std::io::stdout().write_all(imported.text.as_bytes()).map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(if imported.has_left { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Runs the daemon until it is told to stop.
async fn run(given: StartSettings, passed: descriptors::Passed, log: log::Begun) -> Result<(), String> {
    let (mut stop, hangups) = signals::catch()?;
    let StartSettings { settings, file, configuration, .. } = given;
    if let Some(folder) = &settings.runtime_dir {
        let entered = std::fs::create_dir_all(folder).and_then(|()| std::env::set_current_dir(folder));
        entered.map_err(|error| format!("--runtime-dir {}: {error}; name another", folder.display()))?;
    }
    let (control, start) = (host::control(), quiver_engine::thread::monotonic());
    dataplane::insert(&control, &settings.dataplane, settings.statistics.segment())?;
    features::register(&control).map_err(|error| error.to_string())?;
    for (name, _) in &passed {
        tracing::info!("descriptor {name} was passed to quiverd");
    }
    quiver_linux::Passed::of(&control).add(passed);
    quiver_ip::set_table_defaults(&control, settings.table_defaults()).map_err(|error| error.to_string())?;
    quiver_neighbor::set_announcing(&control, !settings.no_announcements);
    quiver_neighbor::set_neighbor_defaults(&control, settings.neighbor_defaults());
    quiver_punt::set_unspoken(&control, settings.unspoken);
    quiver_session::set_session_defaults(&control, settings.session_defaults());
    let folders = Folders::of(&settings)?;
    quiver_memif::sockets_in(&control, &folders.runtime);
    quiver_mld::set_reporting(&control, true);
    quiver_statistics::set(&control, settings.statistics.upkeep());
    quiver_runtime::show_lines(&control, log.lines, log.levels);
    let memory = quiver_runtime::memory::ReadMemory { heap: Rc::new(heap::read), map: Rc::new(heap::map) };
    quiver_runtime::read_memory(&control, memory);
    let (captures, outside) = (PrivateFolder::at(&folders.captures), Outside::default());
    quiver_runtime::capture_to(&control, Rc::new(captures::Files(captures.clone())));
    quiver_punt::send_by(&control, Rc::new(punts::Datagrams::default()));
    trace::save_to(&control, Rc::new(traces::Traces { folder: captures, outside: outside.clone() }));
    if let Some(messages) = settings.vpp.api_trace {
        trace::start(&control, messages);
    }
    exec_from(&control, outside::scripts(&outside));
    control.help_by(Rc::new(Outside::default()), Rc::new(outside));
    let mut of_guests = settings.files;
    // Others may have files in a folder that was named, such as /tmp.
    let are_private = settings.captures.is_none();
    of_guests.extend(are_private.then(|| folders.captures.clone()));
    let written: Vec<PathBuf> = of_guests.iter().cloned().chain((!are_private).then_some(folders.captures)).collect();
    files::confine(&control, of_guests.clone(), written.clone());
    let sockets = folders.runtime.clone();
    rehearse(&control, move |aside| {
        quiver_memif::sockets_in(aside, &sockets);
        files::confine(aside, of_guests.clone(), written.clone());
    });
    quiver_plugins::load(&control, &settings.plugin);
    control.set_object_memory(settings.object_memory.unwrap_or_else(budget::standard));
    control.commands().check()?;
    if let Some(folder) = &settings.write_api {
        return api::write(&control, folder);
    }

    let is_root = nix::unistd::geteuid().is_root();
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let terminal = settings.vpp.terminal();
    // With a place of its own, nothing of the daemon is at VPP's.
    let has_place = settings.socket.is_some() || settings.runtime_dir.is_some();
    let places =
        socket::Standard { own: settings.socket.is_none().then_some(&*folders.runtime), is_vpp: is_root && !has_place };
    let api_sockets = socket::paths("api.sock", settings.vpp.api_socket, &places);
    let stats_sockets = socket::paths("stats.sock", settings.statistics.stats_socket, &places);
    let places = socket::Standard { is_vpp: false, ..places };
    let event_sockets = socket::paths("events.sock", settings.events_socket, &places);
    let inspector_sockets = socket::paths("snort.sock", settings.snort_socket, &places);
    let has_state = settings.socket.is_none() && !settings.no_state;
    let state = settings.state.or_else(|| state::standard(is_root, directory).filter(|_| has_state));
    let group = settings.group.as_deref().map(|name| group_named("--group", name)).transpose()?;
    let viewers = settings.viewers.as_deref().map(|name| group_named("--viewers", name)).transpose()?;
    let standard = match settings.runtime_dir.is_some() {
        true => "quiver.sock",
        false => "cli.sock",
    };
    let path = settings.socket.unwrap_or_else(|| folders.runtime.join(standard));
    // One process's clients at all of these together leave room for others.
    let places = Places::new(by_open_files());
    let socket = Socket::bind(&path, group, &places).map_err(|error| error.to_string())?;
    tracing::info!("serving commands at {}", path.display());
    let viewers = viewers.map(|group| Socket::bind(&protocol::viewers_path(&path), Some(group), &places));
    let viewers = viewers.transpose().map_err(|error| error.to_string())?.map(Server::for_viewers);
    // A client that finds the API's socket expects the statistics' socket to be there, too.
    let statistics = statistics::Servers::bind(&stats_sockets, group)?;
    let events = events::Servers::bind(&event_sockets, group)?;
    let inspection = inspection::Servers::bind(&inspector_sockets, group)?;
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
    control.spawn("memory", heap::keep_small(control.clone()));
    if let Some(to) = settings.statistics.otlp {
        control.spawn("metrics", metrics::report(control.clone(), to, settings.statistics.otlp_interval));
    }
    match &state {
        Some(path) => {
            let folder = state::Folder::open(path).map_err(|error| error.to_string())?;
            control.set_identity(folder.identity().map_err(|error| error.to_string())?);
            control.open_history(Rc::new(folder)).await.map_err(|error| error.to_string())?;
        }
        None => {
            tracing::info!("the history of the configuration ends with this daemon: --state says where to keep it");
            control.set_identity(state::draw_identity().map_err(|error| format!("no number can be drawn: {error}"))?);
        }
    }
    let audit = settings.audit.or_else(|| Some(state?.join("audit.log"))).map(|path| audit::AuditLog::open(&path));
    let audit = audit.transpose()?.map(Rc::new);
    if let Some(audit) = &audit {
        control.audit_to(audit.clone());
    }
    let serving = async {
        let start = async {
            let started = configuration::start(&control, file.as_ref(), configuration.as_deref()).await?;
            drop(configuration);
            if let Some(file) = &settings.exec {
                exec(&control.through(Source("startup script")), file, settings.exec_all).await?;
            }
            Ok::<String, String>(started)
        };
        let started = tokio::select! {
            biased;
            never = service::loading(&control) => match never {},
            started = start => started?,
        };
        let _pid_file = settings.pid_file.map(PidFile::write).transpose()?;
        if settings.daemon {
            background::serves()?;
        }
        service::ready(&started);
        control.spawn("watchdog", service::answer_watchdog(control.clone()));
        let serve = async {
            tokio::select! {
                () = server.serve(&control) => {}
                () = serve_viewers(viewers, &control) => {}
                () = api.serve(&control) => {}
                () = statistics.serve(&control) => {}
                () = events.serve(&control) => {}
                () = inspection.serve(&control) => {}
                () = cli::serve(cli, &control) => {}
                () = endpoint.serve(&control) => {}
                () = punts::serve(programs, &control) => {}
                () = hangup::answer(control.clone(), hangups, log.file, audit.clone(), file) => {}
            }
        };
        control.counted("sockets", serve).await;
        Ok::<(), String>(())
    };
    tokio::select! {
        biased;
        () = stop.asked() => {}
        served = serving => served?,
    }
    service::stopping();
    if let Some(by) = control.unsaved_by() {
        tracing::warn!("changes by commands of {by} were never saved, and are lost");
    }
    tracing::info!("stopping");
    threads.stop(&control);
    audit.inspect(|audit| audit.finish());
    Ok(())
}

/// Serves viewers, if there is a socket for them; without one it waits.
async fn serve_viewers(server: Option<Server>, control: &Control) {
    match server {
        Some(server) => server.serve(control).await,
        None => std::future::pending().await,
    }
}

/// Where the daemon's sockets and files are.
struct Folders {
    /// Of its sockets.
    runtime: PathBuf,
    /// Folder of captures and traces.
    captures: PathBuf,
}

impl Folders {
    /// With --runtime-dir, where everything that has no path of its own is below it; quiverd runs there by now.
    fn of(settings: &settings::Settings) -> Result<Folders, String> {
        let refused = |error| format!("--runtime-dir: {error}; name another");
        let here = || std::env::current_dir().map_err(refused);
        let standard = || {
            let is_root = nix::unistd::geteuid().is_root();
            let socket = protocol::socket_path(None, is_root, std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
            socket.parent().unwrap_or(Path::new("/")).to_owned()
        };
        let runtime = if settings.runtime_dir.is_some() { here()? } else { standard() };
        let beside = settings.socket.as_deref().filter(|_| settings.runtime_dir.is_none()).and_then(Path::parent);
        let captures = match &settings.captures {
            Some(folder) => folder.clone(),
            None => beside.unwrap_or(&runtime).join("captures"),
        };
        Ok(Folders { captures: here()?.join(captures), runtime })
    }
}

/// A group of this machine.
fn group_named(option: &str, name: &str) -> Result<Gid, String> {
    let found = Group::from_name(name).map_err(|error| format!("{option} {name}: {error}"))?;
    let numbered = || name.parse().ok().map(Gid::from_raw);
    let group = found.map(|group| group.gid).or_else(numbered);
    group.ok_or_else(|| format!("{option} {name}: there is no such group: `groupadd {name}` adds it, or name another"))
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

/// Runs the commands of a file; the first that is refused ends it, unless all are to be tried.
async fn exec(control: &Control, file: &Path, all: bool) -> Result<(), String> {
    let text = match files::read_text(file, SCRIPT_MAX) {
        Ok(text) => text,
        Err(error) if all => {
            tracing::error!("{error}");
            return Ok(());
        }
        Err(error) => return Err(error.to_string()),
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
