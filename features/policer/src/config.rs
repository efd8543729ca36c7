//! What is configured of policers.

use std::fmt;

use quiver_control::object::Scalar;
use quiver_control::{Object, ObjectError};

quiver_control::choice! {
    /// How a policer tells packets apart.
    pub enum Scheme {
        /// Within the rate, or not.
        OneRateTwoColor = "1r2c",
        /// Within the rate, within the excess burst, or not (RFC 2697).
        OneRateThreeColor = "1r3c",
        /// Within the committed rate, within the peak rate, or not (RFC 2698).
        TwoRate2698 = "2r3c-2698",
        /// Within the committed rate, within the excess rate, or not (RFC 4115).
        TwoRate4115 = "2r3c-4115",
    } as "policer-scheme", "1r2c, 1r3c, 2r3c-2698 or 2r3c-4115";
}

quiver_control::choice! {
    /// What rates count.
    pub enum RateUnit {
        /// Thousand bits in a second; bursts are bytes.
        Kbps = "kbps",
        /// Packets in a second; bursts are milliseconds.
        Pps = "pps",
    } as "rate-unit", "kbps or pps";
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is dropped.
    Drop,
    /// It goes on.
    Transmit,
    /// It goes on with this DSCP.
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

/// A policer: rates, and what becomes of packets within and beyond them. What is policed names it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "policers")]
pub struct Policer {
    /// Its name, of at most 63 bytes.
    #[key]
    pub name: String,
    /// How it tells packets apart.
    #[default(Scheme::OneRateTwoColor)]
    pub scheme: Scheme,
    /// What its rates count.
    #[default(RateUnit::Kbps)]
    pub unit: RateUnit,
    /// The committed rate.
    #[default(0)]
    pub cir: u32,
    /// The excess rate of RFC 4115, or the peak rate of RFC 2698.
    #[default(0)]
    pub eir: u32,
    /// The committed burst: bytes, or milliseconds where rates count packets.
    #[default(0)]
    pub cb: u64,
    /// The excess or peak burst, likewise.
    #[default(0)]
    pub eb: u64,
    /// What becomes of packets within the committed rate.
    #[default(Action::Transmit)]
    pub conform_action: Action,
    /// What becomes of those within the excess only.
    #[default(Action::Drop)]
    pub exceed_action: Action,
    /// What becomes of those beyond it.
    #[default(Action::Drop)]
    pub violate_action: Action,
}

/// What holds of a policer by itself.
pub(crate) fn check(policer: &Policer) -> Result<(), ObjectError> {
    let two_rates = matches!(policer.scheme, Scheme::TwoRate2698 | Scheme::TwoRate4115);
    let wrong = |field: &str, what: &str, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    match policer {
        Policer { name, .. } if name.is_empty() || name.len() > 63 => {
            wrong("name", "it is empty or too long", "give 1 to 63 bytes")
        }
        Policer { cir: 0, .. } => wrong("cir", "no packet would be within it", "give a rate above 0"),
        // RFC 2697, 2: of a single rate's two bursts one may be 0.
        Policer { scheme: Scheme::OneRateThreeColor, cb: 0, eb: 0, .. } => {
            wrong("cb", "no packet would fit into it, nor into eb", "give one of them above 0")
        }
        Policer { scheme: Scheme::OneRateThreeColor, .. } => Ok(()),
        Policer { cb: 0, .. } => wrong("cb", "no packet would fit into it", "give a burst above 0"),
        Policer { eir: 0, .. } if two_rates => wrong("eir", "there is no second rate", "give one, or scheme 1r3c"),
        Policer { eb: 0, .. } if two_rates => wrong("eb", "there is no second burst", "give one, or scheme 1r2c"),
        Policer { cir, eir, scheme: Scheme::TwoRate2698, .. } if eir < cir => {
            wrong("eir", "the peak rate is below the committed one", "give at least that (RFC 2698, 2)")
        }
        _ => Ok(()),
    }
}
