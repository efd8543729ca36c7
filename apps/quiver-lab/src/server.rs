//! A small web server: pages from a function, over HTTP/1.1, with TLS and a token where it listens for other machines.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Connections at a time; further ones wait.
const CLIENTS_MAX: usize = 64;
/// Time limit of a handshake, of a request's head, and of an idle connection.
const PATIENCE: Duration = Duration::from_secs(15);
/// Shorter tokens can be guessed.
const TOKEN_MIN: usize = 16;

/// A page: its type, and its content.
pub type Page = (&'static str, Vec<u8>);

/// Where the server listens, and who may ask.
#[derive(Debug, clap::Args)]
pub struct Listen {
    /// Address and port; other addresses than loopback need --tls-cert, --tls-key and --token. Port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8034")]
    listen: SocketAddr,
    /// The server's certificate, and those that lead to its authority, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File with a token of 16 or more characters, which browsers ask for as the password of any user
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
}

/// A server that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Others could read along, or ask.
    #[error(
        "{0}: other machines reach this address: it needs --tls-cert, --tls-key and --token; 127.0.0.1 and [::1] need none"
    )]
    Open(SocketAddr),
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: String,
    },
    /// The token is too short.
    #[error("{}: the token has {length} characters, must have {TOKEN_MIN} or more: openssl rand -hex 16", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: usize,
    },
    /// The system refuses the address.
    #[error("{address}: cannot listen: {error}; name another address or port by --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error.
        error: io::Error,
    },
    /// The system refuses something else.
    #[error("the server cannot run: {0}")]
    Run(io::Error),
}

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    /// Digest of the token.
    token: Option<[u8; 32]>,
    address: SocketAddr,
}

impl Listen {
    /// Reads the files and listens.
    pub fn bind(&self) -> Result<Server, ServerError> {
        let is_guarded = self.tls_cert.is_some() && self.token.is_some();
        if !self.listen.ip().is_loopback() && !is_guarded {
            return Err(ServerError::Open(self.listen));
        }
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(acceptor(certificate, key)?),
            _ => None,
        };
        let token = self.token.as_deref().map(digest_of).transpose()?;
        let failed = |error| ServerError::Listen { address: self.listen, error };
        let listener = std::net::TcpListener::bind(self.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, tls, token, address })
    }
}

fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, ServerError> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| ServerError::File {
        path: path.to_owned(),
        error: error.to_string(),
    };
    let chain = CertificateDer::pem_file_iter(certificate).map_err(|error| wrong(certificate, &error))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|error| wrong(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| wrong(certificate, &error))?;
    let config = versions.with_no_client_auth().with_single_cert(chain, private);
    Ok(TlsAcceptor::from(Arc::new(config.map_err(|error| wrong(certificate, &error))?)))
}

fn digest_of(path: &Path) -> Result<[u8; 32], ServerError> {
    let wrong = |error: io::Error| ServerError::File { path: path.to_owned(), error: error.to_string() };
    let text = std::fs::read_to_string(path).map_err(wrong)?;
    let token = text.trim();
    match token.len() {
        length if length < TOKEN_MIN => Err(ServerError::Token { path: path.to_owned(), length }),
        _ => Ok(Sha256::digest(token).into()),
    }
}

impl Server {
    /// Where browsers find it.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Answers for ever: `page` gives what is at a path, which begins with `/`.
    pub fn serve(self, page: impl Fn(&str) -> Option<Page> + Send + Sync + 'static) -> Result<(), ServerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
        runtime.map_err(ServerError::Run)?.block_on(self.answer(Arc::new(page)))
    }

    async fn answer(self, page: Arc<impl Fn(&str) -> Option<Page> + Send + Sync + 'static>) -> Result<(), ServerError> {
        let Server { listener, tls, token, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(ServerError::Run)?;
        let places = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                // Out of file descriptors, most likely.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (tls, page) = (tls.clone(), page.clone());
            tokio::spawn(async move {
                match tls {
                    None => connection(stream, token, &*page).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                            connection(stream, token, &*page).await;
                        }
                    }
                }
                drop(place);
            });
        }
    }
}

/// Answers the requests of a connection; what the client does wrong is its own affair.
async fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    token: Option<[u8; 32]>,
    page: &(impl Fn(&str) -> Option<Page> + Sync),
) {
    let service = service_fn(async |request: Request<Incoming>| Ok::<_, Infallible>(respond(&request, token, page)));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn respond(
    request: &Request<Incoming>,
    token: Option<[u8; 32]>,
    page: &impl Fn(&str) -> Option<Page>,
) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| with(status, "text/plain; charset=utf-8", text.into());
    let headers = request.headers();
    match token {
        Some(token) if !knows(headers, token) => {
            let mut response = plain(StatusCode::UNAUTHORIZED, "The token is the password, of any user.\n");
            let basic = HeaderValue::from_static("Basic realm=\"quiver lab\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
            return response;
        }
        // A page elsewhere may have its own name lead here (DNS rebinding), and would read along.
        None if !is_local(headers) => return plain(StatusCode::FORBIDDEN, "Ask for localhost or 127.0.0.1.\n"),
        _ => {}
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "Pages are only read.\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    // It may read files, or wait for a daemon.
    match tokio::task::block_in_place(|| page(request.uri().path())) {
        Some((kind, content)) => with(StatusCode::OK, kind, content),
        None => plain(StatusCode::NOT_FOUND, "There is no such page.\n"),
    }
}

/// The type of a file of a page, by its name's ending; a file without one has none.
pub fn kind(name: &Path) -> Option<&'static str> {
    Some(match name.extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    })
}

fn with(status: StatusCode, kind: &'static str, content: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(content));
    *response.status_mut() = status;
    let fields = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a request has the token, as `Bearer TOKEN` or as the password of a user. Digests are compared, so that the time
/// tells nothing of the token.
fn knows(headers: &HeaderMap, token: [u8; 32]) -> bool {
    let Some((scheme, rest)) = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
    else {
        return false;
    };
    let given = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => rest.trim().as_bytes().to_vec(),
        "basic" => {
            let pair = STANDARD.decode(rest.trim()).unwrap_or_default();
            let colon = pair.iter().position(|byte| *byte == b':').map_or(pair.len(), |at| at + 1);
            pair[colon..].to_vec()
        }
        _ => return false,
    };
    <[u8; 32]>::from(Sha256::digest(given)) == token
}

/// Whether a request names this machine as its host.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
