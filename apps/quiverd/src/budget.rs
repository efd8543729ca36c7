//! Default memory budget of configured objects: three quarters of the memory that is available when quiverd starts, within the
//! limits of the machine, of the process and of its control groups.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

/// Bytes that objects may take; `u64::MAX` if the system does not report its memory.
pub fn standard() -> u64 {
    let limits =
        [of_machine(), of_process(Resource::RLIMIT_AS, "VmSize:"), of_process(Resource::RLIMIT_DATA, "VmData:")];
    let groups = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| group(&text));
    let left = limits.into_iter().chain([groups.and_then(|group| of_groups(&group))]).flatten().min();
    // Tables that grow are there twice for a while, and there is more than objects.
    left.map_or(u64::MAX, |left| left / 4 * 3)
}

/// Available memory of the machine (proc(5)).
fn of_machine() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The rest of a resource limit of the process, of which it uses the line `used` of its status.
fn of_process(resource: Resource, used: &str) -> Option<u64> {
    let (limit, _) = getrlimit(resource).ok().filter(|(limit, _)| *limit != RLIM_INFINITY)?;
    Some(limit.saturating_sub(kilobytes(&fs::read_to_string("/proc/self/status").ok()?, used)?))
}

/// A line's value, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The folder of the process's control group, of the second version.
fn group(cgroup: &str) -> Option<PathBuf> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/')))
}

/// The smallest rest of the memory limits of a control group and its parents.
fn of_groups(group: &Path) -> Option<u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left =
        |group: &Path| Some(number(group.join("memory.max"))?.saturating_sub(number(group.join("memory.current"))?));
    group.ancestors().take_while(|group| group.starts_with("/sys/fs/cgroup")).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_there_is() {
        assert_eq!(kilobytes("MemTotal:  9 kB\nMemAvailable:    7 kB\n", "MemAvailable:"), Some(7168));
        assert_eq!(kilobytes("VmSize:\t  12 kB\n", "VmData:"), None);
        let path = group("1:name=x:/a\n0::/system.slice/quiver.service\n");
        assert_eq!(path.as_deref(), Some(Path::new("/sys/fs/cgroup/system.slice/quiver.service")));
        // Others use the machine, too.
        let total =
            kilobytes(&fs::read_to_string("/proc/meminfo").expect("Linux has it"), "MemTotal:").expect("a number");
        assert!((1 << 20..total).contains(&standard()), "{}", standard());
    }
}
