//! Documents in an object store: in moto's server, which speaks S3, and in a small hostile one, which answers errors, halves
//! and nothing. What was measured is never lost.

mod hostile;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use hostile::{Answer, Hostile};
use libtest_mimic::{Arguments, Failed, Trial};
use quiver_oracle::{MOTO, Moto, Packages};
use quiver_result::{Document, Skipped, Store};
use quiver_store::{Bucket, Patience, Results, Sent, Trouble, UrlError, WriteError};
use serde_json::json;

/// Short, since the hostile server is to be given up; a good one has long answered.
const PATIENCE: Patience = Patience {
    connect: Duration::from_secs(20),
    request: Duration::from_secs(20),
    retries: 2,
    total: Duration::from_secs(60),
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let packages = Packages::install(&arguments, env!("CARGO_TARGET_TMPDIR"), "moto", MOTO);
    let trials = vec![
        packages.test("documents_are_written_once_and_read_in_order", |python| in_order(&Moto::start(python, None)?)),
        packages.test("what_is_no_document_is_named", |python| named(&Moto::start(python, None)?)),
        packages.test("what_is_kept_is_sent", |python| sent(&Moto::start(python, None)?)),
        Trial::test("errors_that_pass_are_tried_again", tried_again),
        Trial::test("a_lost_answer_stores_nothing_twice", lost_answer),
        Trial::test("what_is_not_stored_is_kept_and_named", kept),
        packages.test("a_probe_leaves_nothing", |python| probe_of(&Moto::start(python, None)?)),
        Trial::test("what_takes_nothing_is_known_before", probed),
        Trial::test("what_a_folder_does_not_take_is_kept", full_folder),
        Trial::test("one_broken_object_hides_no_other", broken_objects),
        Trial::test("what_cannot_be_listed_is_named", unlisted),
        Trial::test("urls_and_settings_are_checked", urls),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn results(port: u16, url: &str, unsent: &Path) -> Results {
    let endpoint = format!("http://127.0.0.1:{port}");
    let settings = [
        ("aws_endpoint", endpoint.as_str()),
        ("aws_region", "us-east-1"),
        ("aws_access_key_id", "key"),
        ("aws_secret_access_key", "secret"),
    ];
    Results::bucket(Bucket::with_settings(url, &settings, PATIENCE).expect("settings"), url, unsent)
}

fn document(number: u64) -> Document {
    let time = format!("2026-11-22T14:00:{number:02}Z");
    let text = json!({
        "duration": 0.0, "dut_type": "Quiver", "dut_version": "0.1.0", "start_time": time, "end_time": time,
        "hosts": ["localhost"], "telemetry": [], "message": "", "passed": true, "result": { "type": "unknown" },
        "tags": [format!("N{number}")], "test_documentation": "", "test_id": "suite.case", "test_name_long": "64b-case",
        "test_name_short": "case", "test_type": "device", "tg_type": "Quiver", "tg_version": "0.1.0", "version": "1.5.1",
    });
    Document::parse(text.to_string().as_bytes()).expect("a document")
}

fn read(results: &Results) -> (Vec<Document>, Vec<String>) {
    let (mut documents, mut skipped) = (Vec::new(), Vec::new());
    for found in results.read().expect("a place") {
        match found {
            Ok(stored) => documents.push(stored.document),
            Err(error) => skipped.push(error.to_string()),
        }
    }
    (documents, skipped)
}

/// Why nothing can be read there.
fn refusal(results: &Results) -> String {
    results.read().err().map(|error| error.to_string()).unwrap_or_default()
}

fn in_order(moto: &Moto) -> Result<(), Failed> {
    let unsent = tempfile::tempdir()?;
    let results = results(moto.port(), "s3://lab/some/prefix", unsent.path());
    let documents: Vec<Document> = (0..40).map(document).collect();
    for document in documents.iter().rev() {
        results.write(document)?;
    }
    let (found, skipped) = read(&results);
    assert_eq!(skipped, [""; 0]);
    assert!(found == documents, "{} documents", found.len());
    // Again, it is there already; another one of the same test and time is put beside it.
    assert_eq!(results.write(&documents[7])?, "s3://lab/some/prefix/2026-11-22/suite.case/14-00-07.000000.json");
    let other = Document { tags: vec!["OTHER".into()], ..documents[7].clone() };
    assert_eq!(results.write(&other)?, "s3://lab/some/prefix/2026-11-22/suite.case/14-00-07.000000-2.json");
    assert_eq!(results.write(&other)?, "s3://lab/some/prefix/2026-11-22/suite.case/14-00-07.000000-2.json");
    assert_eq!(read(&results).0.len(), 41);
    // Another prefix does not see them, and nothing was kept here.
    let other = refusal(&self::results(moto.port(), "s3://lab/som", unsent.path()));
    assert!(other.starts_with("s3://lab/som: is not there: no object begins so; name an s3://"), "{other}");
    assert!(fs::read_dir(unsent.path())?.next().is_none());
    let nowhere = refusal(&self::results(moto.port(), "s3://nobucket", unsent.path()));
    assert!(nowhere.starts_with("s3://nobucket/: is not there"), "{nowhere}");
    Ok(())
}

/// Objects of others are put there by other means.
fn named(moto: &Moto) -> Result<(), Failed> {
    let unsent = tempfile::tempdir()?;
    let results = results(moto.port(), "s3://lab", unsent.path());
    results.write(&document(1))?;
    let text = document(2).text()?;
    for (name, body) in
        [("half.json", &text[..text.len() / 2]), ("new.json", "{\"version\": \"2.0.0\"}"), ("page.md", "#")]
    {
        let url = format!("http://127.0.0.1:{}/lab/2026-11-23/{name}", moto.port());
        let status = Command::new("curl")
            .args(["-sf", "-X", "PUT", "-H", "Content-Type: application/json", "--data-binary", body, &url])
            .output()?
            .status;
        assert!(status.success(), "{name}: {status}");
    }
    let (found, skipped) = read(&results);
    assert_eq!(found, [document(1)]);
    let [half, new] = skipped.as_slice() else { return Err(format!("{skipped:?}").into()) };
    assert_eq!(half, "s3://lab/2026-11-23/half.json: is only half written: repeat the test");
    assert!(new.starts_with("s3://lab/2026-11-23/new.json: version is \"2.0.0\", must be \"1.5.1\""), "{new}");
    Ok(())
}

fn sent(moto: &Moto) -> Result<(), Failed> {
    let (unsent, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
    // A server that nobody reaches: its port was given back.
    let gone = Hostile::start(vec![])?.port();
    let unreachable = results(gone, "s3://lab", unsent.path());
    for number in 0..3 {
        let error = unreachable.write(&document(number)).expect_err("nobody is there");
        let WriteError::Kept { trouble, .. } = &error else { return Err(error.to_string().into()) };
        assert!(matches!(**trouble, Trouble::Unavailable { .. }), "{error}");
    }
    fs::write(unsent.path().join("half.json"), "{")?;
    let results = results(moto.port(), "s3://lab", folder.path());
    let count = |sent: &[Sent], is: fn(&Sent) -> bool| sent.iter().filter(|own| is(own)).count();
    let first: Vec<Sent> = results.send(unsent.path())?.collect();
    assert_eq!(count(&first, |sent| matches!(sent, Sent::Stored { .. })), 3, "{first:?}");
    assert_eq!(count(&first, |sent| matches!(sent, Sent::Skipped(Skipped::Invalid { .. }))), 1, "{first:?}");
    assert_eq!(read(&results).0, (0..3).map(document).collect::<Vec<_>>());
    // What was sent is here no longer; what is none still is.
    let again: Vec<Sent> = results.send(unsent.path())?.collect();
    assert!(matches!(again.as_slice(), [Sent::Skipped(_)]), "{again:?}");
    // Sent a second time, nothing is there twice.
    Store::new(unsent.path()).write(&document(1))?;
    assert_eq!(count(&results.send(unsent.path())?.collect::<Vec<_>>(), |sent| matches!(sent, Sent::Stored { .. })), 1);
    assert_eq!(read(&results).0.len(), 3);
    Ok(())
}

/// Header of a put that must not overwrite an object.
const ONCE: &str = "if-none-match: *";

fn tried_again() -> Result<(), Failed> {
    for bad in [Answer::Status(500), Answer::Status(503), Answer::Status(429), Answer::Nothing] {
        let server = Hostile::start(vec![bad.clone(), bad.clone(), Answer::Status(200)])?;
        let unsent = tempfile::tempdir()?;
        let at = results(server.port(), "s3://lab", unsent.path()).write(&document(1))?;
        assert_eq!(at, "s3://lab/2026-11-22/suite.case/14-00-01.000000.json");
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "{bad:?}: {requests:#?}");
        assert!(requests.iter().all(|request| request.starts_with("PUT ") && request.contains(ONCE)), "{requests:#?}");
    }
    Ok(())
}

fn lost_answer() -> Result<(), Failed> {
    let text = document(1).text()?;
    // The first attempt was stored, but its answer is lost: the second one finds it there.
    let server = Hostile::start(vec![Answer::Nothing, Answer::Status(412), Answer::Body(text.into_bytes())])?;
    let unsent = tempfile::tempdir()?;
    let at = results(server.port(), "s3://lab", unsent.path()).write(&document(1))?;
    assert_eq!(at, "s3://lab/2026-11-22/suite.case/14-00-01.000000.json");
    let methods: Vec<String> = server.requests().iter().map(|request| request[..3].to_owned()).collect();
    assert_eq!(methods, ["PUT", "PUT", "GET"]);
    Ok(())
}

fn kept() -> Result<(), Failed> {
    let always = |answer| std::iter::repeat_n(answer, 20).collect::<Vec<_>>();
    // How many requests each makes says which are tried again: what is denied will be the next time, too.
    for (answer, said, requests) in [
        (Answer::Status(503), "no good answer", 3),
        (Answer::Status(403), "access is denied; look at AWS_ACCESS_KEY_ID", 1),
        (Answer::Status(401), "access is denied", 1),
        (Answer::Status(404), "is not there", 1),
        (Answer::Status(400), "no good answer", 1),
        (Answer::Nothing, "no good answer", 3),
        (Answer::Garbage, "no good answer", 1),
    ] {
        let server = Hostile::start(always(answer.clone()))?;
        let folder = tempfile::tempdir()?;
        let unsent = folder.path().join("unsent");
        let error = results(server.port(), "s3://lab/p", &unsent).write(&document(1)).expect_err("it is not stored");
        let message = error.to_string();
        let WriteError::Kept { kept, .. } = error else { return Err(message.into()) };
        assert!(message.starts_with("s3://lab/p/2026-11-22/suite.case/14-00-01.000000.json: "), "{message}");
        let remedy = format!("send it later: quiver lab send s3://lab/p --from {}", unsent.display());
        assert!(message.contains(said) && message.ends_with(&remedy), "{answer:?}: {message}");
        assert_eq!(Document::parse(&fs::read(kept)?)?, document(1));
        assert!(server.requests().len() >= requests, "{answer:?}: {:#?}", server.requests());
        assert!(server.requests().len() <= 4, "{answer:?}: {:#?}", server.requests());
    }
    // Silence ends with the request's time.
    let server = Hostile::start(always(Answer::Silence))?;
    let settings = [("aws_endpoint", &*format!("http://127.0.0.1:{}", server.port())), ("aws_skip_signature", "true")];
    let patience = Patience { request: Duration::from_millis(200), retries: 1, ..PATIENCE };
    let folder = tempfile::NamedTempFile::new()?;
    let bucket = Bucket::with_settings("s3://lab", &settings, patience)?;
    let error = Results::bucket(bucket, "s3://lab", &folder.path().join("unsent")).write(&document(1));
    // Below a file nothing can be kept, and that is said, too.
    let error = error.expect_err("it is not stored");
    assert!(
        matches!(error, WriteError::Lost { .. }) && error.to_string().contains("It cannot be kept either"),
        "{error}"
    );
    Ok(())
}

fn probe_of(moto: &Moto) -> Result<(), Failed> {
    let unsent = tempfile::tempdir()?;
    let results = results(moto.port(), "s3://lab/p", unsent.path());
    assert!(results.probe()?.is_none());
    assert!(refusal(&results).contains("no object begins so"), "{}", refusal(&results));
    let nowhere = self::results(moto.port(), "s3://nobucket", unsent.path()).probe().err().ok_or("there is none")?;
    assert!(matches!(nowhere, WriteError::Refused(Trouble::Missing { .. })), "{nowhere}");
    assert!(fs::read_dir(unsent.path())?.next().is_none());
    Ok(())
}

/// A permanent refusal is an error of the probe; a transient one is not, as long as documents can be kept.
fn probed() -> Result<(), Failed> {
    let always = |status| Hostile::start(std::iter::repeat_n(Answer::Status(status), 20).collect());
    let (folder, file) = (tempfile::tempdir()?, tempfile::NamedTempFile::new()?);
    let probe = |port, unsent: &Path| results(port, "s3://lab/p", unsent).probe();
    let server = always(503)?;
    let trouble = probe(server.port(), folder.path())?.ok_or("it does not answer")?;
    assert!(matches!(trouble, Trouble::Unavailable { .. }), "{trouble}");
    let error = probe(server.port(), &file.path().join("unsent")).err().ok_or("nothing can be kept")?;
    assert!(error.to_string().contains("It cannot be kept either"), "{error}");
    let denied = probe(always(403)?.port(), folder.path()).err().ok_or("it is denied")?;
    let remedy = "; free that place, or name another with --results";
    assert!(denied.to_string().contains("access is denied") && denied.to_string().ends_with(remedy), "{denied}");
    let below = file.path().join("results");
    let error = Results::open(below.to_str().ok_or("a path")?, folder.path())?.probe().err().ok_or("a file")?;
    assert!(error.to_string().starts_with(&format!("{}: cannot be written: ", below.display())), "{error}");
    assert!(error.to_string().ends_with(remedy), "{error}");
    Ok(())
}

/// It could be written when it was tried.
fn full_folder() -> Result<(), Failed> {
    let root = tempfile::tempdir()?;
    let (place, unsent) = (root.path().join("results"), root.path().join("unsent"));
    let results = Results::open(place.to_str().ok_or("a path")?, &unsent)?;
    assert!(results.probe()?.is_none());
    assert!(fs::read_dir(&place)?.next().is_none(), "nothing stays behind");
    fs::remove_dir(&place)?;
    fs::write(&place, "")?;
    let error = results.write(&document(1)).err().ok_or("it is a file")?;
    let message = error.to_string();
    let WriteError::Kept { kept, .. } = error else { return Err(message.into()) };
    let remedy = format!("send it later: quiver lab send {} --from {}", place.display(), unsent.display());
    assert!(message.contains("cannot be written") && message.ends_with(&remedy), "{message}");
    assert_eq!(Document::parse(&fs::read(kept)?)?, document(1));
    fs::remove_file(&place)?;
    let sent: Vec<Sent> = results.send(&unsent)?.collect();
    assert!(matches!(&sent[..], [Sent::Stored { .. }]) && read(&results).0 == [document(1)], "{sent:?}");
    Ok(())
}

/// A listing of these objects, as S3 gives it.
fn listing(names: &[&str]) -> Answer {
    let object = |name: &&str| {
        format!(
            "<Contents><Key>{name}</Key><LastModified>2026-11-22T14:00:00.000Z</LastModified><ETag>\"1\"</ETag>\
             <Size>9</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )
    };
    let objects: String = names.iter().map(object).collect();
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>lab</Name><Prefix></Prefix>\
         <KeyCount>{}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>",
        names.len()
    );
    Answer::Body(text.into_bytes())
}

fn broken_objects() -> Result<(), Failed> {
    let text = |number| document(number).text().map(String::into_bytes);
    let names = ["cut.json", "denied.json", "error.json", "gone.json", "good.json", "half.json"];
    let good = text(1)?;
    let server = Hostile::by_path(move |path, attempt| match path {
        "/lab/good.json" => Answer::Body(good.clone()),
        "/lab/half.json" => Answer::Body(good[..good.len() / 2].to_vec()),
        "/lab/cut.json" => Answer::Cut(good.clone()),
        "/lab/denied.json" => Answer::Status(403),
        "/lab/gone.json" => Answer::Status(404),
        // The first time only.
        "/lab/error.json" if attempt == 0 => Answer::Status(500),
        "/lab/error.json" => Answer::Body(good.clone()),
        _ => listing(&names),
    })?;
    let unsent = tempfile::tempdir()?;
    let (found, skipped) = read(&results(server.port(), "s3://lab", unsent.path()));
    assert_eq!(found, [document(1), document(1)], "{skipped:#?}");
    let expected = [
        ("cut.json", "cannot be read: s3://lab/cut.json: no good answer"),
        ("denied.json", "cannot be read: s3://lab/denied.json: access is denied"),
        ("gone.json", "cannot be read: s3://lab/gone.json: is not there"),
        ("half.json", "is only half written: repeat the test"),
    ];
    assert_eq!(skipped.len(), expected.len(), "{skipped:#?}");
    for (skipped, (name, said)) in skipped.iter().zip(expected) {
        assert!(skipped.starts_with(&format!("s3://lab/{name}: {said}")), "{skipped}");
    }
    Ok(())
}

fn unlisted() -> Result<(), Failed> {
    for (answer, said) in [
        (Answer::Status(500), "no good answer"),
        (Answer::Status(403), "access is denied"),
        (Answer::Status(404), "is not there"),
        (Answer::Body(b"<ListBucketResult><Contents>".to_vec()), "no good answer"),
        (Answer::Garbage, "no good answer"),
    ] {
        let server = Hostile::start(std::iter::repeat_n(answer.clone(), 20).collect())?;
        let unsent = tempfile::tempdir()?;
        let refused = refusal(&results(server.port(), "s3://lab/p", unsent.path()));
        assert!(refused.starts_with("s3://lab/p: ") && refused.contains(said), "{answer:?}: {refused}");
        assert!(refused.ends_with("; name an s3://BUCKET/PREFIX with results, or a folder"), "{refused}");
    }
    Ok(())
}

fn urls() -> Result<(), Failed> {
    for url in ["http://host/bucket", "s3://", "s3:///prefix", "s3://buck et", "s3://a/b//c", "gs://bucket"] {
        let error = Results::open(url, Path::new("unsent")).expect_err("it leads nowhere");
        assert!(matches!(error, UrlError::Form { .. }), "{url}: {error}");
    }
    let error = Bucket::with_settings("s3://lab", &[("aws_endpont", "x")], PATIENCE).expect_err("there is none");
    assert!(
        error.to_string().contains("aws_endpont") && error.to_string().contains("look at AWS_ENDPOINT_URL"),
        "{error}"
    );
    // What is no URL is a folder.
    let folder = tempfile::tempdir()?;
    let results = Results::open(folder.path().to_str().ok_or("a path")?, Path::new("unsent"))?;
    let at = results.write(&document(1))?;
    assert!(Path::new(&at).starts_with(folder.path()), "{at}");
    assert_eq!(read(&results).0, [document(1)]);
    let names: BTreeSet<_> = fs::read_dir(folder.path())?.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    Ok(())
}
