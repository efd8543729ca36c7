//! Nodes: packets get a tenant, find their session, and pass the services of its chain.

pub mod input;
pub mod lifecycle;
pub mod lookup;
pub mod owner;
pub mod pass;
