//! Building blocks of tests: packets as text, a virtual clock, a whole daemon, golden scenarios.
pub mod counting;
pub mod crossing;
pub mod daemon;
pub mod executor;
pub mod golden;
pub mod growth;
pub mod levels;
pub mod offloader;
pub mod packet;
pub mod pcap;
mod program;
pub mod traffic;
pub mod trials;
pub mod wire;
