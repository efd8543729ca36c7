//! A sample for rooms with services of sessions: a service with a timeout of its own, and a parser with a format of keys of its own.
//! Names are those of VPP's sample.
//!
//! - [`service`]: `sample-non-terminal`, which establishes sessions by their first packet.
//! - [`parser`]: `sample-ip4-parser`, which finds sessions by IPv4 addresses and ports.
#![forbid(unsafe_code)]

pub mod parser;
pub mod service;

use quiver_control::Control;
use quiver_session::SessionError;

/// Registers the room. That of sessions is registered before.
///
/// # Errors
/// If one of the names is taken.
pub fn register(control: &Control) -> Result<(), SessionError> {
    service::register(control)?;
    parser::register(control)
}
