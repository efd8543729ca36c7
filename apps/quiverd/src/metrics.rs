//! Metrics: an HTTP endpoint that Prometheus scrapes, and reports to an OpenTelemetry collector. Both have the current
//! values of the statistics segment.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use quiver_control::Control;
use quiver_statistics::metrics::{Metric, metrics};
use quiver_statistics::{otlp, prometheus};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Clients that are served at a time. One more takes the place of the client that has had its place for longest: a
/// client that sends its request at once gets its answer, however many others are connected and silent.
const CLIENTS_MAX: usize = 16;
/// Longest time for a client, or a collector.
const PATIENCE: Duration = Duration::from_secs(10);

/// The endpoint.
pub struct Endpoint(Option<TcpListener>);

impl Endpoint {
    /// Listens there, if anywhere.
    pub async fn bind(address: Option<SocketAddr>) -> Result<Endpoint, String> {
        let Some(address) = address else { return Ok(Endpoint(None)) };
        let refused = |error: io::Error| crate::socket::port_refused(&format!("--metrics {address}"), &error);
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        tracing::info!("serving metrics at http://{at}/metrics");
        Ok(Endpoint(Some(listener)))
    }

    /// Serves clients for ever.
    pub async fn serve(self, control: &Control) {
        let Some(listener) = self.0 else { return std::future::pending().await };
        serve(async || listener.accept().await.map(|(stream, _)| stream), control).await;
    }
}

/// Serves clients for ever.
async fn serve<S: AsyncRead + AsyncWrite + Unpin + 'static>(
    accept: impl AsyncFn() -> io::Result<S>,
    control: &Control,
) {
    let mut clients: VecDeque<AbortHandle> = VecDeque::with_capacity(CLIENTS_MAX);
    loop {
        match accept().await {
            Ok(stream) => {
                clients.retain(|client| !client.is_finished());
                if clients.len() == CLIENTS_MAX
                    && let Some(eldest) = clients.pop_front()
                {
                    eldest.abort();
                }
                let own = control.clone();
                let client = control.counted("metrics-client", async move { answer(stream, &own).await });
                let client = tokio::task::spawn_local(client);
                clients.push_back(client.abort_handle());
                // It is served before the next one is let in.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                // Out of file descriptors, most likely.
                tracing::warn!("a client of the metrics could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers one request; errors of the client are ignored.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, control: &Control) {
    let service = service_fn(async |request: Request<Incoming>| Ok::<_, Infallible>(respond(&request, control).await));
    let connection =
        hyper::server::conn::http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(PATIENCE, connection).await;
}

async fn respond(request: &Request<Incoming>, control: &Control) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            *response.body_mut() = Full::from(made(control, prometheus::text).await);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(prometheus::CONTENT_TYPE));
        }
        (_, "/metrics") => {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        }
        _ => {
            *response.status_mut() = StatusCode::NOT_FOUND;
            *response.body_mut() = Full::from("The metrics are at /metrics.\n");
        }
    }
    response
}

/// Formats the current metrics by `text`, on a thread of its own: with many interfaces it takes long.
async fn made(control: &Control, text: impl FnOnce(Vec<Metric>) -> String + Send + 'static) -> String {
    quiver_statistics::refresh_in_turns(control).await;
    let segment = quiver_statistics::segment(control);
    let made = tokio::task::spawn_blocking(move || text(metrics(&segment))).await;
    made.unwrap_or_else(|error| {
        tracing::error!("the metrics could not be made: {error}");
        String::new()
    })
}

/// A collector: its address, and the path of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    authority: String,
    address: String,
    path: String,
}

/// Reads the URL of a collector, to which OTLP's own path is added if it has none.
pub fn collector(url: &str) -> Result<Collector, String> {
    let wrong = |what: &str| format!("{url}: {what}; write http://HOST:PORT, port 4318 is the usual one");
    let uri: Uri = url.parse().map_err(|error| wrong(&format!("{error}")))?;
    if uri.scheme_str() != Some("http") {
        return Err(wrong("only http is spoken, without encryption"));
    }
    let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
    let path = match uri.path() {
        "" | "/" => "/v1/metrics",
        path => path,
    };
    let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
    Ok(Collector { authority: authority.to_string(), address, path: path.to_owned() })
}

