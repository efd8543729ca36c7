//! The daemon's settings: options of the command line. A `startup.conf` of VPP's, from a file or as arguments, says nothing
//! else: it is turned into such options first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use quiver_compat::startup::{self, Machine, Note, Source, Startup, StartupError};
use quiver_compat::terminal;
use quiver_control::object::Scalar;
use quiver_ip::{LinkLayerBroadcast, NoRoute, TableDefaults};
use quiver_neighbor::{NeighborDefaults, Strangers, Unresolved};
use quiver_punt::Unspoken;

use crate::api::ApiSocket;
use crate::dataplane::DataplaneArguments;
use crate::statistics::StatisticsArguments;

/// What `--version` says. The lab reads whether figures of this build mean anything (`quiver_daemon::is_debug_build`).
const VERSION: &str = match cfg!(debug_assertions) {
    true => concat!(env!("CARGO_PKG_VERSION"), " (debug build)"),
    false => env!("CARGO_PKG_VERSION"),
};

/// The Quiver daemon.
#[derive(Debug, Parser)]
#[command(version = VERSION, args_override_self = true)]
pub struct Settings {
    /// The command socket; by default quiver.sock in --runtime-dir, else /run/quiver/cli.sock, or below $XDG_RUNTIME_DIR
    /// where not root.
    #[arg(long, env = "QUIVER_SOCKET", value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The folder of the configuration's history, whose newest version quiverd starts with; by default /var/lib/quiver,
    /// or below $XDG_STATE_HOME where not root. With a socket of its own, quiverd keeps none unless told where.
    #[arg(long, value_name = "FOLDER", overrides_with = "no_state")]
    pub state: Option<PathBuf>,
    /// Start without the saved configuration, and keep no history.
    #[arg(long, overrides_with = "state")]
    pub no_state: bool,
    /// A configuration file to start with instead of the saved configuration, as `quiver save` writes one; or a startup.conf
    /// of VPP's, which is told by its content.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A file of commands, run in order at start; `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    pub exec: Option<PathBuf>,
    /// Log commands of that file that are refused, and go on, instead of ending.
    #[arg(long)]
    pub exec_all: bool,
    /// Write the definitions of the binary API's messages, from which clients learn them, as `.api.json` files into a folder,
    /// and end.
    #[arg(long, value_name = "FOLDER")]
    pub write_api: Option<PathBuf>,
    /// Print what a startup.conf of VPP's says as options of quiverd and a configuration file, with what the commands of SCRIPT
    /// lead to, by default those of its `exec`; and end, with status 2 if something had to be left out. Touches nothing.
    #[arg(long, value_names = ["STARTUP.CONF", "SCRIPT"], num_args = 1..=2)]
    pub import: Vec<PathBuf>,
    /// A plugin, or a folder whose `.so` files are; may be given several times.
    #[arg(long, value_name = "PATH")]
    pub plugin: Vec<PathBuf>,
    /// The folder in which quiverd runs, made if it is not there: paths that do not begin with / are below it.
    #[arg(long, value_name = "FOLDER")]
    pub runtime_dir: Option<PathBuf>,
    /// Go to the background as soon as everything is served.
    #[arg(long)]
    pub daemon: bool,
    /// A file for the process id, which is there while quiverd runs.
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// Append the log to a file; by default it goes to standard error, and from the background to syslog.
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// What is logged; RUST_LOG can say it for single parts.
    #[arg(long, value_name = "error|warn|info|debug|trace|off")]
    pub log_level: Option<String>,
    /// The group that may use the sockets; by default that of quiverd.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// What becomes of packets for which there is no route, in IP tables that do not say so: their senders are told, or, as
    /// of VPP, not.
    #[arg(long, value_name = "unreachable|drop", default_value_t = NoRoute::Unreachable, value_parser = no_route)]
    pub no_route: NoRoute,
    /// What becomes of packets for one host that came in frames for many, in IP tables that do not say so: they vanish, or, as
    /// of VPP, are forwarded.
    #[arg(long, value_name = "drop|forward", default_value_t = LinkLayerBroadcast::Drop, value_parser = link_layer_broadcast)]
    pub link_layer_broadcast: LinkLayerBroadcast,
    /// Do not announce addresses by ARP when they come to a link or their link comes up, as VPP does not.
    #[arg(long)]
    pub no_announcements: bool,
    /// What becomes of packets for neighbours that are not known yet, where the neighbours' settings do not say so: they wait,
    /// or, as of VPP, vanish, and each has the neighbour asked for.
    #[arg(long, value_name = "queue|drop", default_value_t = Unresolved::Queue, value_parser = unresolved)]
    pub unresolved: Unresolved,
    /// What becomes of questions about our addresses by those who do not belong on the link, where the neighbours' settings do
    /// not say so: they are answered, or, as of VPP, ignored.
    #[arg(long, value_name = "answer|ignore", default_value_t = Strangers::Answer, value_parser = strangers)]
    pub strangers: Strangers,
    /// What becomes of packets for us of protocols that nobody speaks: their senders are told, or, as of VPP, they are punted.
    #[arg(long, value_name = "tell|punt", default_value_t = Unspoken::Tell, value_parser = unspoken)]
    pub unspoken: Unspoken,
    /// A datagram socket by which programs send packets, each behind eight bytes: the number of an interface and an action.
    #[arg(long, value_name = "PATH")]
    pub punt_socket: Option<PathBuf>,
    /// What VPP's clients use.
    #[command(flatten)]
    pub vpp: VppArguments,
    /// The data plane.
    #[command(flatten)]
    pub dataplane: DataplaneArguments,
    /// The statistics.
    #[command(flatten)]
    pub statistics: StatisticsArguments,
    /// VPP's way: sections as in startup.conf, such as: quiverd unix { nodaemon } cpu { workers 2 }
    #[arg(trailing_var_arg = true, value_name = "SECTION { ... }")]
    pub startup: Vec<String>,
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
    /// What holds of neighbours where their settings say nothing of it.
    pub fn neighbor_defaults(&self) -> NeighborDefaults {
        NeighborDefaults { unresolved: self.unresolved, strangers: self.strangers }
    }
    /// What holds of IP tables that say nothing of it.
    pub fn table_defaults(&self) -> TableDefaults {
        TableDefaults { no_route: self.no_route, link_layer_broadcast: self.link_layer_broadcast }
    }
}

