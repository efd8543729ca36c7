//! The ways to join a client and a server.

use std::fmt;
use std::fs::File;

/// Connection of client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// A veth pair from one to the other.
    Veth,
    /// Two veth pairs and a Linux bridge in a third namespace.
    LinuxBridge,
    /// quiverd.
    Quiver {
        /// Its function.
        function: Function,
        /// Its driver.
        driver: Driver,
    },
    /// Two quiverd, each with a tap of one end, joined by memif.
    Memif {
        /// Whether the client's quiverd is the master, and the server's the slave; or the other way round.
        master_at_client: bool,
        /// Whether the slave shares its packet buffers, so that the master uses them in place.
        is_zero_copy: bool,
    },
}

/// Function of quiverd between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Hands frames from one interface to the other.
    CrossConnect,
    /// Learns and forwards by MAC address.
    Bridge,
    /// Routes IPv4 from one subnet to the other.
    Router,
}

/// Driver that attaches quiverd to the namespaces of client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// Tap interfaces, whose kernel sides are in the namespaces.
    Tap,
    /// Packet sockets on the ends of veth pairs.
    AfPacket,
}

impl Driver {
    /// The faster of the drivers that this process may use.
    ///
    /// Debian lets every user open the tap driver's device, other systems only root. In a user namespace packet sockets
    /// need nothing from outside.
    pub fn best() -> Self {
        let device = File::options().read(true).write(true).open("/dev/net/tun");
        if device.is_ok() { Self::Tap } else { Self::AfPacket }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Veth => f.write_str("direct veth pair"),
            Self::LinuxBridge => f.write_str("Linux bridge"),
            Self::Memif { master_at_client, is_zero_copy } => {
                let master = if *master_at_client { "client" } else { "server" };
                let copy = if *is_zero_copy { "zero-copy" } else { "copy" };
                write!(f, "Quiver twice (memif, {copy}, master at the {master})")
            }
            Self::Quiver { function, driver } => {
                let function = match function {
                    Function::CrossConnect => "cross-connect",
                    Function::Bridge => "L2 bridge",
                    Function::Router => "IPv4 router",
                };
                let driver = match driver {
                    Driver::Tap => "tap",
                    Driver::AfPacket => "af-packet",
                };
                write!(f, "Quiver {function} ({driver})")
            }
        }
    }
}
