//! Sockets of the statistics segment: every client gets the memory file, and nothing else is sent.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nix::unistd::Gid;
use quiver_compat::startup;
use quiver_control::Control;
use tokio::net::UnixListener;

use crate::metrics::{self, Collector};
use crate::passing;
use crate::socket::{self, Name, Served};

/// Settings of the statistics, fixed while the daemon runs.
#[derive(Debug, Args)]
pub struct StatisticsArguments {
    /// Socket of the statistics segment for VPP's clients; may be repeated. Default: stats.sock beside the command socket
    /// and, as root without --runtime-dir, /run/vpp/stats.sock. With --socket there is no default.
    #[arg(long, value_name = "PATH")]
    pub stats_socket: Vec<PathBuf>,
    /// Size of the statistics segment in bytes, with suffix K, M or G. Only pages in use take memory. Default: 4G,
    /// and 1G for each thread, enough for the largest number of interfaces.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub stats_size: Option<usize>,
    /// Seconds between updates of computed statistics: rates and node clocks.
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = seconds)]
    pub stats_interval: Duration,
    /// Disable per-node statistics.
    #[arg(long)]
    pub stats_without_nodes: bool,
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics, without authentication.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Report metrics to an OpenTelemetry collector by OTLP over HTTP in JSON.
    #[arg(long, value_name = "URL", value_parser = metrics::collector)]
    pub otlp: Option<Collector>,
    /// Seconds between OTLP reports.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    pub otlp_interval: Duration,
}

impl StatisticsArguments {
    /// Settings of the segment.
    pub fn segment(&self) -> quiver_stats::Settings {
        quiver_stats::Settings { size: self.stats_size }
    }
    /// Settings of its updates.
    pub fn upkeep(&self) -> quiver_statistics::Settings {
        quiver_statistics::Settings {
            update_interval: self.stats_interval,
            per_node_counters: !self.stats_without_nodes,
        }
    }
}

/// Bytes, as people and VPP write them.
fn size(text: &str) -> Result<usize, String> {
    let bytes = startup::size(text).filter(|bytes| (64 << 10..=64 << 30).contains(bytes));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("{text} is no number of bytes from 64K to 64G: write 256M, for instance"))
}

/// Seconds of an interval.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no number of seconds from 0.01 to 3600");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if (0.01..=3600.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// The sockets.
pub struct Servers(Vec<(UnixListener, Name)>);

impl Servers {
    /// Binds the sockets, for quiverd's user and a group.
    pub fn bind(places: &[Served], group: Option<Gid>) -> Result<Servers, String> {
        socket::bind_all("statistics", places, |path| passing::bind(path, group)).map(Servers)
    }

    /// Serves clients for ever.
    pub async fn serve(self, control: &Control) {
        let servers = self.0.into_iter().map(|(socket, name)| {
            let segment = quiver_statistics::segment(control);
            async move {
                let Some(file) = segment.file() else { return };
                serve(&socket, file).await;
                drop(name);
            }
        });
        socket::serve_all(servers).await;
    }
}

async fn serve(socket: &UnixListener, file: BorrowedFd<'_>) {
    loop {
        match socket.accept().await {
            Ok((client, _)) => {
                if let Err(error) = passing::send(client.as_fd(), &[], &[file]) {
                    tracing::debug!("a client of the statistics has gone before it was served: {error}");
                }
            }
            Err(error) => {
                // Out of file descriptors, most likely.
                tracing::warn!("a client of the statistics could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_engine::{Dataplane, Settings};
    use rustix::net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags, SocketType,
    };
    use std::io;
    use std::mem::MaybeUninit;
    use std::path::Path;

    /// Connects as clients do. The file that was sent, and whether the daemon has hung up then.
    fn ask(path: &Path) -> io::Result<(Option<std::os::fd::OwnedFd>, bool)> {
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; 8];
        let received =
            rustix::net::recvmsg(&socket, &mut [io::IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::empty())?;
        assert_eq!(received.bytes, 0, "nothing is said beside");
        let files = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        let end = rustix::net::recv(&socket, &mut bytes, RecvFlags::empty())?;
        Ok((files, end.0 == 0))
    }

    #[test]
    fn whoever_connects_is_given_the_file_and_the_name_is_nobody_else_s() {
        let folder = tempfile::tempdir().unwrap();
        let (path, dead) = (folder.path().join("run/stats.sock"), folder.path().join("dead.sock"));
        // A dead daemon has left its socket's file.
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let control = crate::host::control();
            control.insert_room(Dataplane::new(Settings { buffers: 100, ..Settings::default() }).unwrap());
            let Ok(()) = quiver_statistics::register(&control);
            let servers = Servers::bind(&[(path.clone(), false), (dead.clone(), false)], None).unwrap();
            let again = Servers::bind(&[(path.clone(), false)], None);
            assert!(again.is_err_and(|error| error.contains("another daemon")));
            assert!(Servers::bind(&[(path.clone(), true)], None).is_ok_and(|none| none.0.is_empty()));

            let (size, asked) = (quiver_statistics::segment(&control).size().0, [path.clone(), dead]);
            let clients = tokio::task::spawn_blocking(move || {
                for path in asked.iter().cycle().take(40) {
                    let (file, ended) = ask(path).unwrap();
                    let known = rustix::fs::fstat(file.expect("a file")).unwrap();
                    assert_eq!((known.st_size as u64, ended), (size, true));
                }
            });
            tokio::select! {
                () = servers.serve(&control) => {}
                done = clients => done.unwrap(),
            }
        });
        assert!(!path.exists(), "the name goes with the daemon");
    }

    #[test]
    fn sizes_and_seconds_are_as_people_write_them() {
        assert_eq!([size("64k"), size("256M"), size("1G")], [Ok(64 << 10), Ok(256 << 20), Ok(1 << 30)]);
        assert_eq!(size("1048576"), Ok(1 << 20));
        for wrong in ["", "M", "1", "-5M", "99999999999G", "1T", "65G", "5µ"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("0.05"), Ok(Duration::from_millis(50)));
        for wrong in ["", "0", "NaN", "1e9", "-1"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
