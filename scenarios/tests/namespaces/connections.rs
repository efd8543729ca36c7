//! Many TCP connections at a time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use quiver_site::Site;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Barrier;
use tokio::time::timeout;

const CONNECTIONS: usize = 1000;
/// Bytes of each connection in each direction.
const BYTES: usize = 16 * 1024;
const PORT: u16 = 7000;
const PATIENCE: Duration = Duration::from_secs(60);

/// All connections are open at the same time before the first carries data; each gets back what it sent.
pub fn in_parallel(site: &Site) -> Result<(), Failed> {
    allow_open_files(2 * CONNECTIONS as u64 + 100)?;
    let address = SocketAddr::from((site.server_address(), PORT));
    let (ready, is_ready) = mpsc::channel();
    let (server, client) = thread::scope(|scope| {
        let server = scope.spawn(move || site.server().within(|| block_on(echo(address, ready))));
        let client = scope.spawn(move || {
            // An error of the sender is the server's, which has closed the channel without a word.
            let _ = is_ready.recv();
            site.client().within(|| block_on(talk(address)))
        });
        (server.join(), client.join())
    });
    let unjoined = |_| "a side panicked";
    // The client first: where it gave up, the server only waited for it.
    client.map_err(unjoined)???;
    server.map_err(unjoined)???;
    Ok(())
}

fn block_on(task: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { timeout(PATIENCE, task).await? })
}

/// Sends back what arrives on every connection, until all have been closed.
async fn echo(address: SocketAddr, ready: mpsc::Sender<()>) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(address)?;
    // Room for all handshakes at once: with less the kernel answers with cookies, and forgets who it answered.
    let listener = socket.listen(2 * CONNECTIONS as u32)?;
    let _ = ready.send(());
    let mut echoes = Vec::new();
    for _ in 0..CONNECTIONS {
        let (mut stream, _) = listener.accept().await?;
        echoes.push(tokio::spawn(async move {
            let (mut reader, mut writer) = stream.split();
            tokio::io::copy(&mut reader, &mut writer).await
        }));
    }
    for echo in echoes {
        echo.await??;
    }
    Ok(())
}

/// Opens every connection, then talks on all at once.
async fn talk(address: SocketAddr) -> io::Result<()> {
    let all_open = Arc::new(Barrier::new(CONNECTIONS));
    let talks: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let all_open = Arc::clone(&all_open);
            tokio::spawn(async move {
                let stream = TcpSocket::new_v4()?.connect(address).await?;
                all_open.wait().await;
                exchange(stream, number).await
            })
        })
        .collect();
    for talk in talks {
        talk.await??;
    }
    Ok(())
}

/// Sends what only this connection sends, and compares what comes back.
async fn exchange(mut stream: TcpStream, number: usize) -> io::Result<()> {
    let words = number * BYTES / 4..(number + 1) * BYTES / 4;
    let sent: Vec<u8> = words.flat_map(|word| (word as u32).to_le_bytes()).collect();
    let mut received = vec![0; BYTES];
    let (mut reader, mut writer) = stream.split();
    tokio::try_join!(writer.write_all(&sent), reader.read_exact(&mut received))?;
    if sent != received {
        return Err(io::Error::other(format!("connection {number} got back something else than it sent")));
    }
    stream.shutdown().await
}

/// Both sides of every connection are files of this process.
fn allow_open_files(count: u64) -> Result<(), Failed> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if hard < count {
        return Err(
            format!("this user may open {hard} files, {count} are needed: run `ulimit -Hn {count}` as root").into()
        );
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(count), hard)?;
    Ok(())
}
