//! The text of captures.

use std::fmt;

use libtest_mimic::Failed;

/// Side of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Hosts that may begin flows.
    Inside,
    /// All others.
    Outside,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Inside => "inside",
            Side::Outside => "outside",
        })
    }
}

/// A line of a capture, without the results, which are indented.
pub enum Line {
    /// Begins with `#`, or is empty.
    Comment(String),
    /// `inside PACKET` or `outside PACKET`: a host there sends a packet, written without its Ethernet header.
    Send {
        /// Where the host is.
        side: Side,
        /// The packet, in which `{NAME}` stands for a learned number.
        packet: String,
        /// `learn NAME`: a name for the source port, or the identifier of an echo request, that the packet has outside. It may differ.
        learn: Option<String>,
        /// `because REASON`: why Quiver and Linux send different packets.
        because: Option<String>,
    },
}

/// Packets and their results, beginning with `capture NAME`.
pub struct Capture {
    /// Its name.
    pub name: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Capture {
    /// Reads a file.
    pub fn read_all(text: &str) -> Result<Vec<Capture>, Failed> {
        let mut captures: Vec<Capture> = vec![];
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with(' ') && !line.is_empty()) {
            let wrong = || format!("line {}: {line}: write capture, inside, outside, learn, because or #", n + 1);
            let (word, rest) = line.split_once(' ').ok_or_else(wrong)?;
            if word == "capture" {
                captures.push(Capture { name: rest.into(), lines: vec![] });
                continue;
            }
            let lines = &mut captures.last_mut().ok_or_else(wrong)?.lines;
            let send = |side| Line::Send { side, packet: rest.to_owned(), learn: None, because: None };
            match (word, lines.last_mut()) {
                ("#", _) => lines.push(Line::Comment(line.into())),
                ("learn", Some(Line::Send { learn, .. })) => *learn = Some(rest.into()),
                ("inside", _) => lines.push(send(Side::Inside)),
                ("outside", _) => lines.push(send(Side::Outside)),
                ("because", Some(Line::Send { because, .. })) => *because = Some(rest.into()),
                _ => return Err(wrong().into()),
            }
        }
        Ok(captures)
    }
}
