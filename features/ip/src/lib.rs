//! IP forwarding: addresses and tables, the FIB, and the nodes of IPv4 from input to rewrite.
//!
//! - [`fib`]: routes, the groups that they share, and how recursive paths resolve; [`adjacency`]: neighbours' rows.
//! - [`node`]: the nodes; [`product`]: the path of them that is fused; [`ingress`]: what they know of interfaces; [`fields`], [`flow`], [`fault`]: what they share.
//! - [`room`]: the control side; [`objects`]: what is configured; [`command`], [`show`]: the command line;
//!   [`api`]: VPP's messages.
#![forbid(unsafe_code)]

// Tests put this room among others, which they call by their names.
#[cfg(test)]
extern crate self as quiver_ip;

pub mod adjacency;
pub mod api;
pub mod command;
pub mod fault;
pub mod fib;
pub mod fields;
pub mod flow;
pub mod ingress;
pub mod node;
pub mod objects;
pub mod product;
pub mod room;
pub mod show;

pub use fault::Fault;
pub use ingress::Ingress;
pub use objects::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, Route, RoutePath, TableDefaults,
};
pub use room::{Ip4, IpError, register, set_local, set_table_defaults};
