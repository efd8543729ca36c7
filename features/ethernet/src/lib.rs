//! Ethernet input and interface output.
