//! VPP's `startup.conf`: everything in the job's folder, and memory in huge pages where there are enough.

use std::path::Path;

use quiver_suite::field::{Feature, Function, Scale};

use crate::ground::Ground;
use crate::{Error, Job, Port, cores};

/// Buffers, of 2,048 bytes beside their headers. As a slave VPP lends them to the rings.
const BUFFERS: u64 = 65_536;
/// Bytes of a buffer with all that belongs to it.
const BUFFER: u64 = 2048 + 512;
const HUGE_PAGE: u64 = 2 << 20;
/// Buckets of its table of stations, and how many stations these are for.
const BUCKETS: u32 = 65_536;
const STATIONS: u32 = 4 * BUCKETS;
/// How many routes of IPv6 its table has room for by itself.
const ROUTES6: u32 = 100_000;

/// The whole file.
pub fn conf(job: &Job<'_>, ground: &Ground, api: &Path) -> Result<String, Error> {
    let (log, statistics) = (ground.file("vpp-commands.log"), ground.file("stats.sock"));
    let heap = heap(job);
    let (buffer_pages, heap_pages) = pages(free_huge_pages(ground)?, heap);
    let main = cores::others(job).first().copied().unwrap_or(0);
    // Where there is but one core, its main thread forwards.
    let workers = match job.cpus.contains(&main) {
        true => String::new(),
        false => format!(" corelist-workers {}", cores::list(&job.cpus)),
    };
    let stations = match (job.case.function, job.case.scale) {
        (Function::Bridge, Scale::Entries(entries)) if entries > STATIONS => {
            format!("l2fib {{ num-buckets {} table-size 1G }}\n", (entries / 4).next_power_of_two())
        }
        _ => String::new(),
    };
    let routes = match (job.case.function, job.case.scale) {
        // As CSIT has it with two million: a bucket or more for each.
        (Function::Ip6, Scale::Entries(entries)) if entries > ROUTES6 => {
            format!("ip6 {{ hash-buckets {} heap-size 4G }}\n", entries.next_power_of_two())
        }
        _ => String::new(),
    };
    let plugins = plugins(job).map(|plugin| format!("  plugin {} {{ enable }}\n", file(plugin))).collect::<String>();
    Ok(format!(
        "unix {{ nodaemon nosyslog nocolor runtime-dir {} log {} }}
api-segment {{ prefix {} }}
socksvr {{ socket-name {} }}
statseg {{ socket-name {} size {}M }}
cpu {{ main-core {main}{workers} }}
memory {{ main-heap-size {}M main-heap-page-size {heap_pages} }}
buffers {{ buffers-per-numa {BUFFERS} page-size {buffer_pages} }}
{stations}{routes}plugins {{
  plugin default {{ disable }}
{plugins}}}
",
        ground.folder().display(),
        log.display(),
        prefix(ground),
        api.display(),
        statistics.display(),
        // Each route is counted twice by each thread: where there is no room for that, VPP ends.
        heap >> 22,
        heap >> 20
    ))
}

/// The plugins that a job takes, by the names of their folders in VPP's source.
pub fn plugins(job: &Job<'_>) -> impl Iterator<Item = &'static str> {
    let takes = |is_so: fn(&Port<'_>) -> bool| job.ports.iter().any(is_so);
    let of_ports = [
        ("memif", takes(|port| matches!(port, Port::Memif { .. }))),
        ("af_packet", takes(|port| matches!(port, Port::Host { .. }))),
    ];
    let of_feature: &[_] = match job.case.feature {
        Feature::UrpfStrict | Feature::UrpfLoose => &["urpf"],
        Feature::PolicyRouting => &["acl", "abf"],
        feature if feature.unmatched_rules().is_some() => &["acl"],
        _ => &[],
    };
    let of_ports = of_ports.into_iter().filter(|(_, is_so)| *is_so).map(|(plugin, _)| plugin);
    of_ports.chain(of_feature.iter().copied())
}

/// Whether `show plugins` has one.
pub fn is_loaded(answer: &str, plugin: &str) -> bool {
    let file = file(plugin);
    answer.lines().any(|line| line.split_whitespace().nth(1) == Some(&file))
}

/// A plugin's file.
fn file(plugin: &str) -> String {
    format!("{plugin}_plugin.so")
}

/// Prefix of VPP's files in `/dev/shm`, its only ones outside of the folder.
pub fn prefix(ground: &Ground) -> String {
    let word = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("quiver-lab{}", ground.file("vpp").display().to_string().chars().map(word).collect::<String>())
}

/// Bytes of its heap: some gigabytes for millions of routes.
fn heap(job: &Job<'_>) -> u64 {
    let megabytes = match job.case.scale {
        Scale::Base | Scale::Entries(..10_000) => 256,
        Scale::Entries(..500_000) => 1024,
        Scale::Entries(_) => 4096,
    };
    megabytes << 20
}

/// Which pages buffers and heap have, where so many of 2 MB are free: first buffers, then the heap.
fn pages(free: u64, heap: u64) -> (&'static str, &'static str) {
    let of_buffers = (BUFFERS * BUFFER).div_ceil(HUGE_PAGE);
    let word = |enough| if enough { "2M" } else { "default" };
    (word(free >= of_buffers), word(free >= of_buffers + heap.div_ceil(HUGE_PAGE)))
}

fn free_huge_pages(ground: &Ground) -> Result<u64, Error> {
    // Not every kernel has any.
    let free = ground.ask("cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null || echo 0")?;
    Ok(free.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_found_by_their_files() {
        let answer = " Plugin path is: /usr/lib/vpp_plugins:/usr/lib/vat2_plugins\n\n\
                      \x20    Plugin                                   Version                          Description\n\
                      \x20 1. acl_plugin.so                            26.10-rc0                        Access Control Lists (ACL)\n\
                      \x20 2. memif_plugin.so                          26.10-rc0                        Packet Memory Interface\n";
        assert!(is_loaded(answer, "acl") && is_loaded(answer, "memif") && !is_loaded(answer, "urpf"));
        // Part of another one's name.
        assert!(!is_loaded(answer, "if") && !is_loaded(answer, "mem"));
    }

    #[test]
    fn huge_pages_go_to_buffers_first() {
        assert_eq!(pages(0, 256 << 20), ("default", "default"));
        assert_eq!(pages(80, 256 << 20), ("2M", "default"));
        assert_eq!(pages(80 + 128, 256 << 20), ("2M", "2M"));
    }
}
