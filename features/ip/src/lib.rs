//! IP forwarding: addresses and tables, the FIB, and the nodes from input to rewrite, for IPv4 and IPv6.
//!
//! The files form layers. A file imports files of its own layer and of those before it.
//!
//! 1. Tables and paths. [`fib`]: routes, the groups that they share, and how recursive paths resolve; [`adjacency`]: neighbors' rows.
//! 2. Forwarding. [`node`]: the nodes; [`family`]: what differs between the families; [`flows`]: flow hashes; [`upper`]: ports, of fragments,
//!    too; [`ingress`]: what nodes know of interfaces; [`near`]: neighbors without routes; [`disposition`]: what becomes of packets whose
//!    route or path leads to no neighbor; [`fault`]: what nodes have senders told.
//! 3. Configuration. `config`: objects, how they are applied, and the state of a family.
//! 4. Surfaces. [`command`]: the command line; [`api`]: VPP's messages.
//! 5. `register`: registration of all that.
#![forbid(unsafe_code)]

// Tests put this room among others, which they call by their names.
#[cfg(test)]
extern crate self as quiver_ip;

pub mod adjacency;
pub mod api;
pub mod command;
mod config;
pub mod disposition;
pub mod family;
pub mod fault;
pub mod fib;
pub mod flows;
pub mod ingress;
pub mod near;
pub mod node;
mod register;
pub mod upper;

pub use command::{show, table_word};
pub use config::error::IpError;
pub use config::interfaces::say_mtu;
pub use config::objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, Route, RoutePath, TableDefaults,
};
pub use config::protocols::{claim, punt};
pub use config::room::{Ip, Ip4, Ip6};
pub use config::tables::set_table_defaults;
pub use config::{
    addresses, broadcast, crossing, deciding, flow_hash, link_local, objects, path_mtu, routes, sources, special,
    unnumbered,
};
pub use family::{Family, Payload};
pub use fault::{Fault, FaultKind};
pub use ingress::Ingress;
pub use register::{register, register_kind};
