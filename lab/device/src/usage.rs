//! What a device has used: CPU time, and of that what its packets cost.

use std::time::Duration;

use quiver_result::{Amount, Busy as PerPacket};

/// What a device has used since it was started, or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of all of its threads; of the kernel, that of the core set aside for it.
    pub cpu: Duration,
    /// What its packets have cost, if that is known apart from waiting for them.
    pub busy: Option<Busy>,
}

/// What so many packets have cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// How that is known.
    pub measure: Measure,
    /// Ticks of the time-stamp counter, or nanoseconds, where that is what is measured.
    pub spent: f64,
    /// The packets that the device received.
    pub packets: u64,
}

/// How it is known what packets cost. These are not the same quantity: compare like with like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Quiver: ticks, in its workers' thread-CPU time, of turns that had packets.
    ThreadTicks,
    /// VPP: ticks of its nodes, empty polls taken out.
    NodeClocks,
    /// testpmd: ticks of bursts that had packets, by its own record.
    CoreCycles,
    /// The kernel: nanoseconds of CPU time.
    CpuTime,
}

impl Usage {
    /// What was used since an earlier moment.
    pub fn since(&self, before: &Usage) -> Usage {
        let busy = self.busy.zip(before.busy).filter(|(busy, before)| busy.measure == before.measure);
        let busy = busy.map(|(busy, before)| Busy {
            measure: busy.measure,
            spent: busy.spent - before.spent,
            packets: busy.packets.saturating_sub(before.packets),
        });
        Usage { cpu: self.cpu.saturating_sub(before.cpu), busy }
    }
}

impl Busy {
    /// The cost of one packet, as documents have it; nothing if there were none.
    pub fn per_packet(&self) -> Option<PerPacket> {
        let amount = Amount::try_from(self.spent / self.packets as f64).ok()?;
        Some(match self.measure {
            Measure::ThreadTicks => PerPacket::ThreadTicks { ticks_per_packet: amount },
            Measure::NodeClocks => PerPacket::NodeClocks { ticks_per_packet: amount },
            Measure::CoreCycles => PerPacket::CoreCycles { ticks_per_packet: amount },
            Measure::CpuTime => PerPacket::CpuTime { nanoseconds_per_packet: amount },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_of_one_measure_and_of_packets_that_came() {
        let usage = |spent, packets| Usage {
            cpu: Duration::from_millis(packets),
            busy: Some(Busy { measure: Measure::CpuTime, spent, packets }),
        };
        let between = usage(700.0, 30).since(&usage(100.0, 10));
        assert_eq!(between.cpu, Duration::from_millis(20));
        let cost = between.busy.and_then(|busy| busy.per_packet());
        assert_eq!(cost, Some(PerPacket::CpuTime { nanoseconds_per_packet: 30.into() }));
        assert_eq!(usage(9.0, 10).since(&usage(1.0, 10)).busy.unwrap().per_packet(), None);
        assert_eq!(usage(9.0, 10).since(&Usage::default()).busy, None);
    }
}
