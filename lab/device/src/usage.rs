//! Resources used by a device: CPU time, and the part that its packets cost.

use std::time::Duration;

use quiver_result::{Amount, Busy as PerPacket, TakenOut};

/// Resources used since the device started, or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time of all of its threads; of the kernel, that of the core set aside for it.
    pub cpu: Duration,
    /// Cost of the packets, if it is known apart from idle polling.
    pub busy: Option<Busy>,
}

/// Work for a number of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// How that is known.
    pub measure: Measure,
    /// Ticks of the time-stamp counter, or nanoseconds, by the measure.
    pub spent: f64,
    /// Ticks among these while the system had workers off their cores, if known. They cannot be assigned to a node or a
    /// packet.
    pub off_core: Option<f64>,
    /// The packets that the device received.
    pub packets: u64,
}

/// How the cost of packets is measured. The variants are different quantities; compare only equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Quiver: ticks, in its workers' thread-CPU time, of turns that had packets.
    ThreadTicks,
    /// VPP: ticks of its nodes, empty polls taken out, and the time off their cores.
    NodeClocks,
    /// testpmd: ticks of bursts that had packets, by its own record, less their part of the time off its cores.
    CoreCycles,
    /// The kernel: nanoseconds of CPU time.
    CpuTime,
}

impl Usage {
    /// The difference to an earlier moment.
    pub fn since(&self, before: &Usage) -> Usage {
        let busy = self.busy.zip(before.busy).filter(|(busy, before)| busy.measure == before.measure);
        let busy = busy.map(|(busy, before)| Busy {
            measure: busy.measure,
            spent: busy.spent - before.spent,
            off_core: busy.off_core.zip(before.off_core).map(|(now, before)| now - before),
            packets: busy.packets.saturating_sub(before.packets),
        });
        Usage { cpu: self.cpu.saturating_sub(before.cpu), busy }
    }
}

impl Busy {
    /// The cost of one packet, as documents have it; nothing if there were none.
    pub fn per_packet(&self) -> Option<PerPacket> {
        let each = |sum: f64| Amount::try_from(sum / self.packets as f64).ok();
        // More may be known to be off the core than was counted, where the two were not read at once.
        let amount = each((self.spent - self.off_core.unwrap_or(0.0)).max(0.0))?;
        let taken_out = self.off_core.and_then(|off_core| {
            Some(TakenOut { counted_ticks_per_packet: each(self.spent)?, off_core_ticks_per_packet: each(off_core)? })
        });
        Some(match self.measure {
            Measure::ThreadTicks => PerPacket::ThreadTicks { ticks_per_packet: amount },
            Measure::NodeClocks => PerPacket::NodeClocks { ticks_per_packet: amount, taken_out },
            Measure::CoreCycles => PerPacket::CoreCycles { ticks_per_packet: amount, taken_out },
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
            busy: Some(Busy { measure: Measure::CpuTime, spent, off_core: None, packets }),
        };
        let between = usage(700.0, 30).since(&usage(100.0, 10));
        assert_eq!(between.cpu, Duration::from_millis(20));
        let cost = between.busy.and_then(|busy| busy.per_packet());
        assert_eq!(cost, Some(PerPacket::CpuTime { nanoseconds_per_packet: 30.into() }));
        assert_eq!(usage(9.0, 10).since(&usage(1.0, 10)).busy.unwrap().per_packet(), None);
        assert_eq!(usage(9.0, 10).since(&Usage::default()).busy, None);
    }

    #[test]
    fn time_off_the_core_is_taken_out_and_told() {
        let busy = |off_core| Busy { measure: Measure::NodeClocks, spent: 700.0, off_core, packets: 10 };
        let told = |counted: u32, off_core: u32| {
            Some(TakenOut { counted_ticks_per_packet: counted.into(), off_core_ticks_per_packet: off_core.into() })
        };
        for (off_core, ticks, taken_out) in
            [(None, 70, None), (Some(100.0), 60, told(70, 10)), (Some(900.0), 0, told(70, 90))]
        {
            let expected = PerPacket::NodeClocks { ticks_per_packet: ticks.into(), taken_out };
            assert_eq!(busy(off_core).per_packet(), Some(expected));
        }
        // Where it was not known at one of the two moments, it is not known.
        let usage = |off_core| Usage { cpu: Duration::ZERO, busy: Some(busy(off_core)) };
        let between = |now, before| usage(now).since(&usage(before)).busy.and_then(|busy| busy.off_core);
        assert_eq!((between(Some(9.0), Some(2.0)), between(Some(9.0), None)), (Some(7.0), None));
    }
}
