//! Loads and times.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:ident, $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("A number that is known to be finite and not negative, in ", $suffix, ".")]
            pub(crate) const fn known($unit: f64) -> $name {
                $name($unit)
            }

            #[doc = concat!("In ", $suffix, ".")]
            pub const fn $unit(self) -> f64 {
                self.0
            }
        }

        impl From<$name> for f64 {
            fn from(quantity: $name) -> f64 {
                quantity.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)?;
                formatter.write_str(concat!(" ", $suffix))
            }
        }
    };
}

quantity!(
    /// How much is sent: packets (or transactions) per second, in one direction. Finite and not negative.
    Load, pps, "pps"
);
quantity!(
    /// A time in seconds. Finite and not negative. A float, because searches split durations in proportions that other
    /// implementations have to reach, too.
    Seconds, seconds, "s"
);
