//! Tests that cross rooms live in this crate's `tests`; it has no code of its own.
