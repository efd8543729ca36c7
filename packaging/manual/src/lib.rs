//! Manual pages and shell completions, made from the options of a program.
//!
//! Each program has a test that compares the kept files with its options, so the makers of both are linked by tests alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

/// The shells, and how each names the file of a program's completion.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Compares the manual pages and completions of `program` with the kept ones below `packaging/`. `UPDATE=1` writes them.
///
/// The page of the program is in `section` of the manual (1 for commands, 8 for daemons), and so is one for each of its commands.
///
/// # Panics
/// A kept file differs from the options, or cannot be written.
pub fn check(program: &Command, name: &str, section: &str) {
    let program = program.clone().version(env!("CARGO_PKG_VERSION"));
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a folder");
    let mut files = Vec::new();
    pages(&program, name, section, &mut files).expect("memory takes all that is written");
    for shell in SHELLS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut program.clone(), name, &mut text);
        files.push((Path::new("completions").join(file(shell, name)), text));
    }
    let wanted = std::env::var_os("UPDATE").is_some();
    for (file, text) in files {
        let path = packaging.join(&file);
        let kept = fs::read(&path).unwrap_or_default();
        if kept == text {
            continue;
        }
        assert!(wanted, "packaging/{} is not what the options say; write it anew with UPDATE=1", file.display());
        let written = fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| fs::write(&path, text));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The pages of a command and of the commands below it.
fn pages(command: &Command, name: &str, section: &str, files: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    let mut text = Vec::new();
    // clap takes texts that live as long as the program; this is a test.
    let (title, typed): (&'static str, &'static str) = (name.to_owned().leak(), name.replace('-', " ").leak());
    let page = command.clone().name(title).bin_name(typed).disable_help_subcommand(true);
    let source = concat!("Quiver ", env!("CARGO_PKG_VERSION"));
    Man::new(page).title(title).section(section).source(source).render(&mut text)?;
    files.push((PathBuf::from(format!("man/{name}.{section}")), text));
    // A command without --help of its own runs another program, which has that page.
    for below in command.get_subcommands().filter(|below| !below.is_disable_help_flag_set()) {
        pages(below, &format!("{name}-{}", below.get_name()), section, files)?;
    }
    Ok(())
}

/// Where a shell looks for the completion of a program.
fn file(shell: Shell, name: &str) -> String {
    match shell {
        Shell::Zsh => format!("_{name}"),
        Shell::Fish => format!("{name}.fish"),
        _ => name.to_owned(),
    }
}
