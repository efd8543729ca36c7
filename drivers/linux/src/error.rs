//! What Linux refuses, with what to do about it.

use std::io::{Error, ErrorKind};

use quiver_control::ObjectError;

/// Why Linux did not do what a driver asked for.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// A system call or a request failed.
    #[error("{action}: {source}")]
    Refused {
        /// What was tried.
        action: String,
        /// What Linux said.
        source: Error,
    },
    /// A device file of the kernel's is missing.
    #[error("there is no {0}")]
    NoDevice(&'static str),
    /// There is no such namespace.
    #[error("there is no network namespace {0}")]
    NoNamespace(String),
    /// There is no such link.
    #[error("there is no Linux interface {name} in {namespace}")]
    NoLink {
        /// The name.
        name: String,
        /// Where it was looked for.
        namespace: String,
    },
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

    /// What to do about it; may be empty.
    pub fn remedy(&self) -> String {
        match self {
            LinuxError::Refused { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                "run quiverd as root, or give it the right: `setcap cap_net_admin,cap_net_raw,cap_sys_admin+ep` on its \
                 program"
                    .into()
            }
            LinuxError::Refused { .. } => String::new(),
            LinuxError::NoDevice(_) => "load the driver with `modprobe tun`; in a container, pass the device on".into(),
            LinuxError::NoNamespace(name) => {
                format!("make it with `ip netns add {name}`, or give the path of its file")
            }
            LinuxError::NoLink { .. } => "choose one that `ip link` shows there".into(),
            LinuxError::LinkExists { .. } => "choose another name, or delete that interface".into(),
        }
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
    fn without_rights_one_sentence_says_what_to_do() {
        let error = LinuxError::refused("make the TAP device tap0", Error::from_raw_os_error(nix::libc::EPERM));
        let told = error.of_field("host-interface").to_string();
        assert!(told.starts_with("host-interface: make the TAP device tap0: Operation not permitted"), "{told}");
        assert!(told.contains("run quiverd as root") && told.contains("setcap cap_net_admin"), "{told}");
    }
}
