//! The bytes of a telnet connection (RFC 854): data, and commands between them.

const SE: u8 = 240;
const ARE_YOU_THERE: u8 = 246;
const SB: u8 = 250;
const WILL: u8 = 251;
const WONT: u8 = 252;
const DO: u8 = 253;
const DONT: u8 = 254;
const IAC: u8 = 255;

/// RFC 857.
const ECHO: u8 = 1;
/// RFC 858.
const SUPPRESS_GO_AHEAD: u8 = 3;
/// RFC 1091; the subnegotiation asks by SEND and answers by IS.
const TERMINAL_TYPE: u8 = 24;
const IS: u8 = 0;
const SEND: u8 = 1;
/// RFC 1073.
const WINDOW_SIZE: u8 = 31;
/// RFC 1184.
const LINE_MODE: u8 = 34;

/// A longer subnegotiation is none.
const SUBNEGOTIATION_MAX: usize = 64;

/// First bytes of a server: characters come one by one, it echoes them, and it asks for the terminal type. `vppctl`
/// sends its window size only after a subnegotiation, which RFC 1073 does not define; other clients ignore it.
pub(super) const GREETING: &[u8] = &[
    IAC,
    WONT,
    LINE_MODE,
    IAC,
    DONT,
    LINE_MODE,
    IAC,
    WILL,
    SUPPRESS_GO_AHEAD,
    IAC,
    DO,
    SUPPRESS_GO_AHEAD,
    IAC,
    WILL,
    ECHO,
    IAC,
    DONT,
    ECHO,
    IAC,
    DO,
    TERMINAL_TYPE,
    IAC,
    SB,
    TERMINAL_TYPE,
    SEND,
    IAC,
    SE,
    IAC,
    DO,
    WINDOW_SIZE,
    IAC,
    SB,
    WINDOW_SIZE,
    SEND,
    IAC,
    SE,
];

/// Decoded input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Data(u8),
    TerminalType(String),
    WindowSize { columns: u16, rows: u16 },
    AreYouThere,
}

/// Takes a connection's bytes one by one.
#[derive(Debug, Default)]
pub(super) enum Telnet {
    #[default]
    Data,
    /// Behind IAC.
    Command,
    /// Behind WILL, WONT, DO or DONT: an option follows.
    Option,
    /// Within a subnegotiation; whether the last byte was IAC.
    Subnegotiation(Vec<u8>, bool),
}

impl Telnet {
    pub fn hear(&mut self, byte: u8) -> Option<Heard> {
        match (std::mem::take(self), byte) {
            (Telnet::Data, IAC) => *self = Telnet::Command,
            (Telnet::Data, data) => return Some(Heard::Data(data)),
            (Telnet::Command, WILL..=DONT) => *self = Telnet::Option,
            (Telnet::Command, SB) => *self = Telnet::Subnegotiation(Vec::new(), false),
            (Telnet::Command, ARE_YOU_THERE) => return Some(Heard::AreYouThere),
            // IAC IAC is the byte 255, which is no part of any command line.
            (Telnet::Command | Telnet::Option, _) => {}
            (Telnet::Subnegotiation(said, true), SE) => return subnegotiated(&said),
            (Telnet::Subnegotiation(said, false), IAC) => *self = Telnet::Subnegotiation(said, true),
            (Telnet::Subnegotiation(mut said, _), byte) => {
                said.push(byte);
                if said.len() <= SUBNEGOTIATION_MAX {
                    *self = Telnet::Subnegotiation(said, false);
                }
            }
        }
        None
    }
}

fn subnegotiated(said: &[u8]) -> Option<Heard> {
    match *said {
        [TERMINAL_TYPE, IS, ref name @ ..] => Some(Heard::TerminalType(String::from_utf8_lossy(name).to_lowercase())),
        [WINDOW_SIZE, c0, c1, r0, r1] => {
            Some(Heard::WindowSize { columns: u16::from_be_bytes([c0, c1]), rows: u16::from_be_bytes([r0, r1]) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8]) -> Vec<Heard> {
        let mut telnet = Telnet::default();
        bytes.iter().filter_map(|byte| telnet.hear(*byte)).collect()
    }

    #[test]
    fn commands_are_told_from_data() {
        assert_eq!(
            heard(&[b'a', IAC, WILL, ECHO, b'b', IAC, IAC, b'c', IAC, 241]),
            [b'a', b'b', b'c'].map(Heard::Data)
        );
        assert_eq!(heard(&[IAC, ARE_YOU_THERE]), [Heard::AreYouThere]);
        let named = [&[IAC, SB, TERMINAL_TYPE, IS][..], b"XTerm", &[IAC, SE]].concat();
        assert_eq!(heard(&named), [Heard::TerminalType("xterm".into())]);
        // 255 columns: IAC stands twice.
        let size = [IAC, SB, WINDOW_SIZE, 0, IAC, IAC, 0, 24, IAC, SE];
        assert_eq!(heard(&size), [Heard::WindowSize { columns: 255, rows: 24 }]);
    }

    #[test]
    fn what_never_ends_is_given_up() {
        let mut bytes = vec![IAC, SB];
        bytes.extend([b'x'; SUBNEGOTIATION_MAX + 2]);
        assert_eq!(heard(&bytes), [Heard::Data(b'x')]);
    }
}
