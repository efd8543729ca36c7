//! The rooms of this daemon, one line each.

use quiver_control::Control;
use quiver_engine::DataplaneError;

/// Registers every room, in the order of their lines. The error says what does not fit together.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    quiver_interface::register(control)?;
    quiver_runtime::register(control)?;
    Ok(())
}
