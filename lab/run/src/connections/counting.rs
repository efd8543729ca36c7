//! Which connections count.

/// Condition under which a connection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// It has closed, and no packet of it went twice.
    Closed,
    /// CSIT's rule: SYN and SYN-ACK have passed.
    Established,
}
