//! YAML as a tree in which every value knows where it stands.
//!
//! Of YAML 1.2 this takes mappings, lists and scalars; aliases, tags and several documents are refused, since a
//! configuration needs none of them and each is a way to say more than one reads. Depth and size are bounded.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::list::List;
use crate::pace::Pace;

/// Items from which a list is long: what has one is read and freed aside from control.
const LONG: usize = 256;
/// Deeper trees are no configuration.
const DEPTH_MAX: usize = 32;

/// A place in the file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl From<Marker> for Position {
    fn from(marker: Marker) -> Position {
        Position { line: marker.line(), column: marker.col() + 1 }
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Position of its first character.
    pub at: Position,
    /// Its content.
    pub data: Data,
}

/// Content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// A word, a number, true, false or null.
    Scalar(Value),
    /// Several values.
    List(List<Node>),
    /// Values with names.
    Mapping(Vec<Entry>),
}

/// A name in a mapping, where it stands, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Position of the name's first character.
    pub at: Position,
    /// The entry's value.
    pub value: Node,
}

/// Something that is not as YAML, or this part of it, demands.
#[derive(Clone, Debug, PartialEq)]
pub struct Malformed {
    /// Position of the error.
    pub at: Position,
    /// Error text.
    pub what: String,
    /// Remedy.
    pub remedy: &'static str,
}

impl Malformed {
    fn new(at: Position, what: impl Into<String>, remedy: &'static str) -> Malformed {
        Malformed { at, what: what.into(), remedy }
    }
}

impl Node {
    /// The value without the places.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Scalar(value) => value.clone(),
            Data::List(items) => items.iter().map(Node::to_value).collect(),
            Data::Mapping(entries) => Value::Object(
                entries.iter().map(|entry| (entry.name.clone(), entry.value.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// Whether a list of it has very many items.
    pub(super) fn is_long(&self) -> bool {
        let Data::Mapping(entries) = &self.data else { return false };
        entries.iter().any(|entry| matches!(&entry.value.data, Data::List(items) if items.len() > LONG))
    }

    /// Position of a path such as `paths[1].via`: of its value if `value`, else of its name. For a path that does not
    /// exist, of its last existing part.
    pub fn position_of(&self, path: &str, value: bool) -> Position {
        let mut node = self;
        let mut at = self.at;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            match &node.data {
                Data::Mapping(entries) => {
                    let Some(entry) = entries.iter().find(|entry| entry.name == step) else { break };
                    at = if value { entry.value.at } else { entry.at };
                    node = &entry.value;
                }
                Data::List(items) => {
                    let index = step.trim_end_matches(']').parse::<usize>().ok();
                    let Some(item) = index.and_then(|index| items.get(index)) else { break };
                    at = item.at;
                    node = item;
                }
                Data::Scalar(_) => break,
            }
        }
        at
    }
}

/// A list or mapping that is being read.
enum Open {
    List(List<Node>),
    /// The entries, and the name whose value comes next.
    Mapping(Vec<Entry>, Option<(String, Position)>),
}

/// Reads a file: its tree, or nothing if it is empty, and its errors. A file with duplicate names has a tree
/// nevertheless, so that the rest can be checked.
pub(super) async fn read(text: &str, pace: &mut Pace) -> (Option<Node>, Vec<Malformed>) {
    let mut problems = Vec::new();
    let mut open: Vec<(Position, Open)> = Vec::new();
    let mut root = None;
    // The parser reports something missing at the end in the line behind the file.
    let end = end_of(text, pace).await;
    let place = |marker: Marker| if marker.line() > end.line { end } else { marker.into() };
    for event in Parser::new_from_str(text) {
        pace.step().await;
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let remedy = "check indentation, colons and quotes near this place";
                let at = place(*error.marker());
                problems.push(Malformed::new(at, format!("no YAML: {}", error.info()), remedy));
                return (None, problems);
            }
        };
        let at = place(span.start);
        if let Some(problem) = refused(&event, at, root.is_some(), open.len()) {
            problems.push(problem);
            return (None, problems);
        }
        let complete = match event {
            Event::MappingStart(..) => {
                open.push((at, Open::Mapping(Vec::new(), None)));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push((at, Open::List(List::default())));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some((at, Open::Mapping(entries, _))) => Node { at, data: Data::Mapping(entries) },
                Some((at, Open::List(items))) => Node { at, data: Data::List(items) },
                None => continue,
            },
            Event::Scalar(text, style, ..) => match open.last_mut() {
                // A scalar where a name is due is the name.
                Some((_, Open::Mapping(entries, name @ None))) => {
                    if let Some(first) = first_of(entries, &text) {
                        let what = format!("'{text}' stands here again, first in line {}", first.line);
                        problems.push(Malformed::new(at, what, "leave one of them out"));
                    }
                    *name = Some((text.into_owned(), at));
                    continue;
                }
                _ => Node { at, data: Data::Scalar(scalar(&text, style)) },
            },
            _ => continue,
        };
        match open.last_mut() {
            None => root = Some(complete),
            Some((_, Open::List(items))) => items.push(complete),
            Some((_, Open::Mapping(entries, name))) => match name.take() {
                Some((name, at)) => entries.push(Entry { name, at, value: complete }),
                None => {
                    problems.push(Malformed::new(complete.at, "a list or mapping cannot be a name", "write a word"));
                    return (None, problems);
                }
            },
        }
    }
    (root, problems)
}

