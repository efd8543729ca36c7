//! The C example, compiled by the C compiler against the header and the library, as a program of its own, talks to an
//! application in Rust, in both roles; kill -9 of it is survived.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quiver_memif_client::{Client, InterfaceId, Packets, Settings};

/// The example, built in `folder`. Warnings are errors.
fn build(folder: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The test lies in target/PROFILE/deps, the library beside that or above it.
    let deps = std::env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let libraries = [deps.parent().expect("a folder").to_owned(), deps];
    let library = libraries.iter().find(|at| at.join("libquivermemif.so").exists()).expect("cargo builds the library");
    let program = folder.join("reflect");
    let rpath = format!("-Wl,-rpath,{}", library.display());
    let status = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L", "-I"])
        .arg(here.join("include"))
        .arg(here.join("examples/reflect.c"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(library)
        .args(["-lquivermemif", &rpath])
        .status()
        .expect("a C compiler");
    assert!(status.success(), "reflect.c does not compile");
    program
}

struct Reflect(Child);
impl Reflect {
    fn start(program: &Path, socket: &Path, role: &str) -> Reflect {
        let mut command = Command::new(program);
        command.arg(socket).args([role, "7"]).stdin(Stdio::piped()).stdout(Stdio::null());
        Reflect(command.spawn().expect("started"))
    }
}
impl Drop for Reflect {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(client: &mut Client, what: &str, mut is_so: impl FnMut(&mut Client) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so(client) {
        assert!(Instant::now() < end, "{what}");
        client.wait(Some(Duration::from_millis(10))).expect("no error");
    }
}

/// Frames that come back with their addresses exchanged.
fn talk(client: &mut Client, interface: InterfaceId) {
    until(client, "connect", |client| client.is_connected(interface));
    let lengths = [14, 60, 1500, 2048, 2049, 9000, 60_000];
    let frames: Vec<Vec<u8>> = lengths.iter().map(|length| (0..*length).map(|i| i as u8).collect()).collect();
    let mut sent = 0;
    // A slave posts its buffers a moment after it has heard that it is connected.
    until(client, "room", |client| {
        let tx = client.tx_queue(interface, 0).expect("connected");
        sent += tx.send(frames[sent..].iter().map(Vec::as_slice)).expect("honest");
        sent == frames.len()
    });
    let (mut back, mut packets) = (vec![], Packets::new());
    until(client, "frames back", |client| {
        let rx = client.rx_queue(interface, 0).expect("connected");
        while rx.receive(&mut packets, 16).expect("honest") > 0 {
            back.extend(packets.iter().map(<[u8]>::to_vec));
        }
        back.len() >= frames.len()
    });
    for (mut frame, back) in frames.into_iter().zip(back) {
        frame[..12].rotate_left(6);
        assert!(frame == back);
    }
}

#[test]
fn a_program_in_c_reflects_frames_and_may_be_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path());
    let socket = folder.path().join("memif.sock");
    let address = || socket.to_str().expect("UTF-8").parse().expect("a path");
    let retry = Duration::from_millis(50);
    for (ours, theirs) in [(Settings::master(address(), 7), "slave"), (Settings::slave(address(), 7), "master")] {
        let mut client = Client::new().expect("a client");
        let interface = client.open(Settings { retry, ..ours }).expect("an interface");
        for _ in 0..2 {
            let mut reflect = Reflect::start(&program, &socket, theirs);
            talk(&mut client, interface);
            reflect.0.kill().expect("killed");
            until(&mut client, "loss", |client| !client.is_connected(interface));
        }
        let mut last = Reflect::start(&program, &socket, theirs);
        talk(&mut client, interface);
        // The end of its input is its end.
        drop(last.0.stdin.take());
        assert!(last.0.wait().expect("it ends").success());
    }
}

/// The library has just what the header declares.
#[test]
fn the_header_declares_what_the_library_has() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |file: &str, before: &str| {
        let text = std::fs::read_to_string(here.join(file)).expect(file);
        let mut names: Vec<String> = text
            .match_indices(before)
            .map(|(at, _)| &text[at + before.len()..])
            .filter_map(|rest| rest.split_once('(').map(|(name, _)| name.to_owned()))
            .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let defined = names("src/lib.rs", "extern \"C\" fn quiver_memif_");
    let header: Vec<_> = names("include/quiver_memif.h", "quiver_memif_");
    assert!(defined.len() >= 10);
    assert_eq!(defined, header.into_iter().filter(|name| defined.contains(name)).collect::<Vec<_>>());
}
