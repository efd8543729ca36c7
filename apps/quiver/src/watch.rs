//! `--watch`: a show command again and again, until Ctrl-C.

use std::time::Duration;

use console::Term;
use owo_colors::{OwoColorize, Stream};
use quiver_control::protocol::{Answer, Refusal, Request, Response};

use crate::client::{Client, ClientError};
use crate::line::Line;
use crate::{filter, show};

/// Period of the command.
const EVERY: Duration = Duration::from_secs(1);
/// Clears the terminal and goes to its upper left corner (ECMA-48).
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Asks for ever, until the answer is a refusal, which is returned. `text` is the line as it was typed.
pub fn watch(client: &mut Client, line: &Line, text: &str) -> Result<Refusal, ClientError> {
    let first = line.command.split_whitespace().next().unwrap_or_default();
    if first.is_empty() || !"show".starts_with(first) {
        let start = line.command.len() - line.command.trim_start().len();
        let what = "`--watch` repeats commands that begin with `show`; leave it out";
        return Ok(Refusal { place: Some(start..start + first.len()), ..Refusal::new(what) });
    }
    let (is_terminal, mut before) = (show::is_terminal(), None);
    loop {
        let now = match ask(client, line)? {
            Ok(now) => now,
            Err(refusal) => return Ok(refusal),
        };
        if is_terminal {
            let height = Term::stdout().size_checked().map_or(0, |(height, _)| height.into());
            let shown = fitted(&highlighted(&now, before.as_deref().unwrap_or(&now)), height);
            show::print(format_args!("{CLEAR}{}\n\n{shown}", title(text)));
        } else {
            show::print(&now);
        }
        before = Some(now);
        client.pause(EVERY)?;
    }
}

fn title(text: &str) -> String {
    format!("{} (every {} s, Ctrl-C ends)", text.trim(), EVERY.as_secs())
}

/// The whole answer as text; JSON on one line.
fn ask(client: &mut Client, line: &Line) -> Result<Result<String, Refusal>, ClientError> {
    let (mut filtered, mut all) = (filter::filtered(&line.filters), vec![]);
    let mut keep = |answer: &Answer| all.push(show::text_of(answer, line.json, true));
    let request = Request::Command { line: line.command.clone(), json: line.json };
    let end = client.ask(&request, |part| keep(&filtered.pass(part)))?;
    match end {
        Response::Done(answer) => keep(&filtered.end(answer, line.json)),
        Response::Error(refusal) => return Ok(Err(refusal)),
        Response::Part(_) | Response::Completions { .. } => {}
    }
    all.retain(|text| !text.is_empty());
    Ok(Ok(all.join("\n")))
}

/// The lines that fit below the title, and the number of the others. A height of 0, unknown, fits all.
fn fitted(text: &str, height: usize) -> String {
    // The title, a blank line, and the line on which the cursor ends.
    const OTHER_LINES: usize = 3;
    let (lines, room) = (text.lines().count(), height.saturating_sub(OTHER_LINES));
    if height == 0 || lines <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let mut shown: Vec<String> = text.lines().take(kept).map(str::to_owned).collect();
    shown.push(format!("... and {} more lines: choose some by `| include`", lines - kept));
    shown.join("\n")
}

/// The words that differ from the previous ones at their place.
fn highlighted(now: &str, before: &str) -> String {
    let mut before = before.lines();
    let mark = |word: &str| word.if_supports_color(Stream::Stdout, |word| word.reversed()).to_string();
    let lines: Vec<String> = now.lines().map(|line| marked(line, before.next().unwrap_or_default(), mark)).collect();
    lines.join("\n")
}

fn marked(line: &str, before: &str, mark: impl Fn(&str) -> String) -> String {
    let old: Vec<char> = before.chars().collect();
    let is_blank = |at: usize| old.get(at).is_none_or(|c| c.is_whitespace());
    let (mut text, mut column, mut rest) = (String::new(), 0, line);
    while !rest.is_empty() {
        let is_space = rest.starts_with(char::is_whitespace);
        let end = rest.find(|c: char| c.is_whitespace() != is_space).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let length = run.chars().count();
        let is_same = old.get(column..column + length).is_some_and(|old| old.iter().copied().eq(run.chars()))
            && is_blank(column + length)
            && (column == 0 || is_blank(column - 1));
        text.push_str(&if is_space || is_same { run.to_owned() } else { mark(run) });
        (column, rest) = (column + length, after);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!((fitted("a\nb", 5), fitted("a\nb", 0)), ("a\nb".to_owned(), "a\nb".to_owned()));
        assert_eq!(fitted("a\nb\nc", 5), "a\n... and 2 more lines: choose some by `| include`");
    }

    #[test]
    fn words_that_changed_are_marked() {
        let mark = |word: &str| format!("<{word}>");
        for (line, before, expected) in [
            ("tap0  up  12", "tap0  up  12", "tap0  up  12"),
            ("tap0  up  13", "tap0  up  12", "tap0  up  <13>"),
            ("tap0  up  120", "tap0  up  12", "tap0  up  <120>"),
            ("tap0  up  12", "tap0  up  120", "tap0  up  <12>"),
            ("é  2", "é  1", "é  <2>"),
            ("new", "", "<new>"),
        ] {
            assert_eq!(marked(line, before, mark), expected);
        }
    }
}
