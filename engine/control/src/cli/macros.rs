//! Macros: `define NAME VALUE`, after which `$(NAME)` in a line stands for the value, as in VPP.
//!
//! Macros of one author are not seen by others. Values may refer to macros in turn (`define path \$(folder)/x`), which are looked up
//! when the value is used. `$NAME` works as well where it is defined; elsewhere it stays as it is, for passwords have dollars.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::json;

use super::words::join;
use super::{Command, CommandError, Matches, Reply};
use crate::control::Control;
use crate::transaction::Author;

/// Most macros of all authors; beyond that the oldest definition is deleted.
const MACROS_MAX: usize = 1024;
/// Macros within the values of macros.
const NESTED_MAX: usize = 8;
/// An expanded line is as long as this at most.
const LENGTH_MAX: usize = 16 * 1024;

/// The macros of all authors.
#[derive(Default)]
pub(crate) struct Macros(RefCell<Defined>);

#[derive(Default)]
struct Defined {
    by_name: BTreeMap<(Author, String), Value>,
    /// Number of definitions so far.
    count: u64,
}

struct Value {
    text: String,
    /// Its place in the order of definitions.
    since: u64,
}

impl Macros {
    fn get(&self, author: &Author, name: &str) -> Option<String> {
        let key = (author.clone(), name.to_owned());
        self.0.borrow().by_name.get(&key).map(|value| value.text.clone())
    }

    fn set(&self, author: &Author, name: String, text: String) {
        let mut defined = self.0.borrow_mut();
        let since = defined.count;
        defined.count += 1;
        defined.by_name.insert((author.clone(), name), Value { text, since });
        if defined.by_name.len() > MACROS_MAX {
            let eldest = defined.by_name.iter().min_by_key(|(_, value)| value.since).map(|(key, _)| key.clone());
            if let Some(key) = eldest {
                defined.by_name.remove(&key);
            }
        }
    }

    fn remove(&self, author: &Author, name: &str) -> bool {
        self.0.borrow_mut().by_name.remove(&(author.clone(), name.to_owned())).is_some()
    }

    /// The macros of an author, by name.
    fn of(&self, author: &Author) -> Vec<(String, String)> {
        let defined = self.0.borrow();
        let of = defined.by_name.iter().filter(|((by, _), _)| by == author);
        of.map(|((_, name), value)| (name.clone(), value.text.clone())).collect()
    }

    /// A line with values in place of an author's macros.
    pub fn expand<'l>(&self, author: &Author, line: &'l str) -> Result<Cow<'l, str>, CommandError> {
        if !line.contains('$') {
            return Ok(Cow::Borrowed(line));
        }
        let mut expanded = String::with_capacity(line.len());
        self.expand_into(&mut expanded, author, line, 0)?;
        Ok(if expanded == line { Cow::Borrowed(line) } else { Cow::Owned(expanded) })
    }

    fn expand_into(&self, out: &mut String, author: &Author, text: &str, depth: usize) -> Result<(), CommandError> {
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
            let is_escaped = before.ends_with('\\');
            out.push_str(if is_escaped { &before[..at - 1] } else { before });
            rest = behind;
            let found = if is_escaped { None } else { self.reference(author, behind)? };
            match found {
                Some((name, value, end)) => {
                    if depth == NESTED_MAX {
                        let what = format!("macro {name}: more than {NESTED_MAX} macros within each other");
                        return Err(CommandError::new(format!("{what}; does it refer to itself?")));
                    }
                    self.expand_into(out, author, &value, depth + 1)?;
                    rest = &behind[end..];
                }
                None => out.push('$'),
            }
            check_length(out)?;
        }
        out.push_str(rest);
        check_length(out)
    }

    /// The macro that a text behind a dollar refers to: its name, its value, and where the reference ends.
    fn reference<'t>(&self, author: &Author, text: &'t str) -> Result<Option<(&'t str, String, usize)>, CommandError> {
        if let Some(inside) = text.strip_prefix('(') {
            let Some((name, _)) = inside.split_once(')') else { return Ok(None) };
            let value = self.get(author, name).ok_or_else(|| {
                CommandError::new(format!("macro {name} is not defined; write `define {name} VALUE` before, or `\\$(`"))
            })?;
            return Ok(Some((name, value, name.len() + 2)));
        }
        let end = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
        let name = &text[..end];
        Ok(self.get(author, name).map(|value| (name, value, end)))
    }
}

