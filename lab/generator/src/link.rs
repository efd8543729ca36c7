//! The links to the device, and the generator's commands for them.

use std::path::{Path, PathBuf};

use quiver_netns::Namespace;
use quiver_stop::Stop;

/// A link to the device, by the generator's end of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// Shared memory, whose socket the generator listens at: the device is the slave.
    Memif {
        /// The socket.
        socket: PathBuf,
        /// Its number there.
        id: u32,
    },
    /// The slave's end of such a link.
    MemifSlave {
        /// The socket.
        socket: PathBuf,
        /// Its number there.
        id: u32,
    },
    /// A kernel interface of the generator's namespace, by AF_PACKET.
    Host {
        /// Its name.
        name: String,
    },
    /// A TAP interface, whose kernel end is the device's.
    Tap {
        /// The file of the namespace where that end is.
        namespace: String,
        /// Name of the kernel end.
        name: String,
    },
}

/// Where a generator's packets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Makes {
    /// Streams of the packet generator.
    #[default]
    Packets,
    /// Connections of the connection generator.
    Connections,
}

impl Makes {
    /// The command that creates an interface of it, and the beginning of its name.
    fn interface(self) -> (&'static str, &'static str) {
        match self {
            Makes::Packets => ("create packet-generator interface", "pg"),
            Makes::Connections => ("create connection-generator interface", "cg"),
        }
    }
    /// The generator's own interface of a side, 0 or 1.
    pub(crate) fn own(self, side: usize) -> String {
        format!("{}{side}", self.interface().1)
    }
}

/// How a generator is started.
pub struct Setup<'run> {
    /// The program quiverd.
    pub program: PathBuf,
    /// Where its files lie.
    pub folder: PathBuf,
    /// The core that it generates on.
    pub core: usize,
    /// Where its control thread runs: anywhere if there are none.
    pub control: Vec<usize>,
    /// The network namespace that it lives in, if not this process's.
    pub namespace: Option<&'run Namespace>,
    /// Where its packets come from.
    pub makes: Makes,
    /// Links to the device's first and second port.
    pub links: [Link; 2],
    /// The most bytes of a frame behind its Ethernet header.
    pub mtu: u16,
    /// The flag that ends every wait for the generator.
    pub stop: Stop,
}

/// The commands, and the names of the interfaces towards the device.
pub(crate) fn configuration(setup: &Setup<'_>) -> (Vec<String>, [String; 2]) {
    let mut lines = Vec::new();
    let mut names = [String::new(), String::new()];
    for (side, link) in setup.links.iter().enumerate() {
        // A socket of its own for each end, which may be the same file.
        let number = side + 1;
        let first = setup.links[..side].iter().position(|other| socket(other) == socket(link));
        let name = match link {
            Link::Memif { socket, id } | Link::MemifSlave { socket, id } => {
                let is_slave = matches!(link, Link::MemifSlave { .. });
                let shared = first.filter(|first| matches!(setup.links[*first], Link::MemifSlave { .. }) == is_slave);
                if shared.is_none() {
                    // A daemon that is both master and slave knows the socket by two names.
                    let folder = socket.parent().filter(|_| is_slave);
                    let path = match (folder, folder.and_then(Path::file_name), socket.file_name()) {
                        (Some(folder), Some(again), Some(name)) => folder.join("..").join(again).join(name),
                        _ => socket.clone(),
                    };
                    lines.push(format!("create memif socket id {number} filename {}", path.display()));
                }
                let number = shared.map_or(number, |first| first + 1);
                let role = if is_slave { "slave" } else { "master" };
                lines.push(format!("create interface memif id {id} socket-id {number} {role}"));
                format!("memif{number}/{id}")
            }
            Link::Host { name } => {
                lines.push(format!("create host-interface name {name}"));
                format!("host-{name}")
            }
            Link::Tap { namespace, name } => {
                let mtu = setup.mtu;
                lines.push(format!("create tap id {side} host-ns {namespace} host-if-name {name} host-mtu-size {mtu}"));
                format!("tap{side}")
            }
        };
        let own = setup.makes.own(side);
        lines.push(format!("{} {own}", setup.makes.interface().0));
        lines.push(format!("set interface l2 xconnect {own} {name}"));
        lines.push(format!("set interface l2 xconnect {name} {own}"));
        for interface in [&own, &name] {
            lines.push(format!("set interface state {interface} up"));
        }
        names[side] = name;
    }
    (lines, names)
}

/// Commands that make the worker poll. Until then it sleeps: it shares its core with the control threads where there is no other
/// one, and would take half of it from a device that is being configured.
pub(crate) fn polling(makes: Makes, interfaces: &[String; 2]) -> Vec<String> {
    let own = (0..interfaces.len()).map(|side| makes.own(side));
    own.chain(interfaces.iter().cloned()).map(|name| format!("set interface rx-mode {name} polling")).collect()
}

fn socket(link: &Link) -> Option<&PathBuf> {
    match link {
        Link::Memif { socket, .. } | Link::MemifSlave { socket, .. } => Some(socket),
        Link::Host { .. } | Link::Tap { .. } => None,
    }
}
