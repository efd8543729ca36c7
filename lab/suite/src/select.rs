//! Tag expressions: which cases are meant.
//!
//! They mean what Robot Framework's mean, which CSIT selects tests by: `AND` (or `&`) binds closest, then `OR`, then `NOT`:
//! what stands before a `NOT` has to match, and nothing behind one may. Tags are compared without regard to case and
//! underscores; `*`, `?` and `[...]` stand for letters. Unlike there, operators are words of their own, so that a tag
//! may contain one (`IP4FORWARD` is not `IP4F OR WARD`); what is missing beside an operator is an error; `AND NOT` is
//! what it says; and there are parentheses.

use std::fmt;
use std::ops::Range;

use glob::Pattern;

use crate::Case;

/// Deeper expressions are a mistake.
const DEPTH_MAX: usize = 64;

/// A tag expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    root: Term,
}

/// An error in an expression, with its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {what}; {remedy}", place.start + 1)]
pub struct SelectionError {
    /// The bytes of the expression that are wrong; behind its end, if something is missing there.
    pub place: Range<usize>,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub remedy: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Tag { written: String, pattern: Pattern },
    All(Vec<Term>),
    Any(Vec<Term>),
    Not(Box<Term>),
}

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Token<'text> {
    And,
    Or,
    Not,
    Open,
    Close,
    Tag(&'text str),
}

impl Selection {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        let mut parser = Parser { text, tokens: tokens(text).peekable(), depth: 0 };
        let root = parser.expression()?;
        match parser.tokens.next() {
            None => Ok(Selection { root }),
            Some((Token::Close, place)) => Err(error(&place, "nothing was opened here", "leave the ')' out")),
            Some((_, place)) => {
                let what = format!("no operator before '{}'", &text[place.clone()]);
                Err(error(&place, what, "join tags by AND, OR or NOT, in capitals"))
            }
        }
    }

    /// Whether a case is meant.
    pub fn matches(&self, case: &Case) -> bool {
        self.matches_tags(&case.tags())
    }

    /// Whether something with these tags is meant.
    pub fn matches_tags<T: AsRef<str>>(&self, tags: &[T]) -> bool {
        let tags: Vec<_> = tags.iter().map(|tag| plain(tag.as_ref())).collect();
        self.root.matches(&tags)
    }
}

impl Term {
    fn matches(&self, tags: &[String]) -> bool {
        match self {
            Term::Tag { pattern, .. } => tags.iter().any(|tag| pattern.matches(tag)),
            Term::All(terms) => terms.iter().all(|term| term.matches(tags)),
            Term::Any(terms) => terms.iter().any(|term| term.matches(tags)),
            Term::Not(term) => !term.matches(tags),
        }
    }
}

/// A tag in the form in which tags are compared.
fn plain(tag: &str) -> String {
    tag.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

fn error(place: &Range<usize>, what: impl Into<String>, remedy: &'static str) -> SelectionError {
    SelectionError { place: place.clone(), what: what.into(), remedy }
}

/// The words of an expression, and their places.
fn tokens(text: &str) -> impl Iterator<Item = (Token<'_>, Range<usize>)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        start += text[start..].find(|letter: char| !letter.is_whitespace())?;
        let is_end = |letter: char| letter.is_whitespace() || "()&".contains(letter);
        // Each of these is a word, with or without space around it.
        let length = text[start..].find(is_end).unwrap_or(text.len() - start).max(1);
        let place = start..start + length;
        start = place.end;
        let token = match &text[place.clone()] {
            "(" => Token::Open,
            ")" => Token::Close,
            "&" | "AND" => Token::And,
            "OR" => Token::Or,
            "NOT" => Token::Not,
            tag => Token::Tag(tag),
        };
        Some((token, place))
    })
}

struct Parser<'text, I: Iterator> {
    text: &'text str,
    tokens: std::iter::Peekable<I>,
    depth: usize,
}

