//! Imports between the files of a crate: a file that another one needs must not need that one, in any number of steps. `mod` is no
//! import, and neither is what a file hands on with `pub use`: such a name leads to the file that defines it. Tests do not count.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path: no names for the crate's root.
type Module = Vec<String>;

/// Names that a file uses of its own crate.
#[derive(Default, Debug)]
struct Names {
    /// Paths that it uses, from the crate's root on.
    used: BTreeSet<Module>,
    /// Names that it hands on, and the paths that they stand for.
    handed_on: BTreeMap<String, Module>,
}

/// The files of a crate by module.
#[derive(Default)]
pub struct Crate {
    files: BTreeMap<Module, (String, Names)>,
}

/// The module of a file below `src`; none of a program beside the library.
fn module_of(below_src: &Path) -> Option<Module> {
    let mut parts: Module = below_src.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let last = parts.pop()?;
    let name = last.strip_suffix(".rs")?;
    if parts.first().is_some_and(|first| first == "bin") {
        return None;
    }
    if !(matches!(name, "lib" | "main") && parts.is_empty() || name == "mod") {
        parts.push(name.to_owned());
    }
    Some(parts)
}

impl Crate {
    /// Looks through a file, whose name is relative to the workspace and whose path is below the crate's `src`.
    pub fn examine(&mut self, name: &str, below_src: &Path, source: &str) {
        let Ok(tokens) = source.parse::<TokenStream>() else { return };
        let Some(module) = module_of(below_src) else { return };
        // Of two roots the library counts.
        if below_src == Path::new("main.rs") && self.files.contains_key(&module) {
            return;
        }
        let mut names = Names::default();
        look(&module, tokens, &mut names);
        self.files.insert(module, (name.to_owned(), names));
    }
    /// The file in which a path of the crate is defined.
    fn file_of(&self, path: &[String], steps: usize) -> Option<&Module> {
        let deepest = (0..=path.len()).rev().find(|len| self.files.contains_key(&path[..*len]))?;
        let (module, (_, names)) = self.files.get_key_value(&path[..deepest])?;
        let steps = steps.checked_sub(1)?;
        match path.get(deepest) {
            None => Some(module),
            Some(name) => match names.handed_on.get(name) {
                Some(to) => self.file_of(&[to, &path[deepest + 1..]].concat(), steps).or(Some(module)),
                None => Some(module),
            },
        }
    }
    /// The circles of imports, each as its files in their order.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let edges: BTreeMap<&Module, BTreeSet<&Module>> = self
            .files
            .iter()
            .map(|(module, (_, names))| {
                let to = names.used.iter().filter_map(|path| self.file_of(path, 8));
                (module, to.filter(|to| *to != module).collect())
            })
            .collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            edges.keys().map(|module| (*module, reach(module, &edges))).collect();
        let (mut cycles, mut known) = (vec![], BTreeSet::<&Module>::new());
        for module in edges.keys().filter(|module| reached[*module].contains(**module)) {
            if known.contains(*module) {
                continue;
            }
            let circle =
                edges.keys().filter(|other| reached[*module].contains(**other) && reached[*other].contains(*module));
            known.extend(circle.copied());
            cycles.push(shortest(module, &edges).iter().map(|module| &*self.files[*module].0).collect());
        }
        cycles
    }
}

/// The modules that a module needs, in any number of steps.
fn reach<'m>(from: &'m Module, edges: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> BTreeSet<&'m Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(edges[at].iter().copied().filter(|to| seen.insert(*to)));
    }
    seen
}

/// The shortest way from a module back to itself.
fn shortest<'m>(module: &'m Module, edges: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> Vec<&'m Module> {
    let (mut ways, mut seen) = (vec![vec![module]], BTreeSet::new());
    loop {
        let mut longer = vec![];
        for way in &ways {
            for to in &edges[way[way.len() - 1]] {
                if *to == module {
                    return way.clone();
                }
                if seen.insert(*to) {
                    longer.push([&way[..], &[*to]].concat());
                }
            }
        }
        if longer.is_empty() {
            return vec![module];
        }
        ways = longer;
    }
}

