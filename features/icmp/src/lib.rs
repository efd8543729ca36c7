//! ICMP echo and errors, and the ping command.
