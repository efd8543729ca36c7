//! The document of one test.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::extension::{EXTENSION, Extension};
use crate::outcome::Outcome;
use crate::value::{Amount, Time};

/// The version of CSIT's model that documents follow.
pub const UTI: &str = "1.5.1";

/// The most that `duration` may differ from its two times, as those are rounded.
const ROUNDING_SECONDS: f64 = 0.001;

/// A test, with CSIT's names for everything but `quiver`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = add_relation, extend("$id" = "urn:quiver:lab:result:1"))]
pub struct Document {
    /// Seconds from the start to the end.
    pub duration: Amount,
    /// The kind of device under test.
    #[schemars(length(min = 1))]
    pub dut_type: String,
    /// Its version.
    #[schemars(length(min = 1))]
    pub dut_version: String,
    /// When the test was over.
    pub end_time: Time,
    /// Machines that took part, by name or address.
    #[schemars(length(min = 1))]
    pub hosts: Vec<String>,
    /// Captured metrics, a line each.
    pub telemetry: Vec<String>,
    /// Empty if and only if the test passed; else why it did not.
    pub message: String,
    /// Whether it passed.
    pub passed: bool,
    /// The result.
    pub result: Outcome,
    /// When it began.
    pub start_time: Time,
    /// Tags by which the test can be selected.
    pub tags: Vec<String>,
    /// The suite's documentation of the test; mostly empty.
    pub test_documentation: String,
    /// Suite and case, joined by a dot.
    #[schemars(length(min = 3))]
    pub test_id: String,
    /// The case's name, with frame size and cores.
    #[schemars(length(min = 3))]
    pub test_name_long: String,
    /// The same without.
    #[schemars(length(min = 3))]
    pub test_name_short: String,
    /// Which tests are compared with it.
    pub test_type: TestType,
    /// The kind of traffic generator.
    #[schemars(length(min = 1))]
    pub tg_type: String,
    /// Its version.
    #[schemars(length(min = 1))]
    pub tg_version: String,
    /// Version of the model: [`UTI`].
    #[schemars(extend("const" = UTI))]
    pub version: String,
    /// Quiver's own part of the document. CSIT's schema allows no other names at this level:
    /// [`Document::without_extension`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Extension")]
    pub quiver: Option<Extension>,
}

/// UTI's kinds of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are CSIT's, and say it")]
pub enum TestType {
    Device,
    Gso,
    Hoststack,
    Mrr,
    Ndrpdr,
    Reconf,
    Soak,
}

/// An invalid document.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// It ends in the middle.
    #[error("is only half written: repeat the test")]
    HalfWritten,
    /// Its version is another one.
    #[error("{field} is {found}, must be {known}: read it with the release that wrote it")]
    Version {
        /// `version`, or `quiver.version`.
        field: &'static str,
        /// The version of the document.
        found: String,
        /// The version that this program knows.
        known: String,
    },
    /// It has not the structure of a document.
    #[error("is no result: {0}")]
    Structure(serde_json::Error),
    /// A value that is there and is none. What was not measured is left out, as CSIT's schema wants it.
    #[error("{pointer} is null: leave it out")]
    Null {
        /// Where, as in RFC 6901.
        pointer: String,
    },
    /// A field, or how two go together.
    #[error("{field} is {found}, must be {remedy}")]
    Field {
        /// Its name.
        field: &'static str,
        /// The text of the field, shortened.
        found: String,
        /// The remedy.
        remedy: &'static str,
    },
}

impl Document {
    /// Reads one; what comes back is valid against [`schema`].
    ///
    /// # Errors
    /// All of [`Invalid`]. Versions are looked at first, so a newer document is not called malformed.
    pub fn parse(text: &[u8]) -> Result<Document, Invalid> {
        let structure = |error: serde_json::Error| match error.is_eof() {
            true => Invalid::HalfWritten,
            false => Invalid::Structure(error),
        };
        let value: Value = serde_json::from_slice(text).map_err(structure)?;
        let known = [
            ("version", &value["version"], UTI.into()),
            ("quiver.version", &value["quiver"]["version"], EXTENSION.into()),
        ];
        for (field, found, known) in known {
            let known: Value = known;
            if !found.is_null() && *found != known {
                return Err(Invalid::Version { field, found: short(&found.to_string()), known: known.to_string() });
            }
        }
        if let Some(pointer) = null(&value) {
            return Err(Invalid::Null { pointer });
        }
        // From the text, not the value, so that errors have line and column.
        let document: Document = serde_json::from_slice(text).map_err(structure)?;
        document.check()?;
        Ok(document)
    }

