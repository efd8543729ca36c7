//! Configuration of policers.

use std::fmt;

use quiver_control::object::Scalar;
use quiver_control::{Object, ObjectError};

quiver_control::choice! {
    /// Metering scheme of a policer.
    pub enum Scheme {
        /// Two colors: within the rate, or above it.
        OneRateTwoColor = "1r2c",
        /// Three colors: within the committed burst, within the excess burst, or above (RFC 2697).
        OneRateThreeColor = "1r3c",
        /// Three colors: within the committed rate, within the peak rate, or above (RFC 2698).
        TwoRate2698 = "2r3c-2698",
        /// Three colors: within the committed rate, within the excess rate, or above (RFC 4115).
        TwoRate4115 = "2r3c-4115",
    } as "policer-scheme", "1r2c, 1r3c, 2r3c-2698 or 2r3c-4115";
}

quiver_control::choice! {
    /// Unit of rates.
    pub enum RateUnit {
        /// Kilobits per second; bursts are in bytes.
        Kbps = "kbps",
        /// Packets per second; bursts are in milliseconds.
        Pps = "pps",
    } as "rate-unit", "kbps or pps";
}

/// Action for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The packet is dropped.
    Drop,
    /// The packet is forwarded.
    Transmit,
    /// The packet is forwarded with this DSCP.
    Mark(u8),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Drop => f.write_str("drop"),
            Action::Transmit => f.write_str("transmit"),
            Action::Mark(dscp) => write!(f, "mark-{dscp}"),
        }
    }
}

impl Scalar for Action {
    const NAME: &'static str = "policer-action";
    const EXPECTED: &'static str = "drop, transmit, or mark- and a DSCP from 0 to 63, such as mark-46";
    fn parse(text: &str) -> Result<Action, String> {
        let dscp = || text.strip_prefix("mark-").and_then(|dscp| u8::parse(dscp).ok()).filter(|dscp| *dscp < 64);
        match text {
            "drop" => Ok(Action::Drop),
            "transmit" => Ok(Action::Transmit),
            _ => dscp().map(Action::Mark).ok_or_else(String::new),
        }
    }
}

quiver_control::reference! {
    /// The name of a policer.
    pub struct PolicerName(String) in "policers";
}

/// Policer: rates, bursts, and actions for packets within and above them.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "policers")]
pub struct Policer {
    /// Name of the policer, at most 63 bytes.
    #[key]
    pub name: String,
    /// Metering scheme of the policer.
    #[default(Scheme::OneRateTwoColor)]
    pub scheme: Scheme,
    /// Unit of the rates.
    #[default(RateUnit::Kbps)]
    pub unit: RateUnit,
    /// Committed information rate (CIR).
    #[default(0)]
    pub cir: u32,
    /// Excess rate (RFC 4115) or peak rate (RFC 2698).
    #[default(0)]
    pub eir: u32,
    /// Committed burst in bytes, or in ms for rates in packets.
    #[default(0)]
    pub cb: u64,
    /// Excess or peak burst, in units of `cb`.
    #[default(0)]
    pub eb: u64,
    /// Action for packets within the committed rate.
    #[default(Action::Transmit)]
    pub conform_action: Action,
    /// Action for packets within the excess or peak rate only.
    #[default(Action::Drop)]
    pub exceed_action: Action,
    /// Action for packets above all rates.
    #[default(Action::Drop)]
    pub violate_action: Action,
}

/// Checks the fields of a policer that need no other object.
pub(crate) fn check(policer: &Policer) -> Result<(), ObjectError> {
    let two_rates = matches!(policer.scheme, Scheme::TwoRate2698 | Scheme::TwoRate4115);
    let wrong = |field: &str, what: &str, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    match policer {
        Policer { name, .. } if name.is_empty() || name.len() > 63 => {
            wrong("name", "it is empty or too long", "give 1 to 63 bytes")
        }
        Policer { cir: 0, .. } => wrong("cir", "no packet conforms to a rate of 0", "give a rate above 0"),
        // RFC 2697, 2: of a single rate's two bursts one may be 0.
        Policer { scheme: Scheme::OneRateThreeColor, cb: 0, eb: 0, .. } => {
            wrong("cb", "both bursts are 0", "give one of them above 0")
        }
        Policer { scheme: Scheme::OneRateThreeColor, .. } => Ok(()),
        Policer { cb: 0, .. } => wrong("cb", "no packet conforms to a burst of 0", "give a burst above 0"),
        Policer { eir: 0, .. } if two_rates => wrong("eir", "there is no second rate", "give one, or scheme 1r3c"),
        Policer { eb: 0, .. } if two_rates => wrong("eb", "there is no second burst", "give one, or scheme 1r2c"),
        Policer { cir, eir, scheme: Scheme::TwoRate2698, .. } if eir < cir => {
            wrong("eir", "the peak rate is below the committed one", "give at least that (RFC 2698, 2)")
        }
        _ => Ok(()),
    }
}
