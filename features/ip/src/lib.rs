//! IP forwarding: FIB, input, lookup, rewrite, ICMP errors.
#![forbid(unsafe_code)]

pub mod adjacency;
pub mod fib;
