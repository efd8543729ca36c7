//! The notation of grammars, and its syntax tree.
//!
//! | notation | meaning |
//! |---|---|
//! | `show` | this word, or any beginning of it that fits no other word |
//! | `<table:u32>` | an argument: its name, and its type; `<interface>` has one word for both |
//! | `[ x ]` | x, or nothing |
//! | `( x \| y )` | one of these |
//! | `{ x \| y }` | any of these, each at most once, in any order, or nothing |
//! | `x...` | x, once or more |

use std::rc::Rc;

/// A part of a grammar.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Token(String),
    Argument { name: String, kind: String },
    Sequence(Vec<Rc<Part>>),
    Optional(Rc<Part>),
    OneOf(Vec<Rc<Part>>),
    AnyOrder(Vec<Rc<Part>>),
    Many(Rc<Part>),
}

impl Part {
    /// Whether no word at all fits it.
    fn may_be_empty(&self) -> bool {
        match self {
            Part::Token(_) | Part::Argument { .. } => false,
            Part::Optional(_) | Part::AnyOrder(_) => true,
            Part::Sequence(parts) => parts.iter().all(|part| part.may_be_empty()),
            Part::OneOf(parts) => parts.iter().any(|part| part.may_be_empty()),
            Part::Many(part) => part.may_be_empty(),
        }
    }

    /// Calls `found` with the name and type of every argument.
    pub fn arguments(&self, found: &mut dyn FnMut(&str, &str)) {
        match self {
            Part::Token(_) => {}
            Part::Argument { name, kind } => found(name, kind),
            Part::Sequence(parts) | Part::OneOf(parts) | Part::AnyOrder(parts) => {
                parts.iter().for_each(|part| part.arguments(found));
            }
            Part::Optional(part) | Part::Many(part) => part.arguments(found),
        }
    }
}

/// Parses a grammar, or returns an error text.
pub(super) fn parse(text: &str) -> Result<Rc<Part>, String> {
    let mut tokens = tokens(text)?;
    tokens.reverse();
    let part = alternatives(&mut tokens, None, Part::OneOf)?;
    if part.may_be_empty() {
        return Err("it fits an empty line".to_owned());
    }
    Ok(part)
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '[' | ']' | '(' | ')' | '{' | '}' | '|' => 1,
            '<' => 1 + rest.find('>').ok_or("a '<' is never closed")?,
            '.' if rest.starts_with("...") => 3,
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "[](){}|<".contains(c)).unwrap_or(rest.len());
                rest[..end].find("...").unwrap_or(end)
            }
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token.to_owned());
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// Sequences separated by `|`, until the token `end`. `tokens` has the next token last.
fn alternatives(
    tokens: &mut Vec<String>,
    end: Option<&str>,
    wrap: fn(Vec<Rc<Part>>) -> Part,
) -> Result<Rc<Part>, String> {
    let mut found = Vec::new();
    let mut sequence: Vec<Rc<Part>> = Vec::new();
    loop {
        let token = tokens.pop();
        match token.as_deref() {
            token if token == end => {
                found.push(one_part(sequence)?);
                break;
            }
            None => return Err(format!("'{}' is missing", end.unwrap_or_default())),
            Some("|") => found.push(one_part(std::mem::take(&mut sequence))?),
            Some("[") => sequence.push(Rc::new(Part::Optional(alternatives(tokens, Some("]"), Part::OneOf)?))),
            Some("(") => sequence.push(alternatives(tokens, Some(")"), Part::OneOf)?),
            Some("{") => {
                let group = alternatives(tokens, Some("}"), Part::AnyOrder)?;
                // A group of one is an option.
                let single = !matches!(*group, Part::AnyOrder(_));
                sequence.push(if single { Rc::new(Part::Optional(group)) } else { group });
            }
            Some("...") => match sequence.pop() {
                Some(part) if !part.may_be_empty() => sequence.push(Rc::new(Part::Many(part))),
                _ => return Err("'...' stands after nothing that a word fits".to_owned()),
            },
            Some(token) if "])}".contains(token) => return Err(format!("'{token}' closes nothing")),
            Some(token) => sequence.push(Rc::new(leaf(token)?)),
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        2..=64 => {
            let any_order = matches!(wrap(Vec::new()), Part::AnyOrder(_));
            if any_order && found.iter().any(|part| part.may_be_empty()) {
                return Err("an alternative in '{...}' fits nothing".to_owned());
            }
            Ok(Rc::new(wrap(found)))
        }
        _ => Err("more than 64 alternatives".to_owned()),
    }
}

fn one_part(mut sequence: Vec<Rc<Part>>) -> Result<Rc<Part>, String> {
    match sequence.len() {
        0 => Err("an alternative is empty".to_owned()),
        1 => Ok(sequence.remove(0)),
        _ => Ok(Rc::new(Part::Sequence(sequence))),
    }
}

fn leaf(token: &str) -> Result<Part, String> {
    let Some(argument) = token.strip_prefix('<').and_then(|token| token.strip_suffix('>')) else {
        return Ok(Part::Token(token.to_owned()));
    };
    let (name, kind) = argument.split_once(':').unwrap_or((argument, argument));
    if name.is_empty() || kind.is_empty() {
        return Err(format!("'{token}' needs a name and a type"));
    }
    Ok(Part::Argument { name: name.to_owned(), kind: kind.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, kind: &str) -> Rc<Part> {
        Rc::new(Part::Argument { name: name.to_owned(), kind: kind.to_owned() })
    }

    fn word(text: &str) -> Rc<Part> {
        Rc::new(Part::Token(text.to_owned()))
    }

    #[test]
    fn the_notation_is_read() {
        let part = parse("ip <a:ip4>... [x|y] {p <q> | r}").unwrap();
        let expected = Part::Sequence(vec![
            word("ip"),
            Rc::new(Part::Many(argument("a", "ip4"))),
            Rc::new(Part::Optional(Rc::new(Part::OneOf(vec![word("x"), word("y")])))),
            Rc::new(Part::AnyOrder(vec![Rc::new(Part::Sequence(vec![word("p"), argument("q", "q")])), word("r")])),
        ]);
        assert_eq!(*part, expected);
    }

    #[test]
    fn mistakes_in_grammars_are_told() {
        for (text, error) in [
            ("a (b", "')' is missing"),
            ("a b]", "']' closes nothing"),
            ("a <b", "a '<' is never closed"),
            ("a <b:>", "'<b:>' needs a name and a type"),
            ("a | ", "an alternative is empty"),
            ("...", "'...' stands after nothing that a word fits"),
            ("a [b]...", "'...' stands after nothing that a word fits"),
            ("[a]", "it fits an empty line"),
            ("", "an alternative is empty"),
            ("x {a | [b]}", "an alternative in '{...}' fits nothing"),
        ] {
            assert_eq!(parse(text).unwrap_err(), error, "{text}");
        }
    }
}
