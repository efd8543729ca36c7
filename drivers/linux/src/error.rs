//! Errors of Linux, with remedies.

use std::io::{Error, ErrorKind};

use quiver_control::ObjectError;
use quiver_control::files::FileError;

use crate::Capability;

/// Errors of operations that a driver asked of Linux.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// A system call or a request failed.
    #[error("{action}: {source}")]
    Refused {
        /// The operation, as `open a packet socket for eth0`.
        action: String,
        /// The error of Linux.
        source: Error,
    },
    /// The right to do it is missing.
    #[error("{action}: {source}")]
    Denied {
        /// The operation.
        action: String,
        /// The error of Linux.
        source: Error,
        /// The right that it needs.
        needs: Capability,
    },
    /// A device file may not be opened.
    #[error("open {0}: Permission denied")]
    ClosedDevice(&'static str),
    /// A file that was named is not one that can be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A device file of the kernel's is missing.
    #[error("there is no {0}")]
    NoDevice(&'static str),
    /// There is no such namespace.
    #[error("there is no network namespace {0}")]
    NoNamespace(String),
    /// The name of a namespace is gone, or another's.
    #[error("{0} is not there any more, or another one has its name")]
    RenewedNamespace(String),
    /// There is no such link.
    #[error("there is no Linux interface {name} in {namespace}")]
    NoLink {
        /// The name.
        name: String,
        /// Where it was looked for.
        namespace: String,
    },
    /// No descriptor of this name was passed at the start.
    #[error("no descriptor of the name {name} was passed to quiverd")]
    NoDescriptor {
        /// The name.
        name: String,
        /// The names of those that were passed.
        passed: Vec<String>,
    },
    /// The interface of a descriptor that was passed was deleted.
    #[error("the Linux interface {0} was deleted")]
    DeletedDevice(String),
    /// The name of a new link is taken.
    #[error("there is a Linux interface {name} in {namespace} already")]
    LinkExists {
        /// The name.
        name: String,
        /// Where.
        namespace: String,
    },
}

impl LinuxError {
    /// Names what was tried when `source` came back.
    pub fn refused(action: impl Into<String>, source: impl Into<Error>) -> LinuxError {
        LinuxError::Refused { action: action.into(), source: source.into() }
    }

    /// The same, of something for which a right may be missing: whoever lacks it is told which.
    pub fn of_right(action: impl Into<String>, source: impl Into<Error>, needs: Capability) -> LinuxError {
        let (action, source) = (action.into(), source.into());
        match source.kind() {
            ErrorKind::PermissionDenied => LinuxError::Denied { action, source, needs },
            _ => LinuxError::Refused { action, source },
        }
    }

    /// The remedy; may be empty.
    pub fn remedy(&self) -> String {
        match self {
            LinuxError::Denied { needs, .. } => needs.remedy(),
            LinuxError::ClosedDevice(device) => {
                format!(
                    "let quiverd's user open it: `chmod 666 {device}`, or `DeviceAllow={device} rw` in its systemd unit"
                )
            }
            LinuxError::Refused { .. } | LinuxError::File(_) => String::new(),
            LinuxError::NoDevice(_) => "load the driver with `modprobe tun`; in a container, pass the device on".into(),
            LinuxError::NoNamespace(name) => {
                format!("make it with `ip netns add {name}`, or give the path of its file")
            }
            LinuxError::RenewedNamespace(_) => String::new(),
            LinuxError::NoDescriptor { passed, .. } => {
                let passed = if passed.is_empty() {
                    "none was passed".into()
                } else {
                    format!("passed are: {}", passed.join(", "))
                };
                format!("start quiverd with it (LISTEN_FDS and LISTEN_FDNAMES, sd_listen_fds(3)); {passed}")
            }
            LinuxError::DeletedDevice(_) => "start quiverd anew with a descriptor of a new one".into(),
            LinuxError::NoLink { .. } => "choose one that `ip link` shows there".into(),
            LinuxError::LinkExists { .. } => "choose another name, or delete that interface".into(),
        }
    }

    /// The error of a configuration object: of its field that names the namespace if that may not be entered, or else of `field`.
    pub fn within(&self, namespace: &str, field: &str) -> ObjectError {
        let is_closed = matches!(self, LinuxError::Denied { needs: Capability::SysAdmin, .. });
        self.of_field(if is_closed { namespace } else { field })
    }

    /// The error of a configuration object, whose `field` asked for this.
    pub fn of_field(&self, field: &str) -> ObjectError {
        ObjectError::field(field, self.to_string()).remedy(self.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_what_to_do() {
        let denied = || Error::from_raw_os_error(nix::libc::EPERM);
        let error = LinuxError::of_right("make the TAP device tap0", denied(), Capability::NetAdmin);
        let told = error.of_field("host-interface").to_string();
        assert!(told.starts_with("host-interface: make the TAP device tap0: Operation not permitted"), "{told}");
        assert!(told.contains("CAP_NET_ADMIN"), "{told}");
        let busy = Error::from_raw_os_error(nix::libc::EBUSY);
        assert_eq!(LinuxError::of_right("make it", busy, Capability::NetAdmin).remedy(), "");
        assert!(LinuxError::ClosedDevice("/dev/net/tun").remedy().contains("chmod 666 /dev/net/tun"));
    }
}
