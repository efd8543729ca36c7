//! Documents as objects of an S3-compatible store.

use std::io;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    RetryConfig,
};
use quiver_result::{BYTES_MAX, Document, Name, Skipped, Stored};
use tokio::runtime::Runtime;

use crate::{Trouble, UrlError};

/// Objects that are read at once: an answer takes long, compared with what is done with it.
const AT_ONCE: usize = 16;
/// Largest number of documents of one test that begin in the same microsecond.
const SAME_TIME_MAX: u64 = 1000;

/// The object that is put to see whether a document could be: its ending is another one than theirs.
const PROBE: &str = "quiver-lab.probe";

/// How long an object store is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until a request has its whole answer.
    pub request: Duration,
    /// How often a request is tried again.
    pub retries: usize,
    /// How long a request is tried again.
    pub total: Duration,
}

impl Default for Patience {
    /// A minute and a half at most, which is less than a test takes.
    fn default() -> Patience {
        let second = Duration::from_secs;
        Patience { connect: second(5), request: second(30), retries: 5, total: second(60) }
    }
}

/// A part of a bucket.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    /// `s3://bucket`, for messages.
    root: String,
    prefix: Path,
    runtime: Runtime,
}

impl Bucket {
    /// `s3://bucket/prefix`, where and as whom the environment says, as with Amazon's own tools: `AWS_ENDPOINT_URL`,
    /// `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and others. Nothing is asked yet.
    ///
    /// # Errors
    /// The URL or a variable cannot be used.
    pub fn open(url: &str, patience: Patience) -> Result<Bucket, UrlError> {
        Bucket::with(AmazonS3Builder::from_env(), url, patience)
    }

