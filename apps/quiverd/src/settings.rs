//! The daemon's settings: options of the command line. A `startup.conf` of VPP's, from a file or as arguments, says nothing
//! else: it is turned into such options first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use quiver_compat::startup::{self, Machine, Note, Source, Startup, StartupError};
use quiver_compat::terminal;
use quiver_control::files::FileError;
use quiver_control::object::Scalar;
use quiver_ip::{LinkLayerBroadcast, NoRoute, TableDefaults};
use quiver_neighbor::{NeighborDefaults, Strangers, Unresolved};
use quiver_punt::Unspoken;
use quiver_session::{SESSIONS_MAX, SessionDefaults};

use crate::api::ApiSocket;
use crate::configuration::ConfigFile;
use crate::dataplane::DataplaneArguments;
use crate::statistics::{StatisticsArguments, seconds};

/// Text of `--version`. The lab reads from it whether figures of this build mean anything
/// (`quiver_daemon::is_debug_build`).
const VERSION: &str = match cfg!(debug_assertions) {
    true => concat!(env!("CARGO_PKG_VERSION"), " (debug build)"),
    false => env!("CARGO_PKG_VERSION"),
};

/// The Quiver daemon.
#[derive(Debug, Parser)]
#[command(version = VERSION, args_override_self = true)]
pub struct Settings {
    /// Path of the command socket. Default: quiver.sock in --runtime-dir, else /run/quiver/cli.sock, or below
    /// $XDG_RUNTIME_DIR if not root.
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Folder of the configuration history; quiverd starts with its newest version. Default: /var/lib/quiver, or
    /// below $XDG_STATE_HOME if not root. With --socket there is no default, and no history without this option.
    #[arg(long, value_name = "FOLDER", overrides_with = "no_state")]
    pub state: Option<PathBuf>,
    /// Start without the saved configuration, and keep no history.
    #[arg(long, overrides_with = "state")]
    pub no_state: bool,
    /// Append each change of the configuration to a file, as a line of JSON: time, author, source and difference. Default:
    /// audit.log in the folder of --state. Its mode is 0600. At 64 MB it is renamed to FILE.1, replacing the previous one;
    /// SIGHUP opens it anew.
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Configuration file to start with instead of the saved configuration, as written by `quiver save`, or a
    /// startup.conf of VPP. The content tells which. SIGHUP reads a configuration file again and applies it if it has
    /// changed; one that is refused changes nothing. The saved configuration and a startup.conf are not read again.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// File of commands to run at start; `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    pub exec: Option<PathBuf>,
    /// Continue after a failed command of the --exec file, and log it.
    #[arg(long)]
    pub exec_all: bool,
    /// Write the definitions of the binary API's messages for clients as `.api.json` files into a folder, and exit.
    #[arg(long, value_name = "FOLDER")]
    pub write_api: Option<PathBuf>,
    /// Convert a startup.conf of VPP, and the commands of SCRIPT or of its `exec`, into options of quiverd and a
    /// configuration file; print them and exit. The status is 2 if something was left out. Nothing is changed.
    #[arg(long, value_names = ["STARTUP.CONF", "SCRIPT"], num_args = 1..=2)]
    pub import: Vec<PathBuf>,
    /// Plugin to load, or a folder with `.so` files; may be repeated.
    #[arg(long, value_name = "PATH")]
    pub plugin: Vec<PathBuf>,
    /// Runtime folder, created if missing: base of relative paths, and default folder of sockets and captures.
    #[arg(long, value_name = "FOLDER")]
    pub runtime_dir: Option<PathBuf>,
    /// Folder of captures and API traces that are named without a path, created if missing. Default: captures in
    /// --runtime-dir, else beside the command socket. Its files are readable by quiverd's user only.
    #[arg(long, value_name = "FOLDER")]
    pub captures: Option<PathBuf>,
    /// Folder whose files clients may name that are neither root nor quiverd's user; may be repeated. These clients
    /// may also name files that every user can read.
    #[arg(long, value_name = "FOLDER")]
    pub files: Vec<PathBuf>,
    /// Go to the background once all sockets are served.
    #[arg(long)]
    pub daemon: bool,
    /// File for the process id; it exists while quiverd runs.
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// Append the log to a file, which SIGHUP opens anew. Default: standard error, with priorities if that is systemd's
    /// journal, or syslog in the background.
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Log level; RUST_LOG sets it for single modules.
    #[arg(long, value_name = "error|warn|info|debug|trace|off")]
    pub log_level: Option<String>,
    /// Group that may use the sockets. Default: quiverd's group.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Group with read-only access: its members may run `show` commands on viewer.sock beside the command socket.
    #[arg(long, value_name = "GROUP")]
    pub viewers: Option<String>,
    /// Default action of IP tables for packets without a route: report them to their sender by ICMP, or drop them
    /// silently as VPP does.
    #[arg(long, value_name = "unreachable|drop", default_value_t = NoRoute::Unreachable, value_parser = no_route)]
    pub no_route: NoRoute,
    /// Default action of IP tables for unicast packets in link-layer broadcasts: drop them, or forward them as VPP
    /// does.
    #[arg(long, value_name = "drop|forward", default_value_t = LinkLayerBroadcast::Drop, value_parser = link_layer_broadcast)]
    pub link_layer_broadcast: LinkLayerBroadcast,
    /// Send no gratuitous ARP when an address is added or its link comes up, as VPP does.
    #[arg(long)]
    pub no_announcements: bool,
    /// Default action for packets to unresolved neighbors: queue them, or drop them as VPP does. Either way the
    /// neighbor is resolved.
    #[arg(long, value_name = "queue|drop", default_value_t = Unresolved::Queue, value_parser = unresolved)]
    pub unresolved: Unresolved,
    /// Default action for ARP requests and neighbor solicitations from senders outside of the link's subnet: answer
    /// them, or ignore them as VPP does.
    #[arg(long, value_name = "answer|ignore", default_value_t = Strangers::Answer, value_parser = strangers)]
    pub strangers: Strangers,
    /// Action for local packets of unsupported protocols and ports: report them to their sender by ICMP, or punt them
    /// as VPP does.
    #[arg(long, value_name = "tell|punt", default_value_t = Unspoken::Tell, value_parser = unspoken)]
    pub unspoken: Unspoken,
    /// Datagram socket by which programs send packets, each with an 8-byte header: interface index and action.
    #[arg(long, value_name = "PATH")]
    pub punt_socket: Option<PathBuf>,
    /// Largest number of sessions, 1 to 16777216. Memory is allocated when the first interface has sessions, and as they begin.
    #[arg(long, value_name = "COUNT", default_value_t = SessionDefaults::default().sessions, value_parser = sessions)]
    pub sessions: usize,
    /// Interval in seconds between checks of the timeouts of sessions: they end at most this much later.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub session_interval: Duration,
    /// Socket of events of sessions, for `quiver export`; may be repeated. Default: events.sock beside the command socket. With
    /// --socket there is no default.
    #[arg(long, value_name = "PATH")]
    pub events_socket: Vec<PathBuf>,
    /// Socket of inspectors, for VPP's Snort DAQ module; may be repeated. Default: snort.sock beside the command socket. With --socket
    /// there is no default.
    #[arg(long, value_name = "PATH")]
    pub snort_socket: Vec<PathBuf>,
    /// Memory budget of configured objects in bytes, such as 4G. Default: three quarters of the memory that is available at
    /// start. `show object memory` shows its use.
    #[arg(long, value_name = "BYTES", value_parser = object_memory)]
    pub object_memory: Option<u64>,
    /// Options for VPP's clients.
    #[command(flatten)]
    pub vpp: VppArguments,
    /// Options of the data plane.
    #[command(flatten)]
    pub dataplane: DataplaneArguments,
    /// Options of the statistics segment.
    #[command(flatten)]
    pub statistics: StatisticsArguments,
    /// Sections as in VPP's startup.conf, such as: quiverd unix { nodaemon } cpu { workers 2 }
    #[arg(trailing_var_arg = true, value_name = "SECTION { ... }")]
    pub startup: Vec<String>,
}

