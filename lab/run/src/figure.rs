//! Figures of a document.

use quiver_result::{Amount, Figure};

use crate::Error;

/// A number that a document can hold.
pub(crate) fn amount(number: f64) -> Result<Amount, Error> {
    Ok(Amount::try_from(number)?)
}

/// A number by its name.
pub(crate) fn figure(name: &str, value: f64, unit: &str) -> Result<Figure, Error> {
    Ok(Figure { name: name.into(), value: amount(value)?, unit: unit.into() })
}
