//! Rules of MAC-IP lists in VPP's words: `permit ip 10.0.0.0/8 mac 02:00:00:00:00:01 mask ff:ff:ff:ff:ff:ff, deny`.

use quiver_control::object::Scalar;
use quiver_wire::MacAddress;

use super::rule::{Action, MacipRule};
use crate::prefix::AnyPrefix;
use crate::text::{TextError, separated, value};

/// The rules that words say, with commas between them.
///
/// # Errors
/// Names the word that cannot be there.
pub fn rules(words: &[String]) -> Result<Vec<MacipRule>, TextError> {
    let mut words = separated(words);
    let mut rules = vec![];
    while let Some(word) = words.next() {
        let action = Action::parse(word)
            .map_err(|_| TextError::Unknown { found: word.to_owned(), expected: "permit or deny" })?;
        let mut rule = MacipRule { action, source: None, mac: MacAddress::ZERO, mac_mask: MacAddress::ZERO };
        loop {
            match words.next() {
                None | Some(",") => break,
                // As VPP: all that a rule names is the source's.
                Some("src") => {}
                Some("ip") => rule.source = Some(value("ip", &mut words)?),
                Some("mac") => (rule.mac, rule.mac_mask) = (value("mac", &mut words)?, MacAddress::BROADCAST),
                Some("mask") => rule.mac_mask = value("mask", &mut words)?,
                Some(found) => {
                    let expected = "ip, mac, mask or a comma";
                    return Err(TextError::Unknown { found: found.to_owned(), expected });
                }
            }
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// A rule in the same words.
pub fn write(rule: &MacipRule) -> String {
    let source = rule.source.map(|prefix: AnyPrefix| format!(" ip {prefix}")).unwrap_or_default();
    let mac = match rule.mac_mask {
        MacAddress::ZERO => String::new(),
        mask => format!(" mac {} mask {mask}", rule.mac),
    };
    format!("{}{source}{mac}", rule.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<MacipRule>, TextError> {
        rules(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        let all = "permit ip 10.0.0.0/8 mac 02:00:00:00:00:01 mask ff:ff:ff:00:00:00, deny ip 2001:db8::/32, deny";
        let read_back = read(all).expect("three").iter().map(write).collect::<Vec<_>>().join(", ");
        assert_eq!(read_back, all);
        let exact = read("permit src mac 02:00:00:00:00:01").expect("one");
        assert_eq!(exact[0].mac_mask, MacAddress::BROADCAST);
    }

    #[test]
    fn mistakes_are_told() {
        for (text, error) in [
            ("allow", "`allow` cannot stand here; expected permit or deny"),
            ("permit dport 7", "`dport` cannot stand here; expected ip, mac, mask or a comma"),
            ("permit mac", "the words end behind `mac`; give its value"),
            ("permit ip 10.0.0.0", "ip 10.0.0.0: expected a prefix"),
        ] {
            let found = read(text).expect_err(text).to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
    }
}
