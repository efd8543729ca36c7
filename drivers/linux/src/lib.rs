//! Linux's side of the interfaces that drivers share with it: network namespaces, links, addresses.
#![forbid(unsafe_code)]

mod error;
mod link;
mod namespace;

pub use error::LinuxError;
pub use link::{HostSide, Link};
pub use namespace::Namespace;
