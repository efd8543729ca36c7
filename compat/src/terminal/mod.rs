//! VPP's command line on a socket, as `vppctl` and telnet speak it: a session of one client, without a socket and without a
//! clock. Bytes go in and come out, and between them stand [`Event`]s for its host.
//!
//! - `edited`, `lines`: the two ways in which clients speak.
//! - `telnet`: data, and telnet's commands between them.
//! - `keys`: keys, from the bytes of terminals.
//! - `line`: the line that is edited, and its history.
//! - `screen`: the terminal, and how its cursor is moved.
//! - `pager`: long answers, a page at a time.
//!
//! A client with a terminal has prompt, echo, editing, history, completion and a pager. One that calls itself `vppctl` has
//! none of these: its commands are lines, and when all that came are answered it gets a NUL, for which `vppctl` waits.

mod edited;
mod keys;
mod line;
mod lines;
mod pager;
mod screen;
mod telnet;

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use keys::Keys;
use line::Line;
use pager::Pager;
use screen::Screen;
use telnet::{Heard, Telnet};

/// Settings shared by all sessions.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Prompt.
    pub prompt: String,
    /// Text that terminals get first.
    pub banner: String,
    /// Whether long answers are shown page by page.
    pub has_pager: bool,
    /// Whether lines are taken as they come, from all clients.
    pub line_mode: bool,
    /// Longer answers are shown at once.
    pub pager_lines: usize,
    /// Number of commands that the history keeps.
    pub history: usize,
}

/// Task for the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Run a command, [`print`](Session::print) its answer, and report that it is [`done`](Session::done).
    Run(String),
    /// End the command that runs. It is done then, too.
    Interrupt,
    /// Complete this beginning of a line by [`complete`](Session::complete).
    Complete(String),
    /// End the session.
    Quit,
}

/// Type of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Not known yet.
    Unknown,
    /// A terminal, with a person or a program that behaves like one.
    Terminal,
    /// Lines.
    Lines,
}

/// More bytes are not taken before those that came are done.
const INPUT_MAX: usize = 64 * 1024;
/// A command of more bytes is run as far as it has come, and refused for its length.
const COMMAND_MAX: usize = 32 * 1024;
/// A client that has sent more bytes without negotiation is taken for a terminal.
const UNKNOWN_MAX: usize = 1024;
/// A client without negotiation for so long is taken for a terminal.
const NEGOTIATION: Duration = Duration::from_secs(1);
/// A last line without an end counts as a line when nothing more comes for so long.
const LINE_ENDS: Duration = Duration::from_millis(100);

/// The session of one client.
pub struct Session {
    settings: Rc<Settings>,
    kind: Kind,
    screen: Screen,
    telnet: Telnet,
    keys: Keys,
    line: Line,
    /// The first lines of a command that goes on.
    begun: String,
    input: VecDeque<u8>,
    output: Vec<u8>,
    is_running: bool,
    /// An answer to lines has ended, and nothing has said so.
    owes_end: bool,
    has_pager: bool,
    pager: Option<Pager>,
}

impl Session {
    /// A session that has just begun.
    pub fn new(settings: Rc<Settings>) -> Session {
        let (kind, output) = match settings.line_mode {
            true => (Kind::Lines, vec![]),
            false => (Kind::Unknown, telnet::GREETING.to_vec()),
        };
        let (line, has_pager) = (Line::new(settings.history), settings.has_pager);
        let screen = Screen { prompt: settings.prompt.chars().count(), ..Screen::default() };
        let (telnet, keys, begun, input) = Default::default();
        let (is_running, owes_end, pager) = (false, false, None);
        Session {
            settings,
            kind,
            screen,
            telnet,
            keys,
            line,
            begun,
            input,
            output,
            is_running,
            owes_end,
            has_pager,
            pager,
        }
    }

    /// Takes input of the client.
    pub fn receive(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.telnet.hear(*byte) {
                Some(Heard::Data(data)) => self.input.push_back(data),
                Some(Heard::TerminalType(name)) => {
                    self.screen.has_sequences = Screen::knows_sequences(&name);
                    if self.kind == Kind::Unknown {
                        self.begin(if name == "vppctl" { Kind::Lines } else { Kind::Terminal });
                    }
                }
                Some(Heard::WindowSize { columns, rows }) => self.screen.resize(columns, rows),
                Some(Heard::AreYouThere) => self.put("[yes]\r\n"),
                None => {}
            }
        }
        if self.kind == Kind::Unknown && self.input.len() > UNKNOWN_MAX {
            self.begin(Kind::Terminal);
        }
    }

    /// Whether more bytes are to be read from the client.
    pub fn wants_input(&self) -> bool {
        self.input.len() < INPUT_MAX
    }

    /// For how long the client may be silent before [`silence`](Session::silence) is to be told.
    pub fn patience(&self) -> Option<Duration> {
        match self.kind {
            Kind::Unknown => Some(NEGOTIATION),
            Kind::Lines if !self.begun.is_empty() && !self.is_running => Some(LINE_ENDS),
            _ => None,
        }
    }

    /// Nothing came for as long as [`patience`](Session::patience) said, or nothing will come any more.
    pub fn silence(&mut self) {
        match self.kind {
            Kind::Unknown => self.begin(Kind::Terminal),
            Kind::Lines if !self.begun.is_empty() => self.input.push_front(0),
            _ => {}
        }
    }

    /// Takes the output for the client.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Next task for the host; none until the client sends more.
    pub fn event(&mut self) -> Option<Event> {
        match self.kind {
            Kind::Unknown => None,
            Kind::Lines if self.is_running => None,
            Kind::Lines => {
                let event = self.next_line();
                // `vppctl` leaves at each NUL: there is one for all that it has sent, and none within.
                if event.is_none() && self.begun.is_empty() && std::mem::take(&mut self.owes_end) {
                    self.output.push(0);
                }
                event
            }
            Kind::Terminal => self.next_key(),
        }
    }

    /// Prints a part of an answer.
    pub fn print(&mut self, answer: &str) {
        if answer.is_empty() {
            return;
        }
        if self.kind != Kind::Terminal || !self.has_pager || self.settings.pager_lines == 0 {
            let lines = answer.replace('\n', "\r\n");
            self.put(&lines);
            if !answer.ends_with('\n') {
                self.put("\r\n");
            }
            return;
        }
        let pager = self.pager.get_or_insert_default();
        let mut printed = pager.add(answer, &self.screen);
        if pager.rows() > self.settings.pager_lines {
            printed.push_str(&pager.flush(&self.screen));
        }
        self.put(&printed);
    }

    /// The command has ended.
    pub fn done(&mut self) {
        self.is_running = false;
        match self.kind {
            Kind::Lines => self.owes_end = true,
            _ => self.end_answer(),
        }
    }

    fn begin(&mut self, kind: Kind) {
        self.kind = kind;
        if kind == Kind::Terminal {
            if !self.settings.banner.is_empty() {
                let banner = self.settings.banner.replace('\n', "\r\n");
                self.put(&format!("\r{banner}\r\n"));
            }
            self.prompt();
        }
    }

    fn run(&mut self, line: &str) -> Event {
        if matches!(line, "quit" | "q" | "exit") {
            return Event::Quit;
        }
        self.is_running = true;
        Event::Run(line.to_owned())
    }

    fn put(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests;
