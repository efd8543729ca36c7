//! Descriptions of metrics by entry of the segment: a sentence of help, a unit, and whether values only rise. The segment itself
//! has none of these.

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only rise, but for a restart or a `clear`.
    Counter,
    /// They rise and fall.
    Gauge,
}

/// Description of an entry's metric.
pub(crate) struct Described {
    /// The sentence. `{}` stands for `Packets` or `Bytes` where the entry has both.
    pub help: &'static str,
    /// The unit that is added to the metric's name, where the entry's name has none.
    pub unit: Option<&'static str>,
    /// The type, where the segment's is another one.
    pub kind: Option<Kind>,
}

const fn said(help: &'static str) -> Described {
    Described { help, unit: None, kind: None }
}
/// VPP has these as counters, though they are moments, sizes and maxima.
const fn gauge(help: &'static str, unit: Option<&'static str>) -> Described {
    Described { help, unit, kind: Some(Kind::Gauge) }
}

/// The description of an entry, if there is one.
pub(crate) fn described(entry: &str) -> Option<Described> {
    Some(match entry {
        "/err/" => said("Packets dropped, by node and reason."),
        "/if/rx" => said("{} received by the interface."),
        "/if/tx" => said("{} sent by the interface."),
        "/if/rx-unicast" => said("{} received for one station, on interfaces with detailed statistics."),
        "/if/rx-multicast" => said("{} received for a group of stations, on interfaces with detailed statistics."),
        "/if/rx-broadcast" => said("{} received for all stations, on interfaces with detailed statistics."),
        "/if/tx-unicast" => said("{} sent to one station, on interfaces with detailed statistics."),
        "/if/tx-multicast" => said("{} sent to a group of stations, on interfaces with detailed statistics."),
        "/if/tx-broadcast" => said("{} sent to all stations, on interfaces with detailed statistics."),
        "/if/drops" => said("Packets that the interface received and a node dropped."),
        "/if/punt" => said("Packets that the interface received and a node gave to the control thread."),
        "/if/rx-no-buf" => said("Packets lost on receive because no packet buffer was free."),
        "/if/rx-miss" => said("Packets lost on receive because a ring of the interface was full."),
        "/if/rx-error" => said("Packets that the interface could not receive for another reason."),
        "/if/tx-error" => said("Packets that the interface did not take to send."),
        "/if/ip4" => said("IPv4 packets that the interface received."),
        "/if/ip6" => said("IPv6 packets that the interface received."),
        "/if/tunnel-options" => said("Packets received from the tunnel with options that were skipped."),
        "/quiver/if/admin-up" => said("1 if the interface is set up, 0 if it is set down."),
        "/quiver/if/link-up" => said("1 if the interface has a link, as far as its driver knows, else 0."),
        "/quiver/if/link-speed-kbps" => {
            said("Kilobits a second that the link carries; absent where that is not known.")
        }
        "/net/arp/rx/requests" => said("ARP requests received."),
        "/net/arp/rx/replies" => said("ARP replies received."),
        "/net/arp/rx/gratuitous" => said("Gratuitous ARP packets received."),
        "/net/arp/tx/requests" => said("ARP requests sent."),
        "/net/arp/tx/replies" => said("ARP replies sent."),
        "/net/arp/tx/gratuitous" => said("Gratuitous ARP packets sent."),
        "/buffer-pools/default-numa-0/used" => said("Packet buffers in use, those that workers keep ready included."),
        "/buffer-pools/default-numa-0/available" => said("Packet buffers in the common store, which are free."),
        "/quiver/buffers/limit" => said("Packet buffers that there can be."),
        "/quiver/buffers/starved" => said("How often a worker found no free packet buffer."),
        "/mem/statseg/total" => gauge("Size of the statistics segment.", Some("bytes")),
        "/mem/statseg/used" => gauge("Bytes in use of the statistics segment.", Some("bytes")),
        "/sys/boottime" => gauge("When the daemon started, in seconds since 1970.", Some("seconds")),
        "/sys/last_stats_clear" => {
            gauge("Seconds from the daemon's start to the last clearing of counters; 0 without one.", Some("seconds"))
        }
        "/sys/heartbeat" => said("How often computed statistics were computed."),
        "/sys/vector_rate" => said("Packets in a call of a node, averaged over workers, since the last computation."),
        "/sys/num_worker_threads" => said("Threads that work on packets beside the main thread."),
        "/sys/node/clocks" => said("Ticks of the time stamp counter that the node took; 0 unless nodes are timed."),
        "/sys/node/vectors" => said("Packets that the node worked on."),
        "/sys/node/calls" => said("Calls of the node."),
        "/quiver/workers/turns" => said("Turns that the worker made."),
        "/quiver/workers/busy-turns" => said("Turns that received packets."),
        "/quiver/workers/packets" => said("Packets that the worker received, by queues and from other workers."),
        "/quiver/workers/busy-ticks" => said("Ticks of the time stamp counter in turns that received packets."),
        "/quiver/workers/preempted-ticks" => said("Busy ticks during which the worker's thread was off its core."),
        "/quiver/workers/handed-over" => said("Packets that other workers handed to this one."),
        "/quiver/workers/sleeps" => said("How often the worker slept until something came."),
        "/quiver/workers/naps" => said("How often the worker took a nap so that packets gather."),
        "/quiver/workers/longest-gap-ns" => {
            gauge("Longest time between two polls, in nanoseconds of the worker's own CPU time.", None)
        }
        "/quiver/control/turns" => said("Turns of the control thread."),
        "/quiver/control/turns-over-5ms" => said("Turns of the control thread that took more than 5 ms of CPU time."),
        "/quiver/control/longest-turn-ns" => {
            said("Longest turn of the control thread, in nanoseconds of its CPU time.")
        }
        "/quiver/configuration/pending" => said("Configured objects that wait for something outside of quiverd."),
        entry if entry.starts_with("/quiver/rx-queue/") => said("{} received by the receive queue."),
        _ => return None,
    })
}

/// Units that names end in.
const UNITS: [&str; 7] = ["bytes", "packets", "ticks", "clocks", "seconds", "ns", "kbps"];

/// The unit that a metric's name ends in.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    let (_, last) = name.rsplit_once('_')?;
    UNITS.into_iter().find(|unit| *unit == last)
}

/// A unit in the words of OTLP, which are UCUM's.
pub(crate) fn ucum(unit: &str) -> &str {
    match unit {
        "bytes" => "By",
        "seconds" => "s",
        "kbps" => "kbit/s",
        "packets" => "{packet}",
        "ticks" | "clocks" => "{tick}",
        unit => unit,
    }
}
