//! What becomes of the daemon with its log.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_log_that_nobody_reads_ends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let (reader, writer) = std::io::pipe().unwrap();
    // It says where it serves, at the latest, and what this machine's memory lacks before.
    drop(reader);
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_quiverd"))
        .arg("--socket")
        .arg(&socket)
        .args(["--buffers", "512", "--buffers-limit", "512"])
        .env("RUST_LOG", "info")
        .stdin(Stdio::null())
        .stderr(writer)
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(20);
    let stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < limit, "{error}; {:?}", daemon.try_wait()),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    (&stream).write_all(b"{\"command\":{\"line\":\"show version\",\"json\":true}}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer).unwrap();
    assert!(answer.contains("done"), "{answer}; {:?}", daemon.try_wait());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
