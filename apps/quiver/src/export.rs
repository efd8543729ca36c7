//! `quiver export`: events of sessions to a file, a collector or a log, in a process of its own.
//!
//! It reads quiverd's ring and keeps nothing of it: whatever becomes of this process, forwarding goes on. Events that it was too
//! slow for are counted, and named in what it writes.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::poll::PollTimeout;
use quiver_control::protocol::Refusal;
use quiver_session_events::export::{Counts, Exporter};
use quiver_session_events::ipfix::Ipfix;
use quiver_session_events::json::Lines;
use quiver_session_events::output::{Encoder, Output};
use quiver_session_events::protocol::{Hello, MESSAGE_MAX, Place, Report, Welcome};
use quiver_session_events::reader::{ReadError, Reader, now};
use quiver_session_events::syslog::Syslog;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType,
};

use crate::interrupt::Interrupt;
use crate::show;

/// Pause when there are no events; less than a ring of 65,536 events takes at a million in a second.
const PAUSE: Duration = Duration::from_millis(10);
/// Time between reports to quiverd.
const REPORT: Duration = Duration::from_millis(200);
/// Time between attempts to find quiverd again.
const RETRY: Duration = Duration::from_millis(500);
/// Time between complaints about an output.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Export what quiverd records: events of sessions
#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(subcommand)]
    what: Exported,
}

#[derive(Debug, clap::Subcommand)]
enum Exported {
    Sessions(Sessions),
}

/// Export events of sessions as JSON lines, IPFIX or syslog
///
/// `quiver sfdp events enable` has quiverd record them. Runs until it is stopped, and goes on where an exporter of the same name was.
/// Events that it was too slow for are counted as lost, here and by `quiver show sfdp events`; forwarding never waits.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("format").required(true).args(["json_lines", "ipfix", "syslog"])))]
#[command(after_help = "Examples:\n  quiver export sessions --json-lines /var/log/quiver/sessions.json\n  \
    quiver export sessions --json-lines - | grep closed\n  quiver export sessions --ipfix 192.0.2.1:4739\n  \
    quiver export sessions --syslog /dev/log")]
struct Sessions {
    /// Append JSON lines to a file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    json_lines: Option<PathBuf>,
    /// Send IPFIX (RFC 7011) over UDP: biflows, NAT events, denied flows
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    ipfix: Option<SocketAddr>,
    /// Send syslog messages (RFC 5424) over UDP, or to a socket such as /dev/log
    #[arg(long, value_name = "HOST:PORT|PATH")]
    syslog: Option<String>,
    /// Name of this exporter: the next one of this name goes on where it was. Default: json, ipfix or syslog
    #[arg(long)]
    name: Option<String>,
    /// IPFIX observation domain
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    domain: u32,
    /// Socket of quiverd's events. Default: events.sock beside the command socket
    #[arg(long, value_name = "PATH")]
    events_socket: Option<PathBuf>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = |why: String| format!("{why}; write a host and a port, such as 192.0.2.1:4739");
    let mut found = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("the host has no address".to_owned()))
}