/// What VPP's clients use.
#[derive(Debug, clap::Args)]
pub struct VppArguments {
    /// Serve VPP's command line there, for vppctl and telnet: a path, or host and port.
    #[arg(long, value_name = "PATH|HOST:PORT")]
    pub cli_listen: Option<String>,
    /// The prompt of VPP's command line.
    #[arg(long, value_name = "TEXT", default_value = "vpp#")]
    pub cli_prompt: String,
    /// Greet nobody on VPP's command line.
    #[arg(long)]
    pub cli_no_banner: bool,
    /// Show long answers at once on VPP's command line.
    #[arg(long)]
    pub cli_no_pager: bool,
    /// Take lines as they come on VPP's command line, without echo and editing.
    #[arg(long)]
    pub cli_line_mode: bool,
    /// Answers of more lines are shown at once on VPP's command line.
    #[arg(long, value_name = "LINES", default_value_t = 100_000)]
    pub cli_pager_lines: usize,
    /// So many commands are remembered on VPP's command line.
    #[arg(long, value_name = "COMMANDS", default_value_t = 50)]
    pub cli_history: usize,
    /// A socket of VPP's binary API, with `,profile=` and a release of VPP behind it where its clients shall find the checksums
    /// of that one, such as /run/old.sock,profile=25.10; may be given several times. By default api.sock beside the command
    /// socket and, as root, /run/vpp/api.sock. With a command socket of its own, quiverd has none unless told where.
    #[arg(long, value_name = "PATH[,profile=RELEASE]")]
    pub api_socket: Vec<ApiSocket>,
    /// Remember the last so many requests to the binary API from the start on: `api trace`.
    #[arg(long, value_name = "MESSAGES")]
    pub api_trace: Option<usize>,
}