/// Reports to a collector for ever, as often as it is told. That it does not listen is logged once, and when it does again.
pub async fn report(control: Control, to: Collector, every: Duration) {
    let nanoseconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    let started = nanoseconds(control.date());
    let mut works = true;
    loop {
        control.sleep(every).await;
        let now = nanoseconds(control.date());
        let body = made(&control, move |metrics| otlp::request(&metrics, started, now).to_string()).await;
        let result = match tokio::time::timeout(PATIENCE, send(&to, body)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        match &result {
            Ok(()) if !works => tracing::info!("the collector at {} takes metrics again", to.authority),
            Err(error) if works => tracing::warn!("the collector at {} takes no metrics: {error}", to.authority),
            _ => {}
        }
        works = result.is_ok();
    }
}

async fn send(to: &Collector, body: String) -> Result<(), String> {
    let stream = TcpStream::connect(&to.address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let request = Request::post(&to.path)
        .header(HOST, &to.authority)
        .header(CONTENT_TYPE, otlp::CONTENT_TYPE)
        .body(Full::<Bytes>::from(body))
        .map_err(|error| error.to_string())?;
    // The connection ends with the answer.
    let connection = tokio::task::spawn_local(connection);
    let answered = sender.send_request(request).await;
    connection.abort();
    let status = answered.map_err(|error| error.to_string())?.status();
    if status.is_success() { Ok(()) } else { Err(format!("it answers {status}")) }
}

#[cfg(test)]
mod dashboard;

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_engine::{Dataplane, Settings};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::mpsc;

    fn control() -> Control {
        let control = crate::host::control();
        control.insert_room(Dataplane::new(Settings { buffers: 100, ..Settings::default() }).unwrap());
        let Ok(()) = quiver_statistics::register(&control);
        quiver_interface::register(&control).unwrap();
        control
    }

    fn with_daemon<F: Future<Output = ()>>(test: impl FnOnce(Control) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            test(control()).await;
        });
    }

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn prometheus_scrapes_and_nobody_else_is_told_anything() {
        with_daemon(async |control| {
            let endpoint = Endpoint::bind("127.0.0.1:0".parse().ok()).await.unwrap();
            let address = endpoint.0.as_ref().unwrap().local_addr().unwrap();
            assert!(Endpoint::bind(Some(address)).await.is_err_and(|error| error.contains("--metrics")));
            let asking = async {
                let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
                assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
                assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"), "{answer}");
                let row = "quiver_interface_rx_packets_total{interface=\"local0\",worker=\"0\"} 0\n";
                assert!(answer.contains(row) && answer.ends_with("# EOF\n"), "{answer}");
                for (request, status) in [
                    ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404"),
                    ("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405"),
                    ("\x16\x03\x01\r\n\r\n", "400"),
                ] {
                    let answer = ask(address, request).await;
                    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
                }
                // A silent client has a place, and the others have theirs.
                let silent = TcpStream::connect(address).await.unwrap();
                let answer = ask(address, "GET /metrics HTTP/1.0\r\n\r\n").await;
                assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
                drop(silent);
            };
            tokio::select! {
                () = endpoint.serve(&control) => {}
                () = asking => {}
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_never_end_their_request_keep_nobody_out() {
        let control = control();
        let (connect, connected) = mpsc::unbounded_channel();
        let connected = tokio::sync::Mutex::new(connected);
        let accept = async || match connected.lock().await.recv().await {
            Some(stream) => Ok(stream),
            None => std::future::pending().await,
        };
        let asking = async {
            let client = async |request: &str| {
                let (mut stream, theirs) = tokio::io::duplex(1 << 20);
                connect.send(theirs).unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                stream
            };
            let mut silent = vec![];
            for _ in 0..145 {
                silent.push(client("GET /metrics HTTP/1.1\r\nHost: x\r\n").await);
            }
            let begin = control.now();
            let mut answer = vec![];
            let _ = client("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await.read_to_end(&mut answer).await;
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));
            assert_eq!(control.now(), begin, "it waited for those that say nothing");
            // Those that still have a place lose it.
            for mut stream in silent {
                let _ = stream.read_to_end(&mut vec![]).await;
            }
            assert_eq!(control.now().since(begin), PATIENCE);
        };
        let tasks = tokio::task::LocalSet::new();
        let all = tasks.run_until(async {
            tokio::select! {
                () = serve(accept, &control) => {}
                () = asking => {}
            }
        });
        all.await;
    }

    #[test]
    fn a_collector_is_told_again_and_again_also_when_it_was_away() {
        with_daemon(async |control| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (heard, mut requests) = mpsc::unbounded_channel();
            let listening = async {
                for status in ["503 Service Unavailable", "200 OK", "200 OK"] {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let mut request = String::new();
                    // The body is as long as its header says.
                    while request.split_once("\r\n\r\n").is_none_or(|(head, body)| {
                        let length = head.to_ascii_lowercase();
                        let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                        length.and_then(|length| length.parse().ok()).is_none_or(|length: usize| body.len() < length)
                    }) {
                        let mut bytes = [0; 4096];
                        let read = stream.read(&mut bytes).await.unwrap();
                        request.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
                    }
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    heard.send(request).unwrap();
                }
            };
            let to = collector(&format!("http://{address}")).unwrap();
            tokio::select! {
                () = report(control.clone(), to, Duration::from_millis(5)) => {}
                () = listening => {}
            }
            let mut count = 0;
            while let Ok(request) = requests.try_recv() {
                let (head, body) = request.split_once("\r\n\r\n").unwrap();
                assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
                assert!(head.contains("content-type: application/json"), "{head}");
                let body: serde_json::Value = serde_json::from_str(body).unwrap();
                let metrics = &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
                let names: Vec<_> = metrics.as_array().unwrap().iter().map(|metric| &metric["name"]).collect();
                assert!(names.iter().any(|name| *name == "quiver.interface_tx_bytes"), "{names:?}");
                count += 1;
            }
            assert_eq!(count, 3);
        });
    }

    #[test]
    fn collectors_are_named_by_urls() {
        let of = |url| collector(url).map(|to| (to.address, to.path));
        assert_eq!(of("http://otel:4318"), Ok(("otel:4318".into(), "/v1/metrics".into())));
        assert_eq!(of("http://[::1]/own/path"), Ok(("[::1]:80".into(), "/own/path".into())));
        for wrong in ["https://otel", "otel:4318", "", "http://", "ftp://x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
