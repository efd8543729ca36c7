//! Configuration.

use std::time::Duration;

use quiver_control::object::Interval;
use quiver_control::{Object, ObjectError};

/// Duplicate address detection: enabled for all IPv6 addresses while this object exists.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "duplicate-address-detection")]
pub struct DuplicateAddressDetection {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// Probes for an address, 1 to 10 (DupAddrDetectTransmits, RFC 4862, 5.1).
    #[default(1)]
    pub transmits: u8,
    /// Seconds between probes and after the last one, 0.1 to 10 (RetransTimer, RFC 4861, 10).
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
        let what = format!("{} probes are out of range", wanted.transmits);
        return Err(ObjectError::field("transmits", what).remedy("give 1 to 10"));
    }
    if !DuplicateAddressDetection::DELAY.contains(&seconds) {
        let what = format!("{seconds} s is out of range");
        return Err(ObjectError::field("delay", what).remedy("give 0.1 to 10"));
    }
    Ok(())
}
