//! Nodes: packets get a tenant, find their session, and pass the services of its chain.

mod begin;
pub mod create;
pub mod input;
mod judge;
pub mod lifecycle;
pub mod lookup;
pub mod owner;
pub mod pass;
