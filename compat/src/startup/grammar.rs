//! Words, and blocks of words in braces.
//!
//! White space separates words, braces do so wherever they stand (`{enable}`), `#` begins a comment in the middle of a word
//! even, and a backslash takes the next character as it is.

use super::error::{DEPTH_MAX, Place, StartupError};

/// A word or a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Word(Word),
    Block(Block),
}

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub place: Place,
}

/// Content of a pair of braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub items: Vec<Item>,
    pub place: Place,
}

impl Item {
    pub fn place(&self) -> Place {
        match self {
            Item::Word(word) => word.place,
            Item::Block(block) => block.place,
        }
    }

    /// The item as it could be written, cut where it is long.
    pub fn excerpt(&self) -> String {
        match self {
            Item::Word(word) => word.text.chars().take(80).collect(),
            Item::Block(_) => "{ ... }".to_owned(),
        }
    }
}

/// Reads a text. A command line has no comments, so that a `#` there is a character like others.
pub(super) fn read(text: &str, has_comments: bool) -> Result<Vec<Item>, StartupError> {
    // The open blocks, the outermost first; the text itself is one without braces.
    let mut open: Vec<Block> = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let mut chars = Chars { rest: text.chars(), next: Place { line: 1, column: 1 } };
    let mut word: Option<Word> = None;
    while let Some((char, place)) = chars.next() {
        let ends_word = char.is_whitespace() || matches!(char, '{' | '}') || (char == '#' && has_comments);
        if ends_word && let Some(word) = word.take() {
            items.push(Item::Word(word));
        }
        match char {
            '{' if open.len() == DEPTH_MAX => return Err(StartupError::TooDeep(place)),
            '{' => open.push(Block { items: std::mem::take(&mut items), place }),
            '}' => {
                let Some(outer) = open.pop() else { return Err(StartupError::ClosesNothing(place)) };
                let inner = std::mem::replace(&mut items, outer.items);
                items.push(Item::Block(Block { items: inner, place: outer.place }));
            }
            '#' if has_comments => chars.skip_line(),
            _ if ends_word => {}
            char => {
                let word = word.get_or_insert_with(|| Word { text: String::new(), place });
                match char {
                    '\\' => word.text.extend(chars.next().map(|(escaped, _)| escaped)),
                    char => word.text.push(char),
                }
            }
        }
    }
    items.extend(word.map(Item::Word));
    match open.last() {
        Some(block) => Err(StartupError::Unclosed(block.place)),
        None => Ok(items),
    }
}

/// Characters with their places.
struct Chars<'a> {
    rest: std::str::Chars<'a>,
    next: Place,
}

impl Chars<'_> {
    fn next(&mut self) -> Option<(char, Place)> {
        let char = self.rest.next()?;
        let place = self.next;
        self.next = match char {
            '\n' => Place { line: place.line + 1, column: 1 },
            _ => Place { line: place.line, column: place.column + 1 },
        };
        Some((char, place))
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|(char, _)| char != '\n') {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items, blocks in parentheses.
    fn told(items: &[Item]) -> String {
        let told = items.iter().map(|item| match item {
            Item::Word(word) => word.text.clone(),
            Item::Block(block) => format!("({})", told(&block.items)),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_blocks_are_read() {
        for (text, expected) in [
            ("unix { nodaemon cli-listen  /x   }", "unix (nodaemon cli-listen /x)"),
            (
                "plugins{plugin x.so {enable}plugin y.so{ disable }}",
                "plugins (plugin x.so (enable) plugin y.so (disable))",
            ),
            ("a{ }b", "a () b"),
            ("a # b { c\nd", "a d"),
            ("a#b\n#\nc", "a c"),
            ("a\\ b \\{ \\#", "a b { #"),
            ("", ""),
        ] {
            assert_eq!(told(&read(text, true).unwrap()), expected, "{text}");
        }
        assert_eq!(told(&read("a #b", false).unwrap()), "a #b");
    }

    #[test]
    fn places_are_lines_and_characters() {
        let items = read("# é\nunix {\n  é x }", true).unwrap();
        let Item::Block(block) = &items[1] else { panic!("{items:?}") };
        assert_eq!(items[0].place(), Place { line: 2, column: 1 });
        assert_eq!(block.place, Place { line: 2, column: 6 });
        assert_eq!(block.items[1].place(), Place { line: 3, column: 5 });
    }

    #[test]
    fn braces_must_fit() {
        let place = |line, column| Place { line, column };
        assert_eq!(read("a {\nb { c }", true), Err(StartupError::Unclosed(place(1, 3))));
        assert_eq!(read("a }", true), Err(StartupError::ClosesNothing(place(1, 3))));
        assert!(read(&"{".repeat(DEPTH_MAX), true).is_err_and(|error| matches!(error, StartupError::Unclosed(_))));
        assert_eq!(read(&"{".repeat(DEPTH_MAX + 1), true), Err(StartupError::TooDeep(place(1, DEPTH_MAX + 1))));
    }
}