/// Notes what tokens of a module name.
fn look(module: &[String], tokens: TokenStream, names: &mut Names) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, word: &str| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == word);
    let mut at = 0;
    while at < tokens.len() {
        // What is compiled for tests only.
        if is_test(&tokens, at) {
            at += 2;
            while at < tokens.len()
                && !matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
            {
                if matches!(&tokens[at], TokenTree::Punct(mark) if mark.as_char() == ';') {
                    break;
                }
                at += 1;
            }
            at += 1;
            continue;
        }
        if is(at, "use") {
            let public = (at.saturating_sub(2)..at).any(|before| is(before, "pub"));
            let end =
                (at..tokens.len()).find(|end| matches!(&tokens[*end], TokenTree::Punct(mark) if mark.as_char() == ';'));
            let end = end.unwrap_or(tokens.len());
            let mut found = vec![];
            tree(&tokens[at + 1..end], &[], &mut found);
            for (path, name) in found {
                let Some(path) = absolute(module, &path) else { continue };
                match public {
                    true => drop(names.handed_on.insert(name, path)),
                    false => drop(names.used.insert(path)),
                }
            }
            at = end + 1;
            continue;
        }
        if ["crate", "super", "self"].iter().any(|root| is(at, root)) {
            let mut path = vec![];
            let mut end = at;
            while let Some(TokenTree::Ident(ident)) = tokens.get(end) {
                path.push(ident.to_string());
                let colon = |at| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
                if !(colon(end + 1) && colon(end + 2)) {
                    break;
                }
                end += 3;
            }
            if path.len() > 1 {
                names.used.extend(absolute(module, &path));
                at = end + 1;
                continue;
            }
        }
        if let TokenTree::Group(group) = &tokens[at] {
            look(module, group.stream(), names);
        }
        at += 1;
    }
}

/// Whether an attribute `#[cfg(test)]` or `#[cfg(all(test, ...))]` stands at a place.
fn is_test(tokens: &[TokenTree], at: usize) -> bool {
    let mark = matches!(&tokens[at], TokenTree::Punct(mark) if mark.as_char() == '#');
    let Some(TokenTree::Group(group)) = tokens.get(at + 1).filter(|_| mark) else { return false };
    let attribute: String = group.stream().to_string().split_whitespace().collect();
    attribute == "cfg(test)" || attribute.starts_with("cfg(all(test,")
}

/// The paths of a `use`, with the names that they get.
fn tree(tokens: &[TokenTree], before: &[String], found: &mut Vec<(Module, String)>) {
    let mut path = before.to_vec();
    let mut name = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "as" => {
                name = tokens.get(at + 1).map(ToString::to_string);
                at += 1;
            }
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == '*' => {
                found.push((path, "*".to_owned()));
                return;
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')) {
                    if !part.is_empty() {
                        tree(part, &path, found);
                    }
                }
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    let last = path.last().cloned().unwrap_or_default();
    found.push((path, name.unwrap_or(last)));
}

/// A path from the crate's root on; none of another crate's.
fn absolute(module: &[String], path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let mut at = module.to_vec();
            at.pop()?;
            let mut rest = rest;
            while let Some(("super", more)) = rest.split_first().map(|(first, more)| (first.as_str(), more)) {
                at.pop()?;
                rest = more;
            }
            Some([&at[..], rest].concat())
        }
        // A child of this module, or another crate.
        _ => Some([module, path].concat()),
    }
}

/// The folder of a crate's sources in which a file lies, and the file's path below it.
pub fn place(name: &str) -> Option<(PathBuf, PathBuf)> {
    let (folder, below) = name.split_once("/src/")?;
    Some((PathBuf::from(folder), PathBuf::from(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let mut of_crate = Crate::default();
        for (name, source) in files {
            of_crate.examine(name, Path::new(name), source);
        }
        of_crate.cycles().iter().map(|circle| circle.join(" -> ")).collect()
    }

    #[test]
    fn a_circle_is_found_by_imports_and_by_paths_in_code() {
        let two = [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::g() }")];
        assert_eq!(cycles(&two), ["a.rs -> b.rs"]);
        let three = [("a/mod.rs", "use self::b::{B, c::C};"), ("a/b/mod.rs", ""), ("a/b/c.rs", "use super::super::A;")];
        assert_eq!(cycles(&three), ["a/mod.rs -> a/b/c.rs"]);
        assert_eq!(cycles(&[("a.rs", "use crate::b::B;"), ("b.rs", "use std::a::A; struct B;")]), [""; 0]);
    }

    #[test]
    fn names_that_are_handed_on_lead_to_the_file_that_defines_them_and_tests_count_for_nothing() {
        let root = ("lib.rs", "mod a; mod b; pub use a::A; pub(crate) use b::B as C;");
        assert_eq!(cycles(&[root, ("a.rs", "use crate::C;"), ("b.rs", "")]), [""; 0]);
        assert_eq!(cycles(&[root, ("a.rs", "use crate::C;"), ("b.rs", "use crate::A;")]), ["a.rs -> b.rs"]);
        let test = "#[cfg(test)] mod tests { use crate::A; } #[cfg(test)] use crate::A;";
        assert_eq!(cycles(&[root, ("a.rs", "use crate::C;"), ("b.rs", test)]), [""; 0]);
        let test = "#[cfg(all(test, not(loom)))] mod tests { use crate::A; }";
        assert_eq!(cycles(&[root, ("a.rs", "use crate::C;"), ("b.rs", test)]), [""; 0]);
        let not_only_a_test = "#[cfg(any(test, loom))] mod tests { use crate::A; }";
        assert_eq!(cycles(&[root, ("a.rs", "use crate::C;"), ("b.rs", not_only_a_test)]), ["a.rs -> b.rs"]);
    }
}
