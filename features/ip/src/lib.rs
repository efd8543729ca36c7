//! IP forwarding: FIB, input, lookup, rewrite, ICMP errors.
