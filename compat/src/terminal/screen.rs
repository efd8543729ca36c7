//! Properties of a terminal, and the sequences that move its cursor.

/// A terminal.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Whether it knows the escape sequences of ECMA-48.
    pub has_sequences: bool,
    /// Columns that the prompt takes.
    pub prompt: usize,
}

/// Largest width and height; larger ones are clamped. RFC 1073 allows 0 for an unknown size.
const SIZE_MAX: u16 = 512;

impl Default for Screen {
    fn default() -> Screen {
        Screen { width: 80, height: 24, has_sequences: false, prompt: 0 }
    }
}

impl Screen {
    /// Takes a size that the terminal told.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let told = |size: u16, standard| if size == 0 { standard } else { usize::from(size.min(SIZE_MAX)) };
        (self.width, self.height) = (told(columns, 80), told(rows, 24));
    }

    /// Whether a terminal of this type knows escape sequences.
    pub fn knows_sequences(terminal: &str) -> bool {
        ["xterm", "screen", "tmux", "rxvt", "linux", "vt100", "vt220", "ansi"]
            .iter()
            .any(|known| terminal.starts_with(known))
    }

    /// Sequence that moves the cursor from one character of a line to another.
    pub fn moved(&self, from: usize, to: usize, text: &[char]) -> String {
        let place = |at: usize| ((self.prompt + at) / self.width, (self.prompt + at) % self.width);
        let ((from_row, from_column), (to_row, to_column)) = (place(from), place(to));
        if to >= from {
            // Forwards: over the characters that stand there.
            let passed: String = text.get(from..to).unwrap_or_default().iter().collect();
            let settled = if to > from { self.settled(to) } else { "" };
            return passed + settled;
        }
        if to_row == from_row || !self.has_sequences {
            return "\u{8}".repeat(from - to);
        }
        let rows = from_row - to_row;
        let up = format!("\u{1b}[{rows}A");
        match to_column.cmp(&from_column) {
            std::cmp::Ordering::Less => up + &"\u{8}".repeat(from_column - to_column),
            std::cmp::Ordering::Equal => up,
            std::cmp::Ordering::Greater => format!("{up}\u{1b}[{}C", to_column - from_column),
        }
    }

    /// Sequence that moves the cursor to the next row after a character in the last column, where terminals keep it
    /// until the next character.
    pub fn settled(&self, at: usize) -> &'static str {
        if (self.prompt + at).is_multiple_of(self.width) { " \r" } else { "" }
    }

    /// Sequence that clears the screen.
    pub fn wiped(&self) -> &'static str {
        if self.has_sequences { "\u{1b}[2J\u{1b}[1;1H" } else { "" }
    }

    /// A text that stands out.
    pub fn bold(&self, text: &str) -> String {
        if self.has_sequences { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_crosses_rows() {
        let text: Vec<char> = "abcdefghij".chars().collect();
        let dumb = Screen { width: 4, prompt: 2, ..Screen::default() };
        let clever = Screen { has_sequences: true, ..dumb.clone() };
        assert_eq!((dumb.moved(1, 0, &text), clever.moved(1, 0, &text)), ("\u{8}".into(), "\u{8}".into()));
        assert_eq!(dumb.moved(3, 1, &text), "\u{8}\u{8}");
        assert_eq!(clever.moved(3, 1, &text), "\u{1b}[1A\u{1b}[2C");
        assert_eq!(clever.moved(5, 0, &text), "\u{1b}[1A\u{8}");
        // The sixth character stands in the last column.
        assert_eq!(clever.moved(1, 6, &text), "bcdef \r");
    }

    #[test]
    fn sizes_are_bounded() {
        let mut screen = Screen::default();
        screen.resize(0, 60_000);
        assert_eq!((screen.width, screen.height), (80, 512));
        screen.resize(1, 1);
        assert_eq!((screen.width, screen.height), (1, 1));
    }
}
