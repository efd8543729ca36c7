//! Keys, from the bytes that terminals send for them.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Tab,
    Erase,
    EraseRight,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    PageUp,
    PageDown,
    Redraw,
    Interrupt,
}

/// An escape sequence of more parameters is none.
const PARAMETERS_MAX: usize = 16;
const ESCAPE: u8 = 0x1b;

/// Takes the bytes of keys one by one.
#[derive(Debug, Default)]
pub(super) struct Keys {
    state: State,
    /// A carriage return came: a line feed or NUL behind it is the same key.
    after_return: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Plain,
    /// The first bytes of a character.
    Utf8(Vec<u8>),
    Escape,
    /// Behind `ESC O`.
    Application,
    /// Behind `ESC [`: its parameters.
    Sequence(String),
}

impl Keys {
    pub fn press(&mut self, byte: u8) -> Option<Key> {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match std::mem::take(&mut self.state) {
            State::Plain => match byte {
                b'\n' | 0 if after_return => None,
                ESCAPE => {
                    self.state = State::Escape;
                    None
                }
                0x80.. => self.utf8(vec![byte]),
                byte => plain(byte),
            },
            State::Utf8(mut begun) => {
                begun.push(byte);
                self.utf8(begun)
            }
            State::Escape => match byte {
                b'[' => {
                    self.state = State::Sequence(String::new());
                    None
                }
                b'O' => {
                    self.state = State::Application;
                    None
                }
                b'b' => Some(Key::WordLeft),
                b'f' => Some(Key::WordRight),
                _ => None,
            },
            State::Application => arrow(byte),
            State::Sequence(mut parameters) => match byte {
                b'0'..=b'9' | b';' if parameters.len() < PARAMETERS_MAX => {
                    parameters.push(char::from(byte));
                    self.state = State::Sequence(parameters);
                    None
                }
                _ => sequence(&parameters, byte),
            },
        }
    }

    /// The character that these bytes are, as soon as they are all there.
    fn utf8(&mut self, bytes: Vec<u8>) -> Option<Key> {
        match std::str::from_utf8(&bytes) {
            Ok(text) => text.chars().next().map(Key::Char),
            Err(error) if error.error_len().is_none() => {
                self.state = State::Utf8(bytes);
                None
            }
            Err(_) => None,
        }
    }
}

fn plain(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x08 | 0x7f => Key::Erase,
        b' '..=b'~' => Key::Char(char::from(byte)),
        // Control and a letter.
        1..=26 => match b'@' + byte {
            b'A' => Key::Home,
            b'B' => Key::Left,
            b'C' => Key::Interrupt,
            b'D' => Key::EraseRight,
            b'E' => Key::End,
            b'F' => Key::Right,
            b'K' => Key::EraseToEnd,
            b'L' => Key::Redraw,
            b'N' => Key::Down,
            b'P' => Key::Up,
            b'U' => Key::EraseToStart,
            b'W' => Key::EraseWord,
            _ => return None,
        },
        _ => return None,
    })
}

fn arrow(byte: u8) -> Option<Key> {
    match byte {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        _ => None,
    }
}

fn sequence(parameters: &str, last: u8) -> Option<Key> {
    match (parameters, last) {
        ("", last) => arrow(last),
        ("1", b'~') => Some(Key::Home),
        ("3", b'~') => Some(Key::EraseRight),
        ("4", b'~') => Some(Key::End),
        ("5", b'~') => Some(Key::PageUp),
        ("6", b'~') => Some(Key::PageDown),
        ("1;5", b'C') => Some(Key::WordRight),
        ("1;5", b'D') => Some(Key::WordLeft),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        bytes.iter().filter_map(|byte| keys.press(*byte)).collect()
    }

    #[test]
    fn keys_are_known_by_all_that_terminals_send() {
        assert_eq!(keys(b"\r\n\r\0\n\r\r"), [Key::Enter; 5]);
        assert_eq!(keys("aé".as_bytes()), [Key::Char('a'), Key::Char('é')]);
        assert_eq!(keys(b"\x1b[A\x1bOA\x10"), [Key::Up; 3]);
        assert_eq!(keys(b"\x1b[1~\x1b[H\x1bOH\x01"), [Key::Home; 4]);
        assert_eq!(keys(b"\x1b[1;5D\x1bb"), [Key::WordLeft; 2]);
        // An unknown sequence is skipped, and the keys behind it are not.
        assert_eq!(keys(b"\x1b[99;99R\xff\xc3(\x1bxa"), [Key::Char('a')]);
        assert_eq!(keys(&[&b"\x1b["[..], &[b'1'; 40], b"a"].concat()).last(), Some(&Key::Char('a')));
    }
}
