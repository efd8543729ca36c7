//! The control side.
#![forbid(unsafe_code)]
