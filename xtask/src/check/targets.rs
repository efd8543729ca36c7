//! Targets whose manifests say `test = false` or `doctest = false` have no tests: cargo would leave them out without a word.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A library or program, and what its manifest switches off.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    /// Its first source file, relative to the package.
    file: String,
    without_tests: bool,
    without_doctests: bool,
}

/// The tests of a package that cargo leaves out; a sentence for each file. `manifest` is a path below `root`.
pub fn left_out(root: &Path, manifest: &str, text: &str) -> Vec<String> {
    let package = root.join(manifest).parent().unwrap_or(root).to_owned();
    let mut problems = vec![];
    for target in targets(text) {
        for (file, found) in sources(&package.join(&target.file)) {
            let file = file.strip_prefix(root).unwrap_or(&file).display();
            if target.without_tests && found.has_tests {
                problems.push(format!("{file}: has tests that `test = false` in {manifest} leaves out; take that off"));
            }
            if target.without_doctests && found.has_doctests {
                problems.push(format!(
                    "{file}: has a doctest that `doctest = false` in {manifest} leaves out; take that off, or mark the code `text` or \
                     `ignore`"
                ));
            }
        }
    }
    problems
}

/// The library and the programs of a manifest that have something switched off.
fn targets(manifest: &str) -> Vec<Target> {
    let mut targets = vec![];
    let mut is_target = false;
    for line in manifest.lines() {
        let line: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        if line.starts_with('[') {
            is_target = line == "[lib]" || line == "[[bin]]";
            if is_target {
                let file = if line == "[lib]" { "src/lib.rs" } else { "src/main.rs" };
                targets.push(Target { file: file.to_owned(), without_tests: false, without_doctests: false });
            }
        } else if let Some(target) = targets.last_mut().filter(|_| is_target) {
            match line.split_once('=') {
                Some(("test", "false")) => target.without_tests = true,
                Some(("doctest", "false")) => target.without_doctests = true,
                Some(("path", path)) => target.file = path.trim_matches('"').to_owned(),
                _ => {}
            }
        }
    }
    targets.retain(|target| target.without_tests || target.without_doctests);
    targets
}

/// Contents of a source file.
#[derive(Default)]
struct Found {
    has_tests: bool,
    has_doctests: bool,
    /// The files of its modules: where each may be.
    modules: Vec<Vec<PathBuf>>,
}

/// A target's source files, from its first one on, and what each has. Files that are no Rust are passed over.
fn sources(first: &Path) -> Vec<(PathBuf, Found)> {
    let mut waiting = vec![first.to_owned()];
    let mut sources: Vec<(PathBuf, Found)> = vec![];
    while let Some(file) = waiting.pop() {
        let Ok(Ok(tokens)) = fs::read_to_string(&file).map(|text| text.parse::<TokenStream>()) else { continue };
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let stem = file.file_stem().unwrap_or_default();
        let is_front = file == first || stem == "mod";
        let below = if is_front { folder.clone() } else { folder.join(stem) };
        let mut found = Found::default();
        walk(tokens, &folder, &below, &mut found);
        waiting.extend(found.modules.iter().filter_map(|places| places.iter().find(|place| place.is_file())).cloned());
        sources.push((file, found));
    }
    sources
}

/// Looks through a file in `folder`, or a part of it whose modules are `below`.
fn walk(tokens: TokenStream, folder: &Path, below: &Path, found: &mut Found) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut documentation = String::new();
    // What `#[path]` says of the next module.
    let mut path = None;
    let mut at = 0;
    while at < tokens.len() {
        if let Some((attribute, next)) = attribute(&tokens, at) {
            at = next;
            match Attribute::of(attribute) {
                Attribute::Test => found.has_tests = true,
                Attribute::Path(file) => path = Some(folder.join(file)),
                Attribute::Documentation(line) => documentation.extend([line.as_str(), "\n"]),
                Attribute::DocumentationIn(file) => {
                    documentation += &fs::read_to_string(folder.join(file)).unwrap_or_default();
                }
                Attribute::Other => {}
            }
            continue;
        }
        found.has_doctests |= has_doctest(&std::mem::take(&mut documentation));
        match &tokens[at..] {
            [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                if word == "mod" && end.as_char() == ';' =>
            {
                let named = || vec![below.join(format!("{name}.rs")), below.join(format!("{name}/mod.rs"))];
                found.modules.push(path.take().map_or_else(named, |path| vec![path]));
            }
            [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] if word == "mod" => {
                walk(body.stream(), folder, &below.join(name.to_string()), found);
                at += 2;
            }
            [TokenTree::Group(group), ..] => walk(group.stream(), folder, below, found),
            _ => {}
        }
        at += 1;
    }
    found.has_doctests |= has_doctest(&documentation);
}

/// The attribute that begins at a token, and the token behind it. Doc comments are attributes here.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(&Group, usize)> {
    let is = |token: &TokenTree, wanted| matches!(token, TokenTree::Punct(mark) if mark.as_char() == wanted);
    tokens.get(at).filter(|token| is(token, '#'))?;
    let at = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|token| is(token, '!')));
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some((group, at + 1)),
        _ => None,
    }
}

