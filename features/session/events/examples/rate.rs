//! Rate of events that an exporter keeps up with, from one worker: `cargo run --release -p quiver-session-events --example rate --
//! json|ipfix|syslog [EVENTS-PER-SECOND [SECONDS [SLOTS]]]`. A thread writes events at this rate; they are exported to /dev/null, or to a port of
//! this machine that drops them.

use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use quiver_session_events::event::Ip4End;
use quiver_session_events::export::Exporter;
use quiver_session_events::ipfix::Ipfix;
use quiver_session_events::json::Lines;
use quiver_session_events::output::{Encoder, Output};
use quiver_session_events::reader::Reader;
use quiver_session_events::ring::{self, Size, Writer};
use quiver_session_events::syslog::Syslog;
use quiver_session_events::{End, Event, Kind, Reason, Translation};
use quiver_stats::memory::Memory;

/// The end of session `number`, which was translated.
fn event(number: u32) -> Event {
    let end = Ip4End { address: [192, 0, 2, 1].into(), port: number as u16 };
    Event {
        kind: Kind::Closed,
        reason: Reason::Timeout,
        session: number.into(),
        tenant: 1,
        context: 1,
        protocol: 17,
        is_ip6: false,
        ends: [End { address: (0x0a00_0000 + number).into(), port: 1000 }, End { address: 0x0a01_0001, port: 53 }],
        time: number,
        begun: number,
        last: number,
        packets: [1, 1],
        bytes: [64, 64],
        translation: Some(Translation { is_outbound: true, outside: end, peer: end }),
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, standard: u64| given.get(at).map_or(standard, |text| text.parse().expect("a number"));
    let (rate, seconds, slots) = (number(1, 1_000_000), number(2, 10), number(3, 65_536));
    let format = given.first().map_or("json", String::as_str);
    let size = Size::new(1, slots as u32);
    let memory = Arc::new(Memory::named("events", size.bytes()).expect("memory"));
    ring::begin(memory.words(), size, 1);
    let file = memory.file().expect("a file").try_clone_to_owned().expect("a descriptor");
    let mut reader = Reader::new(file.into()).expect("a ring");
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let udp = || Output::udp(sink.local_addr().expect("a port")).expect("a socket");
    let (encoder, output): (Box<dyn Encoder>, Output) = match format {
        "json" => (Box::<Lines>::default(), Output::file(Path::new("/dev/null")).expect("a device")),
        "ipfix" => (Box::new(Ipfix::new(1)), udp()),
        "syslog" => (Box::new(Syslog::new("host", 1)), udp()),
        other => panic!("{other} is no format: write json, ipfix or syslog"),
    };
    let mut exporter = Exporter::new(encoder, output);
    let done = Arc::new(AtomicBool::new(false));
    let (shared, has_ended) = (memory.clone(), done.clone());
    let writer = std::thread::spawn(move || {
        let (mut writer, start, all) = (Writer::new(size, 0), Instant::now(), rate * seconds);
        let (mut written, mut busy) = (0, Duration::ZERO);
        while written < all {
            let due = (start.elapsed().as_nanos() as u64 * rate / 1_000_000_000).min(all);
            let begun = Instant::now();
            for number in written..due {
                writer.write(shared.words(), &event(number as u32));
            }
            busy += begun.elapsed();
            written = due;
            std::thread::sleep(Duration::from_micros(200));
        }
        has_ended.store(true, Relaxed);
        (start.elapsed(), busy)
    });
    let begun = Instant::now();
    let mut working = Duration::ZERO;
    loop {
        let has_ended = done.load(Relaxed);
        let pass = Instant::now();
        let read = exporter.pass(&mut reader, begun.elapsed().as_millis() as u64).expect("a ring");
        if read > 0 {
            working += pass.elapsed();
            continue;
        }
        if has_ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let (time, busy) = writer.join().expect("no panic");
    let (counts, all) = (exporter.counts(), rate * seconds);
    println!(
        "{format}: {:.0} events/s written, {:.1} ns each; {} records exported, {} refused; {} events lost ({:.4} %); exporter busy {:.0} %",
        all as f64 / time.as_secs_f64(),
        busy.as_nanos() as f64 / all as f64,
        counts.exported,
        counts.failed,
        counts.lost,
        counts.lost as f64 * 100.0 / all as f64,
        working.as_secs_f64() * 100.0 / time.as_secs_f64(),
    );
}
