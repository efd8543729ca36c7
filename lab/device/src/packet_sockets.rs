//! Packets that the packet sockets (AF_PACKET) of another process lost because their rings were full.
//!
//! The kernel counts that for each socket and tells whoever asks by the socket (packet(7), `PACKET_STATISTICS`), from then on
//! counting anew. VPP does not ask, testpmd may. So their sockets are duplicated into this process, and asked here.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::GetStruct;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// The name of the counter.
pub const RING_FULL: &str = "af-packet ring-full";

/// Text in a device's configuration if the sockets cannot be read.
pub const LOST_UNKNOWN: &str = "what its packet sockets lose is not known";

/// The option, by which the kernel tells packets and drops.
#[derive(Clone, Copy, Debug)]
struct Statistics;

nix::getsockopt_impl!(
    Statistics,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats,
    GetStruct<libc::tpacket_stats>
);

/// The packet sockets of a process, and their losses so far.
#[derive(Debug, Default)]
pub struct PacketSockets {
    sockets: Vec<OwnedFd>,
    lost: u64,
}

impl PacketSockets {
    /// Duplicates the packet sockets that the process has now; or says why it cannot.
    pub fn of(process: u32) -> Result<PacketSockets, String> {
        let net = format!("/proc/{process}/net/packet");
        let inodes = inodes(&fs::read_to_string(&net).map_err(|error| format!("{net}: {error}"))?);
        let folder = format!("/proc/{process}/fd");
        let refused = |error: &dyn std::fmt::Display| format!("{folder}: {error}");
        let id = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("it has no process")?;
        let process = pidfd_open(id, PidfdFlags::empty()).map_err(|error| refused(&error))?;
        let mut sockets = vec![];
        for entry in fs::read_dir(&folder).map_err(|error| refused(&error))?.flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // One that was closed meanwhile has no target.
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']'));
            if inode.is_some_and(|inode| inodes.contains(inode)) {
                let socket = pidfd_getfd(&process, number, PidfdGetfdFlags::empty());
                sockets.push(socket.map_err(|error| refused(&error))?);
            }
        }
        Ok(PacketSockets { sockets, lost: 0 })
    }

    /// Packets that they have lost since they were looked up, all together; none if there are no sockets.
    pub fn lost(&mut self) -> Option<u64> {
        let drops = self.sockets.iter().filter_map(|socket| getsockopt(socket, Statistics).ok());
        self.lost += drops.map(|statistics| u64::from(statistics.tp_drops)).sum::<u64>();
        (!self.sockets.is_empty()).then_some(self.lost)
    }
}

/// The numbers of packet sockets, the last column behind the heading.
fn inodes(table: &str) -> BTreeSet<String> {
    table.lines().skip(1).filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_sockets_are_known_by_their_numbers() {
        let table = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                     00000000f05ebec6 3      3    0003   7     1 0      0      74001 \n";
        assert_eq!(inodes(table).into_iter().collect::<Vec<_>>(), ["74001"]);
    }

    #[test]
    fn a_process_without_them_has_lost_nothing_that_is_known() {
        let mut none = PacketSockets::of(std::process::id()).expect("this process");
        assert_eq!(none.lost(), None);
    }
}