impl VppArguments {
    /// The settings of VPP's command line.
    pub fn terminal(&self) -> terminal::Settings {
        // As VPP, it stands apart from what is typed.
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
    #[error("{}: {error}; name a file that can be read with --config", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A `startup.conf`.
    #[error("{source_name}: {error}")]
    Startup {
        /// Its name.
        source_name: String,
        /// What is wrong with it.
        error: StartupError,
    },
}

/// The settings, and what else was said.
#[derive(Debug)]
pub struct Given {
    /// The settings.
    pub settings: Settings,
    /// The configuration file to start with: its name and text.
    pub configuration: Option<(String, String)>,
    /// The options that were made of VPP's settings, if there were any.
    pub from_startup: Option<Vec<String>>,
    /// What is to be said about VPP's settings.
    pub notes: Vec<Note>,
}

/// Reads the command line, the program's name first, and the file that it names.
pub fn read(arguments: &[OsString], machine: &Machine) -> Result<Given, SettingsError> {
    let settings = Settings::try_parse_from(arguments)?;
    let mut startup = Startup::default();
    let is_vpp = arguments.first().is_some_and(|name| Path::new(name).file_name().is_some_and(|name| name == "vpp"));
    let mut has_startup = is_vpp || !settings.startup.is_empty();
    let mut configuration = None;
    if let Some(file) = &settings.config {
        let text =
            std::fs::read_to_string(file).map_err(|error| SettingsError::Unreadable { file: file.clone(), error })?;
        let name = file.display().to_string();
        if startup::looks_like(&text) {
            read_startup(&mut startup, Source::File(&name), &text)?;
            has_startup = true;
        } else {
            configuration = Some((name, text));
        }
    }
    if !settings.startup.is_empty() {
        // Whoever starts VPP may leave several words, or none, in one argument.
        read_startup(&mut startup, Source::CommandLine, &settings.startup.join(" "))?;
    }
    if !has_startup {
        return Ok(Given { settings, configuration, from_startup: None, notes: vec![] });
    }
    let options = startup.options(machine);
    let (program, own) = arguments.split_at(arguments.len().min(1));
    // What the command line says itself comes later, and counts.
    let all = program.iter().cloned().chain(options.iter().map(OsString::from)).chain(own.iter().cloned());
    let settings = Settings::try_parse_from(all)?;
    Ok(Given { settings, configuration, from_startup: Some(options), notes: startup.notes_on(machine) })
}

fn read_startup(startup: &mut Startup, source: Source<'_>, text: &str) -> Result<(), SettingsError> {
    let source_name = match source {
        Source::File(name) => name.to_owned(),
        Source::CommandLine => "the sections on the command line".to_owned(),
    };
    startup.read(source, text).map_err(|error| SettingsError::Startup { source_name, error })
}

/// What settings depend on: the cores of this machine, and the folder where VPP would have its sockets.
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

    fn given(arguments: &[&str]) -> Result<Given, SettingsError> {
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
        assert!(given_yaml.configuration.is_some_and(|(name, text)| name == yaml && text.starts_with("loopbacks")));

        let bad = file("bad", "unix {\n  exec }");
        let error = given(&["quiverd", "-c", &bad]).unwrap_err().to_string();
        assert_eq!(error, format!("{bad}: line 2, column 3: unix: this is not complete: write `exec <file>`"));
        assert!(given(&["quiverd", "-c", "/none"]).unwrap_err().to_string().contains("/none"));
        assert!(given(&["quiverd", "start"]).unwrap_err().to_string().contains("section start"));
        assert!(given(&["quiverd", "--no-such-option"]).is_err());
    }
}
