//! The text of a scenario: actions, and behind each the results that it must have.

use std::time::Duration;

use crate::daemon::Setup;
use crate::packet::Packet;
use crate::pcap;

/// A scenario.
pub(super) struct Script {
    pub setup: Setup,
    pub steps: Vec<Step>,
    /// Remarks behind the last step.
    pub tail: String,
}

/// Something that is done. Packets that stand in a row arrive together.
pub(super) struct Step {
    /// The line of the first word.
    pub line: usize,
    /// Remarks, and the lines of the action.
    text: String,
    pub action: Action,
}

pub(super) enum Action {
    /// `cli LINE`
    Command(String),
    /// `in INTERFACE PACKET` or `in INTERFACE pcap FILE`, once or more
    Receive(Vec<(String, Vec<u8>)>),
    /// `advance 5s`
    Advance(Duration),
    /// `stall 5ms`
    Stall(Duration),
    /// `inject NODE hop N PACKET`
    Inject { node: String, hop: u32, packet: Vec<u8> },
    /// `count NODE`
    Count(String),
}

/// Why the text is no scenario.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ScriptError {
    /// The line.
    pub line: usize,
    /// The error and its remedy.
    pub what: String,
}

/// Whether a line states a result.
pub(super) fn is_result(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    matches!(first, "|" | "!" | "=" | "out" | "drop")
}

impl Step {
    pub fn write_actions(&self, text: &mut String) {
        text.push_str(&self.text);
    }
}

impl Script {
    pub fn read(text: &str) -> Result<Script, ScriptError> {
        let mut script = Script { setup: Setup::default(), steps: Vec::new(), tail: String::new() };
        // Whether the line before was a packet that arrives, so that the next one arrives with it.
        let mut arriving = false;
        for (line, content) in (1..).zip(text.lines()) {
            let wrong = |what: String| ScriptError { line, what };
            let together = std::mem::replace(&mut arriving, content.starts_with("in "));
            if is_result(content) {
                if script.steps.is_empty() {
                    return Err(wrong("a result stands before anything was done".to_owned()));
                }
                continue;
            }
            script.tail.push_str(content);
            script.tail.push('\n');
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (word, rest) = content.split_once(' ').unwrap_or((content, ""));
            let action = match word {
                "cli" => Action::Command(rest.to_owned()),
                "in" => {
                    let (interface, packet) = rest.split_once(' ').unwrap_or((rest, ""));
                    let frames = frames(packet).map_err(wrong)?;
                    let arrivals = frames.into_iter().map(|frame| (interface.to_owned(), frame));
                    if let Some(Step { action: Action::Receive(packets), text, .. }) = script.steps.last_mut()
                        && together
                    {
                        packets.extend(arrivals);
                        text.push_str(&std::mem::take(&mut script.tail));
                        continue;
                    }
                    Action::Receive(arrivals.collect())
                }
                "advance" => Action::Advance(duration(rest).map_err(wrong)?),
                "stall" => Action::Stall(duration(rest).map_err(wrong)?),
                "inject" => inject(rest).map_err(wrong)?,
                "count" => Action::Count(rest.trim().to_owned()),
                "with" => {
                    script.setup = with(script.setup, rest).map_err(wrong)?;
                    continue;
                }
                _ => {
                    return Err(wrong(format!(
                        "`{word}` begins no line of a scenario; expected one of: cli, in, advance, stall, inject, count, \
                         with, out, drop, |, !, =, #"
                    )));
                }
            };
            script.steps.push(Step { line, text: std::mem::take(&mut script.tail), action });
        }
        Ok(script)
    }
}

/// The frames of a packet's text, or of a capture: `pcap FILE`, relative to the crate's folder, where its tests run.
fn frames(text: &str) -> Result<Vec<Vec<u8>>, String> {
    match text.strip_prefix("pcap ") {
        Some(file) => pcap::read(file.trim()).map_err(|error| error.to_string()),
        None => Ok(vec![text.parse::<Packet>().map_err(|error| error.to_string())?.to_bytes()]),
    }
}

