//! Linux's side of the interfaces that drivers share with it: network namespaces, links, addresses.
#![forbid(unsafe_code)]

mod capability;
mod error;
mod link;
mod links;
mod mac;
mod namespace;
mod receive;
mod send;
mod speed;
mod watch;

pub use capability::Capability;
pub use error::LinuxError;
pub use link::{HostSide, Link, check_link_name};
pub use links::{DeviceState, Linked, Links, note_link, watch_links};
pub use mac::random_mac;
pub use namespace::Namespace;
pub use receive::{PACKET_MAX, PacketReader};
pub use send::{WriteQueue, virtio_header};
pub use watch::{LinkState, Watch};
