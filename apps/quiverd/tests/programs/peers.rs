//! Access to the sockets: only quiverd's user and the members of a group are served, and each of their processes,
//! however many clients another process has.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::quiverd::{self, Daemon};
use libtest_mimic::{Failed, Trial};
use nix::unistd::geteuid;
use quiver_client::{Client, ClientError};
use quiver_compat::memclnt::ControlPing;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// As this program's only argument but one, it makes of it a client of the socket behind it.
const AS_CLIENT: &str = "client-of";
/// A user and a group that need not exist, and a group that may use the sockets.
const FOREIGN: u32 = 65_534;
const MEMBERS: u32 = 54_321;

/// The client's end, if this process was started as one.
pub fn is_this() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().collect();
    let [_, word, socket] = &words[..] else { return None };
    (word == AS_CLIENT).then(|| {
        match Client::connect(socket, "other").and_then(|mut client| client.request(&ControlPing)) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the other process: {error}");
                ExitCode::FAILURE
            }
        }
    })
}

pub fn trials() -> Vec<Trial> {
    // Root can, unless it is root of a namespace that knows no other users.
    let cannot_try = as_foreigner(&[FOREIGN, MEMBERS], || ()).err();
    if let Some(error) = &cannot_try {
        eprintln!("no other user can be tried here: {error}");
    }
    vec![
        Trial::test("peers::the group gets in, and nobody else", group_gets_in).with_ignored_flag(cannot_try.is_some()),
        Trial::test("peers::a process that takes all places shares them", crowd_shares),
    ]
}

/// Does something as a foreign user of these groups, the first of them being its own.
fn as_foreigner<T: Send>(groups: &[u32], work: impl FnOnce() -> T + Send) -> io::Result<T> {
    // Linux has credentials for each thread, and those of the connecting thread count.
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            let (groups, user) = (groups.iter().map(|group| Gid::from_raw(*group)), Uid::from_raw(FOREIGN));
            let groups: Vec<Gid> = groups.collect();
            set_thread_groups(&groups)?;
            set_thread_res_gid(groups[0], groups[0], groups[0])?;
            set_thread_res_uid(user, user, user)?;
            Ok(work())
        });
        working.join().expect("the work does not panic")
    })
}

fn group_gets_in() -> Result<(), Failed> {
    for section in ["unix", "api-segment"] {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let at = |name: &str| folder.path().join(name);
        let path = folder.path().display();
        let conf = format!(
            "unix {{ nodaemon runtime-dir {path} cli-listen {path}/cli.sock }}\n{section} {{ gid {MEMBERS} }}\n\
             socksvr {{ socket-name {path}/api.sock }}\nstatseg {{ socket-name {path}/stats.sock }}\n\
             buffers {{ buffers-per-numa 1000 }}\n"
        );
        fs::write(at("startup.conf"), conf)?;
        let mut command = quiverd::command();
        let _daemon = Daemon::start(
            command.arg("-c").arg(at("startup.conf")).args(["--viewers", &MEMBERS.to_string()]).stderr(Stdio::null()),
            at("quiver.sock"),
        );

        let ping = || Client::connect(at("api.sock"), "foreigner").and_then(|mut client| client.request(&ControlPing));
        for groups in [&[FOREIGN, MEMBERS][..], &[MEMBERS]] {
            as_foreigner(groups, ping)?.map_err(|error| format!("{section}: a member of the group: {error}"))?;
        }
        let refused = as_foreigner(&[FOREIGN, MEMBERS + 1], ping)?.map(|_| ());
        let is_refused =
            matches!(&refused, Err(ClientError::Socket(error)) if error.kind() == io::ErrorKind::PermissionDenied);
        assert!(is_refused, "{section}: somebody else: {refused:?}");
        for name in ["quiver.sock", "cli.sock"] {
            let connect = || UnixStream::connect(at(name)).map(|_| ());
            as_foreigner(&[FOREIGN, MEMBERS], connect)??;
            let refused = as_foreigner(&[FOREIGN], connect)?.map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::PermissionDenied), "{section}: {name}");
        }
        // Whatever file a member names, quiverd opens it with its own rights, so it opens only some.
        fs::write(at("hidden"), "root:secret")?;
        fs::set_permissions(at("hidden"), Permissions::from_mode(0o600))?;
        fs::write(at("script"), "echo heard")?;
        fs::set_permissions(at("script"), Permissions::from_mode(0o644))?;
        let said = |socket: &Path, line: &str| {
            let request = serde_json::json!({"command": {"line": line}});
            as_foreigner(&[FOREIGN, MEMBERS], || quiverd::ask(socket, &request).to_string())
        };
        let member = |line: &str| said(&at("quiver.sock"), line);
        for command in ["exec", "pcap trace rx file", "create memif socket id 3 filename /tmp/../", "load plugin"] {
            let answer = member(&format!("{command}{}{path}/hidden", if command.ends_with('/') { "" } else { " " }))?;
            assert!(answer.contains("error") && !answer.contains("root:secret"), "{command}: {answer}");
        }
        assert!(member("pcap trace rx file /var/new.pcap")?.contains("is out of reach for clients"));
        // A name alone is one in the folder of captures.
        for command in ["pcap trace rx file members.pcap", "pcap trace off"] {
            assert!(member(command)?.contains("done"), "{command}");
        }
        assert!(member(&format!("exec {path}/script"))?.contains("heard"));
        let viewer = at("viewer.sock");
        assert!(said(&viewer, "show version")?.contains("done"));
        assert!(
            said(&viewer, "create loopback interface")?.contains("viewers may run commands that begin with `show`")
        );
        // Its clients send packets, and what the kernel asks of them first is the same.
        let refused = as_foreigner(&[FOREIGN], || UnixStream::connect(at("stats.sock")).map(|_| ()))?;
        assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::PermissionDenied), "{section}");
    }
    Ok(())
}

/// Files that the daemon may open; half of them are places for clients.
const FILES: usize = 600;

fn crowd_shares() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {FILES} && exec \"$@\"")).arg("sh").arg(env!("CARGO_BIN_EXE_quiverd"));
    command.arg("--socket").arg(at("s")).arg("--api-socket").arg(at("api.sock")).args(["--buffers", "1000"]);
    command.env_remove("QUIVER_SOCKET").env("RUST_LOG", "info").stdin(Stdio::null()).stderr(File::create(at("log"))?);
    let _daemon = Daemon::start(&mut command, at("s"));

    let connect = || Client::connect(at("api.sock"), "crowd");
    let mut crowd = vec![];
    for n in 0..FILES / 2 {
        crowd.push(connect().map_err(|error| format!("client {n} of one process: {error}"))?);
    }
    assert!(connect().is_err(), "all places are taken, and by the one who asks for more");
    let other = Command::new(std::env::current_exe()?).arg(AS_CLIENT).arg(at("api.sock")).status()?;
    assert!(other.success(), "another process is locked out");
    let served = crowd.iter_mut().filter_map(|client| client.request(&ControlPing).ok()).count();
    assert_eq!(served, FILES / 2 - 1, "one of them had to go");

    let log = fs::read_to_string(at("log"))?;
    let (limit, own) = (FILES / 2, std::process::id());
    for told in [
        format!(
            "a client of the API is turned away: {limit} clients wait for answers or events, {limit} of them of process {own}"
        ),
        format!("crowd is disconnected from the API: process {own} of uid {} has {limit} of {limit} places", geteuid()),
    ] {
        assert!(log.contains(&told), "{told:?} is not in the log:\n{log}");
    }
    Ok(())
}
