//! `cargo xtask room NAME`: a new room, copied from `examples/room`, and the lines by which the daemon has it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The room that is copied, and its name.
const TEMPLATE: &str = "examples/room";
const NAME: &str = "hop-floor";
/// Rooms that the template names in its Cargo.toml, which must be registered before it.
const AFTER: &str = "quiver_interface, quiver_ip";

/// Makes a room, and says what comes next.
pub fn run(root: &Path, name: &str) -> ExitCode {
    match make(root, name) {
        Ok(()) => {
            println!("features/{name} is a copy of {TEMPLATE}, and quiverd has it. Next:");
            println!("  cargo test -p quiver-scenarios --test golden {name}   # its scenario");
            println!("  UPDATE=1 cargo nextest run -p quiverd -E 'test(pages)'  # the pages of objects and commands");
            println!(
                "Then write your own object (config.rs), stage (node.rs), commands and scenario; CONTRIBUTING.md says how."
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cargo xtask room: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(root: &Path, name: &str) -> Result<(), String> {
    check(name)?;
    let folder = root.join("features").join(name);
    if folder.exists() {
        return Err(format!("{} is there already; choose another name", folder.display()));
    }
    let said = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| format!("{what}: {error}")
    };
    copy(&root.join(TEMPLATE), &folder, name).map_err(said(&folder))?;
    for (file, beginning, line) in lines(name) {
        let path = root.join(file);
        let text = fs::read_to_string(&path).map_err(said(&path))?;
        let changed = with_line(&text, beginning, &line)
            .ok_or_else(|| format!("{file} has no line that begins with `{beginning}`; add `{line}` by hand"))?;
        fs::write(&path, changed).map_err(said(&path))?;
    }
    Ok(())
}

/// Whether a room can have this name: words of small letters and digits, joined by hyphens.
fn check(name: &str) -> Result<(), String> {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    match name.split('-').all(is_word) {
        true => Ok(()),
        false => Err(format!("`{name}` is no name of a room; words of small letters, joined by hyphens: rate-limit")),
    }
}

/// The lines by which the workspace and the daemon have a room: each with the file, and how the line begins behind which it stands.
fn lines(name: &str) -> [(&'static str, &'static str, String); 3] {
    let of_rust = name.replace('-', "_");
    [
        ("Cargo.toml", "quiver-ip = ", format!("quiver-{name} = {{ path = \"features/{name}\" }}")),
        ("apps/quiverd/Cargo.toml", "quiver-ip.", format!("quiver-{name}.workspace = true")),
        ("apps/quiverd/src/features.rs", "    quiver_ip: ", format!("    quiver_{of_rust}: [{AFTER}],")),
    ]
}

/// A text with one more line behind the first that begins so.
fn with_line(text: &str, beginning: &str, line: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with(beginning))?;
    lines.insert(at + 1, line);
    Some(lines.join("\n") + "\n")
}

/// Copies the template under another name.
fn copy(from: &Path, to: &Path, name: &str) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let file = path.file_name().map(|file| renamed(&file.to_string_lossy(), name)).unwrap_or_default();
        let target: PathBuf = to.join(file);
        match path.is_dir() {
            true => copy(&path, &target, name)?,
            false => fs::write(target, renamed(&fs::read_to_string(&path)?, name))?,
        }
    }
    Ok(())
}

/// A text that names the template, with another name: in words, as a module, as a type.
fn renamed(text: &str, name: &str) -> String {
    let of_type = |name: &str| {
        let words = name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
        words.collect::<String>()
    };
    let text = text.replace(NAME, name).replace(&NAME.replace('-', "_"), &name.replace('-', "_"));
    text.replace(&of_type(NAME), &of_type(name)).replace(&NAME.replace('-', " "), &name.replace('-', " "))
}

#[cfg(test)]
mod tests;
