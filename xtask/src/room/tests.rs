use super::*;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the manifest is in a folder of the workspace")
}

#[test]
fn names_of_rooms_are_words() {
    for good in ["nat", "rate-limit", "srv6"] {
        assert_eq!(check(good), Ok(()));
    }
    for bad in ["", "Nat", "-nat", "rate--limit", "../nat", "rate_limit", "6rd"] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_new_room_is_registered_by_three_lines() {
    let here = tempfile::tempdir().expect("a folder");
    let root = here.path();
    for (file, ..) in lines("x") {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("created");
        fs::copy(super::tests::root().join(file), path).expect("copied");
    }
    copy(&super::tests::root().join(TEMPLATE), &root.join(TEMPLATE), NAME).expect("copied");
    make(root, "rate-limit").expect("made");
    for (file, _, line) in lines("rate-limit") {
        let text = fs::read_to_string(root.join(file)).expect("a text");
        assert_eq!(text.lines().filter(|known| *known == line).count(), 1, "{file}");
    }
    let refused = make(root, "rate-limit").expect_err("it is there");
    assert!(refused.contains("choose another name"), "{refused}");
    fs::write(root.join("apps/quiverd/Cargo.toml"), "").expect("written");
    let refused = make(root, "other").expect_err("there is no place for it");
    assert!(refused.contains("add `quiver-other.workspace = true` by hand"), "{refused}");
}

/// A copy compiles as a package of its own, with the workspace's packages and settings.
#[test]
fn a_copy_of_the_template_builds() {
    let here = tempfile::tempdir().expect("a folder");
    let workspace = here.path();
    copy(&root().join(TEMPLATE), &workspace.join("room"), "rate-limit").expect("copied");
    let texts = files(&workspace.join("room"));
    assert!(texts.iter().any(|(name, _)| name.ends_with("rate-limit.scenario")), "{texts:?}");
    for (name, text) in texts {
        let left = ["hop-floor", "hop_floor", "HopFloor", "hop floor"].into_iter().find(|word| text.contains(word));
        assert_eq!(left, None, "{}", name.display());
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let members = manifest.lines().find(|line| line.starts_with("members = ")).expect("members");
    let manifest = manifest.replace(members, "members = [\"room\"]");
    let path = |line: &str| line.replace("{ path = \"", &format!("{{ path = \"{}/", root().display()));
    let manifest: Vec<String> = manifest.lines().filter(|line| !line.starts_with("exclude")).map(path).collect();
    fs::write(workspace.join("Cargo.toml"), manifest.join("\n")).expect("written");
    fs::copy(root().join("Cargo.lock"), workspace.join("Cargo.lock")).expect("copied");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--offline", "--quiet", "--lib"]).current_dir(workspace);
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
    let output = cargo.env("CARGO_TARGET_DIR", target).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), fs::read_to_string(&path).expect("a text"))),
        }
    }
    found
}
