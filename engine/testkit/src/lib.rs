//! Packet builder, test graph, virtual clock, golden scenarios.
pub mod executor;
pub mod packet;
