//! "Where did my packet go?": what the nodes would do with a packet, and which object decides at each of them.
//!
//! - [`way`]: the way of a packet through a rehearsal of the live graph ([`Dataplane::rehearse`]), in words and as JSON.
//! - [`mod@tuple`]: a packet of a flow's five fields.
//! - `why` is the command; `drops` follows what is lost, and asks the same of a sample of each loss.
//!
//! [`Dataplane::rehearse`]: quiver_engine::Dataplane::rehearse
#![forbid(unsafe_code)]

mod drops;
pub mod tuple;
pub mod way;
mod why;

use quiver_control::Control;

/// Registers the room. The data plane and the interfaces are registered before.
pub fn register(control: &Control) {
    why::register(control);
    drops::register(control);
}
