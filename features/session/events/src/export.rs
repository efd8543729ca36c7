//! The loop from a ring into an output.

use std::io;

use serde::{Deserialize, Serialize};

use crate::output::{Encoder, Output};
use crate::reader::Reader;

/// Counts of an exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records that the output has taken.
    pub exported: u64,
    /// Events that were overwritten before they were read.
    pub lost: u64,
    /// Records that the output has refused.
    pub failed: u64,
}

/// Exports the events of a ring.
pub struct Exporter {
    encoder: Box<dyn Encoder>,
    output: Output,
    counts: Counts,
    error: Option<io::Error>,
}

impl Exporter {
    /// Exports encoded events to an output.
    pub fn new(encoder: Box<dyn Encoder>, output: Output) -> Exporter {
        Exporter { encoder, output, counts: Counts::default(), error: None }
    }
    /// Counts since it began.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// The error of the output since the last call, if there was one.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }
    /// Exports the events that are there, of each worker some; how many there were. `now` is the time in milliseconds since 1970.
    ///
    /// An output that refuses records does not stop it: it counts them.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn pass(&mut self, reader: &mut Reader, now: u64) -> io::Result<u64> {
        /// Times that a worker's events are read before those of the others are.
        const BATCHES: usize = 16;
        let Exporter { encoder, output, counts, error } = self;
        let mut ready = |bytes: &[u8], records: u64| match output.write(bytes) {
            Ok(()) => counts.exported += records,
            Err(why) => {
                counts.failed += records;
                *error = Some(why);
            }
        };
        encoder.begin(now, &mut ready);
        let (mut all, mut all_lost) = (0, 0);
        for worker in 0..reader.workers() {
            for _ in 0..BATCHES {
                let lost = reader.lost();
                let read = reader.read(worker, |stamped| encoder.event(stamped, &mut ready))?;
                let lost = reader.lost() - lost;
                if lost > 0 {
                    encoder.lost(lost, &mut ready);
                    all_lost += lost;
                }
                all += read;
                if read == 0 {
                    break;
                }
            }
        }
        encoder.flush(&mut ready);
        counts.lost += all_lost;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;
    use crate::event::{Event, Kind};
    use crate::ipfix::Ipfix;
    use crate::ipfix::tests::Collector;
    use crate::json::Lines;
    use crate::reader::tests::Ring;
    use crate::ring::{Size, Writer};
    use std::net::UdpSocket;
    use std::path::Path;

    fn write(ring: &Ring, writers: &mut [Writer], count: usize) -> Vec<Event> {
        let mut random = fastrand::Rng::with_seed(count as u64);
        let events: Vec<_> = (0..count).map(|_| Event { kind: Kind::Closed, ..event(&mut random) }).collect();
        for (at, event) in events.iter().enumerate() {
            let writer = at % writers.len();
            writers[writer].write(&ring.words, event);
        }
        ring.sync();
        events
    }

    fn ring(workers: usize) -> (Ring, Vec<Writer>) {
        let size = Size::new(workers, 2048);
        (Ring::new(size), (0..workers).map(|worker| Writer::new(size, worker)).collect())
    }

    #[test]
    fn lines_of_all_workers_come_to_the_file_and_losses_among_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events");
        let (ring, mut writers) = ring(3);
        let mut exporter = Exporter::new(Box::<Lines>::default(), Output::file(&path).expect("a file"));
        let mut reader = ring.reader();
        let events = write(&ring, &mut writers, 3000);
        assert_eq!(exporter.pass(&mut reader, 0).expect("a ring"), 3000);
        write(&ring, &mut writers, 3 * 2048 + 30);
        exporter.pass(&mut reader, 0).expect("a ring");
        assert_eq!(exporter.pass(&mut reader, 0).expect("a ring"), 0);
        assert_eq!(exporter.counts(), Counts { exported: 3000 + 3 * 2048, lost: 30, failed: 0 });
        let text = std::fs::read_to_string(&path).expect("a file");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let sum = |lines: &[serde_json::Value], field: &str| -> u128 {
            lines.iter().filter_map(|line| line[field].as_u64()).map(u128::from).sum()
        };
        let bytes: u128 = events.iter().map(|event| u128::from(event.bytes[1])).sum();
        assert_eq!((sum(&lines[..3000], "bytes-reverse"), sum(&lines, "count")), (bytes, 30));
    }

    #[test]
    fn an_output_that_refuses_stops_nothing_and_is_counted() {
        let (ring, mut writers) = ring(1);
        let full = Output::file(Path::new("/dev/full")).expect("a device");
        let mut exporter = Exporter::new(Box::<Lines>::default(), full);
        let mut reader = ring.reader();
        write(&ring, &mut writers, 1000);
        assert_eq!(exporter.pass(&mut reader, 0).expect("a ring"), 1000);
        assert_eq!(exporter.counts(), Counts { exported: 0, lost: 0, failed: 1000 });
        assert!(exporter.take_error().is_some() && exporter.take_error().is_none());
    }

    #[test]
    fn datagrams_bring_all_biflows_to_a_collector() {
        let (ring, mut writers) = ring(2);
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let output = Output::udp(receiver.local_addr().expect("a port")).expect("a socket");
        let mut exporter = Exporter::new(Box::new(Ipfix::new(1)), output);
        let events = write(&ring, &mut writers, 500);
        exporter.pass(&mut ring.reader(), 1_000).expect("a ring");
        receiver.set_nonblocking(true).expect("a socket");
        let (mut collector, mut buffer) = (Collector::default(), [0; 2000]);
        while let Ok(length) = receiver.recv(&mut buffer) {
            collector.take(&buffer[..length]);
        }
        let of = |id: u16, enterprise: u32| -> u128 {
            collector.records.iter().filter_map(|(_, record)| record.get(&(id, enterprise))).sum()
        };
        let sum = |of: fn(&Event) -> u64| -> u128 { events.iter().map(|event| u128::from(of(event))).sum() };
        assert_eq!(of(86, 0), sum(|event| event.packets[0]));
        assert_eq!(of(85, 29_305), sum(|event| event.bytes[1]));
        assert_eq!(collector.sequence, Some(exporter.counts().exported as u32));
    }
}
