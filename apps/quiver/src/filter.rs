//! Filters answers: `| include WORD`, `| exclude WORD`, `| count`.

use quiver_control::protocol::Answer;
use serde_json::Value;

/// A part of a line behind a `|`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Lines with this text.
    Include(String),
    /// Lines without it.
    Exclude(String),
    /// Their number.
    Count,
}

impl Filter {
    fn keeps(&self, has: impl Fn(&str) -> bool) -> bool {
        match self {
            Filter::Include(word) => has(word),
            Filter::Exclude(word) => !has(word),
            Filter::Count => true,
        }
    }
}

/// The filters of a line while its answer comes.
pub struct Filtered<'a> {
    filters: &'a [Filter],
    /// Lines or rows so far; none without `| count`.
    count: Option<usize>,
}

impl Filtered<'_> {
    /// Filters a part of the answer.
    pub fn pass(&mut self, mut answer: Answer) -> Answer {
        let keeps = |line: &str| self.filters.iter().all(|filter| filter.keeps(|word| line.contains(word)));
        if !self.filters.is_empty() {
            answer.text = kept(&answer.text, keeps);
            answer.json = match answer.json {
                Value::Array(mut rows) => {
                    rows.retain(|row| self.filters.iter().all(|filter| filter.keeps(|word| says(row, word))));
                    Value::Array(rows)
                }
                Value::String(text) => Value::String(kept(&text, keeps)),
                other => other,
            };
        }
        if let Some(count) = &mut self.count {
            *count += match &answer.json {
                Value::Array(rows) => rows.len(),
                Value::String(text) => text.lines().count(),
                Value::Null => answer.text.lines().count(),
                _ => 1,
            };
            (answer.text, answer.json) = (String::new(), Value::Null);
        }
        answer
    }

    /// The end of the answer, with the count.
    pub fn end(mut self, answer: Answer, json: bool) -> Answer {
        let mut answer = self.pass(answer);
        match (self.count, json) {
            (Some(count), true) => answer.json = count.into(),
            (Some(count), false) => answer.text = count.to_string(),
            (None, _) => {}
        }
        answer
    }
}

/// Begins to filter an answer.
pub fn filtered(filters: &[Filter]) -> Filtered<'_> {
    Filtered { filters, count: filters.contains(&Filter::Count).then_some(0) }
}

fn kept(text: &str, keeps: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keeps(line)).collect::<Vec<_>>().join("\n")
}

/// Whether a value, or one within it, has the word in it. Names of members do not count: all rows have the same.
fn says(value: &Value, word: &str) -> bool {
    match value {
        Value::Array(values) => values.iter().any(|value| says(value, word)),
        Value::Object(members) => members.values().any(|value| says(value, word)),
        Value::String(text) => text.contains(word),
        other => other.to_string().contains(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn end(filters: &[Filter], answer: Answer, json: bool) -> Answer {
        filtered(filters).end(answer, json)
    }

    #[test]
    fn lines_and_rows_are_kept_left_out_and_counted() {
        let (tap, up) = (Filter::Include("tap".into()), Filter::Exclude("down".into()));
        let text = Answer { text: "Name  State\ntap0  up\ntap1  down\npg0  up".into(), ..Answer::default() };
        assert_eq!(end(&[tap.clone(), up.clone()], text.clone(), false).text, "tap0  up");
        assert_eq!(end(&[tap.clone(), Filter::Count], text, false).text, "2");
        let rows = json!([{"name": "tap0", "up": true}, {"name": "pg0", "up": true}, {"name": "x", "of": ["tap1"]}]);
        let rows = Answer { json: rows, ..Answer::default() };
        assert_eq!(end(std::slice::from_ref(&tap), rows.clone(), true).json.as_array().map(Vec::len), Some(2));
        assert_eq!(end(&[Filter::Include("name".into())], rows.clone(), true).json, json!([]));
        assert_eq!(end(&[Filter::Count], rows, true).json, json!(3));
        let said = Answer { json: json!("a\ntap\nb"), ..Answer::default() };
        assert_eq!(end(&[tap, Filter::Count], said, true).json, json!(1));
        let nothing = Answer::default();
        assert_eq!(end(&[Filter::Count], nothing, false).text, "0");
    }

    #[test]
    fn parts_are_counted_together() {
        let filters = [Filter::Count];
        let mut filtered = filtered(&filters);
        let part = |text: &str| Answer { text: text.into(), ..Answer::default() };
        assert_eq!(filtered.pass(part("a\nb")), Answer::default());
        assert_eq!(filtered.end(part("c"), false).text, "3");
    }
}
