//! Clients with a terminal: keys edit a line, answers are shown page by page.

use quiver_control::cli;

use super::keys::Key;
use super::pager::{Pager, Turned};
use super::{COMMAND_MAX, Event, Session};

/// Prompt of the further lines of a command.
const CONTINUATION: &str = "> ";
/// Control and C.
const INTERRUPT: u8 = 3;

impl Session {
    /// Completes the line: with words that begin at byte `start`, each with a flag whether it can be inserted.
    pub fn complete(&mut self, start: usize, words: &[(String, bool)]) {
        let line = self.line.before_cursor();
        let begun = line.get(start..).unwrap_or_default();
        let fitting: Vec<&str> = words.iter().filter(|(_, fits)| *fits).map(|(word, _)| word.as_str()).collect();
        let shared = fitting.iter().copied().reduce(shared_start).unwrap_or_default();
        let mut more: Vec<char> = shared.strip_prefix(begun).unwrap_or_default().chars().collect();
        if let ([_], false) = (&fitting[..], shared.is_empty()) {
            more.push(' ');
        }
        if !more.is_empty() || words.is_empty() {
            let printed = self.line.insert(&more, &self.screen);
            self.put(&printed);
            return;
        }
        let listed: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        self.put(&format!("\r\n{}\r\n", listed.join("  ")));
        self.prompt();
    }

    pub(super) fn next_key(&mut self) -> Option<Event> {
        let pages = |session: &Session| session.pager.as_ref().is_some_and(Pager::waits);
        loop {
            if self.is_running && !pages(self) {
                // Keys wait for their turn, but one of them ends the command.
                let interrupt = self.input.iter().position(|byte| *byte == INTERRUPT)?;
                self.input.drain(..=interrupt);
                self.put("^C\r\n");
                return Some(Event::Interrupt);
            }
            let Some(key) = self.keys.press(self.input.pop_front()?) else { continue };
            if pages(self) {
                if let Some(event) = self.turn(key) {
                    return Some(event);
                }
                continue;
            }
            match key {
                Key::Enter => {
                    self.put("\r\n");
                    if let Some(event) = self.enter() {
                        return Some(event);
                    }
                }
                Key::Tab => return Some(Event::Complete(self.line.before_cursor())),
                Key::Interrupt => {
                    self.line.give_up();
                    self.begun.clear();
                    self.put("^C\r\n");
                    self.prompt();
                }
                Key::Redraw => {
                    let wiped = self.screen.wiped();
                    self.put(if wiped.is_empty() { "\r\n" } else { wiped });
                    self.prompt();
                }
                key => {
                    let printed = self.line.edit(key, &self.screen);
                    self.put(&printed);
                }
            }
        }
    }

    /// Ends the line; the command, if it is complete.
    fn enter(&mut self) -> Option<Event> {
        let line = self.line.finish();
        self.begun.push_str(&line);
        if self.begun.len() < COMMAND_MAX && cli::goes_on(&self.begun) {
            self.begun.push('\n');
            self.prompt();
            return None;
        }
        let text = std::mem::take(&mut self.begun);
        match text.trim() {
            "" => self.prompt(),
            "set terminal pager on" => self.page(true),
            "set terminal pager off" => self.page(false),
            line => return Some(self.run(line)),
        }
        None
    }

    fn page(&mut self, has_pager: bool) {
        self.has_pager = has_pager;
        self.prompt();
    }

    /// Turns the pages of an answer.
    fn turn(&mut self, key: Key) -> Option<Event> {
        let pager = self.pager.as_mut()?;
        let (turned, printed) = pager.turn(key, &self.screen);
        self.put(&printed);
        match turned {
            Turned::Left => {
                self.pager = None;
                if self.is_running {
                    return Some(Event::Interrupt);
                }
                self.prompt();
            }
            Turned::On if !self.is_running => self.end_answer(),
            Turned::On => {}
        }
        None
    }

    /// Prompts, if all of the answer was shown.
    pub(super) fn end_answer(&mut self) {
        if !self.pager.as_ref().is_some_and(Pager::waits) {
            self.pager = None;
            self.prompt();
        }
    }

    /// The prompt, and the line behind it.
    pub(super) fn prompt(&mut self) {
        let prompt = if self.begun.is_empty() { &self.settings.prompt } else { CONTINUATION };
        self.screen.prompt = prompt.chars().count();
        let printed = prompt.to_owned() + &self.line.shown(&self.screen);
        self.put(&printed);
    }
}

/// Longest common prefix of two words.
fn shared_start<'a>(a: &'a str, b: &str) -> &'a str {
    let end = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    &a[..end.unwrap_or(a.len().min(b.len()))]
}
