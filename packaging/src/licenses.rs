//! The crates of other authors that are in the programs: name, version, license and the license's text, as the crates bring them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::tool::{self, About, PackagingError, answer, command};

/// Prefixes of the names of license files.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// MIT's text, for crates that name this license, and authors, and leave the text out.
const MIT: &str = "\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files \
(the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, \
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is \
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES \
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE \
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN \
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
";

/// Something of other authors.
#[derive(Debug)]
struct Part {
    name: String,
    version: String,
    license: String,
    from: String,
    texts: Vec<String>,
}

/// All crates that a build may take.
pub struct Crates {
    metadata: Value,
    apache: String,
    always: Vec<Part>,
    /// Where build scripts have put what they made.
    built: PathBuf,
}

impl Crates {
    /// Asks cargo. `zig` is the folder of the compiler that links the programs, and adds parts of its own; `programs` the one
    /// that the programs were built in.
    pub fn of(root: &Path, zig: &Path, programs: &Path) -> Result<Crates, PackagingError> {
        let mut cargo = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), root);
        cargo.args(["metadata", "--locked", "--format-version", "1"]);
        cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
        let text = answer(&mut cargo, "Rust, from https://rustup.rs")?;
        let metadata = serde_json::from_str(&text).map_err(|_| PackagingError::Metadata("itself in JSON"))?;
        let apache = tool::read(&root.join("LICENSE"))?;
        let rust = Part {
            name: "Rust's standard library".into(),
            version: answer(command("rustc", root).arg("--version"), "Rust, from https://rustup.rs")?.trim().to_owned(),
            license: "MIT OR Apache-2.0".into(),
            from: "https://github.com/rust-lang/rust".into(),
            texts: vec![apache.clone(), with_authors("The Rust Project Contributors")],
        };
        let pinned = tool::read(&root.join("packaging/zig.txt"))?;
        let pinned = pinned.split(' ').next().unwrap_or_default();
        let zig = Part {
            name: "zig's compiler_rt, and LLVM's libunwind in it,".into(),
            version: pinned.trim().to_owned(),
            license: "MIT AND Apache-2.0 WITH LLVM-exception".into(),
            from: "https://ziglang.org".into(),
            texts: vec![tool::read(&zig.join("LICENSE"))?, tool::read(&zig.join("lib/libunwind/LICENSE.TXT"))?],
        };
        Ok(Crates { metadata, apache, always: vec![rust, zig], built: programs.join("build") })
    }

    /// The page for programs that are made of these packages of the workspace.
    pub fn page(&self, programs: &[&str]) -> Result<String, PackagingError> {
        let mut parts = self.reached(programs)?;
        parts.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
        Ok(page(self.always.iter().chain(&parts)))
    }

    /// The crates that are linked to these packages, without the workspace's own.
    fn reached(&self, programs: &[&str]) -> Result<Vec<Part>, PackagingError> {
        let list = |value: &Value, missing| value.as_array().cloned().ok_or(PackagingError::Metadata(missing));
        let of = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let packages = list(&self.metadata["packages"], "packages")?;
        let packages: BTreeMap<String, Value> =
            packages.into_iter().map(|package| (of(&package, "id"), package)).collect();
        let nodes = list(&self.metadata["resolve"]["nodes"], "dependencies")?;
        let nodes: BTreeMap<String, Value> = nodes.into_iter().map(|node| (of(&node, "id"), node)).collect();

        let is_program = |package: &Value| package["source"].is_null() && programs.contains(&&*of(package, "name"));
        let mut waiting: Vec<String> =
            packages.iter().filter(|(_, package)| is_program(package)).map(|(id, _)| id.clone()).collect();
        let (mut seen, mut parts) = (BTreeSet::new(), vec![]);
        while let Some(id) = waiting.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let (Some(package), Some(node)) = (packages.get(&id), nodes.get(&id)) else { continue };
            // Of kind null are those that are linked; build scripts and tests have others.
            let is_linked = |dependency: &&Value| {
                dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
            };
            let dependencies = node["deps"].as_array().into_iter().flatten().filter(is_linked);
            waiting.extend(dependencies.map(|dependency| of(dependency, "pkg")));
            if package["source"].is_null() {
                parts.extend(self.of_npm(package)?);
            } else {
                parts.push(self.part(package)?);
            }
        }
        Ok(parts)
    }

    /// The packages of npm that a crate of ours has its build script install, by the package-lock.json beside its manifest.
    fn of_npm(&self, package: &Value) -> Result<Vec<Part>, PackagingError> {
        let of = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let lock = PathBuf::from(of(package, "manifest_path")).with_file_name("package-lock.json");
        if !lock.exists() {
            return Ok(Vec::new());
        }
        let locked: Value = serde_json::from_str(&tool::read(&lock)?)
            .map_err(|_| PackagingError::Metadata("a package-lock.json in JSON"))?;
        let outputs = fs::read_dir(&self.built).about(&self.built)?.flatten().map(|entry| entry.path().join("out/npm"));
        let outputs: Vec<PathBuf> = outputs.filter(|folder| folder.is_dir()).collect();
        let mut parts = Vec::new();
        for (place, own) in locked["packages"].as_object().into_iter().flatten() {
            let Some(name) = place.strip_prefix("node_modules/") else { continue };
            let (version, license) = (of(own, "version"), of(own, "license"));
            let found = outputs.iter().map(|output| output.join(place)).find(|folder| folder.is_dir());
            let texts = found.map(|folder| texts(&folder).about(&folder)).transpose()?.unwrap_or_default();
            if texts.is_empty() {
                return Err(PackagingError::License { name: name.to_owned(), version, license });
            }
            let from = format!("https://www.npmjs.com/package/{name}");
            parts.push(Part { name: name.to_owned(), version, license, from, texts });
        }
        Ok(parts)
    }

    fn part(&self, package: &Value) -> Result<Part, PackagingError> {
        let of = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let (name, version, license) = (of("name"), of("version"), of("license"));
        let manifest = PathBuf::from(of("manifest_path"));
        let folder = manifest.parent().unwrap_or(Path::new("/"));
        let mut texts = texts(folder).about(folder)?;
        if texts.is_empty() {
            let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let authors = authors.collect::<Vec<_>>().join(", ");
            let text = match &license {
                license if license.contains("Apache-2.0") => self.apache.clone(),
                license if license == "MIT" && !authors.is_empty() => with_authors(&authors),
                _ => return Err(PackagingError::License { name, version, license }),
            };
            texts.push(text);
        }
        let from = Some(of("repository")).filter(|from| !from.is_empty());
        let from = from.unwrap_or_else(|| format!("https://crates.io/crates/{name}"));
        Ok(Part { name, version, license, from, texts })
    }
}

