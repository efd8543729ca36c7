//! The Quiver daemon: the control thread, hosted by tokio, and its command socket.

mod features;
mod host;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use quiver_control::cli::{Command, Reply};
use quiver_control::protocol;
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
}

fn main() -> ExitCode {
    let log = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(log).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the control thread cannot start: {error}"))
        .and_then(|runtime| tokio::task::LocalSet::new().block_on(&runtime, run(arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quiverd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the daemon until it is told to stop.
async fn run(arguments: Arguments) -> Result<(), String> {
    let control = host::control();
    let version = || Reply::new(concat!("Quiver ", env!("CARGO_PKG_VERSION")), env!("CARGO_PKG_VERSION").into());
    control.commands().add(Command::new("show version", "Show the daemon's version.", move |_, _| Ok(version())));
    features::register(&control);
    control.commands().check()?;

    let is_root = nix::unistd::geteuid().is_root();
    let runtime_directory = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let path = protocol::socket_path(arguments.socket, is_root, runtime_directory);
    let server = Server::bind(&path).map_err(|error| error.to_string())?;
    tracing::info!("serving commands at {}", path.display());

    let (mut terminate, mut interrupt) = (stop_signal(SignalKind::terminate())?, stop_signal(SignalKind::interrupt())?);
    tokio::select! {
        () = server.serve(&control) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    Ok(())
}

fn stop_signal(kind: SignalKind) -> Result<tokio::signal::unix::Signal, String> {
    signal(kind).map_err(|error| format!("signals cannot be received: {error}"))
}
