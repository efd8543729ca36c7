//! The rooms of this daemon, one line each.

use quiver_control::Control;

/// Registers every room, in the order of their lines.
pub fn register(_control: &Control) {}