    /// Formats the document as JSON, a field a line.
    ///
    /// # Errors
    /// [`Invalid::Field`], where a field's type allows more than a document does.
    pub fn text(&self) -> Result<String, Invalid> {
        self.check()?;
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(Invalid::Structure)
    }

    /// The document without Quiver's extension, as CSIT's own schema allows it.
    pub fn without_extension(self) -> Document {
        Document { quiver: None, ..self }
    }

    /// Checks the rules that the types do not express.
    fn check(&self) -> Result<(), Invalid> {
        let field = |is_right: bool, field, found: &str, remedy| match is_right {
            true => Ok(()),
            false => Err(Invalid::Field { field, found: short(found), remedy }),
        };
        field(self.version == UTI, "version", &self.version, UTI)?;
        let filled = [
            ("dut_type", &self.dut_type),
            ("dut_version", &self.dut_version),
            ("tg_type", &self.tg_type),
            ("tg_version", &self.tg_version),
        ];
        for (name, text) in filled {
            field(!text.is_empty(), name, "empty", "a text")?;
        }
        let names = [
            ("test_id", &self.test_id),
            ("test_name_long", &self.test_name_long),
            ("test_name_short", &self.test_name_short),
        ];
        for (name, text) in names {
            field(text.chars().count() >= 3, name, &format!("`{text}`"), "3 characters or more")?;
        }
        field(!self.hosts.is_empty(), "hosts", "empty", "one host or more")?;
        let remedy = "empty if the test passed, else the reason";
        field(self.passed == self.message.is_empty(), "message", &format!("`{}`", self.message), remedy)?;
        let duration = self.end_time.since(self.start_time);
        field(duration.is_some(), "end_time", &self.end_time.to_string(), "start_time or later")?;
        let difference = duration.unwrap_or_default().as_secs_f64() - self.duration.get();
        let remedy = "the seconds from start_time to end_time";
        field(difference.abs() <= ROUNDING_SECONDS, "duration", &self.duration.get().to_string(), remedy)?;
        if let Outcome::Mrr { receive_rate } = &self.result {
            let bandwidth = receive_rate.bandwidth.as_ref().is_none_or(|samples| !samples.values.is_empty());
            let is_right = bandwidth && !receive_rate.rate.values.is_empty();
            field(is_right, "result.receive_rate", "without values", "one trial or more")?;
        }
        let version = self.quiver.as_ref().map_or(EXTENSION, |extension| extension.version);
        field(version == EXTENSION, "quiver.version", &version.to_string(), "1")
    }
}

/// JSON Schema (draft 2020-12) of a document. It cannot express that the end is not before the start.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Document>().to_value()
}

/// `message` and `passed` go together.
fn add_relation(schema: &mut schemars::Schema) {
    let relation = json_schema!({ "oneOf": [
        { "properties": { "passed": { "const": true }, "message": { "const": "" } } },
        { "properties": { "passed": { "const": false }, "message": { "minLength": 1 } } },
    ]});
    if let Some(one_of) = relation.get("oneOf") {
        schema.insert("oneOf".into(), one_of.clone());
    }
}

/// Where the first null is.
fn null(value: &Value) -> Option<String> {
    let within = |name: &dyn std::fmt::Display, value| null(value).map(|rest| format!("/{name}{rest}"));
    match value {
        Value::Null => Some(String::new()),
        Value::Array(list) => list.iter().enumerate().find_map(|(index, value)| within(&index, value)),
        Value::Object(object) => object.iter().find_map(|(name, value)| within(name, value)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn short(text: &str) -> String {
    text.chars().take(64).collect()
}
