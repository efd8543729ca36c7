//! How answers and refusals are shown: answers on standard output, refusals on standard error.

use std::io::{self, IsTerminal};

use owo_colors::{OwoColorize, Stream};
use quiver_control::protocol::{Answer, Refusal};
pub use quiver_terminal::{print, say};

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
        // A part is a line, for who reads line by line.
        (true, true) => answer.json.to_string(),
        (true, false) => format!("{:#}", answer.json),
    }
}

/// Shows why a line was refused, and points at the place.
pub fn refusal(refusal: &Refusal, line: &str) {
    let red = |text: &str| text.if_supports_color(Stream::Stderr, |text| text.red()).to_string();
    let mut text = String::new();
    if let Some(place) = &refusal.place {
        // What is to be pointed at may not fit the terminal, and may hold several lines.
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
    say(text);
}

/// Shows an error of the program itself.
pub fn error(error: &dyn std::error::Error) {
    quiver_terminal::error("quiver", error);
}

/// Whether a person reads the output.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}
