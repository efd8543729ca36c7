//! Messages to the service manager by `sd_notify(3)`, if it waits for them (`NOTIFY_SOCKET`): ready, reloading, stopping, a status
//! sentence, and watchdog keep-alives (`WATCHDOG_USEC`).

use std::convert::Infallible;
use std::time::Duration;

use quiver_control::Control;
use quiver_runtime::health;
use sd_notify::NotifyState;

/// Extension of the start timeout while the configuration loads.
const LOADING: Duration = Duration::from_secs(30);

/// Reports quiverd's state in a sentence: `systemctl status` shows it.
pub fn status(text: &str) {
    tell(&[NotifyState::Status(&one_line(text))]);
}

/// Says that quiverd still loads its configuration, as long as this is waited for: a large one may take longer than a start may
/// otherwise (`TimeoutStartSec=`). A control thread that hangs says nothing.
pub async fn loading(control: &Control) -> Infallible {
    loop {
        let more = u32::try_from(LOADING.as_micros()).unwrap_or(u32::MAX);
        tell(&[NotifyState::Status("loading the configuration"), NotifyState::ExtendTimeoutUsec(more)]);
        control.sleep(LOADING / 3).await;
    }
}

/// Says that quiverd serves: its sockets are open, and its configuration runs.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&one_line(status))]);
}

/// Says that quiverd reads its configuration again. [`ready`] ends that.
pub fn reloading(status: &str) {
    // `Type=notify-reload` tells by the time which signal is answered.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now, NotifyState::Status(&one_line(status))]),
        Err(error) => tracing::warn!("the service manager is not told that quiverd reloads: {error}"),
    }
}

/// Says that quiverd ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Tells the service manager's watchdog that quiverd is alive, as long as all workers make progress. Ends at once if there is no
/// watchdog.
pub async fn answer_watchdog(control: Control) {
    let Some(interval) = sd_notify::watchdog_enabled() else { return };
    let (pause, patience) = (interval / 2, interval / 4);
    let mut told = vec![];
    loop {
        let stuck = health::stuck(&control, patience).await;
        if stuck.is_empty() {
            tell(&[NotifyState::Watchdog]);
        } else if stuck != told {
            tracing::error!(
                "the service manager's watchdog is not told any more: {}",
                health::stuck_text(&stuck, patience)
            );
        }
        told = stuck;
        control.sleep(pause).await;
    }
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("the service manager cannot be told what quiverd does: NOTIFY_SOCKET: {error}");
    }
}

/// A status is one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
