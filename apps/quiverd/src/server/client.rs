//! One client: its requests are read and answered one at a time, and others have their turn between them.

use std::io;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::protocol::{self, REQUEST_LENGTH_MAX, Reason, Refusal, Response};
use quiver_control::transaction::Source;
use tokio::net::UnixStream;

use crate::line::line_of;
use crate::peer::Users;
use crate::places::{Activity, Loss, Place};

/// The way by which changes come.
const SOURCE: Source = Source("command socket");
/// A client that does not take its answer for this long is dropped.
pub(super) const READER_PATIENCE: Duration = Duration::from_secs(60);
/// Bytes that are read at a time.
const READ_SIZE: usize = 16 * 1024;
/// Bytes of a request that is read at once.
const SHORT: usize = 64 * 1024;

pub(super) struct Client {
    stream: UnixStream,
    place: Place,
    received: Received,
}

/// Received bytes that are not yet answered. An idle client has none, and holds no memory for them.
#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// No line ends before.
    searched: usize,
}

impl Received {
    /// The place of the next line, if all of it is there.
    fn line(&mut self) -> Option<Range<usize>> {
        let found = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.bytes.len();
            return None;
        };
        let line = self.start..end;
        (self.start, self.searched) = (end + 1, end + 1);
        Some(line)
    }

    /// The line at this place. One that came alone, which may be very long, is not copied.
    fn take(&mut self, line: Range<usize>) -> Vec<u8> {
        if line.start > 0 || self.bytes.len() > line.end + 1 {
            return self.bytes[line].to_vec();
        }
        let mut bytes = std::mem::take(self).bytes;
        bytes.truncate(line.end);
        bytes
    }

    /// Gives back the memory of lines that were taken.
    fn forget(&mut self) {
        if self.start == self.bytes.len() {
            *self = Received::default();
        } else {
            self.bytes.drain(..self.start);
            self.bytes.shrink_to(4 * READ_SIZE);
            (self.start, self.searched) = (0, self.searched - self.start);
        }
    }

    fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }
}

impl Client {
    pub fn new(stream: UnixStream, place: Place) -> Client {
        Client { stream, place, received: Received::default() }
    }

    /// Serves the client until it leaves, or has to go.
    pub async fn serve(mut self, control: Control, users: Rc<Users>, is_viewer: bool) {
        // Its user is the author of its changes.
        let author = users.author_of(&self.stream).await;
        let control = control.by(if is_viewer { author.as_viewer() } else { author }).through(SOURCE);
        loop {
            self.place.is(Activity::Idle);
            let request = tokio::select! {
                biased;
                loss = self.place.lost() => return self.say_goodbye(Reason::Evicted, &loss),
                request = read_request(&self.stream, &mut self.received, &self.place) => request,
            };
            let served = match request {
                Ok(Some(Ok(request))) => self.answer(&control, request).await,
                Ok(Some(Err(refusal))) => {
                    let is_last = refusal.reason == Some(Reason::TooLong);
                    let sent = self.send(Response::Error(refusal)).await;
                    if is_last { Err(io::ErrorKind::InvalidData.into()) } else { sent }
                }
                Ok(None) => return,
                Err(error) => Err(error),
            };
            // A broken connection ends its task; no client is left to tell.
            if served.is_err() {
                return;
            }
            // However much it has sent, others are served before its next request.
            tokio::task::yield_now().await;
        }
    }

