//! Messages of VPP's API that no test names: one counts as implemented where a test changes or reads real state by it, and
//! whether it does that is for people to judge.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Roles of messages that are sent on their own; replies and details come with them.
const ASKED: [&str; 5] = ["request", "dump", "stream", "event", "bare"];

/// The messages that sources define, and the words of tests.
#[derive(Default)]
pub struct Messages {
    /// The file that defines a message, by its type.
    defined: BTreeMap<String, String>,
    tested: BTreeSet<String>,
}

impl Messages {
    /// Takes in a source file, whose path is relative to the workspace. What is no Rust is passed over.
    pub fn examine(&mut self, file: &str, source: &str) {
        let Ok(tokens) = source.parse() else { return };
        let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
        self.walk(file, is_test, tokens);
    }

    /// Messages that no test names, neither by type nor by VPP's name; a sentence each.
    pub fn untested(&self) -> impl Iterator<Item = String> {
        let untested = self.defined.iter().filter(|(message, _)| !self.tested.contains(&plain(message)));
        untested
            .map(|(message, file)| format!("{file}: no test names {message}; write one that asks it, or take it out"))
    }

    fn walk(&mut self, file: &str, is_test: bool, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if is_test => drop(self.tested.insert(plain(&word.to_string()))),
                TokenTree::Literal(text) if is_test => {
                    let text = text.to_string();
                    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                    self.tested.extend(words.map(plain));
                }
                TokenTree::Group(group) if !is_test && is_asked(group) => {
                    let word = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "struct");
                    let name = tokens[at..].iter().skip_while(|token| !word(token)).nth(1);
                    let name = name.map(TokenTree::to_string).filter(|name| !name.ends_with("Reply"));
                    self.defined.extend(name.map(|name| (name, file.to_owned())));
                }
                TokenTree::Group(group) => {
                    let names = at.checked_sub(1).map(|before| tokens[before].to_string());
                    self.walk(file, is_test || names.as_deref() == Some("tests"), group.stream());
                }
                _ => {}
            }
        }
    }
}

/// `ShowVersion` and `show_version` are one message.
fn plain(word: &str) -> String {
    word.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether this is `[message(request ...)]` of such a kind.
fn is_asked(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    let (Some(TokenTree::Ident(word)), Some(TokenTree::Group(kind))) = (tokens.next(), tokens.next()) else {
        return false;
    };
    let asked = |kind: Group| match kind.stream().into_iter().next() {
        Some(TokenTree::Ident(kind)) => ASKED.iter().any(|asked| kind == asked),
        _ => false,
    };
    group.delimiter() == Delimiter::Bracket && word == "message" && asked(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_without_a_test_are_named() {
        let mut messages = Messages::default();
        let source = "#[derive(Message)] #[message(request)] #[doc = \"x\"] pub struct Asked { x: u8 }
            #[message(dump, details = Told)] struct Lonely;
            #[message(details)] struct Told;
            #[message(event)] struct Heard;
            #[message(bare)] struct ByText;
            mod tests { fn f() { g(Heard); } }";
        messages.examine("room/src/api.rs", source);
        messages.examine(
            "room/src/api/tests.rs",
            "fn f() { caller.request(&Asked { x: 1 }, \"by_text_5678\", \"by_text\"); }",
        );
        messages.examine("room/tests/own.rs", "#[message(request)] struct OfTheTest;");
        let untested: Vec<_> = messages.untested().collect();
        assert_eq!(untested, ["room/src/api.rs: no test names Lonely; write one that asks it, or take it out"]);
    }
}
