//! `--realtime`: workers run before all ordinary threads of the machine, as soon as they have something to do.

use std::io;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

use thread_priority::unix::{RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy};
use thread_priority::{Error, ThreadPriority};

/// Puts threads under `SCHED_RR`, at its lowest priority: Linux's own real-time threads go first. The first that is refused
/// ends it.
pub fn prefer<T>(threads: &[JoinHandle<T>]) -> io::Result<()> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin);
    threads.iter().try_for_each(|thread| {
        let set = set_thread_priority_and_policy(thread.as_pthread_t(), ThreadPriority::Min, policy);
        set.map_err(|error| match error {
            Error::OS(code) => io::Error::from_raw_os_error(code),
            other => io::Error::other(other),
        })
    })
}