fn object_memory(text: &str) -> Result<u64, String> {
    let bytes = startup::size(text).filter(|bytes| *bytes >= 1 << 20);
    bytes.ok_or_else(|| format!("{text} is no number of bytes from 1M on: write 4G, for instance"))
}

fn sessions(text: &str) -> Result<usize, String> {
    let sessions = text.parse().ok().filter(|sessions| (1..=SESSIONS_MAX).contains(sessions));
    sessions.ok_or_else(|| format!("{text} is no number of sessions: write one from 1 to {SESSIONS_MAX}"))
}

fn no_route(word: &str) -> Result<NoRoute, String> {
    <NoRoute as Scalar>::parse(word).map_err(|_| format!("expected {}", NoRoute::EXPECTED))
}

fn link_layer_broadcast(word: &str) -> Result<LinkLayerBroadcast, String> {
    <LinkLayerBroadcast as Scalar>::parse(word).map_err(|_| format!("expected {}", LinkLayerBroadcast::EXPECTED))
}

fn unresolved(word: &str) -> Result<Unresolved, String> {
    <Unresolved as Scalar>::parse(word).map_err(|_| format!("expected {}", Unresolved::EXPECTED))
}

fn strangers(word: &str) -> Result<Strangers, String> {
    <Strangers as Scalar>::parse(word).map_err(|_| format!("expected {}", Strangers::EXPECTED))
}

