//! `show health`: whether the daemon works, for probes and for the service manager's watchdog.

use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::Dataplane;
use serde_json::json;

/// A worker finishes a turn within microseconds. One that does not within this time hangs, or is kept from its core.
pub const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn register(control: &Control) {
    let show = "Show whether every worker finishes turns and the saved configuration runs.";
    control.commands().add(Command::waiting("show health", show, show_health));
}

/// The workers that do not read their mail in time. Sleeping ones are woken for it.
pub async fn stuck(control: &Control, patience: Duration) -> Vec<usize> {
    let answers: Vec<_> = {
        let dataplane = control.room::<Dataplane>();
        (0..dataplane.workers()).map(|worker| dataplane.ask(worker, |_| ())).collect()
    };
    let (end, mut stuck) = (control.now() + patience, vec![]);
    for (worker, answer) in answers.into_iter().enumerate() {
        // The answer is looked at first: one that is there counts, though others have used the time up.
        let answered = control.timeout(end.since(control.now()), answer).await;
        if !matches!(answered, Some(Ok(()))) {
            stuck.push(worker);
        }
    }
    stuck
}

/// Says of workers that they are stuck.
pub fn stuck_text(stuck: &[usize], patience: Duration) -> String {
    let numbers: Vec<String> = stuck.iter().map(ToString::to_string).collect();
    let (workers, have) = if stuck.len() == 1 { ("worker", "has") } else { ("workers", "have") };
    format!(
        "{workers} {} {have} not finished a turn within {} ms: the log says whether a node has failed, `top -H` whether other \
         programs take the core",
        numbers.join(", "),
        patience.as_millis()
    )
}

async fn show_health(control: Control, _: Matches, _: Output) -> Result<Reply, CommandError> {
    let stuck = stuck(&control, PATIENCE).await;
    let not_resumed = control.not_resumed();
    let reason = match (&stuck[..], &not_resumed) {
        ([], None) => None,
        ([], Some(error)) => Some(format!("the saved configuration does not run: {error}")),
        (stuck, _) => Some(stuck_text(stuck, PATIENCE)),
    };
    let workers = control.room::<Dataplane>().workers();
    let text = match &reason {
        None if workers == 1 => "healthy: the worker makes progress".to_owned(),
        None => format!("healthy: all {workers} workers make progress"),
        Some(reason) => format!("not healthy: {reason}"),
    };
    let json = json!({
        "healthy": reason.is_none(), "reason": reason, "workers": workers, "stuck-workers": stuck,
        "configuration-error": not_resumed,
    });
    Ok(Reply { failed: reason.is_some(), ..Reply::new(text, json) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_testkit::daemon::{Daemon, Rooms, Setup};

    #[test]
    fn a_worker_that_finishes_no_turn_is_named_and_one_that_does_is_not() {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            crate::register(control).map_err(|error| error.to_string())
        };
        let rooms = Rooms::without_wires(register, quiver_interface::Events::answer);
        let mut daemon = Daemon::new(rooms, Setup { workers: 2, ..Setup::default() }).unwrap();
        let healthy = daemon.run("show health").unwrap();
        assert_eq!((healthy.text.as_str(), healthy.failed), ("healthy: all 2 workers make progress", false));
        // From now on the first alone has turns.
        let mut first = std::mem::take(daemon.workers()).remove(0);
        let control = daemon.control().clone();
        control.clone().spawn("the first worker", async move {
            loop {
                first.turn(control.now().0);
                control.sleep(Duration::from_millis(1)).await;
            }
        });
        let control = daemon.control().clone();
        let shown = daemon.executor().block_on(show_health(control, Matches::default(), Output::default())).unwrap();
        assert!(
            shown.failed && shown.text.starts_with("not healthy: worker 1 has not finished a turn"),
            "{}",
            shown.text
        );
        assert_eq!((&shown.json["healthy"], &shown.json["stuck-workers"]), (&json!(false), &json!([1])));
    }
}
