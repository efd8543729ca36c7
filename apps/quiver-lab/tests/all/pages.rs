//! `quiver lab site` and `quiver lab serve`, as users call them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use quiver_dashboard::synthetic;
use quiver_result::Store;

fn lab(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.current_dir(folder);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Stores so many documents in `results`.
fn stored(folder: &Path, count: usize) {
    let store = Store::new(folder.join("results"));
    for stored in synthetic::documents(200).take(count) {
        store.write(&stored.document).unwrap();
    }
}

/// All data files of a site, without the time at which they were made.
fn data(site: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(site.join("data")).unwrap().map(|entry| entry.unwrap());
    let read = files.map(|file| {
        let text = fs::read_to_string(file.path()).unwrap();
        let content = text.rsplit_once(",\"").unwrap().0.to_owned();
        (file.file_name().into_string().unwrap(), content)
    });
    // The index tells the time, too.
    read.filter(|(name, _)| name != "index.js").collect()
}

#[test]
fn a_folder_and_an_export_give_the_same_site() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), 40);
    fs::write(folder.path().join("results/no.json"), "{").unwrap();
    let site =
        |results: &str, place: &str| lab(folder.path()).args(["site", "--results", results, place]).output().unwrap();
    let made = site("results", "one");
    assert!(made.status.success(), "{}", said(&made));
    assert!(said(&made).contains("left out: results/no.json: is only half written"), "{}", said(&made));
    assert!(said(&made).ends_with("one: 40 documents in 2 series, 1 files left out\n"), "{}", said(&made));
    let exported = lab(folder.path()).args(["export", "--parquet", "all.parquet"]).output().unwrap();
    assert!(exported.status.success(), "{}", said(&exported));
    assert!(site("all.parquet", "two").status.success());
    let [one, two] = ["one", "two"].map(|place| data(&folder.path().join(place)));
    assert!(one.len() > 10 && one == two);
    // A site is replaced by a later one, and nothing else is.
    assert!(site("results", "one").status.success());
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/letter.txt"), "dear").unwrap();
    let refused = site("results", "other");
    let wanted =
        "other: the site cannot be written: the folder is not empty, and no site of quiver-lab: name another one\n";
    assert!(!refused.status.success() && said(&refused).ends_with(wanted), "{}", said(&refused));
    assert_eq!(fs::read_dir(folder.path().join("other")).unwrap().count(), 1);
    let missing = site("nowhere", "three");
    assert!(!missing.status.success() && said(&missing).contains("name a folder with results"), "{}", said(&missing));
    assert!(!folder.path().join("three").exists());
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.starts_with('.')).count(), 0, "nothing stays behind");
}

/// A server that ends with the test.
struct Server(Child, String);

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Server {
        let mut command = lab(folder);
        command.args(["serve", "--every", "1"]).args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Server(child, url.trim().to_owned())
    }

    /// Head and body of an answer over plain HTTP.
    fn ask(&self, head: &str) -> String {
        let address = self.1.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_server_is_for_this_machine_and_shows_new_results() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), 10);
    let server = Server::start(folder.path(), &["--listen", "127.0.0.1:0"]);
    let get = |path: &str| server.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost"));
    let page = get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<title>Quiver lab</title>"), "{page}");
    assert!(page.to_lowercase().contains("content-type: text/html; charset=utf-8\r\n"), "{page}");
    let data = get("/data/index.js");
    assert!(data.starts_with("HTTP/1.1 200") && data.contains("quiver.take(\"index\","));
    for path in
        ["/none", "/../results", "/data/../index.html", "/data/.", "//etc/passwd", "/data/%2e%2e/index.html", "/data"]
    {
        assert!(get(path).starts_with("HTTP/1.1 404"), "{path}");
    }
    for (head, status) in [
        ("GET / HTTP/1.1\r\nHost: elsewhere.example", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost.elsewhere.example:80", "403"),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80", "200"),
        ("GET / HTTP/1.1\r\nHost: [::1]", "200"),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", "405"),
        ("nonsense", "400"),
    ] {
        let answer = server.ask(head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
    }
    // New results are there without a restart.
    stored(folder.path(), 14);
    let begun = Instant::now();
    while get("/data/index.js") == data {
        assert!(begun.elapsed() < Duration::from_secs(60), "new results are never shown");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn other_machines_need_tls_and_a_token() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), 2);
    let refused = lab(folder.path()).args(["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    let wanted = "0.0.0.0:0: other machines reach this address: it needs --tls-cert, --tls-key and --token";
    assert!(!refused.status.success() && said(&refused).contains(wanted), "{}", said(&refused));
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let guarded = ["--listen", "0.0.0.0:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--token", "token"];
    fs::write(folder.path().join("token"), "short\n").unwrap();
    let refused = lab(folder.path()).arg("serve").args(guarded).output().unwrap();
    assert!(said(&refused).contains("token: the token has 5 characters, must have 16 or more"), "{}", said(&refused));
    fs::write(folder.path().join("token"), "0123456789abcdef\n").unwrap();
    let server = Server::start(folder.path(), &guarded);
    let url = server.1.replace("0.0.0.0", "localhost");
    assert!(url.starts_with("https://"), "{url}");
    let curl = |more: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert", "cert.pem"]);
        let output = command.args(more).arg(&url).current_dir(folder.path()).output();
        String::from_utf8(output.expect("install it: apt-get install curl").stdout).unwrap()
    };
    assert_eq!(curl(&[]), "401");
    assert_eq!(curl(&["--user", "me:0123456789abcdeX"]), "401");
    assert_eq!(curl(&["--user", "me:0123456789abcdef"]), "200");
    assert_eq!(curl(&["--header", "Authorization: Bearer 0123456789abcdef"]), "200");
    assert_eq!(curl(&["--header", "Authorization: Bearer"]), "401");
    // Without TLS nothing is answered.
    assert!(curl(&["--url", &url.replace("https", "http"), "--next"]).starts_with("000"));
}
