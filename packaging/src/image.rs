//! An image of containers, made without any of the programs that run them: a layer with the C library, from Debian's packages,
//! and a layer with Quiver. The archive is a layout of OCI's and what `docker save` writes, in one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::archive::{Archive, Owner, ROOT};
use crate::job::Job;
use crate::tool::{self, About, PackagingError, answer, command};

/// The user of the image. No other image's packages have it, and it is no user of most hosts.
const USER: Owner = Owner(10001);
/// Capabilities that quiverd's file permits, where the container has them (`--cap-add`): CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN and
/// CAP_SYS_NICE by their bits (capabilities(7)).
const CAPABILITIES: u32 = 1 << 12 | 1 << 13 | 1 << 21 | 1 << 23;
/// The Debian release of the C library.
const RELEASE: &str = "bookworm";

/// Builds the archive.
pub fn build(job: &Job, packages: &[PathBuf]) -> Result<PathBuf, PackagingError> {
    let layout = job.output.join("image");
    let blobs = layout.join("blobs/sha256");
    tool::empty_folder(&layout)?;
    tool::make_folder(&blobs)?;
    let base = base(job)?;
    let layers = [fs::read(&base).about(&base)?, quiver(job, packages)?];
    let layers = layers.iter().map(|layer| Layer::write(job, layer, &blobs)).collect::<Result<Vec<_>, _>>()?;

    let config = config(job, &layers)?;
    let config = blob(&blobs, config.to_string().as_bytes())?;
    let descriptor = |kind: &str, (digest, size): &(String, usize)| json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": format!("sha256:{digest}"), "size": size});
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", &config),
        "layers": layers.iter().map(|layer| descriptor("layer.v1.tar+gzip", &layer.blob)).collect::<Vec<_>>(),
    });
    let manifest = blob(&blobs, manifest.to_string().as_bytes())?;
    let mut listed = descriptor("manifest.v1+json", &manifest);
    listed["annotations"] = json!({"org.opencontainers.image.ref.name": job.version});
    let path = |(digest, _): &(String, usize)| format!("blobs/sha256/{digest}");
    let files = [
        ("oci-layout", json!({"imageLayoutVersion": "1.0.0"})),
        ("index.json", json!({"schemaVersion": 2, "manifests": [listed]})),
        // What docker and podman read of an archive of docker's; only there a health check has a place.
        (
            "manifest.json",
            json!([{
                "Config": path(&config),
                "RepoTags": [format!("quiver:{}", job.version)],
                "Layers": layers.iter().map(|layer| path(&layer.blob)).collect::<Vec<_>>(),
            }]),
        ),
    ];
    for (name, value) in files {
        tool::write(&layout.join(name), value.to_string())?;
    }

    let file = job.output.join(format!("quiver-{}-image.tar", job.version));
    let mut archive = Archive::new(File::create(&file).about(&file)?, job.epoch);
    archive.tree(&layout, "", &|_| false)?;
    archive.finish()?;
    Ok(file)
}

/// The C library, and what tells which it is: an archive, kept from run to run where it is only tried.
fn base(job: &Job) -> Result<PathBuf, PackagingError> {
    let file = job.output.join(format!("base-{RELEASE}.tar"));
    if job.is_release || !file.exists() {
        let mut download = command("mmdebstrap", &job.output);
        download.args(["--variant=extract", "--include=libc6,libgcc-s1,base-files", RELEASE]).arg(&file);
        answer(download.env("SOURCE_DATE_EPOCH", job.epoch.to_string()), "mmdebstrap")?;
    }
    Ok(file)
}