/// Where a text ends.
async fn end_of(text: &str, pace: &mut Pace) -> Position {
    const BYTES: usize = 64 << 10;
    let is_end = |byte: &&u8| matches!(**byte, b'\n' | b'\r');
    let mut line = 1;
    for bytes in text.as_bytes().chunks(BYTES) {
        pace.step().await;
        line += bytes.iter().filter(is_end).count();
    }
    let last = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    Position { line, column: 1 + last.chars().count() }
}

/// The place of an entry of this name. Mappings of records are short; the long lists of a file are lists.
fn first_of(entries: &[Entry], name: &str) -> Option<Position> {
    const CHECKED_MAX: usize = 1000;
    entries.iter().take(CHECKED_MAX).find(|entry| entry.name == name).map(|entry| entry.at)
}

fn refused(event: &Event<'_>, at: Position, has_root: bool, depth: usize) -> Option<Malformed> {
    let tagged = match event {
        Event::Alias(_) => {
            return Some(Malformed::new(at, "aliases are not taken", "write out what the alias stands for"));
        }
        Event::DocumentStart(_) if has_root => {
            return Some(Malformed::new(at, "a second document begins", "one file is one configuration: remove '---'"));
        }
        Event::Scalar(_, _, _, tag) | Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) => tag.is_some(),
        _ => false,
    };
    if tagged {
        return Some(Malformed::new(at, "tags are not taken", "write the value without '!'"));
    }
    (depth >= DEPTH_MAX).then(|| Malformed::new(at, "this is nested too deeply", "a configuration has few levels"))
}

/// Value of a scalar by YAML's core schema.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    resolve(text)
}

/// Value of a plain scalar.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(hex) = digits.strip_prefix("0x")
        && let Ok(number) = u64::from_str_radix(hex, 16)
        && digits.len() == text.len()
    {
        return Value::from(number);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Value::from(text);
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let number = plain.parse::<u64>().map(Number::from).or_else(|_| plain.parse::<i64>().map(Number::from));
    let number = number.ok().or_else(|| plain.parse::<f64>().ok().and_then(Number::from_f64));
    number.map_or_else(|| Value::from(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;

    fn read(text: &str) -> (Option<Node>, Vec<Malformed>) {
        at_once(super::read(text, &mut Pace::at_once()))
    }

    fn value(text: &str) -> Value {
        let (node, problems) = read(text);
        assert!(problems.is_empty(), "{problems:?}");
        node.map(|node| node.to_value()).unwrap_or_default()
    }

    #[test]
    fn scalars_mean_what_yaml_says() {
        let text = "[1, -2, 1.5, 0x1f, true, ~, '1', \"true\", 10.0.0.0/8, 42:01:0a:0a:01:01, 1.2.3, +3, no, 1e2]";
        let expected = serde_json::json!([
            1,
            -2,
            1.5,
            31,
            true,
            null,
            "1",
            "true",
            "10.0.0.0/8",
            "42:01:0a:0a:01:01",
            "1.2.3",
            3,
            "no",
            100.0
        ]);
        assert_eq!(value(text), expected);
        assert_eq!(value(""), Value::Null);
    }

    #[test]
    fn places_are_those_of_the_file() {
        let (node, _) = read("taps:\n  - name: tap0\n    paths:\n      - via: x\n");
        let node = node.unwrap();
        let place = |path, value| {
            let Position { line, column } = node.position_of(path, value);
            (line, column)
        };
        assert_eq!(place("taps[0].name", true), (2, 11));
        assert_eq!(place("taps[0].name", false), (2, 5));
        assert_eq!(place("taps[0].paths[0].via", true), (4, 14));
        assert_eq!(place("taps[0].none", true), (2, 5));
        assert_eq!(place("taps[7]", true), (2, 3));
    }

    #[test]
    fn what_a_configuration_does_not_need_is_refused() {
        let nested = format!("a: {}1{}", "[".repeat(40), "]".repeat(40));
        for (text, what, line) in [
            ("a: &x 1\nb: *x\n", "aliases are not taken", 2),
            ("a: !!str 1\n", "tags are not taken", 1),
            ("a: 1\n---\nb: 2\n", "a second document begins", 2),
            ("[a]: 1\n", "a list or mapping cannot be a name", 1),
            ("a: 1\nb: 2\na: 3\n", "'a' stands here again, first in line 1", 3),
            (&nested, "this is nested too deeply", 1),
        ] {
            let problem = &read(text).1[0];
            assert_eq!((problem.what.as_str(), problem.at.line), (what, line), "{text}");
        }
        assert!(read("a: [1\n").1[0].what.starts_with("no YAML: "));
        // Even what is missing at the end is missing inside the file.
        assert_eq!(read("%x").1[0].at, Position { line: 1, column: 3 });
    }
}