/// `NODE hop N PACKET`.
fn inject(text: &str) -> Result<Action, String> {
    let words: Vec<_> = text.splitn(4, ' ').collect();
    let [node, "hop", hop, packet] = words[..] else {
        return Err(format!("`inject {text}`: expected `inject NODE hop N PACKET`"));
    };
    let hop = hop.parse().map_err(|_| format!("`{hop}` is no number"))?;
    let packet = packet.parse::<Packet>().map_err(|error| error.to_string())?.to_bytes();
    Ok(Action::Inject { node: node.to_owned(), hop, packet })
}

/// `workers 2`, `buffers 64`: how the daemon is made, instead of the usual.
fn with(setup: Setup, words: &str) -> Result<Setup, String> {
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("`{text}` is no number"));
    match words.split_once(' ') {
        Some(("workers", count)) => Ok(Setup { workers: number(count)? as usize, ..setup }),
        Some(("buffers", count)) => Ok(Setup { buffers: number(count)?, ..setup }),
        _ => Err(format!("`with {words}`: expected `with workers N` or `with buffers N`")),
    }
}

/// `5s`, `200ms`, `30us`, `1ns`.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no time such as 5s or 200ms"))?;
    match unit {
        "s" => Ok(Duration::from_secs(number)),
        "ms" => Ok(Duration::from_millis(number)),
        "us" => Ok(Duration::from_micros(number)),
        "ns" => Ok(Duration::from_nanos(number)),
        _ => Err(format!("`{text}` has no unit: s, ms, us or ns")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: &str = "eth 02:00:00:00:00:01 > 02:00:00:00:00:02 / payload 46";

    #[test]
    fn packets_in_a_row_arrive_together() {
        let text = format!("with buffers 64\n# first\nin a {PACKET}\nin b {PACKET}\nout b x\nin a {PACKET}\n# end\n");
        let script = Script::read(&text).expect("it is a scenario");
        let sizes: Vec<_> = script
            .steps
            .iter()
            .map(|step| match &step.action {
                Action::Receive(packets) => packets.len(),
                _ => 0,
            })
            .collect();
        assert_eq!((sizes, script.setup.buffers, script.tail.as_str()), (vec![2, 1], 64, "# end\n"));
        let mut again = String::new();
        script.steps.iter().for_each(|step| step.write_actions(&mut again));
        assert_eq!(again + &script.tail, text.replace("out b x\n", ""));
    }

    #[test]
    fn a_capture_arrives_at_once() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("two.pcap");
        pcap::write(&file, [[1; 60], [2; 60]]).expect("there is room");
        let text = format!("in a pcap {}\nin a {PACKET}\n", file.display());
        let script = Script::read(&text).expect("it is a scenario");
        let [Step { action: Action::Receive(packets), .. }] = script.steps.as_slice() else { panic!("one step") };
        let packet = PACKET.parse::<Packet>().expect("it is a packet").to_bytes();
        assert_eq!(*packets, [vec![1; 60], vec![2; 60], packet].map(|frame| ("a".to_owned(), frame)));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, error) in [
            ("\nsend a", "line 2: `send` begins no line of a scenario"),
            ("out a b", "line 1: a result stands before anything was done"),
            ("advance 5", "line 1: `5` has no unit"),
            ("advance s", "line 1: `s` is no time"),
            ("stall 5", "line 1: `5` has no unit"),
            ("inject drop 1 hex 00", "line 1: `inject drop 1 hex 00`: expected `inject NODE hop N PACKET`"),
            ("with speed 3", "line 1: `with speed 3`: expected `with workers N`"),
            ("in a eth x", "line 1: layer 1"),
            ("in a pcap nowhere.pcap", "line 1: capture nowhere.pcap: No such file"),
        ] {
            let found = Script::read(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
