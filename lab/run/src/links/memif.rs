//! Shared memory: the generator listens at two sockets, the device connects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quiver_device::Port;
use quiver_generator::Link;
use quiver_netns::Namespace;

use super::Links;
use crate::Error;

/// Where the sockets are.
pub struct Memif {
    looped: PathBuf,
    socket: PathBuf,
}

impl Memif {
    /// In a folder.
    pub fn new(folder: &Path) -> Result<Memif, Error> {
        // A daemon that is both master and slave knows its socket by a path through the folder that this one is in.
        let alone = folder.join("alone");
        std::fs::create_dir(&alone)?;
        Ok(Memif { looped: alone.join("memif"), socket: folder.join("memif") })
    }
}

impl Links for Memif {
    fn looped(&self) -> ([Link; 2], Option<&Namespace>) {
        let socket = self.looped.clone();
        ([Link::Memif { socket: socket.clone(), id: 0 }, Link::MemifSlave { socket, id: 0 }], None)
    }

    fn ends(&self) -> ([Link; 2], Option<&Namespace>) {
        ([0, 1].map(|id| Link::Memif { socket: self.socket.clone(), id }), None)
    }

    fn ports(&self, _: usize) -> [Port<'_>; 2] {
        [0, 1].map(|id| Port::Memif { socket: self.socket.clone(), id })
    }

    fn are_of_kernel(&self) -> bool {
        false
    }

    /// No losses: a packet that does not fit into a ring is its sender's loss.
    fn losses(&self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(BTreeMap::new())
    }
}
