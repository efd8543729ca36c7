//! Hides secrets in messages before they are remembered: traces are kept, shown and sent to others.

use std::ops::Range;

use crate::api::Api;
use crate::definition::{Definition, Shape};

/// Bytes of a message's number, which stands before its fields.
const NUMBER: usize = 2;
/// Behind this word secrets stand in commands and in configurations, which messages may carry as text.
const WORD: &[u8] = b"secret";

/// A message without its secrets; None if it has none.
pub(super) fn hidden(api: &Api, message: &[u8]) -> Option<Vec<u8>> {
    let id = u16::from_be_bytes(*message.first_chunk()?);
    let definition = api.definition(id)?;
    let mut found = fields(definition);
    if definition.fields.iter().any(|field| field.of.name == "string" && field.shape == Shape::Array(0)) {
        found.extend(words(message));
    }
    if found.is_empty() {
        return None;
    }
    let mut message = message.to_vec();
    for range in found {
        let end = range.end.min(message.len());
        // Empty fields stay empty, and show that there was no secret.
        message[range.start.min(end)..end].iter_mut().filter(|byte| **byte != 0).for_each(|byte| *byte = b'*');
    }
    Some(message)
}

/// Where secret fields are; before them no field's length varies.
fn fields(definition: &Definition) -> Vec<Range<usize>> {
    let (mut at, mut found) = (NUMBER, vec![]);
    for field in &definition.fields {
        let end = at + field.size();
        if definition.secrets.contains(&field.name.as_str()) {
            found.push(at..end);
        }
        at = end;
    }
    found
}

/// Where words stand behind `secret` or `secret:`.
fn words(message: &[u8]) -> Vec<Range<usize>> {
    let starts = message.windows(WORD.len()).enumerate().filter(|(_, window)| *window == WORD);
    let word = |(start, _)| {
        let rest = &message[start + WORD.len()..];
        let gap = rest.iter().take_while(|byte| matches!(byte, b':' | b'"' | b' ' | b'\t')).count();
        let length = rest[gap..].iter().take_while(|byte| !byte.is_ascii_whitespace() && **byte != 0).count();
        (gap > 0).then(|| start + WORD.len() + gap..start + WORD.len() + gap + length)
    };
    starts.filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_behind_the_word_are_found() {
        let hide = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            words(text.as_bytes()).into_iter().for_each(|range| bytes[range].fill(b'*'));
            String::from_utf8(bytes).expect("text")
        };
        assert_eq!(
            hide("create interface memif id 0 secret abc master"),
            "create interface memif id 0 secret *** master"
        );
        assert_eq!(hide("    secret: abc\n    role: master\n"), "    secret: ***\n    role: master\n");
        assert_eq!(hide("{\"secret\":\"abc\"}"), "{\"secret\":\"*****");
        assert_eq!(hide("secretary secret"), "secretary secret");
    }
}