/// The layer of Quiver: the Debian package without files that a container does not use (services, manual pages, shell
/// completions, compressed pages), with its user and folders.
fn quiver(job: &Job, packages: &[PathBuf]) -> Result<Vec<u8>, PackagingError> {
    let tree = job.output.join("image-tree");
    tool::empty_folder(&tree)?;
    let is_quiver =
        |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("quiver_"));
    let package = packages.iter().find(is_quiver).expect("quiver is always built");
    answer(command("dpkg-deb", &job.output).arg("--extract").arg(package).arg(&tree), "dpkg")?;

    let mut layer = Archive::new(vec![], job.epoch);
    let user = USER.0;
    layer.folder("etc", 0o755, ROOT)?;
    layer.file(
        "etc/passwd",
        0o644,
        format!("root:x:0:0:root:/root:/sbin/nologin\nquiver:x:{user}:{user}:Quiver:/var/lib/quiver:/sbin/nologin\n")
            .as_bytes(),
    )?;
    layer.file("etc/group", 0o644, format!("root:x:0:\nquiver:x:{user}:\n").as_bytes())?;
    layer.folder("tmp", 0o1777, ROOT)?;
    for (folder, mode) in [("run/quiver", 0o755), ("var/lib/quiver", 0o700), ("var/log/quiver", 0o750)] {
        layer.folder(folder, mode, USER)?;
    }
    let is_left_out = |path: &str| {
        let kinds =
            ["etc", "lib", "usr/lib", "usr/share/man", "usr/share/bash-completion", "usr/share/zsh", "usr/share/fish"];
        kinds.contains(&path) || path == "usr/sbin/quiverd" || path.ends_with(".md.gz")
    };
    layer.tree(&tree, "", &is_left_out)?;
    let daemon = tree.join("usr/sbin/quiverd");
    layer.capable_file("usr/sbin/quiverd", &fs::read(&daemon).about(&daemon)?, &attribute())?;
    layer.finish()
}

/// Capabilities of a file as the kernel keeps them, version 2: permitted, not effective, so that quiverd starts where a container
/// has less, too, and takes what there is.
fn attribute() -> Vec<u8> {
    let words = [0x0200_0000, CAPABILITIES, 0, 0, 0];
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

/// A layer by its digests, as it is and compressed.
struct Layer {
    plain: String,
    blob: (String, usize),
}

impl Layer {
    fn write(job: &Job, bytes: &[u8], blobs: &Path) -> Result<Layer, PackagingError> {
        let level = if job.is_release { Compression::best() } else { Compression::fast() };
        let mut encoder = GzEncoder::new(vec![], level);
        let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).about(blobs)?;
        Ok(Layer { plain: digest(bytes), blob: blob(blobs, &packed)? })
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a blob under the name of its digest.
fn blob(blobs: &Path, bytes: &[u8]) -> Result<(String, usize), PackagingError> {
    let digest = digest(bytes);
    tool::write(&blobs.join(&digest), bytes)?;
    Ok((digest, bytes.len()))
}

/// Runtime configuration of the image.
fn config(job: &Job, layers: &[Layer]) -> Result<Value, PackagingError> {
    let date = ["--utc", "+%FT%TZ", "-d"];
    let created = answer(command("date", &job.root).args(date).arg(format!("@{}", job.epoch)), "coreutils")?;
    let created = created.trim();
    let second = 1_000_000_000_u64;
    let history =
        ["the C library, from Debian's packages", "Quiver"].map(|what| json!({"created": created, "created_by": what}));
    Ok(json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": format!("{0}:{0}", USER.0),
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "QUIVER_SOCKET=/run/quiver/cli.sock"],
            // Words behind the image's name are further options.
            "Entrypoint": ["/usr/sbin/quiverd", "--state", "/var/lib/quiver", "--captures", "/var/log/quiver/captures"],
            "Cmd": [],
            "Volumes": {"/var/lib/quiver": {}},
            "WorkingDir": "/var/lib/quiver",
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/quiver", "health"],
                "Interval": 30 * second,
                "Timeout": 5 * second,
                "StartPeriod": 5 * second,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "quiver",
                "org.opencontainers.image.version": job.version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| format!("sha256:{}", layer.plain)).collect::<Vec<_>>()},
        "history": history,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_those_of_setcap() {
        // setcap cap_net_admin,cap_net_raw,cap_sys_admin,cap_sys_nice=p FILE; getfattr -e hex
        let expected = "0000000200 30a000 00000000 00000000 00000000".replace(' ', "");
        let told: String = attribute().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(told, expected);
    }
}
