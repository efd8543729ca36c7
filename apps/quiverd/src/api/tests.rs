//! Clients, kind and hostile, against the API's sockets.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quiver_compat::{Message, add};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::LocalSet;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::places::by_open_files;

/// Connections of the crowd at most.
const CROWD_MAX: usize = 3000;
const CONTROL_PING: u16 = 23;

/// So many kilobytes.
#[derive(Message, Clone, Debug)]
#[message(dump, details = TestBigDetails)]
struct TestBigDump {
    count: u32,
}

/// One of them.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct TestBigDetails {
    filler: [u8; 1000],
}

/// Log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl MakeWriter<'_> for Log {
    type Writer = Log;
    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// Runs `test` against a server with these places, and returns the log. `big` is the number of [`TestBigDump`].
fn with_server<F: Future<Output = ()>>(
    places: Places,
    is_paused: bool,
    test: impl FnOnce(PathBuf, u16) -> F,
) -> String {
    let (log, folder) = (Log::default(), tempfile::tempdir().unwrap());
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let path = folder.path().join("api.sock");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(is_paused).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let control = crate::host::control();
        add(&control, "test", (1, 0, 0), |file| {
            file.dump(|_, dump: TestBigDump| (0..dump.count).map(|_| TestBigDetails { filler: [7; 1000] }));
        });
        let big = control.room::<Api>().id_of("test_big_dump").unwrap();
        let sockets = vec![(Socket::bind(&path, None, &places).unwrap(), None)];
        let servers = Servers { sockets, shared: Shared::new() };
        tokio::select! {
            () = servers.serve(&control) => {}
            () = test(path.clone(), big) => {}
        }
    });
    String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
}

fn framed(number: u16, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 16];
    message[8..12].copy_from_slice(&(body.len() as u32 + 2).to_be_bytes());
    message.extend(number.to_be_bytes());
    message.extend(body);
    message
}

fn hello() -> Vec<u8> {
    framed(15, &[&[0; 4][..], b"somebody", &[0; 56]].concat())
}

/// A client that keeps to the protocol.
struct Kind(UnixStream);

impl Kind {
    /// Nothing if there is no place.
    async fn connect(path: &Path) -> Option<Kind> {
        let mut client = Kind(UnixStream::connect(path).await.ok()?);
        client.0.write_all(&hello()).await.ok()?;
        (client.message().await?[..2] == 16u16.to_be_bytes()).then_some(client)
    }
    async fn message(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 16];
        self.0.read_exact(&mut header).await.ok()?;
        let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let mut message = vec![0; length as usize];
        self.0.read_exact(&mut message).await.ok()?;
        Some(message)
    }
    /// Whether a ping is answered.
    async fn ping(&mut self, context: u32) -> bool {
        let body = [&[0; 4][..], &context.to_be_bytes()].concat();
        self.0.write_all(&framed(CONTROL_PING, &body)).await.is_ok()
            && self.message().await.is_some_and(|answer| answer[2..6] == context.to_be_bytes())
    }
}

/// Bytes that look like nothing.
fn noise(seed: usize) -> Vec<u8> {
    let mut state = seed as u32 * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..500).map(|_| next()).collect()
}

/// Bytes of a hostile client, and whether they disconnect it.
fn hostile(n: usize, big: u16) -> (Vec<u8>, bool) {
    let mut huge = framed(CONTROL_PING, &[0; 8]);
    huge[8..12].fill(0xff);
    match n % 7 {
        0 => (vec![], false),
        // Its first bytes are a length beyond all measure.
        1 => ([&[0; 8][..], &[0xee; 4], &noise(n)].concat(), true),
        2 => (hello()[..50].to_vec(), false),
        3 => ([hello(), huge].concat(), true),
        4 => ([hello(), (40_000..40_100).flat_map(|id| framed(id, &noise(n))).collect()].concat(), false),
        5 => ([hello(), framed(big, &[&[0; 8][..], &1_000_000u32.to_be_bytes()].concat())].concat(), false),
        _ => (framed(CONTROL_PING, &[0; 8]), true),
    }
}

#[test]
fn everybody_else_is_answered_while_thousands_send_nonsense_or_read_nothing() {
    let crowd = (by_open_files() / 4).min(CROWD_MAX);
    let log = with_server(Places::new(by_open_files()), false, async |path, big| {
        let mut kind = Kind::connect(&path).await.expect("a place");
        let (mut sending, mut ended) = (vec![], vec![]);
        for n in 0..crowd {
            let (bytes, ends) = hostile(n, big);
            let mut stream = UnixStream::connect(&path).await.unwrap();
            // A client that is disconnected in the middle cannot send the rest.
            let _ = stream.write_all(&bytes).await;
            if ends {
                ended.push(stream)
            } else {
                sending.push(stream)
            }
            assert!(n % 10 > 0 || kind.ping(n as u32).await, "ping {n}");
        }
        for stream in &mut ended {
            // Its end, or a reset because its data was discarded; before that, the answer to its greeting.
            while !matches!(stream.read(&mut [0; 65_536]).await, Ok(0) | Err(_)) {}
        }
        let mut late = Kind::connect(&path).await.expect("a place");
        assert!(late.ping(1).await && kind.ping(2).await);
        assert!(crowd / 7 * 4 <= sending.len(), "the others are still there");
    });
    for told in ["a message of 4294967295 bytes", "message 23 before sockclnt_create", "none that clients send"] {
        assert!(log.contains(told), "nothing was logged of: {told}");
    }
}

#[test]
fn who_does_not_read_makes_room_and_who_waits_for_events_keeps_its_place() {
    with_server(Places::new(4), true, async |path, big| {
        let mut kind = Kind::connect(&path).await.expect("a place");
        let mut deaf = vec![];
        for n in 0..3 {
            let mut stream = UnixStream::connect(&path).await.unwrap();
            stream.write_all(&hostile(n * 7 + 5, big).0).await.unwrap();
            deaf.push(stream);
        }
        let mut newcomer = None;
        for _ in 0..50 {
            newcomer = Kind::connect(&path).await;
            if newcomer.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(newcomer.expect("the place of one who does not read").ping(1).await);
        assert!(kind.ping(2).await, "it was silent all the time");
    });
}

#[test]
fn half_messages_of_hundreds_take_bounded_memory_and_nobody_elses_connection() {
    const CROWD: usize = 300;
    const PART: usize = 200_000;
    const BYTES_MAX: usize = 8 << 20;
    let half = [&hello(), &framed(CONTROL_PING, &[0; 5 * PART])[..PART]].concat();
    let log = with_server(Places::with_bytes(by_open_files(), BYTES_MAX), false, async |path, _| {
        let mut kind = Kind::connect(&path).await.expect("a place");
        let ended = Rc::new(Cell::new(0));
        for n in 0..CROWD {
            let mut stream = UnixStream::connect(&path).await.unwrap();
            // A client that is disconnected in the middle cannot send the rest.
            let _ = stream.write_all(&half).await;
            let ended = ended.clone();
            tokio::task::spawn_local(async move {
                while !matches!(stream.read(&mut [0; 65_536]).await, Ok(0) | Err(_)) {}
                ended.set(ended.get() + 1);
            });
            assert!(kind.ping(n as u32).await, "ping {n}");
        }
        let all_but_few = async {
            while ended.get() < CROWD - BYTES_MAX / PART {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), all_but_few).await.expect("the others hold too much");
        assert!(kind.ping(0).await);
        assert!(ended.get() < CROWD, "the last ones have room");
    });
    assert!(log.contains("somebody is disconnected from the API: 262144 bytes wait for it or from it"), "{log}");
}
