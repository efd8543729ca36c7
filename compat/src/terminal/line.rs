//! The edited line, its history, and the output by which a terminal shows it.

use super::keys::Key;
use super::screen::Screen;

/// A longer line takes no more.
const LENGTH_MAX: usize = 4096;

/// The line under the cursor.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: Vec<char>,
    cursor: usize,
    history: Vec<String>,
    /// Most lines of the history.
    history_max: usize,
    /// Index of the shown line of the history; the index behind its end is the line being typed.
    at: usize,
    begun: Vec<char>,
}

impl Line {
    pub fn new(history_max: usize) -> Line {
        Line { history_max, ..Line::default() }
    }

    #[cfg(test)]
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub fn before_cursor(&self) -> String {
        self.text[..self.cursor].iter().collect()
    }

    /// Ends the line: gives it away, and keeps it in the history.
    pub fn finish(&mut self) -> String {
        let text: String = self.text.drain(..).collect();
        self.cursor = 0;
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        self.history.drain(..self.history.len().saturating_sub(self.history_max));
        self.at = self.history.len();
        self.begun.clear();
        text
    }

    /// Gives the line up.
    pub fn give_up(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.at = self.history.len();
    }

    /// Edits the line; returns the output.
    pub fn edit(&mut self, key: Key, screen: &Screen) -> String {
        let end = self.text.len();
        match key {
            Key::Char(char) => self.insert(&[char], screen),
            Key::Left => self.move_to(self.cursor.saturating_sub(1), screen),
            Key::Right => self.move_to((self.cursor + 1).min(end), screen),
            Key::Home => self.move_to(0, screen),
            Key::End => self.move_to(end, screen),
            Key::WordLeft => self.move_to(self.word_left(), screen),
            Key::WordRight => self.move_to(self.word_right(), screen),
            Key::Erase => self.replace(self.cursor.saturating_sub(1)..self.cursor, &[], screen),
            Key::EraseRight => self.replace(self.cursor..(self.cursor + 1).min(end), &[], screen),
            Key::EraseWord => self.replace(self.word_left()..self.cursor, &[], screen),
            Key::EraseToStart => self.replace(0..self.cursor, &[], screen),
            Key::EraseToEnd => self.replace(self.cursor..end, &[], screen),
            Key::Up if self.at > 0 => self.recall(self.at - 1, screen),
            Key::Down if self.at < self.history.len() => self.recall(self.at + 1, screen),
            _ => String::new(),
        }
    }

    /// Puts text in at the cursor, as far as it fits.
    pub fn insert(&mut self, text: &[char], screen: &Screen) -> String {
        let room = LENGTH_MAX.saturating_sub(self.text.len()).min(text.len());
        self.replace(self.cursor..self.cursor, &text[..room], screen)
    }

    /// Shows another line of the history.
    fn recall(&mut self, at: usize, screen: &Screen) -> String {
        if self.at == self.history.len() {
            self.begun = self.text.clone();
        }
        self.at = at;
        let text = self.history.get(at).map_or_else(|| self.begun.clone(), |line| line.chars().collect());
        self.replace(0..self.text.len(), &text, screen)
    }

    fn word_left(&self) -> usize {
        let before = &self.text[..self.cursor];
        let end = before.iter().rposition(|char| *char != ' ').map_or(0, |last| last + 1);
        before[..end].iter().rposition(|char| *char == ' ').map_or(0, |blank| blank + 1)
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.iter().position(|char| *char != ' ').unwrap_or(after.len());
        let length = after[word..].iter().position(|char| *char == ' ').unwrap_or(after.len() - word);
        self.cursor + word + length
    }

    fn move_to(&mut self, cursor: usize, screen: &Screen) -> String {
        let from = std::mem::replace(&mut self.cursor, cursor);
        screen.moved(from, cursor, &self.text)
    }