impl<'text, I: Iterator<Item = (Token<'text>, Range<usize>)>> Parser<'text, I> {
    /// Alternatives, and behind each `NOT` what may not match. What stands before the first `NOT` may be missing.
    fn expression(&mut self) -> Result<Term, SelectionError> {
        let mut terms = Vec::new();
        if !self.is_next(&Token::Not) {
            terms.push(self.alternatives()?);
        }
        while self.take(&Token::Not) {
            terms.push(Term::Not(Box::new(self.alternatives()?)));
        }
        Ok(one_or(terms, Term::All))
    }

    fn alternatives(&mut self) -> Result<Term, SelectionError> {
        let mut terms = vec![self.conjunction()?];
        while self.take(&Token::Or) {
            terms.push(self.conjunction()?);
        }
        Ok(one_or(terms, Term::Any))
    }

    fn conjunction(&mut self) -> Result<Term, SelectionError> {
        let mut terms = vec![self.term()?];
        while self.take(&Token::And) {
            let is_not = self.take(&Token::Not);
            let term = self.term()?;
            terms.push(if is_not { Term::Not(Box::new(term)) } else { term });
        }
        Ok(one_or(terms, Term::All))
    }

    fn term(&mut self) -> Result<Term, SelectionError> {
        let end = self.text.len();
        match self.tokens.next() {
            Some((Token::Tag(written), place)) => {
                let pattern = Pattern::new(&plain(written)).map_err(|problem| {
                    let what = format!("'{written}' is no pattern: {}", problem.msg);
                    error(&place, what, "a pattern has letters, '*', '?' and '[...]'")
                })?;
                Ok(Term::Tag { written: written.to_owned(), pattern })
            }
            Some((Token::Open, place)) => {
                if self.depth == DEPTH_MAX {
                    return Err(error(&place, "too many parentheses within each other", "say it with fewer"));
                }
                self.depth += 1;
                let inner = self.expression()?;
                self.depth -= 1;
                match self.tokens.next() {
                    Some((Token::Close, _)) => Ok(inner),
                    Some((_, other)) => {
                        let what = format!("no operator before '{}'", &self.text[other.clone()]);
                        Err(error(&other, what, "join tags by AND, OR or NOT, in capitals"))
                    }
                    None => Err(error(&place, "this is not closed", "write ')' behind what belongs together")),
                }
            }
            Some((_, place)) => {
                let what = format!("no tag before '{}'", &self.text[place.clone()]);
                Err(error(&place, what, "write a tag, such as 64b or ndrpdr"))
            }
            None => Err(error(&(end..end), "a tag is missing", "write a tag, such as 64b or ndrpdr")),
        }
    }

    fn is_next(&mut self, token: &Token<'_>) -> bool {
        self.tokens.peek().is_some_and(|(next, _)| next == token)
    }

    fn take(&mut self, token: &Token<'_>) -> bool {
        self.tokens.next_if(|(next, _)| next == token).is_some()
    }
}

/// The only term, or all of them joined.
fn one_or(mut terms: Vec<Term>, join: fn(Vec<Term>) -> Term) -> Term {
    match terms.len() {
        1 => terms.remove(0),
        _ => join(terms),
    }
}

/// Formats an equivalent expression with all parentheses.
impl fmt::Display for Selection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(out)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (terms, operator) = match self {
            Term::Tag { written, .. } => return out.write_str(written),
            Term::Not(term) => return write!(out, "(NOT {term})"),
            Term::All(terms) => (terms, "AND"),
            Term::Any(terms) => (terms, "OR"),
        };
        for (number, term) in terms.iter().enumerate() {
            match number {
                0 => write!(out, "({term}")?,
                _ => write!(out, " {operator} {term}")?,
            }
        }
        out.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAGS: [&str; 6] = ["IP4_ROUTING", "64B", "1C", "NDRPDR", "FIB_2M", "ethip4-ip4scale2m"];

    fn matches(text: &str) -> bool {
        Selection::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).matches_tags(&TAGS)
    }

    #[test]
    fn expressions_mean_what_robots_do() {
        for text in [
            "ip4_routing AND 64b AND 1c AND ndrpdr",
            "IP4ROUTING & 64b&1c",
            "_i_p4routing",
            "fib_* AND ethip4-*",
            "?c AND [16]4b",
            "none OR 64b AND 1c",
            "64b NOT none",
            "64b NOT none NOT mrr OR soak",
            "NOT none AND 64b",
            "64b AND NOT mrr",
            "(mrr OR ndrpdr) AND (64b OR imix)",
            "64b AND (NOT mrr)",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in [
            "ip4_routing AND 64b AND 2c",
            "mrr",
            "64",
            // What stands behind NOT reaches to the next one: (64b or 1c) and neither none nor 1c.
            "64b OR 1c NOT none OR 1c",
            "NOT 64b",
            "NOT none OR 64b",
            "(mrr OR ndrpdr) AND imix",
        ] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        for (text, said) in [
            ("", "column 1: a tag is missing; write a tag, such as 64b or ndrpdr"),
            ("64b AND", "column 8: a tag is missing; write a tag, such as 64b or ndrpdr"),
            ("64b and 1c", "column 5: no operator before 'and'; join tags by AND, OR or NOT, in capitals"),
            ("64b OR OR 1c", "column 8: no tag before 'OR'; write a tag, such as 64b or ndrpdr"),
            ("(64b OR 1c", "column 1: this is not closed; write ')' behind what belongs together"),
            ("64b)", "column 4: nothing was opened here; leave the ')' out"),
            (
                "1c AND [6",
                "column 8: '[6' is no pattern: invalid range pattern; a pattern has letters, '*', '?' and '[...]'",
            ),
        ] {
            assert_eq!(Selection::parse(text).unwrap_err().to_string(), said, "{text}");
        }
        let deep = format!("{}64b{}", "(".repeat(100), ")".repeat(100));
        assert!(Selection::parse(&deep).unwrap_err().what.contains("too many"));
    }
}
