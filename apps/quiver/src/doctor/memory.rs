//! Huge pages. quiverd locks no memory.

use super::finding::Finding;
use super::machine::Machine;

/// Examines the memory.
pub fn examine(machine: &Machine) -> Vec<Finding> {
    vec![
        huge_pages(machine, "2 MB huge pages", "2048kB", "`sysctl -w vm.nr_hugepages=256` reserves half a gigabyte"),
        huge_pages(
            machine,
            "1 GB huge pages",
            "1048576kB",
            "only for very large tables: start the kernel with `hugepagesz=1G hugepages=1`",
        ),
        transparent_huge_pages(machine),
    ]
}

fn huge_pages(machine: &Machine, about: &'static str, size: &str, remedy: &str) -> Finding {
    let count = |name: &str| {
        let path = format!("sys/kernel/mm/hugepages/hugepages-{size}/{name}_hugepages");
        machine.read(&path)?.parse::<u64>().ok()
    };
    match (count("nr"), count("free")) {
        (None, _) | (_, None) => {
            Finding::degraded(about, "unknown to this kernel", "take a kernel with this page size")
        }
        (Some(total), Some(0)) => Finding::degraded(about, format!("0 of {total} free"), remedy),
        (Some(total), Some(free)) => Finding::ok(about, format!("{free} of {total} free")),
    }
}

fn transparent_huge_pages(machine: &Machine) -> Finding {
    let about = "transparent huge pages";
    let choices = machine.read("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    match choices.split(['[', ']']).nth(1) {
        Some(choice @ ("always" | "madvise")) => Finding::ok(about, choice),
        Some(choice) => Finding::degraded(
            about,
            choice,
            "`echo madvise >/sys/kernel/mm/transparent_hugepage/enabled`: what buffers use where huge pages run out",
        ),
        None => Finding::degraded(about, "unknown to this kernel", "take a kernel with CONFIG_TRANSPARENT_HUGEPAGE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use crate::doctor::machine::made_of;

    #[test]
    fn huge_pages_count_only_while_free() {
        let folder = "sys/kernel/mm/hugepages/hugepages-2048kB";
        for (free, verdict) in [("3\n", Verdict::Ok), ("0\n", Verdict::Degraded)] {
            let files = [(format!("{folder}/nr_hugepages"), "8\n"), (format!("{folder}/free_hugepages"), free)];
            let (_folder, machine) = made_of(&[(&files[0].0, files[0].1), (&files[1].0, files[1].1)]);
            assert_eq!(huge_pages(&machine, "2 MB huge pages", "2048kB", "more").verdict, verdict);
        }
    }

    #[test]
    fn the_chosen_word_is_read() {
        for (choices, verdict) in [
            ("always [madvise] never\n", Verdict::Ok),
            ("[always] madvise never\n", Verdict::Ok),
            ("always madvise [never]\n", Verdict::Degraded),
        ] {
            let (_folder, machine) = made_of(&[("sys/kernel/mm/transparent_hugepage/enabled", choices)]);
            assert_eq!(transparent_huge_pages(&machine).verdict, verdict, "{choices}");
        }
        let (_folder, machine) = made_of(&[]);
        assert_eq!(transparent_huge_pages(&machine).verdict, Verdict::Degraded);
    }
}
