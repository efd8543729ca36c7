//! Which thread of Linux a worker runs in, and where.

use std::fs::read_to_string;

/// The thread of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Linux's number of the thread (gettid(2)).
    pub thread: u32,
    /// The CPU that it is pinned to, if it is.
    pub cpu: Option<Cpu>,
}

/// A CPU as Linux numbers it, and the part of the machine that it is (Documentation/admin-guide/cputopology.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// The core, which may have several CPUs; none where Linux does not tell.
    pub core: Option<u32>,
    /// The socket of that core.
    pub socket: Option<u32>,
}

impl Running {
    /// The calling thread, which is pinned to this CPU or to none.
    pub(super) fn here(cpu: Option<usize>) -> Running {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Running { thread, cpu: cpu.and_then(|number| u32::try_from(number).ok()).map(Cpu::of) }
    }
}

impl Cpu {
    fn of(number: u32) -> Cpu {
        let told = |what: &str| {
            let text = read_to_string(format!("/sys/devices/system/cpu/cpu{number}/topology/{what}"));
            text.ok().and_then(|text| text.trim().parse().ok())
        };
        Cpu { number, core: told("core_id"), socket: told("physical_package_id") }
    }
}
