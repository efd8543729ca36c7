//! The Quiver daemon: the control thread, hosted by tokio, and its command socket.

mod api;
mod captures;
mod dataplane;
mod host;
#[cfg(test)]
mod pages;
mod peer;
mod places;
mod realtime;
mod server;
mod socket;
mod state;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser;
use quiver_control::transaction::Terms;
use quiver_control::{Control, protocol};
use quiverd::features;
use server::Server;
use socket::Socket;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// The Quiver daemon.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The command socket; by default /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR where not root.
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// A socket of VPP's binary API; may be given several times. By default api.sock beside the command socket and, as root,
    /// /run/vpp/api.sock. With a command socket of its own, quiverd has none unless told where.
    #[arg(long, value_name = "PATH")]
    api_socket: Vec<PathBuf>,
    /// Write the definitions of the binary API's messages, from which clients learn them, as `.api.json` files into a folder,
    /// and end.
    #[arg(long, value_name = "FOLDER")]
    write_api: Option<PathBuf>,
    /// The folder of the configuration's history, whose newest version quiverd starts with; by default /var/lib/quiver,
    /// or below $XDG_STATE_HOME where not root. With a socket of its own, quiverd keeps none unless told where.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// A configuration file to start with instead of the saved configuration; `quiver save` writes one.
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file of commands, run in order at start; `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    exec: Option<PathBuf>,
    /// A plugin, or a folder whose `.so` files are; may be given several times.
    #[arg(long, value_name = "PATH")]
    plugin: Vec<PathBuf>,
    #[command(flatten)]
    dataplane: dataplane::DataplaneArguments,
}

fn main() -> ExitCode {
    let log = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    // The log's reader may go away; to complain about that where it was would end the daemon with a panic.
    let log = tracing_subscriber::fmt().with_env_filter(log).log_internal_errors(false);
    log.with_ansi(colours).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the control thread cannot start: {error}"))
        .and_then(|runtime| tokio::task::LocalSet::new().block_on(&runtime, run(arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "quiverd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the daemon until it is told to stop.
async fn run(arguments: Arguments) -> Result<(), String> {
    let (control, start) = (host::control(), quiver_engine::thread::monotonic());
    dataplane::insert(&control, &arguments.dataplane).map_err(|error| error.to_string())?;
    features::register(&control).map_err(|error| error.to_string())?;
    quiver_runtime::capture_to(&control, Rc::new(captures::Files));
    quiver_plugins::load(&control, &arguments.plugin);
    control.commands().check()?;
    if let Some(folder) = &arguments.write_api {
        return api::write(&control, folder);
    }

    let is_root = nix::unistd::geteuid().is_root();
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let api_sockets =
        api::paths(arguments.api_socket, arguments.socket.as_deref(), is_root, directory("XDG_RUNTIME_DIR"));
    let state = arguments.state.or_else(|| state::standard(is_root, directory).filter(|_| arguments.socket.is_none()));
    let path = protocol::socket_path(arguments.socket, is_root, directory("XDG_RUNTIME_DIR"));
    let socket = Socket::bind(&path).map_err(|error| error.to_string())?;
    tracing::info!("serving commands at {}", path.display());
    let (server, api) = (Server::new(socket), api::Servers::bind(api_sockets)?);

    let threads = dataplane::start(&control, &arguments.dataplane, start)?;
    match &state {
        Some(path) => {
            let folder = state::Folder::open(path).map_err(|error| error.to_string())?;
            control.open_history(Rc::new(folder)).await.map_err(|error| error.to_string())?;
        }
        None => tracing::info!("the history of the configuration ends with this daemon: --state says where to keep it"),
    }
    match &arguments.config {
        Some(file) => configure(&control, file).await?,
        None => resume(&control).await,
    }
    if let Some(file) = &arguments.exec {
        exec(&control, file).await?;
    }

    let (mut terminate, mut interrupt) = (stop_signal(SignalKind::terminate())?, stop_signal(SignalKind::interrupt())?);
    tokio::select! {
        () = server.serve(&control) => {}
        () = api.serve(&control) => {}
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

/// Applies a configuration file; its mistakes are told all at once.
async fn configure(control: &Control, file: &Path) -> Result<(), String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    control.apply(&name, &text, Terms::default()).await.map(|_| ()).map_err(|error| error.to_string())
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

/// Runs the commands of a file; the first that fails ends it.
async fn exec(control: &Control, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    for (number, line) in quiver_control::cli::script(&text) {
        let failed = |error| format!("{}:{number}: `{line}`: {error}", file.display());
        control.commands().run(control, line, &Default::default()).await.map_err(failed)?;
    }
    Ok(())
}

fn stop_signal(kind: SignalKind) -> Result<tokio::signal::unix::Signal, String> {
    signal(kind).map_err(|error| format!("signals cannot be received: {error}"))
}
