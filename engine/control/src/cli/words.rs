//! A line, split into words.

use std::ops::Range;

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its text, without quotes.
    pub text: String,
    /// Its place in the line, in bytes, quotes included.
    pub span: Range<usize>,
}

/// A quote that is never closed, at this byte.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenQuote(pub usize);

/// Splits a line at white space. Double quotes hold words together; inside them `\"` and `\\` stand for themselves.
pub fn split(line: &str) -> Result<Vec<Token>, OpenQuote> {
    let mut words = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut text = String::new();
        let mut quote = (first == '"').then_some(start);
        if quote.is_none() {
            text.push(first);
        }
        let mut end = line.len();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' if quote.is_some() => quote = None,
                '"' => quote = Some(at),
                '\\' if quote.is_some() && matches!(chars.peek(), Some((_, '"' | '\\'))) => {
                    text.extend(chars.next().map(|(_, escaped)| escaped));
                }
                char if char.is_whitespace() && quote.is_none() => {
                    end = at;
                    break;
                }
                char => text.push(char),
            }
        }
        if let Some(open) = quote {
            return Err(OpenQuote(open));
        }
        words.push(Token { text, span: start..end });
    }
    Ok(words)
}

/// A word as it must be written so that [`split`] gives it back, and no comment begins in it.
pub(super) fn quoted(text: &str) -> String {
    if !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '#')) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A line of these words, quoted where they need it.
pub fn join<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        split(line).unwrap().into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(texts(" set  tag \"a b\"c \"\" "), ["set", "tag", "a bc", ""]);
        assert_eq!(texts(r#""say \"no\" \\""#), [r#"say "no" \"#]);
        assert_eq!(split("set \"tag"), Err(OpenQuote(4)));
    }

    #[test]
    fn spans_are_places_in_the_line() {
        let words = split("sh \"é x\" y").unwrap();
        assert_eq!(words.iter().map(|word| word.span.clone()).collect::<Vec<_>>(), [0..2, 3..9, 10..11]);
    }

    #[test]
    fn what_is_quoted_is_split_back() {
        for text in ["", "a", "a b", "a\"b", "a\\b c", "\\", "a\\", "a#b"] {
            assert_eq!(texts(&quoted(text)), [text]);
        }
        assert_eq!(join(&["set", "tag", "a b"]), "set tag \"a b\"");
    }
}