fn unspoken(word: &str) -> Result<Unspoken, String> {
    <Unspoken as Scalar>::parse(word).map_err(|_| format!("expected {}", Unspoken::EXPECTED))
}

impl Settings {
    /// Defaults of neighbor settings.
    pub fn neighbor_defaults(&self) -> NeighborDefaults {
        NeighborDefaults { unresolved: self.unresolved, strangers: self.strangers }
    }
    /// Settings of all sessions.
    pub fn session_defaults(&self) -> SessionDefaults {
        SessionDefaults { sessions: self.sessions, interval: self.session_interval }
    }
    /// Defaults of IP tables.
    pub fn table_defaults(&self) -> TableDefaults {
        TableDefaults { no_route: self.no_route, link_layer_broadcast: self.link_layer_broadcast }
    }
}

/// Options for VPP's clients.
#[derive(Debug, clap::Args)]
pub struct VppArguments {
    /// Serve VPP's command line for vppctl and telnet: a path, or host and port.
    #[arg(long, value_name = "PATH|HOST:PORT")]
    pub cli_listen: Option<String>,
    /// The prompt of VPP's command line.
    #[arg(long, value_name = "TEXT", default_value = "vpp#")]
    pub cli_prompt: String,
    /// Print no banner on VPP's command line.
    #[arg(long)]
    pub cli_no_banner: bool,
    /// Disable the pager on VPP's command line.
    #[arg(long)]
    pub cli_no_pager: bool,
    /// Disable echo and line editing on VPP's command line.
    #[arg(long)]
    pub cli_line_mode: bool,
    /// Largest output in lines that VPP's command line pages.
    #[arg(long, value_name = "LINES", default_value_t = 100_000)]
    pub cli_pager_lines: usize,
    /// Length of the command history on VPP's command line.
    #[arg(long, value_name = "COMMANDS", default_value_t = 50)]
    pub cli_history: usize,
    /// Socket of VPP's binary API; may be repeated. A suffix `,profile=RELEASE` presents the message checksums of
    /// that VPP release, as in /run/old.sock,profile=25.10. Default: api.sock beside the command socket and, as root
    /// without --runtime-dir, /run/vpp/api.sock. With --socket there is no default.
    #[arg(long, value_name = "PATH[,profile=RELEASE]")]
    pub api_socket: Vec<ApiSocket>,
    /// Start the API trace with a limit of so many messages: `api trace`.
    #[arg(long, value_name = "MESSAGES")]
    pub api_trace: Option<usize>,
}

