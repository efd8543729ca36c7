//! The rows of the table.

use quiver_site::{Driver, Function, Join};

/// One way from client to server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Path {
    /// A veth pair from one namespace to the other
    Veth,
    /// Two veth pairs and a Linux bridge in a third namespace
    LinuxBridge,
    /// quiverd as a learning bridge
    QuiverBridge,
    /// quiverd as an IPv4 router
    QuiverRouter,
}

impl Path {
    /// The paths of the table, in its order.
    pub const TABLE: &[Self] = &[Self::Veth, Self::LinuxBridge, Self::QuiverBridge, Self::QuiverRouter];

    /// Connection of client and server on this path.
    pub fn join(self, driver: Driver) -> Join {
        let quiver = |function| Join::Quiver { function, driver };
        match self {
            Self::Veth => Join::Veth,
            Self::LinuxBridge => Join::LinuxBridge,
            Self::QuiverBridge => quiver(Function::Bridge),
            Self::QuiverRouter => quiver(Function::Router),
        }
    }
}