    async fn answer(&mut self, control: &Control, request: protocol::Request) -> io::Result<()> {
        self.place.is(Activity::Asking);
        // A request's state can be large, and most clients have none: it is not part of the task.
        let (answering, end) = protocol::answer(control, request);
        let mut end = Box::pin(end);
        let end = loop {
            tokio::select! {
                biased;
                end = &mut end => break end,
                loss = self.place.lost() => {
                    // It is too late to ask again: some of it may have been done.
                    self.say_goodbye(Reason::Crowded, &loss);
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                Some(part) = answering.part() => {
                    self.send(part).await?;
                    self.place.is(Activity::Asking);
                    // The next part is made in the next turn, however fast the client reads.
                    tokio::task::yield_now().await;
                }
                // Only the client's end matters now; further input is kept.
                more = read_more(&self.stream, &mut self.received), if self.received.is_empty() => if !more? {
                    return Ok(());
                },
            }
        };
        // The command may have ended with parts still to be taken.
        while let Some(part) = answering.part().await {
            self.send(part).await?;
            tokio::task::yield_now().await;
        }
        self.send(end).await
    }

    /// Sends a response; it counts as waiting for clients until it is read.
    async fn send(&mut self, response: Response) -> io::Result<()> {
        let line = line_of(&response);
        // It is in the line by now, and the reader may take its time.
        drop(response);
        let received = self.received.bytes.capacity();
        self.place.holds(received + line.capacity());
        let sent = self.write(&line).await;
        self.place.holds(received);
        sent
    }

    async fn write(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            // Patience is for progress: a slow reader of a long answer is served to its end.
            self.place.is(Activity::Reading);
            let mut lost = pin!(self.place.lost());
            tokio::select! {
                _ = &mut lost => return Err(io::ErrorKind::TimedOut.into()),
                writable = tokio::time::timeout(READER_PATIENCE, self.stream.writable()) => writable??,
            }
        }
        Ok(())
    }

    /// Tells a client why it goes, if it can be told without waiting.
    fn say_goodbye(&self, reason: Reason, loss: &Loss) {
        tracing::info!("a client of the command socket is disconnected: {loss}");
        let what = format!("this connection was closed: {loss}; connect again");
        let _ = self.stream.try_write(&line_of(&Response::Error(Refusal::because(reason, what))));
    }
}

/// The next request, or why it is none; nothing at the client's end.
async fn read_request(
    stream: &UnixStream,
    received: &mut Received,
    place: &Place,
) -> io::Result<Option<Result<protocol::Request, Refusal>>> {
    loop {
        if let Some(line) = received.line() {
            let request = match line.len() {
                ..=SHORT => protocol::read_request(&received.bytes[line]),
                length if length <= REQUEST_LENGTH_MAX => read_aside(received.take(line)).await,
                _ => Err(too_long()),
            };
            received.forget();
            place.holds(received.bytes.capacity());
            return Ok(Some(request));
        }
        place.holds(received.bytes.capacity());
        if received.bytes.len() > REQUEST_LENGTH_MAX {
            return Ok(Some(Err(too_long())));
        }
        if !read_more(stream, received).await? {
            return Ok(None);
        }
    }
}

/// Reads a long request by another thread: it would take this one longer than a turn.
async fn read_aside(line: Vec<u8>) -> Result<protocol::Request, Refusal> {
    let read = tokio::task::spawn_blocking(move || protocol::read_request(&line));
    read.await.unwrap_or_else(|_| Err(Refusal::new("the request could not be read")))
}

fn too_long() -> Refusal {
    let what = format!(
        "a request has at most {REQUEST_LENGTH_MAX} bytes, and this one is longer: give quiverd a configuration of \
        this size at its start, with --config FILE"
    );
    Refusal::because(Reason::TooLong, what)
}

/// Reads available input, and waits for it; returns false at the end.
async fn read_more(stream: &UnixStream, received: &mut Received) -> io::Result<bool> {
    loop {
        // Memory is taken only when there is something to read.
        stream.readable().await?;
        received.bytes.reserve(READ_SIZE);
        match stream.try_read_buf(&mut received.bytes) {
            Ok(count) => return Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if received.bytes.is_empty() {
                    *received = Received::default();
                }
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_one_by_one_and_leave_nothing() {
        let mut received = Received { bytes: b"a\nbc\n\nd".to_vec(), ..Received::default() };
        let line = |received: &mut Received| received.line().map(|line| received.bytes[line].to_vec());
        assert_eq!(line(&mut received), Some(b"a".to_vec()));
        received.forget();
        assert_eq!(line(&mut received), Some(b"bc".to_vec()));
        assert_eq!(line(&mut received), Some(b"".to_vec()));
        assert_eq!(line(&mut received), None);
        received.forget();
        received.bytes.extend_from_slice(b"e\n");
        assert_eq!(received.line().map(|line| received.take(line)), Some(b"de".to_vec()));
        received.bytes.extend_from_slice(b"f\ng\n");
        assert_eq!(received.line().map(|line| received.take(line)), Some(b"f".to_vec()));
        assert_eq!(received.line().map(|line| received.take(line)), Some(b"g".to_vec()));
        received.forget();
        assert_eq!((received.bytes.capacity(), received.start, received.searched), (0, 0, 0));
    }
}
