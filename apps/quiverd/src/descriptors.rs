//! Descriptors that quiverd was started with, as a service manager passes them (sd_listen_fds(3)): `LISTEN_PID`, `LISTEN_FDS` and
//! `LISTEN_FDNAMES`.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd};

const NAMES: &str = "LISTEN_FDNAMES";
/// The name of descriptors without one.
const UNNAMED: &str = "unknown";

/// Descriptors with their names.
pub type Passed = Vec<(String, OwnedFd)>;

/// Takes the descriptors that were passed to this process, and removes the variables, so that no child takes them for its own. Call
/// it once, before other threads start and before anything is opened.
pub fn take() -> Result<Passed, String> {
    let names = std::env::var(NAMES).ok();
    // SAFETY: this is the only thread, so nothing reads the environment meanwhile.
    let passed = unsafe {
        std::env::remove_var(NAMES);
        sd_notify::listen_fds_and_unset_env()
    };
    let passed = passed.map_err(|error| {
        format!("LISTEN_PID, LISTEN_FDS: {error}; pass a number of descriptors that are open, from 3 on")
    })?;
    let names = named(passed.len(), names.as_deref())?;
    // SAFETY: these numbers are open, which was checked just now, and by the protocol they are this process's alone: nothing else
    // has been opened yet, and they are taken once.
    Ok(names.into_iter().zip(passed.map(|number| unsafe { OwnedFd::from_raw_fd(number) })).collect())
}

/// The names of so many descriptors.
fn named(count: usize, names: Option<&str>) -> Result<Vec<String>, String> {
    match names {
        // They are another process's.
        _ if count == 0 => Ok(vec![]),
        None => Ok(vec![UNNAMED.to_owned(); count]),
        Some(names) => {
            let names: Vec<_> = names.split(':').map(str::to_owned).collect();
            let (given, error) = (names.len(), "give a name for each descriptor, with colons between them");
            if given == count {
                Ok(names)
            } else {
                Err(format!("{NAMES}: {given} names for {count} descriptors; {error}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_descriptor_has_a_name() {
        assert_eq!(named(2, Some("wan:lan")).unwrap(), ["wan", "lan"]);
        assert_eq!(named(2, None).unwrap(), ["unknown", "unknown"]);
        assert!(named(0, Some("of:others")).unwrap().is_empty());
        let told = named(1, Some("one:two")).unwrap_err();
        assert!(told.starts_with("LISTEN_FDNAMES: 2 names for 1 descriptors; give a name"), "{told}");
    }
}
