//! An answer that is longer than the screen, a page at a time.

use super::keys::Key;
use super::screen::Screen;

/// An answer, cut into rows of the screen.
#[derive(Debug, Default)]
pub(super) struct Pager {
    rows: Vec<String>,
    /// Rows that were shown.
    shown: usize,
    /// Rows that may be shown before the reader asks for more.
    limit: usize,
    has_prompt: bool,
}

/// Result of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// There may be more.
    On,
    /// The reader has enough.
    Left,
}

impl Pager {
    /// Number of rows that the answer has so far.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether the reader has to ask for more.
    pub fn waits(&self) -> bool {
        self.shown < self.rows.len()
    }

    /// Takes a part of the answer; returns the output.
    pub fn add(&mut self, text: &str, screen: &Screen) -> String {
        for line in text.lines() {
            let chars: Vec<char> = line.chars().collect();
            let rows = chars.chunks(screen.width).map(|row| row.iter().collect());
            self.rows.extend(rows);
            if chars.is_empty() {
                self.rows.push(String::new());
            }
        }
        self.limit = self.limit.max(page(screen));
        self.show(screen)
    }

    /// Shows the rest at once.
    pub fn flush(&mut self, screen: &Screen) -> String {
        self.limit = self.rows.len();
        self.show(screen)
    }

    /// Turns the pages by a key.
    pub fn turn(&mut self, key: Key, screen: &Screen) -> (Turned, String) {
        let page = page(screen);
        match key {
            Key::Char('q' | 'Q') | Key::Interrupt => {
                let erased = self.erased(screen);
                return (Turned::Left, erased);
            }
            Key::Char(' ') | Key::PageDown => self.limit = self.shown + page,
            Key::Enter | Key::Down => self.limit = self.shown + 1,
            Key::End => self.limit = self.rows.len(),
            Key::Up => return (Turned::On, self.back_to(self.shown.saturating_sub(1).max(page), screen)),
            Key::PageUp => return (Turned::On, self.back_to(self.shown.saturating_sub(page).max(page), screen)),
            Key::Home => return (Turned::On, self.back_to(page, screen)),
            Key::Redraw => return (Turned::On, self.back_to(self.shown, screen)),
            _ => return (Turned::On, String::new()),
        }
        (Turned::On, self.show(screen))
    }

    /// Shows the page that ends before a row. Terminals that cannot be wiped out stay where they are.
    fn back_to(&mut self, end: usize, screen: &Screen) -> String {
        if !screen.has_sequences {
            return String::new();
        }
        let end = end.min(self.rows.len());
        (self.shown, self.limit, self.has_prompt) = (end.saturating_sub(page(screen)), end, false);
        screen.wiped().to_owned() + &self.show(screen)
    }

    fn show(&mut self, screen: &Screen) -> String {
        let mut printed = self.erased(screen);
        let end = self.limit.min(self.rows.len());
        for row in &self.rows[self.shown.min(end)..end] {
            printed.push_str(row);
            printed.push_str("\r\n");
        }
        self.shown = self.shown.max(end);
        if self.waits() {
            printed.push_str(&screen.bold(&self.prompt(screen)));
            self.has_prompt = true;
        }
        printed
    }

    fn prompt(&self, screen: &Screen) -> String {
        let first = self.shown.saturating_sub(page(screen)) + 1;
        format!("-- more -- ({first}-{}/{})", self.shown, self.rows.len())
    }

    /// Wipes the prompt out, if there is one.
    fn erased(&mut self, screen: &Screen) -> String {
        if !std::mem::take(&mut self.has_prompt) {
            return String::new();
        }
        // Its numbers may have been shorter, never longer.
        format!("\r{}\r", " ".repeat(self.prompt(screen).chars().count().min(screen.width.saturating_sub(1))))
    }
}

/// Rows of a page; the last of the screen is for the prompt.
fn page(screen: &Screen) -> usize {
    screen.height.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        Screen { width: 40, height: 4, ..Screen::default() }
    }

    #[test]
    fn pages_follow_pages() {
        let (screen, mut pager) = (screen(), Pager::default());
        let text: String = (1..=8).map(|row| format!("row {row}\n")).collect();
        let first = pager.add(&text, &screen);
        assert!(first.contains("row 3\r\n-- more -- (1-3/8)") && !first.contains("row 4"), "{first:?}");
        let (turned, next) = pager.turn(Key::Char(' '), &screen);
        assert!(turned == Turned::On && next.contains("row 6\r\n-- more -- (4-6/8)"), "{next:?}");
        let (_, next) = pager.turn(Key::Enter, &screen);
        assert!(next.contains("row 7\r\n-- more -- (5-7/8)"), "{next:?}");
        let (_, last) = pager.turn(Key::Char(' '), &screen);
        assert!(last.ends_with("row 8\r\n") && !pager.waits(), "{last:?}");
    }

    #[test]
    fn long_lines_are_rows_and_a_short_answer_has_no_pager() {
        let (screen, mut pager) = (screen(), Pager::default());
        assert_eq!(pager.add("a\n\nb", &screen), "a\r\n\r\nb\r\n");
        assert!(!pager.waits());
        assert!(pager.add(&"x".repeat(41), &screen).ends_with("-- more -- (1-3/5)"));
        let (turned, printed) = pager.turn(Key::Char('q'), &screen);
        assert!(turned == Turned::Left && printed.trim().is_empty());
    }

    #[test]
    fn a_terminal_with_sequences_turns_back() {
        let screen = Screen { has_sequences: true, ..screen() };
        let mut pager = Pager::default();
        pager.add(&(1..=8).map(|row| format!("row {row}\n")).collect::<String>(), &screen);
        pager.turn(Key::Char(' '), &screen);
        let (_, back) = pager.turn(Key::Up, &screen);
        assert!(back.contains("row 3\r\nrow 4\r\nrow 5\r\n") && back.contains("(3-5/8)"), "{back:?}");
        let (_, top) = pager.turn(Key::Home, &screen);
        assert!(top.contains("row 1\r\nrow 2\r\nrow 3\r\n") && !top.contains("row 4"), "{top:?}");
    }
}
