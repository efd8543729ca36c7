//! IP forwarding: addresses and tables, the FIB, and the nodes from input to rewrite, for IPv4 and IPv6.
//!
//! - [`fib`]: routes, the groups that they share, and how recursive paths resolve; [`adjacency`]: neighbours' rows.
//! - [`node`]: the nodes; [`family`]: what differs between the families;
//!   [`ingress`]: what nodes know of interfaces; [`fault`]: what they have senders told.
//! - [`crossing`]: next hops of the other family; `circles`: which of them lead back; `recursion`: routes into tunnels that lead back.
//! - [`path_mtu`], [`special`], [`sources`], [`flows`] with [`flow_hash`]: features of the tables, each in its file.
//! - [`near`]: neighbours without routes. [`link_local`]: IPv6 on interfaces without addresses; [`unnumbered`]: interfaces that use the addresses of others.
//! - [`upper`]: ports, of fragments, too. [`fates`]: what becomes of packets whose path leads to no neighbour.
//! - `protocols`: which rooms take packets for us; `next_hops`: kinds of next hops that rooms bring.
//! - `groups`: what is shown of the groups that interfaces are in.
//! - [`room`]: the control side; [`objects`]: what is configured; [`command`], [`show`]: the command line;
//!   [`api`]: VPP's messages.
#![forbid(unsafe_code)]

// Tests put this room among others, which they call by their names.
#[cfg(test)]
extern crate self as quiver_ip;

pub mod adjacency;
pub mod api;
pub mod broadcast;
mod circles;
pub mod command;
pub mod crossing;
pub mod deciding;
pub mod family;
pub mod fates;
pub mod fault;
pub mod fib;
pub mod flow_hash;
pub mod flows;
mod groups;
pub mod ingress;
pub mod link_local;
pub mod near;
mod next_hops;
pub mod node;
pub mod objects;
pub mod path_mtu;
mod protocols;
mod recursion;
pub mod room;
pub mod show;
pub mod sources;
pub mod special;
pub mod table_word;
pub mod unnumbered;
pub mod upper;

pub use family::{Family, Payload};
pub use fault::{Fault, FaultKind};
pub use ingress::Ingress;
pub use next_hops::register_kind;
pub use objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, Route, RoutePath, TableDefaults,
};
pub use protocols::{claim, punt};
pub use room::{Ip, Ip4, Ip6, IpError, register, say_mtu, set_table_defaults};
