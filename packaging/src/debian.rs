//! Debian packages, by debhelper: `packaging/debian` says which file goes where, and debhelper writes what Debian's policy
//! wants of the scripts that run at installation and removal.

use std::fs;
use std::path::{Path, PathBuf};

use crate::job::Job;
use crate::licenses::Crates;
use crate::programs::Programs;
use crate::tool::{self, About, PackagingError, answer, command};

/// Each package, with those of the workspace that are linked to it.
const PACKAGES: [(&str, &[&str]); 3] =
    [("quiver", &["quiverd", "quiver"]), (LAB, &["quiver-lab"]), ("libquiver-memif-dev", &["quiver-memif-c"])];
const LAB: &str = "quiver-lab";

/// Builds the packages, and returns their files.
pub fn build(job: &Job, programs: &Programs) -> Result<Vec<PathBuf>, PackagingError> {
    let above = job.output.join("debian");
    let stage = above.join("quiver");
    tool::empty_folder(&above)?;
    fill(job, programs, &stage)?;

    let mut build = command("dpkg-buildpackage", &stage);
    build.args(["--build=binary", "--unsigned-changes", "--unsigned-buildinfo"]);
    build.env("COMPRESSION", if job.is_release { "xz" } else { "gzip" });
    // No other step runs meanwhile, so compression may use all threads.
    answer(&mut build, "dpkg-dev and debhelper")?;

    let mut made = vec![];
    for (name, _) in wanted(programs) {
        let begin = format!("{name}_{}_", job.version);
        let files = fs::read_dir(&above).about(&above)?.filter_map(Result::ok).map(|entry| entry.path());
        let is_it = |file: &PathBuf| {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&begin) && file.ends_with(".deb")
        };
        for file in files.filter(is_it) {
            tool::copy_into(&file, &job.output)?;
            made.push(job.output.join(file.file_name().unwrap_or_default()));
        }
    }
    Ok(made)
}

/// Puts everything that goes into packages beside the folder `debian`.
fn fill(job: &Job, programs: &Programs, stage: &Path) -> Result<(), PackagingError> {
    let packaging = job.root.join("packaging");
    let debian = stage.join("debian");
    tool::copy_files(&packaging.join("debian"), &debian)?;
    tool::write(&debian.join("changelog"), changelog(job)?)?;
    for folder in ["man", "completions"] {
        tool::copy_files(&packaging.join(folder), &stage.join(folder))?;
    }
    // Pages of the lab begin with its name; the other ones are of the other package.
    let mut pages = String::new();
    for page in fs::read_dir(stage.join("man")).about(stage)?.filter_map(Result::ok) {
        let name = page.file_name().to_string_lossy().into_owned();
        if !name.starts_with(LAB) {
            pages += &format!("man/{name}\n");
        }
    }
    tool::write(&debian.join("quiver.manpages"), pages)?;
    for page in ["commands.md", "objects.md", "schema.json", "api.md", "migration.md", "install.md"] {
        tool::copy_into(&job.root.join("docs").join(page), &stage.join("docs"))?;
    }
    tool::copy_into(&job.root.join("CHANGELOG.md"), stage)?;

    let memif = job.root.join("clients/memif/c");
    tool::copy_into(&memif.join("include/quiver_memif.h"), &stage.join("memif"))?;
    tool::copy_into(&memif.join("examples/reflect.c"), &stage.join("memif"))?;
    let triplet = answer(command("dpkg-architecture", stage).arg("-qDEB_HOST_MULTIARCH"), "dpkg-dev")?;
    let config = tool::read(&packaging.join("memif.pc.in"))?;
    let config = config.replace("@LIBDIR@", &format!("/usr/lib/{}", triplet.trim())).replace("@VERSION@", &job.version);
    tool::write(&stage.join("memif/quiver-memif.pc"), config)?;

    for program in ["quiverd", "quiver", "libquivermemif.a"].iter().chain(programs.has_lab.then_some(&LAB)) {
        tool::copy_into(&programs.folder.join(program), &stage.join("programs"))?;
    }
    if !programs.has_lab {
        without(&debian, LAB)?;
    }
    let crates = Crates::of(&job.root, &programs.zig, &programs.folder)?;
    for (name, members) in wanted(programs) {
        let folder = stage.join("licenses").join(name);
        tool::make_folder(&folder)?;
        tool::write(&folder.join("third-party-licenses.txt"), crates.page(members)?)?;
    }
    Ok(())
}

/// The packages that are built, with their members of the workspace.
fn wanted(programs: &Programs) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let has_lab = programs.has_lab;
    PACKAGES.into_iter().filter(move |(name, _)| has_lab || *name != LAB)
}

/// Takes a package out of what debhelper builds.
fn without(debian: &Path, package: &str) -> Result<(), PackagingError> {
    let control = debian.join("control");
    let text = tool::read(&control)?;
    let kept = text.split("\n\n").filter(|paragraph| !paragraph.starts_with(&format!("Package: {package}\n")));
    tool::write(&control, kept.collect::<Vec<_>>().join("\n\n"))
}

fn changelog(job: &Job) -> Result<String, PackagingError> {
    let date = answer(command("date", &job.root).args(["--utc", "-R", "-d", &format!("@{}", job.epoch)]), "coreutils")?;
    let control = tool::read(&job.root.join("packaging/debian/control"))?;
    let maintainer = control.lines().find_map(|line| line.strip_prefix("Maintainer: ")).unwrap_or_default();
    let version = &job.version;
    Ok(format!(
        "quiver ({version}) unstable; urgency=medium\n\n  * /usr/share/doc/quiver/NEWS.gz says what is new.\n\n -- {maintainer}  {date}"
    ))
}
