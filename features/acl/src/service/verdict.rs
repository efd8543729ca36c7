//! The verdict of a tenant's lists about a session, which the session keeps in its status.

use quiver_control::Control;
use quiver_session::record::Status;
use quiver_session::{StatusField, StatusFieldError, claim_status_field};

use crate::lists::REVISION_BITS;

/// Verdict of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Packets of the session pass.
    Permitted = 1,
    /// Packets of the session are dropped.
    Denied = 2,
}

/// Bits of the verdict; behind them are those of the revision of the lists.
const VERDICT_BITS: u32 = 2;

/// Verdicts of sessions.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts(StatusField);

/// Text of a field.
fn show(field: u32) -> Option<&'static str> {
    match read(field) {
        Some((Verdict::Permitted, _)) => Some("permitted"),
        Some((Verdict::Denied, _)) => Some("denied"),
        None => None,
    }
}

/// Verdict and revision of a field's value; None of a session about which no list was asked.
fn read(field: u32) -> Option<(Verdict, u32)> {
    let verdict = match field & ((1 << VERDICT_BITS) - 1) {
        1 => Verdict::Permitted,
        2 => Verdict::Denied,
        _ => return None,
    };
    Some((verdict, field >> VERDICT_BITS))
}

impl Verdicts {
    /// Claims their field.
    pub(crate) fn claim(control: &Control) -> Result<Verdicts, StatusFieldError> {
        claim_status_field(control, "acl", VERDICT_BITS + REVISION_BITS, show).map(Verdicts)
    }
    /// The verdict about a session, and the revision of the lists by which it was made.
    #[inline(always)]
    pub fn of(self, status: Status) -> Option<(Verdict, u32)> {
        read(self.0.of(status))
    }
    /// A status with a verdict by a revision of the lists.
    pub fn set(self, status: Status, (verdict, revision): (Verdict, u32)) -> Status {
        self.0.set(status, verdict as u32 | revision << VERDICT_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_a_verdict_and_a_revision_or_nothing() {
        for (verdict, name) in [(Verdict::Permitted, "permitted"), (Verdict::Denied, "denied")] {
            for revision in [0, 1, (1 << REVISION_BITS) - 1] {
                let field = verdict as u32 | revision << VERDICT_BITS;
                assert_eq!((read(field), show(field)), (Some((verdict, revision)), Some(name)));
            }
        }
        assert_eq!((read(0), show(0)), (None, None));
    }
}
