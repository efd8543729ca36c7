//! The seed of a node's instance.

/// The worker that an instance is made for, and whether it is for a rehearsal.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// The number of the worker; of a rehearsal, one more than there are.
    pub worker: usize,
    /// Whether the instance must have no effect: its messages to control are discarded ([`Outbox::of`]).
    ///
    /// [`Outbox::of`]: crate::channel::Outbox::of
    pub is_rehearsal: bool,
}
