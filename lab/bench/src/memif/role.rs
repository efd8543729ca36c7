//! The role of the daemon's memif interfaces.

/// The role of the daemon's memif interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Role {
    /// Masters: packets are copied, to and from memory of the peers.
    Master,
    /// Slaves: packets are copied, to and from memory of the daemon.
    Slave,
    /// Slaves that let their peers use the daemon's packet buffers.
    Shared,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Master, Role::Slave, Role::Shared];

    /// The name of a placement of daemon and peers in the rows. Rows that do not name a role are of masters.
    pub fn placement(self, between: &str) -> String {
        match self {
            Role::Master => between.to_owned(),
            Role::Slave => format!("{between}; slaves"),
            Role::Shared => format!("{between}; slaves without copies"),
        }
    }
}