fn with_authors(authors: &str) -> String {
    format!("Copyright (c) {authors}\n\n{MIT}")
}

/// The licenses that are in a crate's folder, in the order of their names.
fn texts(folder: &Path) -> io::Result<Vec<String>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        file.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) && !name.ends_with(".RS")
    });
    files.sort();
    let read = files.iter().map(|file| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    read.collect()
}

/// A list of all parts; then each text once, with the parts that bring it.
fn page<'p>(parts: impl Iterator<Item = &'p Part>) -> String {
    let mut list = String::from(
        "What is linked to these programs and comes from other authors, with the license of each. The texts of the licenses are below.\n\n",
    );
    let mut by_text: Vec<(&str, Vec<String>)> = vec![];
    for part in parts {
        let _ = writeln!(list, "{} {}: {} ({})", part.name, part.version, part.license, part.from);
        let name = format!("{} {}", part.name, part.version);
        for text in &part.texts {
            match by_text.iter_mut().find(|(known, _)| *known == text.trim()) {
                Some((_, names)) => names.push(name.clone()),
                None => by_text.push((text.trim(), vec![name.clone()])),
            }
        }
    }
    for (text, names) in by_text {
        let _ = write!(list, "\n{}\n{}:\n\n{text}\n", "=".repeat(100), names.join(", "));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates(folder: &Path, license: &str, authors: &[&str]) -> Crates {
        let manifest = folder.join("Cargo.toml").display().to_string();
        let package = |name: &str, source: Value| {
            serde_json::json!({"id": name, "name": name, "version": "1.0.0", "license": license, "source": source,
                "authors": authors, "manifest_path": manifest})
        };
        let dependency = |name: &str, kind: Value| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = serde_json::json!({
            "packages": [package("program", Value::Null), package("linked", "registry".into()), package("built", "registry".into())],
            "resolve": {"nodes": [
                {"id": "program", "deps": [dependency("linked", Value::Null), dependency("built", "build".into())]},
                {"id": "linked", "deps": []}, {"id": "built", "deps": []}]}
        });
        Crates { metadata, apache: "Apache's text".into(), always: vec![], built: folder.join("build") }
    }

    #[test]
    fn packages_of_npm_are_listed_with_their_texts() {
        let folder = tempfile::tempdir().unwrap();
        let lock = serde_json::json!({"packages": {"": {"name": "ours"},
            "node_modules/plot": {"version": "1.2.3", "license": "MIT"}}});
        fs::write(folder.path().join("package-lock.json"), lock.to_string()).unwrap();
        fs::write(folder.path().join("LICENSE"), "the crate's").unwrap();
        let page = || crates(folder.path(), "MIT", &[]).page(&["program"]);
        let installed = folder.path().join("build/ours-0123/out/npm/node_modules/plot");
        fs::create_dir_all(&installed).unwrap();
        let refused = page().unwrap_err().to_string();
        assert!(refused.starts_with("plot 1.2.3 comes without the text of its license"), "{refused}");
        fs::write(installed.join("LICENSE"), "the plot's text").unwrap();
        let page = page().unwrap();
        assert!(page.contains("plot 1.2.3: MIT (https://www.npmjs.com/package/plot)"), "{page}");
        assert!(page.contains("plot 1.2.3:\n\nthe plot's text\n"), "{page}");
    }

    #[test]
    fn linked_crates_are_listed_with_their_texts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("LICENSE-MIT"), "the crate's own text\n").unwrap();
        let page = crates(folder.path(), "MIT", &[]).page(&["program"]).unwrap();
        assert!(page.contains("linked 1.0.0: MIT (https://crates.io/crates/linked)"), "{page}");
        assert!(page.contains("linked 1.0.0:\n\nthe crate's own text\n"), "{page}");
        assert!(!page.contains("built"), "a build script's: {page}");
    }

    #[test]
    fn a_license_without_text_is_found_elsewhere_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let page = |license, authors: &[&str]| crates(folder.path(), license, authors).page(&["program"]);
        assert!(page("MIT OR Apache-2.0", &[]).unwrap().contains("Apache's text"));
        assert!(page("MIT", &["Ann"]).unwrap().contains("Copyright (c) Ann\n\nPermission"));
        for (license, authors) in [("MIT", &[][..]), ("Zlib", &["Ann"])] {
            let refused = page(license, authors).unwrap_err().to_string();
            assert!(refused.starts_with("linked 1.0.0 comes without the text of its license"), "{refused}");
        }
    }
}