/// Values of values may grow beyond all bounds.
fn check_length(text: &str) -> Result<(), CommandError> {
    if text.len() <= LENGTH_MAX {
        return Ok(());
    }
    Err(CommandError::new(format!("with its macros the line has more than {LENGTH_MAX} bytes")))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn register(control: &Control) {
    let commands = control.commands();
    let define = Command::new(
        "define <macro:text> <value:text>...",
        "Define a macro of yours: `$(NAME)` in a line stands for its value.",
        define,
    );
    commands.add(define.argument("macro", "letters, digits and `_`").argument("value", "the rest of the line"));
    let undefine = "Delete a macro of yours.";
    commands.add(Command::new("undefine <macro:text>", undefine, self::undefine).argument("macro", "its name"));
    let show = "Show your macros, with their values as they are used, or as they were defined.";
    commands.add(Command::new("show macro [noevaluate]", show, self::show));
}

fn define(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: String = matches.get("macro")?;
    if name.is_empty() || !name.chars().all(is_of_name) {
        let what = format!("macro '{name}': a name has letters, digits and `_` only; choose another one");
        return Err(CommandError::new(what).at(matches.place("macro")));
    }
    let value = join(&matches.all::<String>("value")?);
    control.part::<Macros>().set(control.author(), name, value);
    Ok(Reply::done())
}

fn undefine(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: String = matches.get("macro")?;
    if control.part::<Macros>().remove(control.author(), &name) {
        return Ok(Reply::done());
    }
    let what = format!("macro {name} is not defined; `show macro` shows those that are");
    Err(CommandError::new(what).at(matches.place("macro")))
}

/// In VPP's columns.
fn show(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (macros, author) = (control.part::<Macros>(), control.author());
    let (mut text, mut list) = (String::new(), vec![]);
    for (name, defined) in macros.of(author) {
        let value = match matches.has("noevaluate") {
            true => defined,
            false => match macros.expand(author, &defined) {
                Ok(value) => value.into_owned(),
                Err(error) => error.to_string(),
            },
        };
        text.push_str(&format!("{name:<20}{value}\n"));
        list.push(json!({"name": name, "value": value}));
    }
    Ok(Reply::new(text, list.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn macros(of: &Author, defined: &[(&str, &str)]) -> Macros {
        let macros = Macros::default();
        defined.iter().for_each(|(name, value)| macros.set(of, (*name).to_owned(), (*value).to_owned()));
        macros
    }

    #[test]
    fn references_stand_for_values_and_other_dollars_for_themselves() {
        let author = Author::default();
        let macros = macros(&author, &[("a", "1"), ("b", "$(a)2"), ("name_1", "x y")]);
        for (line, expanded) in [
            ("no dollar", "no dollar"),
            ("$(a)", "1"),
            ("-$(b)-$a$b.", "-12-112."),
            ("set $(name_1)", "set x y"),
            ("$aa $ $", "$aa $ $"),
            ("pa$word $1", "pa$word $1"),
            (r"\$(a) \$a \x", r"$(a) $a \x"),
            ("$(open", "$(open"),
        ] {
            assert_eq!(macros.expand(&author, line).expect(line), expanded, "{line}");
        }
        let error = macros.expand(&author, "mtu $(c)").expect_err("there is none").to_string();
        assert!(error.contains("macro c is not defined; write `define c VALUE`"), "{error}");
        let other = Author::new("somebody else");
        assert!(macros.expand(&other, "$(a)").is_err(), "macros are their author's own");
    }

    #[test]
    fn circles_and_growth_have_an_end() {
        let author = Author::default();
        let macros =
            macros(&author, &[("a", "$(b)"), ("b", "$(a)"), ("c", &"$(d)".repeat(1000)), ("d", &"x".repeat(1000))]);
        let told = |line| macros.expand(&author, line).expect_err("too much").to_string();
        assert!(told("$(a)").contains("does it refer to itself?"), "{}", told("$(a)"));
        assert!(told("$(c)").contains("more than 16384 bytes"), "{}", told("$(c)"));
        (0..2 * MACROS_MAX).for_each(|number| macros.set(&author, format!("m{number}"), "1".to_owned()));
        assert_eq!(macros.of(&author).len(), MACROS_MAX);
        assert!(
            macros.get(&author, "m0").is_none() && macros.get(&author, &format!("m{}", 2 * MACROS_MAX - 1)).is_some()
        );
    }
}
