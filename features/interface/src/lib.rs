//! Interfaces: names, states, addresses of hardware, counters.
