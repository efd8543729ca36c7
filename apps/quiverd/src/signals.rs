//! The signals that quiverd hears: SIGTERM and SIGINT end it in order, SIGHUP has it reload, SIGUSR1 and SIGUSR2 do nothing.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

/// SIGHUP.
pub struct Hangups(Signal);

/// Catches the signals, from the start on: none of them ends a daemon that has begun to do something.
pub fn catch() -> Result<(Stop, Hangups), String> {
    let catch = |kind| signal(kind).map_err(|error| format!("signals cannot be received: {error}"));
    // A signal that was caught once does not end the process any more, though nothing looks at these.
    for kind in [SignalKind::user_defined1(), SignalKind::user_defined2()] {
        drop(catch(kind)?);
    }
    let stop = Stop { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? };
    Ok((stop, Hangups(catch(SignalKind::hangup())?)))
}

impl Stop {
    /// Waits until quiverd is to end.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

impl Hangups {
    /// Waits for the next one. Those that come before the last is answered are one.
    pub async fn next(&mut self) -> Option<()> {
        self.0.recv().await
    }
}
