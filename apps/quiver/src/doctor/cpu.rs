//! Cores, instruction sets and the kernel.

use std::thread::available_parallelism;

use super::finding::Finding;
use super::machine::Machine;

/// The oldest kernel that Quiver is tested with: Debian 12's.
const KERNEL: (u32, u32) = (6, 1);

/// Examines the processor and the kernel.
pub fn examine(machine: &Machine) -> Vec<Finding> {
    vec![
        cores(available_parallelism().map_or(1, |cores| cores.get())),
        isolated_cores(machine),
        instruction_set(),
        kernel(machine),
    ]
}

fn cores(count: usize) -> Finding {
    match count {
        1 => Finding::degraded("cores", "1", "give quiverd two cores, or packets wait while commands run"),
        _ => Finding::ok("cores", count.to_string()),
    }
}

fn isolated_cores(machine: &Machine) -> Finding {
    match machine.read("sys/devices/system/cpu/isolated").filter(|cores| !cores.is_empty()) {
        Some(cores) => Finding::ok("isolated cores", cores),
        None => Finding::degraded(
            "isolated cores",
            "none",
            "for even latency start the kernel with `isolcpus=` and the workers' cores, or other programs interrupt them",
        ),
    }
}

#[cfg(target_arch = "x86_64")]
fn instruction_set() -> Finding {
    let is_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    let slower = "take a machine (or a virtual machine's processor type) with AVX-512 for the fastest data path";
    if is_avx512 {
        Finding::ok("instruction set", "avx512")
    } else if is_x86_feature_detected!("avx2") {
        Finding::degraded("instruction set", "avx2", slower)
    } else {
        Finding::degraded("instruction set", "baseline", slower)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction_set() -> Finding {
    Finding::degraded("instruction set", "baseline", "hand-tuned instruction sets exist for x86-64 only")
}

fn kernel(machine: &Machine) -> Finding {
    let release = machine.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    match version {
        Some(version) if version >= KERNEL => Finding::ok("kernel", release),
        _ => Finding::degraded(
            "kernel",
            release,
            format!("Quiver is tested with Linux {}.{} and newer", KERNEL.0, KERNEL.1),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use crate::doctor::machine::made_of;

    #[test]
    fn kernels_are_compared_by_numbers() {
        for (release, verdict) in [
            ("6.1.0-56-amd64\n", Verdict::Ok),
            ("6.18.44", Verdict::Ok),
            ("10.0", Verdict::Ok),
            ("5.15.0-1-generic", Verdict::Degraded),
            ("unknown", Verdict::Degraded),
        ] {
            let (_folder, machine) = made_of(&[("proc/sys/kernel/osrelease", release)]);
            assert_eq!(kernel(&machine).verdict, verdict, "{release}");
        }
    }

    #[test]
    fn isolated_cores_are_listed() {
        let (_folder, machine) = made_of(&[("sys/devices/system/cpu/isolated", "2-3\n")]);
        assert_eq!(isolated_cores(&machine), Finding::ok("isolated cores", "2-3"));
        let (_folder, machine) = made_of(&[("sys/devices/system/cpu/isolated", "\n")]);
        assert_eq!(isolated_cores(&machine).verdict, Verdict::Degraded);
    }

    #[test]
    fn one_core_is_few() {
        assert_eq!((cores(1).verdict, cores(2).verdict), (Verdict::Degraded, Verdict::Ok));
    }
}
