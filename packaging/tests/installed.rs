//! Installs packages of this tree in a bare root of Debian with a systemd of its own, and runs the container image in
//! namespaces.

mod slow_peers {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// A version that is older than the workspace's.
    const OLDER: &str = concat!(env!("CARGO_PKG_VERSION"), "~older");

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// Runs a command in the workspace, as a user would: without what `cargo xtask test` tells its own compilers.
    fn run(program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        command.current_dir(root()).args(arguments);
        for told in ["RUSTC_WRAPPER", "QUIVER_TIMES", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"] {
            command.env_remove(told);
        }
        let status = command.status().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    /// Builds packages quickly, and says where one of them is.
    fn built(options: &str, file: &str) -> String {
        run("make", &["packages", "PROFILE=demo", &format!("PACKAGES=--without-lab {options}")]);
        // Cargo's folder of tests is beside it.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder");
        target.join("packages").join(file).display().to_string()
    }

    fn package(version: &str) -> String {
        built(&format!("--part deb --as-version {version}"), &format!("quiver_{version}_amd64.deb"))
    }

    #[test]
    fn a_package_is_installed_upgraded_downgraded_and_leaves_nothing() {
        run("packaging/check/installed", &[&package(OLDER), &package(env!("CARGO_PKG_VERSION"))]);
    }

    #[test]
    fn the_image_runs_as_its_user() {
        let image = built("--part image", concat!("quiver-", env!("CARGO_PKG_VERSION"), "-image.tar"));
        run("packaging/check/image", &[&image]);
    }

    #[test]
    fn the_first_hour_survives_ten_failures() {
        run("packaging/check/first-hour", &[&package(env!("CARGO_PKG_VERSION"))]);
    }
}
