//! The values of a `startup.conf`.

use std::path::PathBuf;

use super::error::Note;

/// Settings read from all sources; a later source overrides an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Startup {
    /// Mode of the daemon, and its command line.
    pub unix: Unix,
    /// Its threads.
    pub cpu: Cpu,
    /// Its packet buffers.
    pub buffers: Buffers,
    /// The socket of the binary API.
    pub api_socket: Option<PathBuf>,
    /// The socket by which programs send packets.
    pub punt_socket: Option<PathBuf>,
    /// Number of API messages that the trace keeps.
    pub api_trace: Option<usize>,
    /// The socket of the stats segment.
    pub stats_socket: Option<PathBuf>,
    /// The size of the stats segment, in bytes.
    pub stats_size: Option<u64>,
    /// Whether the segment has no statistics of each node.
    pub stats_without_nodes: bool,
    /// Seconds between two times that statistics are computed.
    pub stats_interval: Option<String>,
    /// Its sessions.
    pub sessions: SessionLimits,
    /// Log level, by quiverd's name.
    pub log_level: Option<&'static str>,
    /// Instruction set, by quiverd's name.
    pub isa: Option<&'static str>,
    /// Notes, in the order of the text.
    pub notes: Vec<Note>,
}

/// Section `unix`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unix {
    /// Whether it stays in the foreground.
    pub foreground: bool,
    /// The log's file.
    pub log: Option<PathBuf>,
    /// A file of commands to begin with.
    pub exec: Option<PathBuf>,
    /// Where VPP's command line is served: a path, or host and port.
    pub cli_listen: Option<String>,
    /// Settings of its terminals.
    pub terminal: Terminal,
    /// The folder of sockets, in which the daemon runs.
    pub runtime_folder: Option<PathBuf>,
    /// The group that may use the sockets.
    pub group: Option<String>,
    /// The file that has the daemon's process id.
    pub pid_file: Option<PathBuf>,
}

/// The settings of VPP's command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Prompt.
    pub prompt: Option<String>,
    /// Whether the banner is left out.
    pub no_banner: bool,
    /// Whether long answers are shown at once.
    pub no_pager: bool,
    /// Whether lines are taken as they come, without echo and editing.
    pub line_mode: bool,
    /// Number of lines that the pager keeps of an answer.
    pub pager_lines: Option<usize>,
    /// Number of commands that the history keeps.
    pub history: Option<usize>,
}

/// Section `cpu`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Number of workers.
    pub workers: Option<usize>,
    /// The cores of the workers.
    pub cores: Vec<usize>,
    /// Whether workers go before all ordinary threads.
    pub realtime: bool,
}

/// Section `buffers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Number of buffers.
    pub count: Option<u32>,
}

/// Section `sfdp`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionLimits {
    /// Largest number of sessions.
    pub count: Option<u64>,
    /// Seconds between two times that timeouts are checked.
    pub interval: Option<String>,
}
