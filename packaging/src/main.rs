//! `cargo xtask packages`: what users install. Debian packages, an image of containers and a tarball hold the same programs,
//! which are built once and linked so that they run with older C libraries, too.

mod archive;
mod debian;
mod image;
mod job;
mod licenses;
mod programs;
mod tarball;
mod tool;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use job::Job;
use programs::Build;
use tool::PackagingError;

/// Build packages below `target/packages`
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask packages")]
struct Arguments {
    /// The cargo profile: `release` for what is given away, `demo` for what is tried
    #[arg(long, default_value = "release", value_name = "PROFILE")]
    profile: String,
    /// Flags for the compiler, as RUSTFLAGS, such as those that leave out instruction sets
    #[arg(long, default_value = "", value_name = "FLAGS", allow_hyphen_values = true)]
    flags: String,
    /// The version of the packages; by default that of the workspace
    #[arg(long = "as-version", default_value = env!("CARGO_PKG_VERSION"), value_name = "VERSION")]
    version: String,
    /// Only these parts; the image and the tarball hold what the Debian packages hold, so these are always built
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<Part>,
    /// Leave out quiver-lab, which takes as long to build as the rest
    #[arg(long)]
    without_lab: bool,
}

/// A form of what users install.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Debian packages
    Deb,
    /// An image of containers: an archive that podman and docker load, and a layout of OCI's
    Image,
    /// A tarball for `/usr/local`
    Tarball,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(made) => {
            made.iter().for_each(|file| println!("{}", file.display()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cargo xtask packages: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Vec<PathBuf>, PackagingError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a folder").to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = if target.is_absolute() { target } else { root.join(target) };
    let output = target.join("packages");
    tool::make_folder(&output)?;
    let epoch = epoch(&root)?;
    let is_release = arguments.profile == "release";
    let job = Job { root, output, version: arguments.version.clone(), epoch, is_release };
    let is_asked = |part| arguments.parts.is_empty() || arguments.parts.contains(&part);

    let build = Build { profile: &arguments.profile, flags: &arguments.flags, has_lab: !arguments.without_lab };
    let programs = programs::build(&job, &target, &build)?;
    let packages = debian::build(&job, &programs)?;
    let mut made = packages.clone();
    if is_asked(Part::Image) {
        made.push(image::build(&job, &packages)?);
    }
    if is_asked(Part::Tarball) {
        made.push(tarball::build(&job, &packages)?);
    }
    Ok(made)
}

/// The time of the commit, or what SOURCE_DATE_EPOCH says instead (reproducible-builds.org).
fn epoch(root: &Path) -> Result<u64, PackagingError> {
    let said = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(said) => said,
        Err(_) => tool::answer(tool::command("git", root).args(["log", "-1", "--format=%ct"]), "git")?,
    };
    said.trim().parse().map_err(|_| PackagingError::Epoch(said.trim().to_owned()))
}
