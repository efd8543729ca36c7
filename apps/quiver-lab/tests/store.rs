//! Results by URL, as users call it: `quiver lab run` and `quiver lab send` against moto's server, plain and with TLS, and
//! against one that answers nothing but errors.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Failed, Trial};
use quiver_oracle::{MOTO, Moto, Packages, Tls};
use quiver_result::{Document, Store};
use quiver_store::{Bucket, Patience, Results};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "moto", MOTO);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let measured = |trial: Trial| trial.with_ignored_flag(packages.are_missing() || cores < 2);
    let trials = vec![
        measured(packages.test("what_is_measured_is_stored_by_url", stored)),
        measured(packages.test("what_a_store_refuses_is_kept_and_sent_later", refused)),
        // A store of its own with certificates takes half a minute; the trials above run against one without.
        packages.test("slow_peers::a_store_with_tls_has_to_be_trusted", trusted),
        Trial::test("places_that_are_none_are_named", misnamed),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// `quiver lab`, with a store as Amazon's tools are told of it; `state` is where documents are kept that it does not take.
fn lab(endpoint: &str, state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver-lab"));
    command.args(arguments).env("XDG_STATE_HOME", state).env("AWS_ENDPOINT_URL", endpoint);
    command.envs([("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")]);
    command
}

/// The shortest case there is.
const RUN: [&str; 6] = ["run", "--json", "--trial", "0.02", "--results", "s3://lab/runs"];
const CASE: &str = "quiver AND l2xcbase AND eth AND drv_memif AND 64b AND 1c AND mrr";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The summary of `quiver lab run --json`.
fn summary(output: &Output) -> Result<Value, Failed> {
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", said(output)).into())
}

fn stored(python: &Path) -> Result<(), Failed> {
    let (moto, state) = (Moto::start(python, None)?, tempfile::tempdir()?);
    let output = lab(moto.endpoint(), state.path(), &RUN).arg(CASE).output()?;
    let summary = summary(&output)?;
    let place = summary["cases"][0]["document"].as_str().ok_or_else(|| said(&output))?;
    assert!(place.starts_with("s3://lab/runs/20") && place.ends_with(".json"), "{place}");
    assert_eq!(summary["unsent"], 0);
    assert!(fs::read_dir(state.path())?.next().is_none(), "nothing is kept here");
    // Who reads the store finds it.
    let output =
        lab(moto.endpoint(), state.path(), &["compare", "s3://lab/runs", "s3://lab/runs", "--json"]).output()?;
    assert!(said(&output).contains("A: 1 documents, B: 1"), "{}", said(&output));
    Ok(())
}

fn refused(python: &Path) -> Result<(), Failed> {
    let (broken, state) = (Broken::start()?, tempfile::tempdir()?);
    let output = lab(&broken.endpoint, state.path(), &RUN).arg(CASE).output()?;
    let summary = summary(&output)?;
    // Tried again and again, then kept here, and nobody thinks that it is where it should be.
    assert!(broken.asked.load(Ordering::Relaxed) > 2, "{}", said(&output));
    assert!(!output.status.success() && summary["unsent"] == 1, "{summary:#}");
    let remedy = "send it later: quiver lab send s3://lab/runs --from ";
    assert!(said(&output).contains("not stored: ") && said(&output).contains(remedy), "{}", said(&output));
    let kept = Path::new(summary["cases"][0]["document"].as_str().ok_or("no document")?);
    let document = Document::parse(&fs::read(kept)?)?;
    assert!(kept.starts_with(state.path().join("quiver/lab/unsent")), "{}", kept.display());
    // Another folder for that, and one that is none: then it is said that it is lost.
    let nowhere = state.path().join("file");
    fs::write(&nowhere, "")?;
    let unsent = nowhere.to_str().ok_or("a path")?;
    let output = lab(&broken.endpoint, state.path(), &RUN).args(["--unsent", unsent, CASE]).output()?;
    assert!(!output.status.success() && said(&output).contains("It cannot be kept either"), "{}", said(&output));
    drop(broken);
    let moto = Moto::start(python, None)?;
    let output = lab(moto.endpoint(), state.path(), &["send", "s3://lab/runs"]).output()?;
    assert!(output.status.success() && !kept.exists(), "{}", said(&output));
    let at = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(at.starts_with("s3://lab/runs/20"), "{at}");
    let settings = [
        ("aws_endpoint", moto.endpoint()),
        ("aws_region", "us-east-1"),
        ("aws_access_key_id", "key"),
        ("aws_secret_access_key", "secret"),
    ];
    let bucket = Bucket::with_settings("s3://lab/runs", &settings, Patience::default())?;
    let found = Results::bucket(bucket, "s3://lab/runs", state.path()).read()?.collect::<Result<Vec<_>, _>>()?;
    assert!(matches!(&found[..], [only] if only.document == document), "{found:?}");
    Ok(())
}

/// A certificate of the test's own, for a server on the loopback interface.
fn trusted(python: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let [certificate, other, key] = ["certificate.pem", "other.pem", "key.pem"].map(|name| folder.path().join(name));
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::write(&certificate, own.cert.pem())?;
    fs::write(&key, own.signing_key.serialize_pem())?;
    fs::write(&other, rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?.cert.pem())?;
    let moto = Moto::start(python, Some(Tls { certificate: &certificate, key: &key }))?;
    assert!(moto.endpoint().starts_with("https://"), "{}", moto.endpoint());
    let unsent = folder.path().join("unsent");
    let kept = Store::new(&unsent).write(&document())?;
    let send = ["send", "s3://lab/tls", "--from", unsent.to_str().ok_or("a path")?];
    // One that somebody else made, as a man in the middle would have: nothing is sent.
    let output = lab(moto.endpoint(), folder.path(), &send).env("SSL_CERT_FILE", &other).output()?;
    assert!(!output.status.success() && kept.exists(), "{}", said(&output));
    assert!(said(&output).to_lowercase().contains("certificate"), "{}", said(&output));
    let output = lab(moto.endpoint(), folder.path(), &send).env("SSL_CERT_FILE", &certificate).output()?;
    assert!(output.status.success() && !kept.exists(), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("s3://lab/tls/2026-11-22/"), "{output:?}");
    let compare = ["compare", "s3://lab/tls", "s3://lab/tls"];
    let output = lab(moto.endpoint(), folder.path(), &compare).env("SSL_CERT_FILE", &certificate).output()?;
    assert!(said(&output).contains("A: 1 documents, B: 1"), "{}", said(&output));
    Ok(())
}

fn document() -> Document {
    let time = "2026-11-22T14:00:00Z";
    let text = json!({
        "duration": 0.0, "dut_type": "quiver", "dut_version": "0.1.0", "start_time": time, "end_time": time,
        "hosts": ["localhost"], "telemetry": [], "message": "", "passed": true, "result": { "type": "unknown" },
        "tags": [], "test_documentation": "", "test_id": "suite.case", "test_name_long": "64b-case",
        "test_name_short": "case", "test_type": "device", "tg_type": "quiver", "tg_version": "0.1.0", "version": "1.5.1",
    });
    Document::parse(text.to_string().as_bytes()).expect("a document")
}

fn misnamed() -> Result<(), Failed> {
    let state = tempfile::tempdir()?;
    for place in ["gs://bucket", "s3://", "s3://buck et/x"] {
        let output = lab("http://127.0.0.1:9", state.path(), &["run", "--results", place, CASE]).output()?;
        // Before anything is measured.
        assert!(!output.status.success() && said(&output).contains(place), "{place}: {}", said(&output));
        assert!(!said(&output).contains("measured"), "{}", said(&output));
    }
    Ok(())
}

/// A server whose every answer is that it cannot just now.
struct Broken {
    endpoint: String,
    asked: Arc<AtomicUsize>,
}

impl Broken {
    /// Its thread ends with the test.
    fn start() -> io::Result<Broken> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                // Who hangs up meanwhile may.
                let _: io::Result<()> = refuse(stream);
            }
        });
        Ok(Broken { endpoint, asked })
    }
}

/// Reads the request's head and hangs up behind its answer: the body may be on its way still.
fn refuse(mut stream: impl Read + Write) -> io::Result<()> {
    let (mut head, mut some) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut some)? {
            0 => return Ok(()),
            length => head.extend_from_slice(&some[..length]),
        }
    }
    stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}