impl VppArguments {
    /// The settings of VPP's command line.
    pub fn terminal(&self) -> terminal::Settings {
        // As in VPP, a blank separates it from the input.
        let prompt = format!("{} ", self.cli_prompt.trim_end());
        let greeting = concat!(
            "Quiver ",
            env!("CARGO_PKG_VERSION"),
            ": Tab completes, `?` at the end of a line explains, quit leaves."
        );
        terminal::Settings {
            prompt,
            banner: if self.cli_no_banner { String::new() } else { greeting.to_owned() },
            has_pager: !self.cli_no_pager,
            line_mode: self.cli_line_mode,
            pager_lines: self.cli_pager_lines,
            history: self.cli_history,
        }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The command line.
    #[error(transparent)]
    Options(#[from] clap::Error),
    /// A file.
    #[error("{0}; name a file that can be read with --config")]
    Unreadable(FileError),
    /// A `startup.conf`.
    #[error("{source_name}: {error}")]
    Startup {
        /// Its name.
        source_name: String,
        /// Its error.
        error: StartupError,
    },
}

/// The settings, the configuration, and notes.
#[derive(Debug)]
pub struct StartSettings {
    /// The settings.
    pub settings: Settings,
    /// The file that `--config` names.
    pub file: Option<ConfigFile>,
    /// The configuration to start with, if that file is one.
    pub configuration: Option<String>,
    /// The options that were made of VPP's settings, if there were any.
    pub from_startup: Option<Vec<String>>,
    /// Notes on VPP's settings.
    pub notes: Vec<Note>,
}

/// Reads the command line, the program's name first, and the file that it names.
pub fn read(arguments: &[OsString], machine: &Machine) -> Result<StartSettings, SettingsError> {
    let settings = Settings::try_parse_from(arguments)?;
    let mut startup = Startup::default();
    let is_vpp = arguments.first().is_some_and(|name| Path::new(name).file_name().is_some_and(|name| name == "vpp"));
    let mut has_startup = is_vpp || !settings.startup.is_empty();
    let (mut file, mut configuration) = (None, None);
    if let Some(path) = &settings.config {
        let (read, text) = ConfigFile::read(path, startup::looks_like).map_err(SettingsError::Unreadable)?;
        if read.is_startup() {
            read_startup(&mut startup, Source::File(read.name()), &text)?;
            has_startup = true;
        } else {
            configuration = Some(text);
        }
        file = Some(read);
    }
    if !settings.startup.is_empty() {
        // Scripts that start VPP may pass several words, or none, in one argument.
        read_startup(&mut startup, Source::CommandLine, &settings.startup.join(" "))?;
    }
    if !has_startup {
        return Ok(StartSettings { settings, file, configuration, from_startup: None, notes: vec![] });
    }
    let options = startup.options(machine);
    let (program, own) = arguments.split_at(arguments.len().min(1));
    // Options of the command line come later, and override these.
    let all = program.iter().cloned().chain(options.iter().map(OsString::from)).chain(own.iter().cloned());
    let settings = Settings::try_parse_from(all)?;
    Ok(StartSettings { settings, file, configuration, from_startup: Some(options), notes: startup.notes_on(machine) })
}

fn read_startup(startup: &mut Startup, source: Source<'_>, text: &str) -> Result<(), SettingsError> {
    let source_name = match source {
        Source::File(name) => name.to_owned(),
        Source::CommandLine => "the sections on the command line".to_owned(),
    };
    startup.read(source, text).map_err(|error| SettingsError::Startup { source_name, error })
}

/// Values of this machine that settings depend on: its cores, and the default folder of VPP's sockets.
pub fn this_machine() -> Machine {
    let uid = nix::unistd::geteuid();
    let runtime_folder =
        if uid.is_root() { PathBuf::from("/run/vpp") } else { PathBuf::from(format!("/run/user/{uid}/vpp")) };
    Machine { cores: std::thread::available_parallelism().map_or(1, usize::from), runtime_folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine { cores: 2, runtime_folder: "/run/vpp".into() }
    }

    fn given(arguments: &[&str]) -> Result<StartSettings, SettingsError> {
        read(&arguments.iter().map(OsString::from).collect::<Vec<_>>(), &machine())
    }

    #[test]
    fn options_alone_are_options() {
        let given = given(&["quiverd", "--workers", "2", "--workers", "1"]).unwrap();
        assert!(given.from_startup.is_none() && !given.settings.daemon && !given.settings.no_state);
        assert!(given.settings.vpp.api_socket.is_empty());
        assert_eq!(
            (given.settings.table_defaults(), given.settings.no_announcements),
            (TableDefaults::default(), false)
        );
        assert_eq!(given.settings.neighbor_defaults(), NeighborDefaults::default());
    }

    #[test]
    fn memory_and_workers_have_bounds() {
        let told = |option: &str, value: &str| given(&["quiverd", option, value]).unwrap_err().to_string();
        for workers in ["256", "4294967295"] {
            let told = told("--workers", workers);
            assert!(told.contains("--workers") && told.contains("0..=255"), "{told}");
        }
        assert!(told("--object-memory", "12").contains("write 4G"));
        let settings = given(&["quiverd", "--object-memory", "4G", "--workers", "255"]).unwrap().settings;
        assert_eq!(settings.object_memory, Some(4 << 30));
    }

    #[test]
    fn sockets_serve_the_release_that_stands_behind_them() {
        let sockets = given(&["quiverd", "--api-socket", "/t/a", "--api-socket", "/t/b,profile=25.10"]).unwrap();
        let old = "/t/b,profile=25.10".parse::<ApiSocket>().unwrap();
        assert_eq!(sockets.settings.vpp.api_socket, [PathBuf::from("/t/a").into(), old]);
        let told = given(&["quiverd", "--api-socket", "/t/b,profile=19.08"]).unwrap_err().to_string();
        assert!(told.contains("there is no profile 19.08: choose one of 23.06"), "{told}");
    }

    #[test]
    fn sections_are_options_and_words_of_the_command_line_need_not_be_its_arguments() {
        let arguments = [
            "/usr/bin/vpp",
            "unix",
            "{",
            "nodaemon",
            "",
            "coredump-size unlimited",
            "runtime-dir",
            "/t",
            "cli-listen ",
            "/t/cli.sock",
            "}",
            "node { ",
            "}",
            "api-fuzz {",
            "off",
            "}",
            "socksvr",
            "{",
            "socket-name",
            "/t/api.sock",
            "}",
        ];
        let settings = given(&arguments).unwrap().settings;
        assert_eq!(settings.vpp.cli_listen.as_deref(), Some("/t/cli.sock"));
        assert_eq!(settings.vpp.api_socket, [PathBuf::from("/t/api.sock").into()]);
        assert_eq!(settings.statistics.stats_socket, [PathBuf::from("/t/stats.sock")]);
        assert!(!settings.daemon && settings.no_state);
    }

    #[test]
    fn whoever_is_called_vpp_behaves_so() {
        let settings = given(&["vpp"]).unwrap().settings;
        assert!(settings.daemon && settings.no_state);
        let silent = TableDefaults { no_route: NoRoute::Drop, link_layer_broadcast: LinkLayerBroadcast::Forward };
        assert_eq!((settings.table_defaults(), settings.no_announcements), (silent, true));
        let unfriendly = NeighborDefaults { unresolved: Unresolved::Drop, strangers: Strangers::Ignore };
        assert_eq!((settings.neighbor_defaults(), settings.unspoken), (unfriendly, Unspoken::Punt));
        assert_eq!(settings.vpp.api_socket, [PathBuf::from("/run/vpp/api.sock").into()]);
        assert!(!given(&["/opt/vpp/quiverd"]).unwrap().settings.daemon);
    }

    #[test]
    fn a_file_is_told_by_its_content_and_options_count_more_than_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let startup = file("a.yaml", "# VPP\nunix { cli-prompt x } buffers { buffers-per-numa 700 }\n");
        let given_startup = given(&["quiverd", "-c", &startup, "--buffers", "900", "unix", "{ nodaemon }"]).unwrap();
        let settings = &given_startup.settings;
        assert_eq!((settings.vpp.cli_prompt.as_str(), settings.daemon), ("x", false));
        assert!(given_startup.configuration.is_none());
        assert!(format!("{settings:?}").contains("buffers: 900"), "{settings:?}");

        let yaml = file("startup.conf", "loopbacks: [{name: loop0}]\n");
        let given_yaml = given(&["quiverd", "-c", &yaml]).unwrap();
        assert!(given_yaml.from_startup.is_none());
        assert!(given_yaml.configuration.is_some_and(|text| text.starts_with("loopbacks")));
        assert!(given_yaml.file.is_some_and(|file| file.name() == yaml && !file.is_startup()));

        let bad = file("bad", "unix {\n  exec }");
        let error = given(&["quiverd", "-c", &bad]).unwrap_err().to_string();
        assert_eq!(error, format!("{bad}: line 2, column 3: unix: this is not complete: write `exec <file>`"));
        assert!(given(&["quiverd", "-c", "/none"]).unwrap_err().to_string().contains("/none"));
        assert!(given(&["quiverd", "start"]).unwrap_err().to_string().contains("section start"));
        assert!(given(&["quiverd", "--no-such-option"]).is_err());
    }
}
