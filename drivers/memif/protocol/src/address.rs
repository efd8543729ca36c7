//! Names of control sockets: a path, or an abstract name with the network namespace that it belongs to.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a master listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// A socket in the file system.
    Path(PathBuf),
    /// A name without a file. It belongs to a network namespace.
    Abstract {
        /// The name.
        name: String,
        /// The namespace, by name or path; without it, the process's own.
        namespace: Option<String>,
    },
}

/// A text that is no address of a socket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing, or nothing behind `abstract:`.
    #[error("a socket needs a name")]
    Empty,
    /// Longer than the system's addresses are.
    #[error("{0} bytes are too long for the name of a socket; 107 are possible")]
    TooLong(usize),
    /// Something other than a namespace behind the comma.
    #[error("'{0}' is not understood; netns_name=NAME or netns_pid=NUMBER can stand there")]
    Option(String),
}

/// Longest path or abstract name in a socket address (unix(7)), in bytes.
const NAME_MAX: usize = 107;

impl FromStr for Address {
    type Err = AddressError;
    /// Reads `/run/memif.sock`, `abstract:NAME`, `abstract:NAME,netns_name=NS`, `abstract:NAME,netns_pid=PID`, or
    /// `@NAME` with the same options.
    fn from_str(text: &str) -> Result<Address, AddressError> {
        let Some(text) = text.strip_prefix("abstract:").or_else(|| text.strip_prefix('@')) else {
            check(text)?;
            return Ok(Address::Path(text.into()));
        };
        let (name, option) = text.split_once(',').map_or((text, None), |(name, option)| (name, Some(option)));
        check(name)?;
        let namespace = match option.map(|option| option.split_once('=').unwrap_or((option, ""))) {
            None => None,
            Some(("netns_name", namespace)) if !namespace.is_empty() => Some(namespace.to_owned()),
            Some(("netns_pid", pid)) if pid.parse::<u32>().is_ok() => Some(format!("/proc/{pid}/ns/net")),
            Some(_) => return Err(AddressError::Option(option.unwrap_or_default().to_owned())),
        };
        Ok(Address::Abstract { name: name.to_owned(), namespace })
    }
}
fn check(name: &str) -> Result<(), AddressError> {
    match name.len() {
        0 => Err(AddressError::Empty),
        length if length > NAME_MAX => Err(AddressError::TooLong(length)),
        _ => Ok(()),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Path(path) => path.display().fmt(f),
            Address::Abstract { name, namespace: None } => write!(f, "abstract:{name}"),
            Address::Abstract { name, namespace: Some(namespace) } => {
                let pid = namespace.strip_prefix("/proc/").and_then(|rest| rest.strip_suffix("/ns/net"));
                match pid.filter(|pid| pid.parse::<u32>().is_ok()) {
                    Some(pid) => write!(f, "abstract:{name},netns_pid={pid}"),
                    None => write!(f, "abstract:{name},netns_name={namespace}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_printed() {
        let by_path = "abstract:x,netns_name=/proc/self/ns/net";
        for text in ["/run/memif.sock", "abstract:x", "abstract:x,netns_name=blue", "abstract:x,netns_pid=7", by_path] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("@x".parse::<Address>(), "abstract:x".parse());
        assert_eq!("".parse::<Address>(), Err(AddressError::Empty));
        assert_eq!("@".parse::<Address>(), Err(AddressError::Empty));
        assert_eq!("@x,mtu=9".parse::<Address>(), Err(AddressError::Option("mtu=9".into())));
        assert_eq!("@x,netns_pid=a".parse::<Address>(), Err(AddressError::Option("netns_pid=a".into())));
        assert!(matches!("x".repeat(200).parse::<Address>(), Err(AddressError::TooLong(200))));
    }
}
