//! What is configured.

use std::time::Duration;

use quiver_control::object::Interval;
use quiver_control::{Object, ObjectError};

/// Whether others are asked about each IPv6 address that comes to an interface, and how often: as long as this is there.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "duplicate-address-detection")]
pub struct DuplicateAddressDetection {
    /// `default`, which is all there is.
    #[key]
    pub name: String,
    /// Questions about an address: 1 to 10 (DupAddrDetectTransmits of RFC 4862, 5.1).
    #[default(1)]
    pub transmits: u8,
    /// Seconds between questions, and for which answers to the last are waited for: 0.1 to 10 (RetransTimer of RFC 4861, 10).
    #[default(Interval(Duration::from_secs(1)))]
    pub delay: Interval,
}

impl DuplicateAddressDetection {
    /// The only name.
    pub const NAME: &str = "default";
    /// Questions that may be set.
    pub const TRANSMITS: std::ops::RangeInclusive<u8> = 1..=10;
    /// Seconds that may be set.
    pub const DELAY: std::ops::RangeInclusive<f64> = 0.1..=10.0;
}

pub(crate) fn check(wanted: &DuplicateAddressDetection) -> Result<(), ObjectError> {
    let seconds = wanted.delay.0.as_secs_f64();
    if wanted.name != DuplicateAddressDetection::NAME {
        return Err(ObjectError::field("name", "there is one only").remedy("call it default"));
    }
    if !DuplicateAddressDetection::TRANSMITS.contains(&wanted.transmits) {
        let what = format!("{} questions are too few or too many", wanted.transmits);
        return Err(ObjectError::field("transmits", what).remedy("give 1 to 10"));
    }
    if !DuplicateAddressDetection::DELAY.contains(&seconds) {
        let what = format!("{seconds} seconds are too short or too long");
        return Err(ObjectError::field("delay", what).remedy("give 0.1 to 10"));
    }
    Ok(())
}
