//! Why a plugin is not loaded.

use quiver_control::ObjectError;
use quiver_control::files::FileError;
use quiver_engine::GraphError;
use quiver_plugin_abi::ENTRY;
use std::path::PathBuf;

/// Why a plugin is not loaded. The daemon runs on as it was.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("plugin {path}: {error}; give the path of a shared object")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// It is no file.
    #[error("plugin {0}")]
    NoFile(#[from] FileError),
    /// The dynamic linker refused.
    #[error("plugin {path}: it cannot be loaded: {what}; build it as a shared object for this machine")]
    NotShared {
        /// The file.
        path: PathBuf,
        /// The dynamic linker's error.
        what: String,
    },
    /// It exports nothing that we could call.
    #[error("plugin {path}: it exports no function `{ENTRY}`, so it is no plugin of Quiver; export that function")]
    NoEntry {
        /// The file.
        path: PathBuf,
    },
    /// The function returned null.
    #[error("plugin {path}: `{ENTRY}` returned a null pointer; return the plugin's static table")]
    NoTable {
        /// The file.
        path: PathBuf,
    },
    /// The table is none of ours.
    #[error(
        "plugin {path}: its table begins with {found:#018x}, not with {:#018x}; fill in `magic`",
        quiver_plugin_abi::MAGIC
    )]
    WrongMagic {
        /// The file.
        path: PathBuf,
        /// The first word of the table.
        found: u64,
    },
    /// It was built for another version of the contract.
    #[error(
        "plugin {path}: it was built for version {theirs} of the plugin contract, and this daemon has version {ours}; \
         build it with the SDK of this daemon"
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The plugin's version.
        theirs: u32,
        /// The daemon's version.
        ours: u32,
    },
    /// A part of the table is missing.
    #[error("plugin {path}: its table has no `{part}`; fill it in")]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The field.
        part: &'static str,
    },
    /// There is a plugin of this name.
    #[error("plugin {path}: a plugin `{name}` is loaded already, from {other}; rename one of them")]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The one that is loaded.
        other: PathBuf,
    },
    /// A registration was refused, or the plugin's `setup` failed.
    #[error("plugin `{name}`: {what}; nothing of it is registered")]
    Refused {
        /// The plugin.
        name: String,
        /// The reason.
        what: String,
    },
    /// Its nodes do not fit into the graph.
    #[error("plugin `{name}`: {error}; nothing of it is registered")]
    Graph {
        /// The plugin.
        name: String,
        /// The error.
        error: GraphError,
    },
    /// A kind of config objects does not fit.
    #[error("plugin `{name}`: config objects `{kind}`: {error}; nothing of it is registered")]
    Kind {
        /// The plugin.
        name: String,
        /// The kind.
        kind: &'static str,
        /// The error.
        error: Box<ObjectError>,
    },
}
