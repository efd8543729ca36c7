//! The programs: built by cargo for the target, and linked by zig's compiler against an older C library than this machine has.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::job::Job;
use crate::tool::{self, About, PackagingError, answer, command, run};

/// The oldest C library that the programs run with: Debian 11's and Ubuntu 20.04's.
const GLIBC: (u32, u32) = (2, 31);
/// The same as text.
const OLDEST: &str = "2.31";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Packages that are built together: what one of them asks of a crate is in the others', too. So the lab is apart.
const DAEMON: [&str; 2] = ["quiverd", "quiver"];
const LAB: [&str; 1] = ["quiver-lab"];
const MEMIF: [&str; 1] = ["quiver-memif-c"];

/// Options of the build of programs.
pub struct Build<'b> {
    /// The profile of cargo.
    pub profile: &'b str,
    /// RUSTFLAGS.
    pub flags: &'b str,
    /// Whether quiver-lab is there.
    pub has_lab: bool,
}

/// The built programs.
pub struct Programs {
    /// Where they are.
    pub folder: PathBuf,
    /// Whether quiver-lab is there.
    pub has_lab: bool,
    /// Where zig is, with the licenses of what it links to programs.
    pub zig: PathBuf,
}

/// Builds them.
pub fn build(job: &Job, target: &Path, build: &Build<'_>) -> Result<Programs, PackagingError> {
    let (linker, zig) = linker(job, target)?;
    let groups = [&DAEMON[..], &LAB, &MEMIF];
    for packages in groups.into_iter().filter(|packages| build.has_lab || **packages != LAB) {
        let mut cargo = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), &job.root);
        cargo.args(["build", "--locked", "--profile", build.profile, "--target", TARGET, "--target-dir"]).arg(target);
        cargo.args(packages.iter().flat_map(|package| ["--package", package]));
        cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", &linker).env("RUSTFLAGS", build.flags);
        run(&mut cargo, "Rust, from https://rustup.rs")?;
    }
    let folder = target.join(TARGET).join(build.profile);
    for program in DAEMON.iter().chain(build.has_lab.then_some(&LAB[0])) {
        let symbols = answer(command("objdump", &folder).args(["--dynamic-syms", program]), "binutils")?;
        let newer = newer(&symbols);
        if !newer.is_empty() {
            let symbols = newer.into_iter().collect::<Vec<_>>().join(", ");
            return Err(PackagingError::Glibc { program: (*program).into(), symbols, oldest: OLDEST });
        }
    }
    Ok(Programs { folder, has_lab: build.has_lab, zig })
}

/// A program that links as `cc` does, and the folder of the compiler behind it. Its path is the same in each run, for cargo builds
/// everything anew for another linker.
fn linker(job: &Job, target: &Path) -> Result<(PathBuf, PathBuf), PackagingError> {
    let folder = target.join("tmp");
    tool::make_folder(&folder)?;
    let python = quiver_oracle::python(&folder, "zig", &job.root.join("packaging/zig.txt"))
        .map_err(|told| PackagingError::Linker { oldest: OLDEST, told })?;
    let script = job.output.join(format!("cc-glibc-{OLDEST}"));
    let text =
        format!("#!/bin/sh\nexec '{}' -m ziglang cc -target x86_64-linux-gnu.{OLDEST} \"$@\"\n", python.display());
    if fs::read_to_string(&script).ok().as_ref() != Some(&text) {
        tool::write(&script, text)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755)).about(&script)?;
    }
    let asked = "import os, ziglang; print(os.path.dirname(ziglang.__file__))";
    let zig = answer(command(&python.display().to_string(), &job.root).args(["-c", asked]), "python3")?;
    Ok((script, PathBuf::from(zig.trim())))
}

/// The symbols in a listing of objdump's that are of a newer C library than packages may need, or of another library.
fn newer(listing: &str) -> BTreeSet<String> {
    let undefined = listing.lines().filter_map(|line| line.split_once("*UND*"));
    let named = undefined.filter_map(|(_, rest)| {
        // Behind the value stand the version, in brackets or not, and the name.
        let mut words = rest.split_whitespace().skip(1).map(|word| word.trim_matches(['(', ')']));
        let (version, name) = (words.next()?, words.next()?);
        let (library, number) = version.split_once('_')?;
        let mut numbers = number.split('.').map(str::parse::<u32>);
        let is_old = library == "GLIBC" && (numbers.next()?.ok()?, numbers.next()?.ok()?) <= GLIBC;
        (!is_old).then(|| format!("{name}@{version}"))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_newer_libraries_are_named() {
        let listing = "\n\
            0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) pthread_create\n\
            0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) read\n\
            0000000000000000  w   DF *UND*\t0000000000000000  GLIBC_2.31 clock_nanosleep\n\
            0000000000000000  w   D  *UND*\t0000000000000000  Base        __gmon_start__\n\
            0000000000000000      DF *UND*\t0000000000000000 (GCC_3.0)    _Unwind_Resume\n\
            0000000000000000      DF *UND*\t0000000000000000  GLIBC_3.0 later\n";
        let expected = ["_Unwind_Resume@GCC_3.0", "later@GLIBC_3.0", "pthread_create@GLIBC_2.34"].map(str::to_owned);
        assert_eq!(newer(listing), BTreeSet::from(expected));
    }
}
