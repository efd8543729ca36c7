//! Whether quiverd runs.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::finding::Finding;

/// Knocks at quiverd's socket.
pub fn examine(socket: &Path) -> Finding {
    let about = "quiverd";
    let place = socket.display();
    match UnixStream::connect(socket) {
        Ok(_) => Finding::ok(about, format!("answers at {place}")),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Finding::degraded(
            about,
            format!("{place} may not be opened"),
            "run `quiver` as the user that runs quiverd, or as root",
        ),
        Err(_) => Finding::degraded(about, format!("does not run: no answer at {place}"), "start `quiverd`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    #[test]
    fn a_listener_is_told_from_a_dead_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("cli.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(examine(&socket).verdict, Verdict::Ok);
        drop(listener);
        assert_eq!(examine(&socket).verdict, Verdict::Degraded);
    }
}
