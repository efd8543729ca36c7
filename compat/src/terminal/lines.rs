//! Clients that send lines: programs, and `vppctl` without a terminal.

use quiver_control::cli;

use super::keys::Key;
use super::{COMMAND_MAX, Event, Session};

impl Session {
    pub(super) fn next_line(&mut self) -> Option<Event> {
        while let Some(byte) = self.input.pop_front() {
            // VPP ends a command by a NUL, too, and by a line feed alone.
            if !matches!(byte, b'\n' | 0) {
                self.take_byte(byte);
                if self.begun.len() < COMMAND_MAX {
                    continue;
                }
            }
            if byte == b'\n' && self.begun.len() < COMMAND_MAX && cli::goes_on(&self.begun) {
                self.begun.push('\n');
                continue;
            }
            let text = std::mem::take(&mut self.begun);
            match text.trim() {
                "" => {}
                line => return Some(self.run(line)),
            }
        }
        None
    }

    /// Takes a byte of a line; of bytes that are no keys only tabs are kept, as blanks.
    fn take_byte(&mut self, byte: u8) {
        if let Some(Key::Char(char)) = self.keys.press(byte) {
            self.begun.push(char);
        } else if byte == b'\t' {
            self.begun.push(' ');
        }
    }
}