    /// The same with settings in place of the environment, by their names: `aws_endpoint`, `aws_access_key_id`.
    ///
    /// # Errors
    /// The URL or a setting cannot be used.
    pub fn with_settings(url: &str, settings: &[(&str, &str)], patience: Patience) -> Result<Bucket, UrlError> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in settings {
            let key: AmazonS3ConfigKey = name.parse().map_err(|error| setting(url, &error))?;
            builder = builder.with_config(key, *value);
        }
        Bucket::with(builder, url, patience)
    }

    fn with(builder: AmazonS3Builder, url: &str, patience: Patience) -> Result<Bucket, UrlError> {
        let form = || UrlError::Form { url: url.to_owned() };
        let (bucket, prefix) =
            url.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))).ok_or_else(form)?;
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        if bucket.is_empty() || !bucket.chars().all(is_allowed) {
            return Err(form());
        }
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|_| form())?;
        // Of two providers, rustls would not know which one is meant. That one is chosen already is as good.
        let _: Result<(), _> = rustls::crypto::ring::default_provider().install_default();
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
        let client = ClientOptions::new()
            .with_connect_timeout(patience.connect)
            .with_timeout(patience.request)
            // Who names an endpoint without TLS wants it: a store of one's own, on this machine say.
            .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")));
        let (init_backoff, max_backoff) = (Duration::from_millis(100), Duration::from_secs(10));
        let backoff = BackoffConfig { init_backoff, max_backoff, base: 2.0 };
        let retry = RetryConfig { backoff, max_retries: patience.retries, retry_timeout: patience.total };
        let builder = builder.with_bucket_name(bucket).with_client_options(client).with_retry(retry);
        let store = builder.build().map_err(|error| setting(url, &error))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| setting(url, &error))?;
        Ok(Bucket { store, root: format!("s3://{bucket}"), prefix, runtime })
    }

    /// URL of an object for messages.
    fn url(&self, path: &Path) -> String {
        format!("{}/{path}", self.root)
    }

    /// Puts a document there whole, or not at all, and never over another one, in one request (`If-None-Match: *`). One
    /// that is there already, from an attempt whose answer was lost, is not put there again.
    ///
    /// # Errors
    /// The store does not take it.
    pub(crate) fn put(&self, name: &Name, text: &str) -> Result<String, Trouble> {
        self.runtime.block_on(async {
            let mut at = self.prefix.clone();
            for number in (1..=SAME_TIME_MAX).filter_map(NonZeroU64::new) {
                let (folder, file) = name.path(number);
                at = folder.split('/').chain([file.as_str()]).fold(self.prefix.clone(), |path, part| path.join(part));
                let options = PutOptions::from(PutMode::Create);
                match self.store.put_opts(&at, PutPayload::from(text.as_bytes().to_vec()), options).await {
                    Ok(_) => return Ok(self.url(&at)),
                    Err(Error::AlreadyExists { .. }) if self.get(&at).await? == text.as_bytes() => {
                        return Ok(self.url(&at));
                    }
                    Err(Error::AlreadyExists { .. }) => {}
                    Err(error) => return Err(Trouble::of(&self.url(&at), &error)),
                }
            }
            let said = format!("{SAME_TIME_MAX} other documents of this test and time are there");
            Err(Trouble::Unavailable { at: self.url(&at), said })
        })
    }

    /// Puts an object that is no document, and deletes it: whether one can be put now.
    ///
    /// # Errors
    /// The store does not take it. Who may put but not delete leaves one.
    pub(crate) fn probe(&self) -> Result<(), Trouble> {
        let at = self.prefix.clone().join(PROBE);
        self.runtime.block_on(async {
            let put = self.store.put(&at, PutPayload::from_static(PROBE.as_bytes())).await;
            put.map_err(|error| Trouble::of(&self.url(&at), &error))?;
            let _: Result<(), Error> = self.store.delete(&at).await;
            Ok(())
        })
    }

    async fn get(&self, path: &Path) -> Result<Vec<u8>, Trouble> {
        let answer = async { self.store.get(path).await?.bytes().await };
        answer.await.map(Vec::from).map_err(|error| Trouble::of(&self.url(path), &error))
    }

    /// All documents in the order of their names, and in their place what is none.
    ///
    /// # Errors
    /// The store does not tell what there is, or there is nothing of this prefix.
    pub(crate) fn read(&self) -> Result<impl Iterator<Item = Result<Stored, Skipped>>, Trouble> {
        let mut objects = self.runtime.block_on(self.list())?;
        objects.sort_by(|one, other| one.location.cmp(&other.location));
        let mut rest = objects.into_iter();
        let chunks = std::iter::from_fn(move || {
            let some: Vec<ObjectMeta> = rest.by_ref().take(AT_ONCE).collect();
            (!some.is_empty()).then_some(some)
        });
        Ok(chunks.flat_map(|some| {
            let all = stream::iter(some).map(|object| self.document(object)).buffered(AT_ONCE).collect::<Vec<_>>();
            self.runtime.block_on(all)
        }))
    }

    /// Objects with a document's ending.
    async fn list(&self) -> Result<Vec<ObjectMeta>, Trouble> {
        let objects = self.store.list(Some(&self.prefix)).try_collect::<Vec<ObjectMeta>>().await;
        let mut objects = objects.map_err(|error| Trouble::of(&self.url(&self.prefix), &error))?;
        // A prefix is there by its objects only; a bucket is there without any.
        if objects.is_empty() && self.prefix != Path::default() {
            return Err(Trouble::Missing { at: self.url(&self.prefix), said: "no object begins so".into() });
        }
        objects.retain(|object| object.location.extension() == Some("json"));
        Ok(objects)
    }

    async fn document(&self, object: ObjectMeta) -> Result<Stored, Skipped> {
        let path = PathBuf::from(self.url(&object.location));
        if object.size > BYTES_MAX {
            return Err(Skipped::TooLarge { path, bytes: object.size });
        }
        match self.get(&object.location).await {
            Err(trouble) => Err(Skipped::Unreadable { path, error: io::Error::other(trouble) }),
            Ok(text) => match Document::parse(&text) {
                Ok(document) => Ok(Stored { path, document }),
                Err(invalid) => Err(Skipped::Invalid { path, invalid }),
            },
        }
    }
}

fn setting(url: &str, error: &dyn std::error::Error) -> UrlError {
    UrlError::Setting { url: url.to_owned(), said: error.to_string() }
}
