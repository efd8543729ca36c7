//! Why a sensor says nothing, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// A sensor, or a group of them, that is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// Nothing is there.
    #[error(
        "{root}: no sensor of energy (neither powercap's intel-rapl nor hwmon's power_meter or amd_energy); \
        virtual machines rarely have one: measure on the host, or name another sensor of hwmon"
    )]
    NoSensor {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// It is of another machine than this one.
    #[error("the sensors of {host} are not read from here: measure on that machine")]
    Away {
        /// The host.
        host: String,
    },
    /// For root only, as RAPL's counters are since Linux 5.10.
    #[error("{path}: may not be read: run as root, or `chmod a+r {path}`")]
    NotAllowed {
        /// The file.
        path: PathBuf,
    },
    /// It was there, or belongs there.
    #[error("{path}: cannot be read ({error}): is its driver still loaded?")]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: String,
    },
    /// No number.
    #[error("{path}: `{text}` is no number from 0 on: leave this sensor out, its driver is at fault")]
    NoNumber {
        /// The file.
        path: PathBuf,
        /// The text of the file, shortened.
        text: String,
    },
    /// A counter that is greater than it can be.
    #[error("{path}: {value} microjoules are more than the counter's range of {range}: its driver is at fault")]
    OutOfRange {
        /// The file.
        path: PathBuf,
        /// The value, in microjoules.
        value: u64,
        /// The largest possible value, in microjoules.
        range: u64,
    },
    /// A counter without a known range that became smaller.
    #[error("{path}: fell from {before} to {after} microjoules, and has no range to wrap at: was its driver reloaded?")]
    FellBack {
        /// The file.
        path: PathBuf,
        /// In microjoules.
        before: u64,
        /// In microjoules.
        after: u64,
    },
    /// A sensor that never says anything else, as made-up ones of virtual machines.
    #[error("{path}: says the same, or nothing, all the time: leave this sensor out, or measure on the host")]
    StoodStill {
        /// The file.
        path: PathBuf,
    },
    /// No sensor, or more than one, has the name that was asked for.
    #[error("sensor {name}: {found} sensors of hwmon are called so, must be one; there are: {there}")]
    Named {
        /// The requested name.
        name: String,
        /// How many there are.
        found: usize,
        /// The available sensors, by unique names.
        there: String,
    },
}

impl Missing {
    pub(crate) fn because(path: &Path, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Missing::NotAllowed { path },
            _ => Missing::NotReadable { path, error: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_root_may_read_is_named_with_what_to_do() {
        let path = Path::new("/sys/class/powercap/intel-rapl:0/energy_uj");
        let missing = Missing::because(path, &io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(missing, Missing::NotAllowed { path: path.to_owned() });
        let text = missing.to_string();
        assert!(text.contains("run as root") && text.contains("chmod a+r /sys/class/powercap/intel-rapl:0"), "{text}");
    }
}
