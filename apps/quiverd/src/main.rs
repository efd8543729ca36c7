//! The Quiver daemon: the control thread, hosted by tokio, and its command socket.

mod dataplane;
mod host;
#[cfg(test)]
mod pages;
mod server;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use quiver_control::config::ConfigError;
use quiver_control::{Control, protocol};
use quiverd::features;
use server::Server;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// The Quiver daemon.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The command socket; by default /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR where not root.
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// A configuration file, applied at start; `quiver save` writes one.
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
    quiver_plugins::load(&control, &arguments.plugin);
    control.commands().check()?;

    let is_root = nix::unistd::geteuid().is_root();
    let runtime_directory = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let path = protocol::socket_path(arguments.socket, is_root, runtime_directory);
    let server = Server::bind(&path).map_err(|error| error.to_string())?;
    tracing::info!("serving commands at {}", path.display());

    let threads = dataplane::start(&control, &arguments.dataplane, start)?;
    if let Some(file) = &arguments.config {
        configure(&control, file)?;
    }
    if let Some(file) = &arguments.exec {
        exec(&control, file).await?;
    }

    let (mut terminate, mut interrupt) = (stop_signal(SignalKind::terminate())?, stop_signal(SignalKind::interrupt())?);
    tokio::select! {
        () = server.serve(&control) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    threads.stop(&control);
    Ok(())
}

/// Applies a configuration file; its mistakes are told all at once.
fn configure(control: &Control, file: &Path) -> Result<(), String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let told = |errors: Vec<ConfigError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    control.apply(&name, &text).map(|_| ()).map_err(told)
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
