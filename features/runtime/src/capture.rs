//! `pcap trace`: copies of packets at receive, transmit and drop, written to a pcap file.

use crate::Runtime;
use pcap_file::pcap::{PcapPacket, PcapWriter};
use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::Dataplane;
use quiver_engine::capture::{Capture, Captured, Point};
use quiver_engine::channel::{Inbox, channel};
use quiver_interface::Interfaces;
use serde_json::json;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// Copies that may wait to be written; more are lost, and counted.
const QUEUE: usize = 16_384;

/// A running capture.
pub(crate) struct Running {
    inbox: Inbox<Captured>,
    writer: PcapWriter<File>,
    path: PathBuf,
    written: u64,
    most: u64,
}

pub(crate) fn register(control: &Control) {
    let start = Command::new(
        "pcap trace {rx|tx|drop|max <packets:u64>|intfc <intfc:text>|file <file:text>|max-bytes-per-pkt <snap:u32>}",
        "Write copies of packets to a pcap file; `pcap trace off` ends it.",
        start,
    );
    let start = start.argument("rx", "packets received").argument("tx", "packets about to be sent");
    let start = start.argument("drop", "packets dropped").argument("packets", "stop after so many (default 1000)");
    let start = start.argument("intfc", "one interface, or `any`").argument("snap", "bytes kept of each (default 512)");
    control.commands().add(start.argument("file", "where to write (default /tmp/rx.pcap and alike)"));
    control.commands().add(Command::waiting("pcap trace off", "End the capture, and say what was written.", off));
    control.commands().add(Command::new("pcap trace status", "Say what is being captured.", status));
}

fn start(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    if let Some(running) = &control.room::<Runtime>().capture {
        let path = running.path.display();
        return Err(CommandError::new(format!("a capture to {path} is running; `pcap trace off` ends it")));
    }
    let chosen = [("rx", Point::Rx), ("tx", Point::Tx), ("drop", Point::Drop)];
    let chosen: Vec<_> = chosen.into_iter().filter(|(word, _)| matches.has(word)).collect();
    if chosen.is_empty() {
        return Err(CommandError::new("say what to capture: one or more of `rx`, `tx`, `drop`"));
    }
    let interface = match matches.find::<String>("intfc")?.filter(|name| name != "any") {
        None => None,
        Some(name) => {
            let found = control.room::<Interfaces>().find(&name).map(|interface| interface.id.0);
            let unknown = || CommandError::new(format!("there is no interface `{name}`")).at(matches.place("intfc"));
            Some(found.ok_or_else(unknown)?)
        }
    };
    let names: Vec<_> = chosen.iter().map(|(word, _)| *word).collect();
    let file = matches.find::<String>("file")?.unwrap_or_else(|| format!("{}.pcap", names.join("-")));
    // As in VPP, a bare name is a file in /tmp.
    let path = if file.contains('/') { PathBuf::from(file) } else { PathBuf::from("/tmp").join(file) };
    let refused = |error: String| CommandError::new(format!("{}: {error}", path.display())).at(matches.place("file"));
    let writer = File::create(&path).map_err(|e| refused(e.to_string()))?;
    let writer = PcapWriter::new(writer).map_err(|e| refused(e.to_string()))?;
    let dataplane = control.room::<Dataplane>();
    let (to, inbox) = channel(QUEUE, dataplane.bell());
    let points = chosen.iter().map(|(_, point)| Capture::bit(*point)).sum();
    let snap = matches.find::<u32>("snap")?.unwrap_or(512) as usize;
    dataplane.capture(Some(Capture { points, interface, snap, to }));
    let most = matches.find("packets")?.unwrap_or(1000);
    control.room_mut::<Runtime>().capture = Some(Running { inbox, writer, path, written: 0, most });
    control.spawn("pcap", write(control.clone()));
    Ok(Reply::done())
}

/// Writes what workers copied, until the capture ends or has its packets.
async fn write(control: Control) {
    loop {
        control.sleep(Duration::from_millis(10)).await;
        let mut runtime = control.room_mut::<Runtime>();
        let Some(running) = &mut runtime.capture else { return };
        running.drain();
        if running.written >= running.most {
            control.room::<Dataplane>().capture(None);
            return;
        }
    }
}

impl Running {
    fn drain(&mut self) {
        while self.written < self.most
            && let Some(copy) = self.inbox.receive()
        {
            let packet = PcapPacket::new(Duration::from_nanos(copy.time), copy.length, &copy.bytes);
            // A disk that is full ends the capture's growth; the count shows how far it came.
            if self.writer.write_packet(&packet).is_err() {
                self.most = self.written;
                return;
            }
            self.written += 1;
        }
    }
    fn report(&self) -> Reply {
        let (path, lost) = (self.path.display().to_string(), self.inbox.lost());
        let text = format!(
            "Write {} packets to {path}, {lost} lost because the file was slower than the packets",
            self.written
        );
        Reply::new(text, json!({"file": path, "packets": self.written, "lost": lost}))
    }
}

async fn off(control: Control, _: Matches, _: Output) -> Result<Reply, CommandError> {
    let settled = {
        let dataplane = control.room::<Dataplane>();
        dataplane.capture(None);
        dataplane.settled()
    };
    settled.await;
    let Some(mut running) = control.room_mut::<Runtime>().capture.take() else {
        return Err(CommandError::new("no capture is running; `pcap trace rx` starts one"));
    };
    running.drain();
    Ok(running.report())
}

fn status(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let runtime = control.room::<Runtime>();
    Ok(runtime.capture.as_ref().map_or_else(|| Reply::text("No capture is running."), Running::report))
}
