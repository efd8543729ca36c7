//! A range of numbers: ports, or types and codes of ICMP.

use std::fmt;

use quiver_control::object::Scalar;
use quiver_control::serde_json::Value;

/// Numbers from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Range {
    /// All numbers.
    pub const ALL: Range = Range { first: 0, last: u16::MAX };

    /// Whether a number is one of them.
    pub fn contains(self, number: u16) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

impl Scalar for Range {
    const NAME: &'static str = "number-range";
    const EXPECTED: &'static str = "a number from 0 to 65535, or two such as 1000-1999";
    fn parse(text: &str) -> Result<Range, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (u16::parse(first)?, u16::parse(last)?);
        if first > last {
            return Err(format!("{first} is above {last}"));
        }
        Ok(Range { first, last })
    }
    fn number_schema() -> Option<Value> {
        Some(u16::schema())
    }
}
