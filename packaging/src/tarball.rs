//! A tarball for machines without Debian's packages: what these have, for `/usr/local`.

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::archive::{Archive, ROOT};
use crate::job::Job;
use crate::tool::{self, About, PackagingError, answer, command};

/// Builds it.
pub fn build(job: &Job, packages: &[PathBuf]) -> Result<PathBuf, PackagingError> {
    let tree = job.output.join("tarball-tree");
    tool::empty_folder(&tree)?;
    for package in packages {
        answer(command("dpkg-deb", &job.output).arg("--extract").arg(package).arg(&tree), "dpkg")?;
    }
    let unit = unit(&tree)?;
    let top = format!("quiver-{}-x86_64-linux", job.version);
    let file = job.output.join(format!("{top}.tar.gz"));
    let level = if job.is_release { Compression::best() } else { Compression::fast() };
    let mut archive = Archive::new(GzEncoder::new(File::create(&file).about(&file)?, level), job.epoch);
    archive.folder(&top, 0o755, ROOT)?;
    let install = tool::read(&job.root.join("docs/install.md"))?;
    archive.file(&format!("{top}/install.md"), 0o644, install.as_bytes())?;
    // The unit lies where systemd looks for those of the machine's own.
    archive.folder(&format!("{top}/etc"), 0o755, ROOT)?;
    archive.file(&format!("{top}/etc/quiver.service"), 0o644, unit.as_bytes())?;
    for (from, name) in
        [("usr/lib/sysusers.d/quiver.conf", "quiver.sysusers"), ("etc/default/quiver", "quiver.default")]
    {
        archive.file(&format!("{top}/etc/{name}"), 0o644, tool::read(&tree.join(from))?.as_bytes())?;
    }
    let is_left_out = |path: &str| path.ends_with("/lib/systemd") || path.ends_with("/lib/sysusers.d");
    archive.tree(&tree.join("usr"), &top, &is_left_out)?;
    archive.finish()?.finish().about(&file)?;
    Ok(file)
}

/// The unit, with the paths of `/usr/local`.
fn unit(tree: &Path) -> Result<String, PackagingError> {
    let places =
        ["usr/lib/systemd/system", "lib/systemd/system"].map(|folder| tree.join(folder).join("quiver.service"));
    let place = places.iter().find(|place| place.exists()).unwrap_or(&places[0]);
    let text = tool::read(place)?;
    Ok(text.replace("/usr/sbin/", "/usr/local/sbin/").replace("/usr/share/", "/usr/local/share/"))
}
