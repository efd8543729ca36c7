//! Data files: JSON in columns, deflated, in base64, as a script that hands it to the page. A page that was opened from a
//! folder may load scripts, but nothing else.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Number, Value};

/// The text of a data file of a site that was made at this time.
///
/// # Errors
/// Never, in memory; what writes says so.
pub fn script(name: &str, value: &Value, made: &str) -> io::Result<Vec<u8>> {
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut deflated, value)?;
    let text = STANDARD.encode(deflated.finish()?);
    let mut script = Vec::with_capacity(text.len() + name.len() + 60);
    writeln!(script, "quiver.take({},\"{text}\",{});", Value::from(name), Value::from(made))?;
    Ok(script)
}

/// A number, without `.0` where it is whole; null where it is none.
pub fn number(value: f64) -> Value {
    // Whole numbers up to here are exact as f64.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < WHOLE {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// Differences of whole numbers, the first one as it is: small, and alike, so that they deflate well.
pub fn differences(numbers: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut before = 0;
    numbers.into_iter().map(|number| number - std::mem::replace(&mut before, number)).collect()
}

/// Texts or others by number, in the order in which they came.
#[derive(Debug)]
pub struct Interner<T> {
    numbers: std::collections::HashMap<T, u32>,
    words: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { numbers: Default::default(), words: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    /// Its number; a new one if it was not there.
    pub fn number(&mut self, word: &T) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.numbers.insert(word.clone(), number);
        self.words.push(word.clone());
        number
    }

    /// All of them.
    pub fn all(&self) -> &[T] {
        &self.words
    }
}
