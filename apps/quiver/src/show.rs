//! Display of answers and refusals: answers on standard output, refusals on standard error.

use std::io::{self, IsTerminal};

use owo_colors::{OwoColorize, Stream};
use quiver_control::protocol::{Answer, Refusal};
pub use quiver_terminal::{print, say};
use serde_json::{Value, json};

use crate::client::ClientError;
use crate::pager;

/// Shows the end of an answer: by a pager where it does not fit the terminal.
pub fn whole(answer: &Answer, json: bool) {
    let text = text_of(answer, json, false);
    let is_shown = text.is_empty() || (is_terminal() && pager::page(&text));
    if !is_shown {
        print(text);
    }
}

/// Shows an answer, or a part of one.
pub fn answer(answer: &Answer, json: bool, part: bool) {
    let text = text_of(answer, json, part);
    if !text.is_empty() {
        print(text);
    }
}

/// An answer as it is printed.
pub fn text_of(answer: &Answer, json: bool, part: bool) -> String {
    match (json, part) {
        (false, _) => answer.text.clone(),
        // A part is a line, for readers of lines.
        (true, true) => answer.json.to_string(),
        (true, false) => format!("{:#}", answer.json),
    }
}

/// Shows why a line was refused: to people with the place pointed at, to programs as an object of JSON. `at` is where a file has
/// the line.
pub fn refusal(refusal: &Refusal, line: &str, json: bool, at: Option<&str>) {
    if json {
        return say(error_of(refusal, at));
    }
    say(refusal_text(refusal, line));
    if let Some(at) = at {
        say(format_args!("quiver: {at}: refused: {line}"));
    }
}

/// A refusal for programs: error text, place in the line, and remedy.
fn error_of(refusal: &Refusal, at: Option<&str>) -> Value {
    // The daemon's sentences end with the remedy, where they have one.
    let said = || refusal.what.split_once("; ").map(|(_, remedy)| remedy.to_owned());
    let remedy = match &refusal.expected[..] {
        [] => said(),
        expected => Some(format!("write one of: {}", expected.join(", "))),
    };
    let mut error = json!({"error": refusal.what, "place": refusal.place, "remedy": remedy});
    if let Some(at) = at {
        error["at"] = at.into();
    }
    if !refusal.expected.is_empty() {
        error["expected"] = refusal.expected.clone().into();
    }
    if !refusal.problems.is_empty() {
        error["problems"] = serde_json::to_value(&refusal.problems).unwrap_or_default();
    }
    error
}

fn refusal_text(refusal: &Refusal, line: &str) -> String {
    let red = |text: &str| text.if_supports_color(Stream::Stderr, |text| text.red()).to_string();
    let mut text = String::new();
    if let Some(place) = &refusal.place {
        // The marked part of a line may not fit the terminal, and may hold several lines.
        const SHOWN_MAX: usize = 200;
        if line.len() <= SHOWN_MAX && !line.contains('\n') {
            let column = line.get(..place.start).unwrap_or(line).chars().count();
            let width = line.get(place.clone()).unwrap_or_default().chars().count().max(1);
            text.push_str(&format!("  {line}\n  {}{}\n", " ".repeat(column), red(&"^".repeat(width))));
        }
    }
    text.push_str(&red(&refusal.what));
    if !refusal.expected.is_empty() {
        text.push_str(&format!("\nexpected: {}", refusal.expected.join(", ")));
    }
    text
}

/// Shows an error of the program itself.
pub fn error(error: &dyn std::error::Error) {
    quiver_terminal::error("quiver", error);
}

/// Shows why the daemon could not be asked.
pub fn client_error(told: &ClientError, json: bool) {
    if json { say(error_of(&told.refusal(), None)) } else { error(told) }
}

/// Whether a person reads the output.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_for_programs_have_place_and_remedy() {
        let refusal = Refusal { place: Some(5..9), expected: vec!["a".into(), "b".into()], ..Refusal::new("no") };
        let error = error_of(&refusal, Some("file:3"));
        let whole = json!({
            "error": "no", "place": {"start": 5, "end": 9}, "remedy": "write one of: a, b", "at": "file:3", "expected": ["a", "b"],
        });
        assert_eq!(error, whole);
        let error = error_of(&Refusal::new("acl 7: range 90-80 is reversed; write 80-90"), None);
        assert_eq!((&error["remedy"], &error["place"]), (&json!("write 80-90"), &Value::Null));
    }
}
