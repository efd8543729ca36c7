//! Files from outside: which are opened, for which author.

use std::fs::{self, Permissions, create_dir, set_permissions, write};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use quiver_control::Control;
use quiver_control::files::{self, FileError, confine};
use quiver_control::transaction::Author;
use tempfile::TempDir;

use crate::ports;

fn control() -> Control {
    ports::control().1
}

/// A FIFO without another end: who opens it as a file waits for ever.
fn fifo(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo is there").success());
    path
}

fn allow(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn only_regular_files_are_opened_and_only_so_much_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    write(&file, "12345678").expect("written");
    assert_eq!(files::read(&file, 8).expect("it is as long"), b"12345678");
    let told = |path: &Path| files::read(path, 7).expect_err("refused").to_string();
    assert_eq!(told(&file), format!("{} has more than 7 bytes; split it", file.display()));
    let fifo = fifo(&folder);
    assert_eq!(told(&fifo), format!("{} is a FIFO, not a regular file; name a regular file", fifo.display()));
    assert_eq!(told(Path::new("/dev/zero")), "/dev/zero is a device, not a regular file; name a regular file");
    assert!(told(folder.path()).contains("is a folder"));
    write(&file, b"\xff").expect("written");
    assert!(matches!(files::read_text(&file, 8), Err(FileError::NoText { .. })));
    assert!(files::read(&folder.path().join("none"), 1).expect_err("there is none").is_missing());
}

#[test]
fn namespaces_are_told_by_their_file_system() {
    assert!(files::open_namespace(Path::new("/proc/self/ns/net")).is_ok());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    write(&file, "").expect("written");
    let refused = files::open_namespace(&file).expect_err("it is none").to_string();
    assert!(refused.ends_with("is no namespace; name one of /run/netns or /proc/PID/ns"), "{refused}");
    assert!(matches!(files::open_namespace(&fifo(&folder)), Err(FileError::NotRegular { .. })));
}

#[test]
fn guests_read_what_everybody_may_read_and_what_is_in_their_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, secret, open, private] = ["own", "secret", "open", "private"].map(|name| folder.path().join(name));
    [&own, &open, &private].iter().for_each(|path| create_dir(path).expect("made"));
    let [inside, readable, hidden] = [own.join("a"), open.join("b"), private.join("c")];
    [&inside, &secret, &readable, &hidden].iter().for_each(|path| write(path, "text").expect("written"));
    [&readable, &hidden].iter().for_each(|path| allow(path, 0o644));
    [&inside, &secret].iter().for_each(|path| allow(path, 0o600));
    [(folder.path(), 0o755), (&*open, 0o755), (&*private, 0o700)].iter().for_each(|(path, mode)| allow(path, *mode));
    let link = own.join("link");
    symlink(&secret, &link).expect("linked");

    let control = control();
    confine(&control, vec![own.clone()], vec![own.clone()]);
    for path in [&inside, &secret, &readable, &hidden, &link] {
        assert!(control.files().open(path).is_ok(), "{}: quiverd's own user reads all", path.display());
    }
    let guest = control.by(Author::new("mallory").as_guest()).files();
    assert_eq!(guest.read_text(&inside, 9).expect("it is in their folder"), "text");
    assert_eq!(guest.read_text(&readable, 9).expect("everybody reads it"), "text");
    let refused = guest.open(&secret).expect_err("its mode says so").to_string();
    let said = format!("everybody may read in {}, or let quiverd allow its folder with --files", own.display());
    assert!(refused.starts_with(&secret.display().to_string()) && refused.ends_with(&said), "{refused}");
    // No other guest reaches it, though its own mode would allow that.
    assert!(matches!(guest.open(&hidden), Err(FileError::NotForGuests { .. })));
    assert!(
        matches!(guest.open(&private.join("none")), Err(FileError::NotForGuests { .. })),
        "nor learns what there is"
    );
    assert!(guest.open(&open.join("none")).expect_err("there is none").is_missing());
    for path in [link, own.join("../secret"), own.join("."), PathBuf::from("/proc/self/maps")] {
        assert!(guest.open(&path).is_err(), "{}", path.display());
    }
    // A folder that is a link leads elsewhere.
    symlink(folder.path(), own.join("up")).expect("linked");
    assert!(guest.open(&own.join("up/secret")).is_err());
}

#[test]
fn guests_write_below_their_folders_and_nobody_writes_through_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, words] = ["own", "words"].map(|name| folder.path().join(name));
    create_dir(&own).expect("made");
    write(&words, "words").expect("written");
    symlink(&words, own.join("link")).expect("linked");
    fs::hard_link(&words, own.join("other")).expect("linked");
    let control = control();
    confine(&control, vec![own.clone()], vec![own.clone()]);
    let guest = control.by(Author::new("mallory").as_guest()).files();

    let place = guest.place(&own.join("new")).expect("it is in their folder");
    assert!(place.existing().expect("it can be looked for").is_none());
    place.create().expect("made").write_all(b"1").expect("written");
    assert_eq!(fs::metadata(own.join("new")).expect("it is there").mode() & 0o777, 0o600);
    assert!(place.create().is_err() && place.existing().expect("it is ours").is_some());
    for path in ["words", "own/../words", "cron.d/x", "own"] {
        assert!(matches!(guest.place(&folder.path().join(path)), Err(FileError::OutOfReach { .. })), "{path}");
    }
    for reach in [guest, control.files()] {
        let link = reach.place(&own.join("link")).expect("its folder is right");
        assert!(link.create().is_err() && matches!(link.existing(), Err(FileError::NotRegular { .. })));
        let other = reach.place(&own.join("other")).expect("its folder is right");
        assert!(matches!(other.existing(), Err(FileError::Others { .. })));
    }
    assert_eq!(fs::read(&words).expect("it is there"), b"words");
}
