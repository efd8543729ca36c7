//! Fields of a session's status: rooms claim them for what their services keep of a session, such as a verdict.
//!
//! A field is a part of the word that has state, timeout and flags. So a service that has read the session's status has its field, and
//! the owner's next store writes both. A session begins with zeros.

use quiver_control::Control;

use crate::record::Status;

/// Bits that all fields have together.
const BITS: u32 = u32::BITS;

/// A field of a session's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusField {
    shift: u32,
    bits: u32,
}

impl StatusField {
    fn mask(self) -> u32 {
        (u64::MAX >> (64 - self.bits)) as u32
    }
    /// Its value.
    #[inline(always)]
    pub fn of(self, status: Status) -> u32 {
        status.fields >> self.shift & self.mask()
    }
    /// A status with a value of this field, of which as many bits are kept as it has.
    #[must_use]
    pub fn set(self, status: Status, value: u32) -> Status {
        let others = status.fields & !(self.mask() << self.shift);
        Status { fields: others | (value & self.mask()) << self.shift, ..status }
    }
}

/// Text of a field's value; None if there is nothing to say.
pub type ShowField = fn(u32) -> Option<&'static str>;

/// A claimed field.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    /// Name for people.
    pub name: &'static str,
    /// Place.
    pub field: StatusField,
    /// Text of its values.
    pub show: ShowField,
}

/// The claimed fields: a room of the control side.
#[derive(Default)]
pub(crate) struct StatusFields(Vec<Claim>);

/// Why a field cannot be claimed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StatusFieldError {
    /// Another one has its name.
    #[error("there is a field `{0}` of sessions already; choose another name")]
    Taken(&'static str),
    /// Too few bits are left.
    #[error("`{name}` needs {bits} bits of a session's status, and {left} are left; claim fewer")]
    Full {
        /// Name of the field.
        name: &'static str,
        /// Its bits.
        bits: u32,
        /// Bits that no field has.
        left: u32,
    },
}

impl StatusFields {
    /// All of them.
    pub fn all(&self) -> &[Claim] {
        &self.0
    }
    fn claim(&mut self, name: &'static str, bits: u32, show: ShowField) -> Result<StatusField, StatusFieldError> {
        if self.0.iter().any(|claim| claim.name == name) {
            return Err(StatusFieldError::Taken(name));
        }
        let shift = self.0.iter().map(|claim| claim.field.bits).sum();
        if bits == 0 || bits > BITS - shift {
            return Err(StatusFieldError::Full { name, bits, left: BITS - shift });
        }
        let field = StatusField { shift, bits };
        self.0.push(Claim { name, field, show });
        Ok(field)
    }
}

/// Claims a field of so many bits, at least one, which `show session detail` shows under this name.
///
/// # Errors
/// If the name is taken, or too few bits are left.
pub fn claim_status_field(
    control: &Control,
    name: &'static str,
    bits: u32,
    show: ShowField,
) -> Result<StatusField, StatusFieldError> {
    control.room_mut::<StatusFields>().claim(name, bits, show)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BLOCKED, Record, State};

    #[test]
    fn fields_and_the_rest_of_a_status_leave_each_other_alone() {
        let mut all = StatusFields::default();
        let mut claim = |name, bits| all.claim(name, bits, |_| None);
        let fields = [("one", 1), ("two", 22), ("three", 9)].map(|(name, bits)| claim(name, bits).expect(name));
        assert_eq!(claim("two", 1), Err(StatusFieldError::Taken("two")));
        assert_eq!(claim("four", 1), Err(StatusFieldError::Full { name: "four", bits: 1, left: 0 }));
        let mut status = Status { state: State::TimeWait, timeout: 7, flags: BLOCKED | 1, fields: 0 };
        let rest = |status: Status| (status.state, status.timeout, status.flags);
        let before = rest(status);
        let record = Record::default();
        for values in [[1, 0x3f_ffff, 0x1ff], [0, 0x2a_aaaa, 0], [1, 0, 0x155]] {
            for (field, value) in fields.into_iter().zip(values) {
                // What does not fit is cut off.
                status = field.set(status, value | 1 << 31);
            }
            record.set_status(status);
            assert_eq!(fields.map(|field| field.of(record.status())), values);
            assert_eq!(rest(record.status()), before);
        }
    }

    #[test]
    fn a_field_may_have_all_bits_and_not_none() {
        let mut all = StatusFields::default();
        assert!(all.claim("none", 0, |_| None).is_err());
        let field = all.claim("all", 32, |_| None).expect("it fits");
        assert_eq!(field.of(field.set(Status::NEW, u32::MAX)), u32::MAX);
    }
}