    /// Replaces a part of the line; the cursor is behind the new text.
    fn replace(&mut self, part: std::ops::Range<usize>, new: &[char], screen: &Screen) -> String {
        let (old_length, from) = (self.text.len(), self.cursor);
        let mut printed = screen.moved(from, part.start, &self.text);
        let cursor = part.start + new.len();
        self.text.splice(part.clone(), new.iter().copied());
        printed.extend(&self.text[part.start..]);
        // Erases the rest of a longer line.
        let wiped = old_length.saturating_sub(self.text.len());
        printed.extend(std::iter::repeat_n(' ', wiped));
        let end = self.text.len() + wiped;
        if end > part.start {
            printed.push_str(screen.settled(end));
        }
        let shown: Vec<char> = self.text.iter().copied().chain(std::iter::repeat_n(' ', wiped)).collect();
        printed.push_str(&screen.moved(end, cursor, &shown));
        self.cursor = cursor;
        printed
    }

    /// The whole line anew, behind its prompt.
    pub fn shown(&self, screen: &Screen) -> String {
        let mut printed: String = self.text.iter().collect();
        if !self.text.is_empty() {
            printed.push_str(screen.settled(self.text.len()));
        }
        printed + &screen.moved(self.text.len(), self.cursor, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal that shows its input.
    struct Shown {
        rows: Vec<Vec<char>>,
        row: usize,
        column: usize,
        width: usize,
    }

    impl Shown {
        fn print(&mut self, text: &str) {
            for char in text.chars() {
                match char {
                    '\r' => self.column = 0,
                    '\u{8}' => self.column = self.column.saturating_sub(1),
                    char => {
                        // A character in the last column leaves the cursor there until the next one comes.
                        if self.column == self.width {
                            (self.row, self.column) = (self.row + 1, 0);
                        }
                        self.rows.resize(self.rows.len().max(self.row + 1), vec![]);
                        let row = &mut self.rows[self.row];
                        row.resize(row.len().max(self.column + 1), ' ');
                        row[self.column] = char;
                        self.column += 1;
                    }
                }
            }
        }
    }

    fn typed(keys: &[Key]) -> (Line, Shown) {
        let screen = Screen { width: 80, prompt: 0, ..Screen::default() };
        let (mut line, mut shown) = (Line::new(3), Shown { rows: vec![], row: 0, column: 0, width: 80 });
        for key in keys {
            let printed = line.edit(*key, &screen);
            shown.print(&printed);
            let row: String = shown.rows.first().map(|row| row.iter().collect()).unwrap_or_default();
            assert_eq!(row.trim_end(), line.text().trim_end(), "{key:?}");
            assert_eq!(shown.column, line.cursor, "{key:?}");
        }
        (line, shown)
    }

    #[test]
    fn what_is_shown_is_the_line() {
        let text = |text: &str| text.chars().map(Key::Char).collect::<Vec<_>>();
        let keys = [
            text("show interfacs"),
            vec![Key::Left, Key::Erase, Key::Char('c'), Key::Char('e'), Key::EraseRight, Key::Home, Key::EraseRight],
            text("S"),
            vec![Key::WordRight, Key::WordRight, Key::WordLeft, Key::EraseToEnd, Key::End, Key::EraseWord],
            text("x y"),
            vec![Key::Left, Key::EraseToStart],
        ];
        assert_eq!(typed(&keys.concat()).0.text(), "y");
    }

    #[test]
    fn the_history_has_lines_and_the_one_that_was_begun() {
        let screen = Screen::default();
        let mut line = Line::new(2);
        for text in ["a", "b", "b", "c"] {
            line.insert(&text.chars().collect::<Vec<_>>(), &screen);
            line.finish();
        }
        line.insert(&['x'], &screen);
        let mut seen = vec![];
        for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
            line.edit(key, &screen);
            seen.push(line.text());
        }
        assert_eq!(seen, ["c", "b", "b", "c", "x", "x"]);
    }

    #[test]
    fn a_line_has_an_end() {
        let screen = Screen::default();
        let mut line = Line::new(2);
        line.insert(&vec!['x'; LENGTH_MAX + 7], &screen);
        line.edit(Key::Char('y'), &screen);
        assert_eq!(line.text().len(), LENGTH_MAX);
    }
}
