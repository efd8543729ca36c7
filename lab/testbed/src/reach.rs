//! How commands get to a host.

use std::path::PathBuf;

/// The way to a host: this machine, or ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is this machine.
    Here,
    /// Over ssh.
    Ssh {
        /// `user@host`, or a name that ssh knows.
        target: String,
        /// Where it is not ssh's own.
        port: Option<u16>,
        /// A file for ssh (`ssh_config(5)`) instead of the user's own: with keys for continuous integration, say.
        config: Option<PathBuf>,
    },
}
