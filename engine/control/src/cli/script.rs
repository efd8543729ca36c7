//! Several commands in one text: a file, input of a client, or pasted lines.

use std::borrow::Cow;
use std::ops::Range;

/// A command of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Offset of the command in the text, in bytes; add it to a place in the command.
    pub start: usize,
    /// The command. Comments in it are blanks.
    pub text: Cow<'a, str>,
}

/// The commands of a text, one a line. A command goes on where a line ends within braces or in a backslash. `#` begins a
/// comment, unless it stands in quotes; lines without a command are left out.
///
/// ```
/// let script = "# two ports\nset port p1 up # the first\n\nset port p2 tag \"# 2\"\nnew { # a stream\n name x }\n";
/// let commands: Vec<_> = quiver_control::cli::script(script).map(|piece| (piece.line, piece.text)).collect();
/// let stream = "new {           \n name x }";
/// assert_eq!(commands, [(2, "set port p1 up".into()), (4, "set port p2 tag \"# 2\"".into()), (5, stream.into())]);
/// ```
pub fn script(text: &str) -> impl Iterator<Item = Piece<'_>> {
    Script { text, at: 0, line: 1, goes_on: false }
}

/// Whether the last command of a text goes on in the next line.
pub fn goes_on(text: &str) -> bool {
    let mut script = Script { text, at: 0, line: 1, goes_on: false };
    while script.at < text.len() {
        script.pass_command();
    }
    script.goes_on
}

struct Script<'a> {
    text: &'a str,
    /// Where the next command begins, or blanks before it.
    at: usize,
    line: usize,
    /// Whether the command that was passed last would go on if there were more lines.
    goes_on: bool,
}

impl<'a> Iterator for Script<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.at < self.text.len() {
            let (start, line) = (self.at, self.line);
            let blanks = self.pass_command();
            let command = blanked(&self.text[start..self.at], start, &blanks);
            let trimmed = command.trim();
            if !trimmed.is_empty() {
                let before = command.len() - command.trim_start().len();
                let text = match &command {
                    Cow::Borrowed(whole) => Cow::Borrowed(whole.trim()),
                    Cow::Owned(_) => Cow::Owned(trimmed.to_owned()),
                };
                // In the text, since a backslash and the end of its line are blanks here.
                let line = line + self.text[start..start + before].matches('\n').count();
                return Some(Piece { line, start: start + before, text });
            }
        }
        None
    }
}

impl Script<'_> {
    /// Passes a command and the end of its last line. Returns its blank ranges, such as comments and joined line ends.
    fn pass_command(&mut self) -> Vec<Range<usize>> {
        let (mut in_quotes, mut depth, mut blanks, begin) = (false, 0_usize, Vec::new(), self.at);
        let mut ends_in_backslash = false;
        let mut chars = self.text[begin..].char_indices().map(|(at, char)| (begin + at, char)).peekable();
        while let Some((at, char)) = chars.next() {
            match char {
                '\n' => {
                    self.line += 1;
                    // A quote that is forgotten costs one line.
                    in_quotes = false;
                    if depth == 0 {
                        (self.at, self.goes_on) = (at + 1, false);
                        return blanks;
                    }
                }
                '"' => in_quotes = !in_quotes,
                '\\' if in_quotes => drop(chars.next_if(|(_, next)| matches!(next, '"' | '\\'))),
                '\\' if chars.peek().is_none() => ends_in_backslash = true,
                '\\' if chars.next_if(|(_, next)| *next == '\n').is_some() => {
                    self.line += 1;
                    blanks.push(at..at + 2);
                }
                '#' if !in_quotes => {
                    let mut end = at + 1;
                    while let Some((at, char)) = chars.next_if(|(_, char)| *char != '\n') {
                        end = at + char.len_utf8();
                    }
                    blanks.push(at..end);
                }
                '{' if !in_quotes => depth += 1,
                '}' if !in_quotes => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.at = self.text.len();
        self.goes_on = depth > 0 || ends_in_backslash;
        blanks
    }
}

/// A command that begins at `start`, with blanks at these places of the text.
fn blanked<'a>(command: &'a str, start: usize, blanks: &[Range<usize>]) -> Cow<'a, str> {
    match blanks {
        [] => return Cow::Borrowed(command),
        // Only the end of the line follows the single command.
        [only] if command[only.end - start..].trim().is_empty() => {
            return Cow::Borrowed(&command[..only.start - start]);
        }
        _ => {}
    }
    let (mut text, mut from) = (String::with_capacity(command.len()), 0);
    for blank in blanks {
        text.push_str(&command[from..blank.start - start]);
        text.extend(std::iter::repeat_n(' ', blank.len()));
        from = blank.end - start;
    }
    text.push_str(&command[from..]);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_wherever_it_is_not_quoted() {
        for (line, command) in [
            ("# a", ""),
            ("  #a", ""),
            ("set a # b", "set a"),
            ("set a #b \"", "set a"),
            ("set a#b", "set a"),
            ("set \"a # b\" #", "set \"a # b\""),
            (r##"set "a\" # b" # c"##, r##"set "a\" # b""##),
            (r##"set "a\\" # b"##, r##"set "a\\""##),
            ("set \"open # b", "set \"open # b"),
        ] {
            let found: Vec<_> = script(line).map(|piece| piece.text).collect();
            assert_eq!(found.first().map(|text| &**text).unwrap_or_default(), command, "{line}");
        }
    }

    #[test]
    fn braces_and_backslashes_hold_lines_together_and_places_stay() {
        let text = "\n#\n a\n\n b \\\n c # é\nn {\n x # }\n}\r\n} y\n\"{\" z\nd {";
        let pieces: Vec<_> = script(text).collect();
        let told: Vec<_> = pieces.iter().map(|piece| (piece.line, &*piece.text)).collect();
        assert_eq!(
            told,
            [
                (3, "a"),
                (5, "b   \n c".replace("  \n", "  ").as_str()),
                (7, "n {\n x    \n}"),
                (10, "} y"),
                (11, "\"{\" z"),
                (12, "d {")
            ]
        );
        for piece in &pieces {
            assert!(text[piece.start..].starts_with(&piece.text[..1]), "{piece:?}");
        }
        let going_on = ["a", "a {", "a { }", "a \\", "a # {", "a # \\", "\"{", "a {\n}\nb", "a\nb {"].map(goes_on);
        assert_eq!(going_on, [false, true, false, true, false, false, false, false, true]);
    }
}
