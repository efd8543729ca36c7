//! Numbers, units and times of documents.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number from 0 on; neither infinite nor "not a number", which JSON has no text for.
///
/// It has 15 significant digits, so it is read as it was written, whatever a JSON library makes of the 16th.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Amount(f64);

/// No [`Amount`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is no amount: must be a number from 0 on")]
pub struct NotAnAmount(pub f64);

impl Amount {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Amount {
    type Error = NotAnAmount;

    fn try_from(number: f64) -> Result<Self, NotAnAmount> {
        match format!("{number:.14e}").parse() {
            Ok(rounded) if number.is_finite() && number >= 0.0 => Ok(Amount(rounded)),
            _ => Err(NotAnAmount(number)),
        }
    }
}

impl From<u32> for Amount {
    fn from(number: u32) -> Self {
        Amount(number.into())
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A number from 0 on.", "type": "number", "minimum": 0 })
    }
}

/// A value with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantity<Unit> {
    /// The number.
    pub value: Amount,
    /// Its unit.
    pub unit: Unit,
}

/// A rate, summed over both directions, with the bandwidth that follows from it where frames have a size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Packets, connections, requests or bits per second.
    pub rate: Quantity<RateUnit>,
    /// Bits per second on the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Quantity<BandwidthUnit>")]
    pub bandwidth: Option<Quantity<BandwidthUnit>>,
}

/// Unit of a rate, per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateUnit {
    /// Packets.
    Pps,
    /// Connections.
    Cps,
    /// Requests.
    Rps,
    /// Bits.
    Bps,
}

impl RateUnit {
    /// As it stands in documents.
    pub fn word(self) -> &'static str {
        match self {
            RateUnit::Pps => "pps",
            RateUnit::Cps => "cps",
            RateUnit::Rps => "rps",
            RateUnit::Bps => "bps",
        }
    }
}

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            /// The only one.
            #[default]
            #[serde(rename = $text)]
            Unit,
        }
    };
}

unit!(
    /// Bits per second.
    BandwidthUnit, "bps"
);
unit!(
    /// Counted packets.
    Packets, "packets"
);
unit!(
    /// Counted requests.
    Requests, "requests"
);
unit!(
    /// Seconds.
    Seconds, "s"
);
unit!(
    /// Microseconds.
    Microseconds, "us"
);

/// A moment in UTC, as in RFC 3339, to the microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Time(SystemTime);

/// No moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time `{text}`: must be in UTC from 1970 to 9999, like 2026-11-22T14:00:00.250000Z")]
pub struct TimeError {
    /// The text that is no time.
    pub text: String,
}

const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);

impl Time {
    /// A time after the start of 1970.
    ///
    /// # Errors
    /// It is behind the year 9999.
    pub fn unix(since: Duration) -> Result<Time, TimeError> {
        let whole = Duration::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX));
        match whole < YEAR_10000 {
            true => Ok(Time(SystemTime::UNIX_EPOCH + whole)),
            false => Err(TimeError { text: format!("{} s after 1970", since.as_secs()) }),
        }
    }

    /// The time from `then` to this; None if `then` is later.
    pub fn since(self, then: Time) -> Option<Duration> {
        self.0.duration_since(then.0).ok()
    }
}

impl TryFrom<SystemTime> for Time {
    type Error = TimeError;

    fn try_from(time: SystemTime) -> Result<Self, TimeError> {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        Time::unix(since.map_err(|_| TimeError { text: "before 1970".into() })?)
    }
}

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let wrong = || TimeError { text: text.chars().take(64).collect() };
        Time::try_from(humantime::parse_rfc3339(text).map_err(|_| wrong())?).map_err(|_| wrong())
    }
}

impl TryFrom<String> for Time {
    type Error = TimeError;

    fn try_from(text: String) -> Result<Self, TimeError> {
        text.parse()
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_micros(self.0).fmt(out)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A moment in UTC, as in RFC 3339.",
            "type": "string",
            "format": "date-time",
            "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_what_json_can_say() {
        for wrong in [-1.0, -1e-9, f64::NAN, f64::INFINITY] {
            assert!(Amount::try_from(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            serde_json::to_string(&Amount::try_from(9_966_639.987_067_91).unwrap()).unwrap(),
            "9966639.98706791"
        );
        assert!(serde_json::from_str::<Amount>("-2.5").unwrap_err().to_string().contains("-2.5 is no amount"));
    }

    #[test]
    fn amounts_are_read_as_they_are_written() {
        for step in 0..10_000_i32 {
            let amount = Amount::try_from(f64::from(step).sqrt() * 1.1_f64.powi(step % 600 - 300)).unwrap();
            let text = serde_json::to_string(&amount).unwrap();
            assert_eq!(serde_json::from_str::<Amount>(&text).unwrap(), amount, "{text}");
            assert_eq!(Amount::try_from(amount.get()).unwrap(), amount);
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for text in ["1970-01-01T00:00:00.000000Z", "2026-11-22T14:00:00.250001Z", "9999-12-31T23:59:59.999999Z"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("2026-11-22T14:00:00Z".parse::<Time>().unwrap().to_string(), "2026-11-22T14:00:00.000000Z");
        for wrong in ["", "2026-11-22", "2026-11-22T14:00:00+01:00", "2026-13-01T00:00:00Z", "yesterday"] {
            let error = wrong.parse::<Time>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("time `{wrong}`: must be")), "{error}");
        }
        assert!(Time::unix(YEAR_10000).is_err() && Time::unix(Duration::MAX).is_err());
    }
}