/// Why events cannot be exported.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("no quiverd serves events at {}: {error}; start it, or name its socket by --events-socket", path.display())]
    NotRunning { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Refused(String),
    #[error(
        "quiverd closed the connection without an answer: it serves at most 32 exporters; stop one, or read quiverd's log"
    )]
    HungUp,
    #[error("the connection to quiverd broke: {0}")]
    Broken(#[from] io::Error),
    #[error("another program serves this socket: {0}")]
    Foreign(#[from] serde_json::Error),
    #[error("{0}: {1}; name another output")]
    Output(String, io::Error),
    #[error(transparent)]
    Ring(#[from] ReadError),
}

/// Exports until it is told to stop. `socket` is that of quiverd's commands.
pub fn run(export: &Export, socket: &Path, json: bool) -> ExitCode {
    let Exported::Sessions(sessions) = &export.what;
    match sessions.run(socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if json => {
            show::refusal(&Refusal::new(error.to_string()), "", true, None);
            ExitCode::FAILURE
        }
        Err(error) => {
            show::error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Why the export from a ring ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The user, or the reader of the output, has had enough.
    Asked,
    /// quiverd has gone, or has another ring.
    Gone,
}

impl Sessions {
    fn output(&self) -> Result<(&'static str, Exporter), ExportError> {
        let (name, place, encoder, output): (_, _, Box<dyn Encoder>, _) = if let Some(to) = self.ipfix {
            ("ipfix", to.to_string(), Box::new(Ipfix::new(self.domain)), Output::udp(to))
        } else if let Some(to) = &self.syslog {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let output = match to.starts_with('/') {
                true => Output::unix(Path::new(to)),
                false => address(to).map_err(io::Error::other).and_then(Output::udp),
            };
            ("syslog", to.clone(), Box::new(Syslog::new(&host, std::process::id())), output)
        } else {
            let path = self.json_lines.as_deref().unwrap_or(Path::new("-"));
            let output = match path == Path::new("-") {
                true => io::stdout().as_fd().try_clone_to_owned().map(|file| Output::File(file.into())),
                false => Output::file(path),
            };
            ("json", path.display().to_string(), Box::<Lines>::default(), output)
        };
        let output = output.map_err(|error| ExportError::Output(place, error))?;
        Ok((name, Exporter::new(encoder, output)))
    }
    fn run(&self, commands: &Path) -> Result<(), ExportError> {
        let interrupt = Interrupt::catch_ending()?;
        let beside = || commands.with_file_name("events.sock");
        let path = self.events_socket.clone().unwrap_or_else(beside);
        let (standard, mut exporter) = self.output()?;
        let name = self.name.as_deref().unwrap_or(standard);
        let mut has_run = false;
        loop {
            match attach(&path, name) {
                Ok((connection, reader)) => {
                    has_run = true;
                    if follow(&connection, reader, &mut exporter, &interrupt)? == Ended::Asked {
                        return Ok(());
                    }
                    show::say("quiver: quiverd records no events any more, or has gone; waiting for it");
                }
                // Without events it can also wait: they are enabled again, or quiverd starts anew.
                Err(ExportError::NotRunning { .. } | ExportError::Refused(_) | ExportError::HungUp) if has_run => {}
                Err(error) => return Err(error),
            }
            if interrupt.comes_before(None, timeout(RETRY))? {
                return Ok(());
            }
        }
    }
}

/// Connects to quiverd, and gets its ring.
fn attach(path: &Path, name: &str) -> Result<(OwnedFd, Reader), ExportError> {
    let absent = |error: Errno| ExportError::NotRunning { path: path.to_owned(), error: error.into() };
    let connection = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let connection = connection.map_err(io::Error::from)?;
    let place = SocketAddrUnix::new(path).map_err(absent)?;
    net::connect(&connection, &place).map_err(absent)?;
    say(&connection, &Hello { name: name.to_owned() })?;
    let (mut bytes, mut space) = (vec![0; MESSAGE_MAX], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))]);
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        net::recvmsg(&connection, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
            // Linux resets a connection that is closed before its Hello is read.
            .map_err(|error| match error {
                Errno::CONNRESET => ExportError::HungUp,
                error => io::Error::from(error).into(),
            })?;
    if received.bytes == 0 {
        return Err(ExportError::HungUp);
    }
    let welcome: Welcome = serde_json::from_slice(&bytes[..received.bytes])?;
    if let Some(error) = welcome.error {
        return Err(ExportError::Refused(error));
    }
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let mut reader = Reader::new(file.ok_or(ExportError::HungUp)?.into())?;
    if let Some(Place { instance, next }) = welcome.resume {
        reader.resume(instance, &next);
    }
    Ok((connection, reader))
}

fn say(connection: &OwnedFd, message: &impl serde::Serialize) -> Result<(), ExportError> {
    match net::send(connection, &serde_json::to_vec(message)?, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        // quiverd is busy: the next report says the same. Or it has gone, which is noticed elsewhere.
        Ok(_) | Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => Ok(()),
        Err(error) => Err(ExportError::Broken(error.into())),
    }
}

/// Whether quiverd has hung up.
fn has_hung_up(connection: &OwnedFd) -> bool {
    let mut byte = [0];
    !matches!(net::recv(connection, &mut byte[..], RecvFlags::DONTWAIT), Err(Errno::AGAIN))
}

fn timeout(duration: Duration) -> PollTimeout {
    PollTimeout::try_from(duration).unwrap_or(PollTimeout::MAX)
}

/// Exports the events of a ring until the user has had enough, or there are no more.
fn follow(
    connection: &OwnedFd,
    mut reader: Reader,
    exporter: &mut Exporter,
    interrupt: &Interrupt,
) -> Result<Ended, ExportError> {
    let before = exporter.counts();
    let mut reports = Reports { connection, before, last: Report::default(), time: None };
    let mut complained: Option<Instant> = None;
    loop {
        // Asked first: then all that was there at that time is read.
        let is_gone = has_hung_up(connection) || reader.has_ended().map_err(ReadError::from)?;
        let read = exporter.pass(&mut reader, now()).map_err(ReadError::from)?;
        if let Some(error) = exporter.take_error() {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Ok(Ended::Asked);
            }
            if complained.is_none_or(|time| time.elapsed() > COMPLAINT) {
                complained = Some(Instant::now());
                let failed = exporter.counts().failed;
                show::say(format_args!("quiver: the output refuses events ({failed} so far): {error}"));
            }
        }
        let is_idle = read == 0;
        reports.report((&reader, exporter), is_idle)?;
        if is_idle && is_gone {
            return Ok(Ended::Gone);
        }
        let pause = if is_idle { timeout(PAUSE) } else { PollTimeout::ZERO };
        if interrupt.comes_before(None, pause)? {
            exporter.pass(&mut reader, now()).map_err(ReadError::from)?;
            reports.time = None;
            reports.report((&reader, exporter), true)?;
            return Ok(Ended::Asked);
        }
    }
}

/// Reports to quiverd on one connection.
struct Reports<'c> {
    connection: &'c OwnedFd,
    /// Counts before this connection.
    before: Counts,
    last: Report,
    time: Option<Instant>,
}

impl Reports<'_> {
    /// Reports now and then, and when there is nothing else to do, if something is new.
    fn report(&mut self, (reader, exporter): (&Reader, &Exporter), is_idle: bool) -> Result<(), ExportError> {
        let is_due = self.time.is_none_or(|time| time.elapsed() > REPORT);
        if !is_due && !is_idle {
            return Ok(());
        }
        let (now, before) = (exporter.counts(), self.before);
        let counts = Counts {
            exported: now.exported - before.exported,
            lost: now.lost - before.lost,
            failed: now.failed - before.failed,
        };
        let place = Place { instance: reader.instance(), next: reader.next().to_vec() };
        let report = Report { place, counts };
        if report != self.last {
            say(self.connection, &report)?;
            self.last = report;
            self.time = Some(Instant::now());
        }
        Ok(())
    }
}
