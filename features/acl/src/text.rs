//! Rules in VPP's words: `permit src 10.0.0.0/8 proto 17 dport 53, deny`.

use quiver_control::object::Scalar;

use crate::range::Range;
use crate::rule::{Action, Rule};

/// Why words are no rules.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A word that cannot stand there.
    #[error("`{found}` cannot stand here; expected {expected}")]
    Unknown {
        /// The word.
        found: String,
        /// The expected words.
        expected: &'static str,
    },
    /// A value is missing.
    #[error("the words end behind `{0}`; give its value")]
    Ends(String),
    /// A value that a field cannot have.
    #[error("{field} {value}: expected {expected}")]
    Value {
        /// The field.
        field: String,
        /// The value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
}

/// The words of rules. A comma ends a rule, whether or not there is a blank before it.
pub(crate) fn separated(words: &[String]) -> impl Iterator<Item = &str> {
    let parted =
        words.iter().flat_map(|word| word.split_inclusive(',')).flat_map(|word| match word.strip_suffix(',') {
            Some(rest) => [Some(rest), Some(",")],
            None => [Some(word), None],
        });
    parted.flatten().filter(|word| !word.is_empty())
}

/// The rules that words say, with commas between them.
pub fn rules(words: &[String]) -> Result<Vec<Rule>, TextError> {
    let mut words = separated(words);
    let mut rules = vec![];
    while let Some(word) = words.next() {
        let action = Action::parse(word)
            .map_err(|_| TextError::Unknown { found: word.to_owned(), expected: Action::EXPECTED })?;
        let mut rule = EMPTY;
        rule.action = action;
        loop {
            match words.next() {
                None | Some(",") => break,
                Some(field) => read(&mut rule, field, &mut words)?,
            }
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// Meets everything.
pub(crate) const EMPTY: Rule = Rule {
    action: Action::Permit,
    source: None,
    destination: None,
    protocol: None,
    source_ports: Range::ALL,
    destination_ports: Range::ALL,
    tcp_mask: 0,
    tcp_flags: 0,
};

fn read<'w>(rule: &mut Rule, field: &str, words: &mut impl Iterator<Item = &'w str>) -> Result<(), TextError> {
    match field {
        "src" => rule.source = Some(value(field, words)?),
        "dst" => rule.destination = Some(value(field, words)?),
        "proto" => rule.protocol = Some(value::<u8>(field, words)?).filter(|protocol| *protocol != 0),
        "sport" => rule.source_ports = value(field, words)?,
        "dport" => rule.destination_ports = value(field, words)?,
        "tcpflags" => (rule.tcp_flags, rule.tcp_mask) = (value(field, words)?, value(field, words)?),
        found => {
            let expected = "src, dst, proto, sport, dport, tcpflags or a comma";
            return Err(TextError::Unknown { found: found.to_owned(), expected });
        }
    }
    Ok(())
}

/// The value of a field: the next word.
pub(crate) fn value<'w, T: Scalar>(field: &str, words: &mut impl Iterator<Item = &'w str>) -> Result<T, TextError> {
    let word = words.next().filter(|word| *word != ",").ok_or_else(|| TextError::Ends(field.to_owned()))?;
    let wrong = |_| TextError::Value { field: field.to_owned(), value: word.to_owned(), expected: T::EXPECTED };
    T::parse(word).map_err(wrong)
}

/// A rule in the same words.
pub fn write(rule: &Rule) -> String {
    let mut text = rule.action.to_string();
    let mut add = |field: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!(" {field} {value}"));
        }
    };
    add("src", rule.source.map(|prefix| prefix.to_string()));
    add("dst", rule.destination.map(|prefix| prefix.to_string()));
    add("proto", rule.protocol.map(|protocol| protocol.to_string()));
    add("sport", Some(rule.source_ports).filter(|ports| *ports != Range::ALL).map(|ports| ports.to_string()));
    add("dport", Some(rule.destination_ports).filter(|ports| *ports != Range::ALL).map(|ports| ports.to_string()));
    add("tcpflags", (rule.tcp_mask != 0).then(|| format!("{} {}", rule.tcp_flags, rule.tcp_mask)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Rule>, TextError> {
        rules(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        let all = "permit src 10.0.0.0/8 dst 10.1.0.0/16 proto 17 sport 1-9 dport 53, deny proto 6 tcpflags 2 18, permit+reflect dst ::/0, permit";
        let rules = read(all).expect("three");
        assert_eq!(rules.iter().map(write).collect::<Vec<_>>().join(", "), all);
        assert_eq!(read("permit , deny").expect("two"), read("permit,deny").expect("two"));
        assert_eq!(read("permit proto 0").expect("one"), [EMPTY]);
        assert_eq!(read("").expect("none"), []);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, error) in [
            ("allow", "`allow` cannot stand here; expected permit, permit+reflect or deny"),
            ("permit source", "`source` cannot stand here; expected src, "),
            ("permit src", "the words end behind `src`; give its value"),
            ("permit src, deny", "the words end behind `src`; give its value"),
            ("permit src 10.0.0.0", "src 10.0.0.0: expected a prefix"),
            ("permit proto 256", "proto 256: expected a number"),
            ("permit sport 9-1", "sport 9-1: expected a number"),
            ("permit tcpflags 1", "the words end behind `tcpflags`; give its value"),
        ] {
            let found = read(text).expect_err(text).to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
