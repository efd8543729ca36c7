//! Uses of unsafe code, which only audited files may have, found by tokens as the compiler sees them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Findings in a file.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Findings {
    /// The file uses the keyword, or allows the lint that denies it.
    pub uses_unsafe: bool,
    /// Files that it includes as source under other names: the check would miss them.
    pub hidden: Vec<String>,
}

/// Looks through a file's tokens; comments and texts are none. Macros are looked through, too. The error says where the
/// text is no Rust.
pub fn examine(source: &str) -> Result<Findings, String> {
    let tokens: TokenStream = source.parse().map_err(|error: proc_macro2::LexError| error.to_string())?;
    let mut findings = Findings::default();
    walk(tokens, &mut findings);
    Ok(findings)
}

fn walk(tokens: TokenStream, findings: &mut Findings) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "unsafe" => findings.uses_unsafe = true,
            TokenTree::Ident(word) if word == "include" || word == "path" => {
                // `include!("...")` and `#[path = "..."]`.
                let taken = match (tokens.get(at + 1), tokens.get(at + 2)) {
                    (Some(TokenTree::Punct(mark)), Some(TokenTree::Group(group))) if mark.as_char() == '!' => {
                        Some(group.stream().to_string())
                    }
                    (Some(TokenTree::Punct(mark)), Some(TokenTree::Literal(file))) if mark.as_char() == '=' => {
                        Some(file.to_string())
                    }
                    _ => None,
                };
                findings.hidden.extend(taken.filter(|file| !file.trim_matches('"').ends_with(".rs")));
            }
            TokenTree::Ident(word) if word == "allow" || word == "expect" || word == "warn" => {
                // `allow(unsafe_code)`, alone or among others, also in `cfg_attr`.
                if let Some(TokenTree::Group(group)) = tokens.get(at + 1)
                    && group.delimiter() == Delimiter::Parenthesis
                {
                    let names = |token| matches!(token, TokenTree::Ident(lint) if lint == "unsafe_code");
                    findings.uses_unsafe |= group.stream().into_iter().any(names);
                }
            }
            TokenTree::Group(group) => walk(group.stream(), findings),
            _ => {}
        }
    }
}

/// Whether a manifest denies unsafe code: by the workspace's lints, or, in a workspace of its own, by itself.
pub fn denies_unsafe(manifest: &str) -> bool {
    let mut section = "";
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            section = line;
        }
        let line: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match section {
            "[lints]" => line == "workspace=true",
            "[lints.rust]" | "[workspace.lints.rust]" => {
                line == r#"unsafe_code="deny""# || line == r#"unsafe_code="forbid""#
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_is_found_wherever_it_stands() {
        for code in [
            "fn f() { let x = unsafe { f() }; }",
            "#![allow(unsafe_code)]",
            "#[expect(\n    dead_code,\n    unsafe_code\n)] fn f() {}",
            "#![cfg_attr(miri, allow(unsafe_code))]",
            r#"fn f() { g('"', unsafe { f() }) }"#,
            r##"fn f() { g(r#"""#, unsafe { f() }) }"##,
            "macro_rules! m { () => { unsafe { f() } } }",
            "/* \" */ unsafe fn f() {}",
        ] {
            assert!(examine(code).unwrap().uses_unsafe, "{code}");
        }
        for talk in [
            "// unsafe",
            "/* unsafe */",
            "fn unsafely() {}",
            r#"fn f() { print("unsafe") }"#,
            r##"fn f() { print(r#"allow(unsafe_code)"#) }"##,
            "#![forbid(unsafe_code)]",
            "#![deny(unsafe_code)]",
        ] {
            assert!(!examine(talk).unwrap().uses_unsafe, "{talk}");
        }
        assert!(examine("fn f( {").is_err());
    }

    #[test]
    fn sources_by_other_names_are_found() {
        for code in [r#"include!("body.inc");"#, r#"#[path = "body.txt"] mod body;"#, "include!(concat!(A, B));"] {
            assert_eq!(examine(code).unwrap().hidden.len(), 1, "{code}");
        }
        for code in
            [r#"include!("body.rs");"#, r#"#[path = "a.rs"] mod a;"#, r#"include_str!("a.txt");"#, "let path = a;"]
        {
            assert!(examine(code).unwrap().hidden.is_empty(), "{code}");
        }
    }

    #[test]
    fn manifests_deny_by_inheritance_or_themselves() {
        for manifest in [
            "[package]\n[lints]\nworkspace = true\n",
            "[lints.rust]\nunsafe_code = \"forbid\"\n",
            "[workspace.lints.rust]\nunsafe_code = \"deny\" # but for some\n",
        ] {
            assert!(denies_unsafe(manifest), "{manifest}");
        }
        for manifest in ["[package]\n", "[lints.rust]\nunsafe_code = \"allow\"\n", "[x]\nworkspace = true\n"] {
            assert!(!denies_unsafe(manifest), "{manifest}");
        }
    }
}
