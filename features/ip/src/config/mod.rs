//! Configuration: the objects of IP, and how they are applied to the FIB, to interfaces and to the stages.
//!
//! - [`objects`]: the objects of tables, addresses and routes; `configured`: the configuration of interfaces and tables.
//! - [`room`]: the state of a family; `publish`: the workers' view of it.
//! - [`tables`], [`interfaces`], [`addresses`], [`routes`]: how these objects are applied. `leaving`: tables that wait for their last users;
//!   `edits`: edits that commands and messages have in common.
//! - [`crossing`]: next hops of the other family; `circles`: which of them lead back; `recursion`: routes into tunnels that lead back;
//!   `next_hops`: kinds of next hops that rooms bring.
//! - [`path_mtu`], [`special`], [`sources`], [`flow_hash`]: features of the tables.
//! - [`link_local`]: IPv6 on interfaces without addresses; [`unnumbered`]: interfaces that use the addresses of others; [`broadcast`]:
//!   directed broadcasts.
//! - `protocols`: which rooms take packets for us. [`deciding`]: which route and which neighbor decide.
//! - `nodes`: arcs and nodes; `register`: registration of rooms, nodes and objects.

pub mod addresses;
pub mod broadcast;
mod circles;
mod configured;
pub mod crossing;
pub mod deciding;
pub(crate) mod edits;
pub mod error;
pub mod flow_hash;
pub mod interfaces;
pub(crate) mod leaving;
pub mod link_local;
pub(crate) mod next_hops;
mod nodes;
pub mod objects;
pub mod path_mtu;
pub(crate) mod protocols;
mod publish;
mod recursion;
mod register;
pub mod room;
pub mod routes;
pub mod sources;
pub mod special;
pub mod tables;
pub mod unnumbered;

pub(crate) use register::register;
