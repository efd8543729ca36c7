//! Whether this process may make network namespaces, and what to do if it may not.

use std::fs;
use std::process::{Command, Stdio};

/// Rights by which this process can make network namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// By its own rights, in the user namespace where it runs.
    Own,
    /// By a user namespace of its own.
    UserNamespace,
    /// Not at all; the text says what would help.
    None(String),
}

/// Finds out by trying, in a child process that ends at once.
pub fn rights() -> Rights {
    // util-linux is an essential package of Debian, so `unshare` is there on every machine that can run the demo.
    if unshare(&["--mount", "--net", "--pid", "--fork"]) {
        Rights::Own
    } else if unshare(&["--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"]) {
        Rights::UserNamespace
    } else {
        Rights::None(remedy())
    }
}

fn unshare(options: &[&str]) -> bool {
    // What becomes of mounts is not asked here, and in a chroot cannot be set by this program.
    let child = Command::new("unshare")
        .args(options)
        .args(["--propagation", "unchanged"])
        .args(["--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    child.is_ok_and(|status| status.success())
}

/// The one sentence for a machine that forbids both ways, by the switch that is set.
fn remedy() -> String {
    if nix::unistd::geteuid().is_root() {
        return "run it where root has CAP_SYS_ADMIN (in a container: `docker run --privileged`)".to_owned();
    }
    let switches = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (name, forbids, allows) in switches {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if fs::read_to_string(path).is_ok_and(|value| value.trim() == forbids) {
            return format!("run it as root, or let root allow user namespaces with `sysctl -w {name}={allows}`");
        }
    }
    "run it as root (in a container: `docker run --privileged`)".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_a_remedy() {
        assert!(remedy().starts_with("run it "), "{}", remedy());
    }
}