/// Relevant part of an attribute.
enum Attribute {
    /// `#[test]`, of the standard library or another one.
    Test,
    /// `#[path = "FILE"]`
    Path(String),
    /// `#[doc = "..."]`
    Documentation(String),
    /// `#[doc = include_str!("FILE")]`
    DocumentationIn(String),
    Other,
}

impl Attribute {
    fn of(group: &Group) -> Attribute {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let named = |wanted: &str| matches!(tokens.first(), Some(TokenTree::Ident(word)) if word == wanted);
        let text = |token: &TokenTree| token.to_string().replace("\\n", "\n").replace('"', "");
        match tokens.get(2) {
            Some(value @ TokenTree::Literal(_)) if named("path") => Attribute::Path(text(value)),
            Some(value @ TokenTree::Literal(_)) if named("doc") => Attribute::Documentation(text(value)),
            Some(TokenTree::Ident(word)) if named("doc") && word == "include_str" => match tokens.get(4) {
                Some(TokenTree::Group(file)) => Attribute::DocumentationIn(file.stream().to_string().replace('"', "")),
                _ => Attribute::Other,
            },
            _ => {
                let is_path = |token: &&TokenTree| matches!(token, TokenTree::Ident(_) | TokenTree::Punct(_));
                let last = tokens.iter().take_while(is_path).last();
                let is_test = matches!(last, Some(TokenTree::Ident(word)) if word == "test");
                if is_test { Attribute::Test } else { Attribute::Other }
            }
        }
    }
}

/// Whether documentation has code that rustdoc compiles: a block with no word behind its fence but those for Rust.
fn has_doctest(documentation: &str) -> bool {
    let is_rust = |word: &str| {
        let is_code = |rest: Option<&str>| rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        ["", "rust", "no_run", "should_panic", "compile_fail", "test_harness", "standalone_crate"].contains(&word)
            || is_code(word.strip_prefix("edition"))
            || is_code(word.strip_prefix('E'))
    };
    let mut is_inside = false;
    documentation.lines().filter_map(|line| line.trim_start().strip_prefix("```")).any(|words| {
        is_inside = !is_inside;
        is_inside && words.split([',', ' ']).map(str::trim).all(is_rust)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package with these files, and what is said of it.
    fn said(manifest: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = root.path().join("room").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let mut said = left_out(root.path(), "room/Cargo.toml", manifest);
        said.sort();
        said
    }

    #[test]
    fn tests_that_are_left_out_are_named_in_whatever_module() {
        let files = [
            ("src/lib.rs", "mod a;\n#[path = \"other/b.rs\"]\nmod b;\nmod inline { mod c; }\n#[cfg(test)] mod tests;"),
            ("src/a.rs", "mod deep;"),
            ("src/a/deep.rs", "fn f() {}\nmod tests { #[test] fn g() {} }"),
            ("src/other/b.rs", "macro! { #[tokio::test(start_paused = true)] async fn g() {} }"),
            ("src/inline/c/mod.rs", "#[cfg(test)] fn f() {}"),
            ("src/tests.rs", "#[test]\n#[should_panic]\nfn f() {}"),
            ("src/main.rs", "#[test] fn of_the_program() {}"),
        ];
        let sentence = |file: &str| {
            format!("room/{file}: has tests that `test = false` in room/Cargo.toml leaves out; take that off")
        };
        assert_eq!(
            said("[package]\n[lib]\ntest = false # none\n[dependencies]\n", &files),
            ["src/a/deep.rs", "src/other/b.rs", "src/tests.rs"].map(sentence)
        );
        assert_eq!(
            said("[[bin]]\nname = \"room\"\npath = \"src/main.rs\"\ntest = false\n", &files),
            [sentence("src/main.rs")]
        );
        for manifest in ["[package]\n", "[lib]\ndoctest = false\n", "[lib]\n[[test]]\ntest = false\n"] {
            assert_eq!(said(manifest, &files), [""; 0], "{manifest}");
        }
    }

    #[test]
    fn doctests_that_are_left_out_are_named() {
        let found = |source: &str| {
            let files = [("src/lib.rs", source), ("README.md", "# A page\n```\nf();\n```\n")];
            !said("[lib]\ndoctest = false\n", &files).is_empty()
        };
        for source in [
            "//! ```\n//! f();\n//! ```",
            "//! ```text\n//! no code\n//! ```\n//! then\n//! ```rust,no_run\n//! f();\n//! ```",
            "mod a { /// ```should_panic\n /// f();\n /// ```\n fn g() {} }",
            "/** Does it.\n```\nf();\n```\n*/\nfn f() {}",
            "#![doc = include_str!(\"../README.md\")]",
        ] {
            assert!(found(source), "{source}");
        }
        for source in [
            "//! ```text\n//! f();\n//! ```",
            "/// ```ignore\n/// f();\n/// ```\nfn f() {}",
            "/// ```yaml\n/// a: b\n/// ```\n///\n/// `f`\nfn f() {}",
            "// ```\n// f();\n// ```\nfn f() {}",
            "const TEXT: &str = \"```\";",
        ] {
            assert!(!found(source), "{source}");
        }
    }
}
