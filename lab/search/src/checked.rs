//! Checked constructors of loads and times.

use crate::error::Error;
use crate::quantity::{Load, Seconds};

macro_rules! checked {
    ($name:ident, $quantity:literal, $unit:ident, $suffix:literal) => {
        impl $name {
            #[doc = concat!("Of that many ", $suffix, ".\n\n# Errors\n[`Error::Quantity`] unless it is finite and not negative.")]
            pub fn new($unit: f64) -> Result<$name, Error> {
                match $unit.is_finite() && $unit >= 0.0 {
                    true => Ok($name::known($unit)),
                    false => Err(Error::Quantity { quantity: $quantity, value: $unit }),
                }
            }
        }

        impl TryFrom<f64> for $name {
            type Error = Error;

            fn try_from($unit: f64) -> Result<$name, Error> {
                $name::new($unit)
            }
        }
    };
}

checked!(Load, "a load (packets per second)", pps, "pps");
checked!(Seconds, "a time (seconds)", seconds, "s");
