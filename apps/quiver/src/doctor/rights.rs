//! Rights, and the drivers that need them.

use std::fs::File;
use std::io::ErrorKind;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use quiver_netns::Rights;

use super::finding::Finding;
use super::machine::Machine;

const AS_ROOT: &str = "run quiverd as root, or once `setcap cap_net_admin,cap_net_raw+ep` on its file";
/// Remedy for a missing CAP_SYS_ADMIN, which interfaces in other namespaces need.
const ELSEWHERE: &str = "for interfaces in other network namespaces: run quiverd as root, or once \
    `setcap cap_net_admin,cap_net_raw,cap_sys_admin+ep` on its file";

/// A capability by its bit number, capabilities(7).
#[derive(Debug, Clone, Copy)]
pub enum Capability {
    /// To make and configure interfaces.
    NetAdmin = 12,
    /// To send and receive raw frames.
    NetRaw = 13,
    /// To enter other network namespaces.
    SysAdmin = 21,
}

/// Whether this process has the capability.
pub fn has(machine: &Machine, capability: Capability) -> bool {
    let status = machine.read("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    effective >> capability as u32 & 1 == 1
}

/// Examines rights and drivers.
pub fn examine(machine: &Machine) -> Vec<Finding> {
    let tun = tun(machine);
    vec![
        capability(machine, "CAP_NET_ADMIN", Capability::NetAdmin),
        capability(machine, "CAP_NET_RAW", Capability::NetRaw),
        other_namespaces(machine),
        namespaces(quiver_netns::rights()),
        tap(has(machine, Capability::NetAdmin), tun),
        af_packet(),
    ]
}

fn capability(machine: &Machine, about: &'static str, capability: Capability) -> Finding {
    match has(machine, capability) {
        true => Finding::ok(about, "yes"),
        false => Finding::missing(about, "no", AS_ROOT),
    }
}

fn other_namespaces(machine: &Machine) -> Finding {
    let about = "CAP_SYS_ADMIN";
    match has(machine, Capability::SysAdmin) {
        true => Finding::ok(about, "yes"),
        false => Finding::degraded(about, "no", ELSEWHERE),
    }
}

fn namespaces(rights: Rights) -> Finding {
    let about = "namespaces for the demo";
    match rights {
        Rights::Own => Finding::ok(about, "by this process' own rights"),
        Rights::UserNamespace => Finding::ok(about, "by an unprivileged user namespace"),
        Rights::None(remedy) => Finding::degraded(about, "none", remedy),
    }
}

/// Opens the device of the tap driver.
fn tun(machine: &Machine) -> Result<(), ErrorKind> {
    let device = File::options().read(true).write(true).open(machine.path("dev/net/tun"));
    device.map(drop).map_err(|error| error.kind())
}

fn tap(has_net_admin: bool, tun: Result<(), ErrorKind>) -> Finding {
    let about = "driver tap";
    match tun {
        Ok(()) if has_net_admin => Finding::ok(about, "/dev/net/tun opens"),
        Ok(()) => Finding::missing(about, "/dev/net/tun opens, but CAP_NET_ADMIN is lacking", AS_ROOT),
        Err(ErrorKind::PermissionDenied) => Finding::missing(
            about,
            "/dev/net/tun may not be opened",
            "as root, `chmod 666 /dev/net/tun` (Debian's default)",
        ),
        Err(_) => Finding::missing(
            about,
            "/dev/net/tun is not there",
            "as root, `modprobe tun`; in a container, start it with `--device /dev/net/tun`",
        ),
    }
}

fn af_packet() -> Finding {
    let about = "driver af-packet";
    match socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None) {
        Ok(_) => Finding::ok(about, "AF_PACKET sockets open"),
        Err(Errno::EPERM | Errno::EACCES) => Finding::missing(about, "AF_PACKET sockets may not be opened", AS_ROOT),
        Err(_) => Finding::missing(about, "no AF_PACKET sockets", "take a kernel with CONFIG_PACKET"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use crate::doctor::machine::made_of;

    #[test]
    fn capabilities_are_read_by_their_bits() {
        let (_folder, machine) = made_of(&[("proc/self/status", "Name:\tx\nCapPrm:\t0\nCapEff:\t0000000000001000\n")]);
        assert!(has(&machine, Capability::NetAdmin));
        assert!(!has(&machine, Capability::NetRaw));
        // Most daemons need no other namespace.
        assert_eq!(other_namespaces(&machine).verdict, Verdict::Degraded);
        let (_folder, all) = made_of(&[("proc/self/status", "CapEff:\t0000000000203000\n")]);
        assert_eq!(other_namespaces(&all).verdict, Verdict::Ok);
        let (_folder, machine) = made_of(&[]);
        assert_eq!(capability(&machine, "CAP_NET_RAW", Capability::NetRaw).verdict, Verdict::Missing);
    }

    #[test]
    fn tap_needs_the_device_and_the_right() {
        assert_eq!(tap(true, Ok(())).verdict, Verdict::Ok);
        assert_eq!(tap(false, Ok(())).verdict, Verdict::Missing);
        let (_folder, machine) = made_of(&[]);
        let finding = tap(true, tun(&machine));
        assert_eq!(finding.verdict, Verdict::Missing);
        assert!(finding.remedy.unwrap().contains("modprobe tun"));
    }
}
