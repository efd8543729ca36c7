//! One treatment for all packets of a frame.

/// The treatment that a stage gives to all packets of a frame at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alike {
    /// The arc that they take.
    pub arc: u16,
    /// The interface that is to send them, if the stage says so.
    pub tx: Option<u32>,
    /// The value that the stage writes into the `hop` column, if it does.
    pub hop: Option<u32>,
}
