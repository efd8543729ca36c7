//! Timeouts: rooms register them by name; a tenant may have values of its own.

use quiver_control::Control;

/// Timeouts there can be, as in VPP.
pub const TIMEOUTS_MAX: usize = 8;

/// Of sessions whose responder has not answered.
pub const EMBRYONIC: u8 = 0;
/// Of sessions whose both ends have sent packets.
pub const ESTABLISHED: u8 = 1;
/// Of TCP connections.
pub const TCP_ESTABLISHED: u8 = 2;
/// Of sessions whose packets are dropped because the first one was not allowed.
pub const SECURITY: u8 = 3;
/// Of connections that have been closed: until late packets have come. It is no tenant's to set.
pub(crate) const CLOSED: u8 = 0xfe;
/// Of sessions that end at once: after [`NOW_SECONDS`].
pub const NOW: u8 = 0xff;

/// Seconds of [`NOW`]: packets that follow at once still find the session, as in VPP, whose interval is a second.
pub(crate) const NOW_SECONDS: u32 = 1;
/// Seconds of [`CLOSED`]. VPP's tests expect closed sessions to be gone after 5 s.
pub(crate) const CLOSED_SECONDS: u32 = 2;

/// A registered timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// Name, such as `tcp-established`.
    pub name: &'static str,
    /// Default, in seconds.
    pub seconds: u32,
}

/// The registered timeouts, by number: a room of the control side.
pub struct Timeouts(Vec<Timeout>);

impl Default for Timeouts {
    /// Those of this room, in VPP's order and with its values.
    fn default() -> Timeouts {
        let of = |name, seconds| Timeout { name, seconds };
        Timeouts(vec![of("embryonic", 5), of("established", 120), of("tcp-established", 3600), of("security", 30)])
    }
}

impl Timeouts {
    /// All, by number.
    pub fn all(&self) -> &[Timeout] {
        &self.0
    }
    /// The number of a timeout.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|timeout| timeout.name == name)
    }
}

/// Why a timeout cannot be registered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TimeoutError {
    /// Another one has its name.
    #[error("there is a timeout `{0}` already; choose another name")]
    Taken(&'static str),
    /// There are [`TIMEOUTS_MAX`].
    #[error("`{0}` would be one timeout too many: there can be {TIMEOUTS_MAX}")]
    Full(&'static str),
}

/// Registers a timeout; returns its number.
///
/// # Errors
/// If the name is taken, or no number is left.
pub fn register_timeout(control: &Control, name: &'static str, seconds: u32) -> Result<u8, TimeoutError> {
    let mut timeouts = control.room_mut::<Timeouts>();
    if timeouts.number(name).is_some() {
        return Err(TimeoutError::Taken(name));
    }
    if timeouts.0.len() == TIMEOUTS_MAX {
        return Err(TimeoutError::Full(name));
    }
    timeouts.0.push(Timeout { name, seconds });
    Ok(timeouts.0.len() as u8 - 1)
}
