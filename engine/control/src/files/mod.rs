//! Files whose paths come from outside: from clients, configurations and options.
//!
//! A path may lead to a FIFO without a writer, to a device or to a file without an end. Everything that opens such a path opens
//! it here: nothing waits for a peer, only regular files are accepted, and reading is bounded.
//!
//! - `regular`: opens and reads regular files. `error`: why not.
//! - `aside`: [`Helper`], which reads long ones aside from control.
//! - `reach`: [`Reach`], which of them a client may name. `owned`: which may hold code. `replace`: writes one whole.

mod aside;
mod error;
mod owned;
mod reach;
mod regular;
mod replace;

pub use aside::Helper;
pub use error::FileError;
pub use owned::{is_owned, owned};
pub use reach::{Place, Reach, confine};
pub use regular::{SCRIPT_MAX, open, open_namespace, read, read_open, read_text};
pub use replace::replace;
