//! The decision of an inspector about all packets of a session, which the session keeps in its status: they need no inspection any more.

use quiver_control::Control;
use quiver_session::record::Status;
use quiver_session::{StatusField, StatusFieldError, claim_status_field};

/// Bits of the decision.
const DECISION_BITS: u32 = 2;
/// Bits of the number of the inspector's attachment. A decision counts until another inspector attaches; the 256th one would take it for its own.
const ATTACHMENT_BITS: u32 = 8;

/// Values of the decision.
const PASSES: u32 = 1;
const DENIED: u32 = 2;

/// Decisions about sessions.
#[derive(Clone, Copy)]
pub(crate) struct Decisions(StatusField);

/// Decision and attachment of a field's value, if there is one.
fn read(field: u32) -> Option<(bool, u32)> {
    let passes = match field & ((1 << DECISION_BITS) - 1) {
        PASSES => true,
        DENIED => false,
        _ => return None,
    };
    Some((passes, field >> DECISION_BITS))
}

/// Text of a field.
fn show(field: u32) -> Option<&'static str> {
    read(field).map(|(passes, _)| if passes { "passes uninspected" } else { "denied" })
}

impl Decisions {
    /// Claims their field.
    pub fn claim(control: &Control) -> Result<Decisions, StatusFieldError> {
        claim_status_field(control, "inspection", DECISION_BITS + ATTACHMENT_BITS, show).map(Decisions)
    }
    /// Whether packets of a session pass, if the inspector of this attachment has decided that.
    pub fn of(self, status: Status, attachment: u32) -> Option<bool> {
        let (passes, by) = read(self.0.of(status))?;
        (by == attachment & ((1 << ATTACHMENT_BITS) - 1)).then_some(passes)
    }
    /// A status with a decision: whether packets pass, by the inspector of this attachment.
    pub fn set(self, status: Status, (passes, attachment): (bool, u32)) -> Status {
        let decision = if passes { PASSES } else { DENIED };
        self.0.set(status, decision | attachment << DECISION_BITS)
    }
}
