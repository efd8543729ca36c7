//! VPP's messages about captures, which stand in `interface.api`.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Retval, Text};
use quiver_control::Control;
use quiver_engine::capture::Point;
use quiver_interface::api::find;

use crate::Runtime;
use crate::capture::{CaptureError, Wanted, begin, end, forget};

pub(super) fn add_messages(file: &mut Adding<'_>) {
    file.request(pcap_trace_on);
    file.waiting(pcap_trace_off);
}

/// Starts a pcap trace into a file in the capture folder: of one interface, or of all if the index is 0.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct PcapTraceOn {
    pub capture_rx: bool,
    pub capture_tx: bool,
    pub capture_drop: bool,
    pub filter: bool,
    pub preallocate_data: bool,
    pub free_data: bool,
    #[default(1000)]
    pub max_packets: u32,
    #[default(512)]
    pub max_bytes_per_packet: u32,
    pub sw_if_index: InterfaceIndex,
    pub error: Text<128>,
    pub filename: Text<64>,
}

/// Stops the pcap trace and closes its file.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct PcapTraceOff;

fn pcap_trace_on(control: &Control, request: PcapTraceOn) -> Result<(), Refusal> {
    let file = request.filename.0;
    if file.is_empty() || file.contains('/') || file.contains("..") {
        let what =
            format!("filename: '{file}' is no name of a file in the folder of captures; give one without slashes");
        return Err(Refusal::new(Retval::ILLEGAL_NAME, what));
    }
    let interface = match request.sw_if_index {
        InterfaceIndex(0 | NONE) => None,
        index => Some(find(control, index)?.id.0),
    };
    let chosen = [request.capture_rx, request.capture_tx, request.capture_drop].into_iter();
    let points =
        chosen.zip([Point::Rx, Point::Tx, Point::Drop]).filter_map(|(is_wanted, point)| is_wanted.then_some(point));
    let (snap, most, filter) = (request.max_bytes_per_packet, request.max_packets.into(), request.filter);
    let error = Some(request.error.0).filter(|error| !error.is_empty());
    // As VPP: clients name no file where they end captures, so they begin one at a time.
    if control.room::<Runtime>().captures.iter().any(|begun| begun.is_running() && !begun.is_dispatch()) {
        return Err(Refusal::new(Retval::INVALID_VALUE, "a capture is running; pcap_trace_off ends it"));
    }
    begin(control, Wanted { points: points.collect(), interface, file: Some(file), error, filter, snap, most })?;
    // What their clients hear of when they end it is this one alone.
    forget(control, |begun| !begun.is_dispatch());
    Ok(())
}

async fn pcap_trace_off(control: Control, _: PcapTraceOff) -> Result<(), Refusal> {
    let ended = end(&control, |begun| !begun.is_dispatch()).await;
    if ended.is_empty() {
        return Err(CaptureError::NotRunning(false).into());
    }
    match ended.iter().any(|ended| ended.written > 0) {
        true => Ok(()),
        // There is no file.
        false => Err(Refusal::new(Retval::NO_SUCH_ENTRY, "no packet was captured")),
    }
}

impl From<CaptureError> for Refusal {
    fn from(error: CaptureError) -> Refusal {
        let retval = match error {
            CaptureError::Running(..) => Retval::INVALID_VALUE,
            CaptureError::Nothing | CaptureError::NotRunning(_) => Retval::VALUE_EXIST,
            CaptureError::Reason(_) => Retval::NO_SUCH_ENTRY,
            CaptureError::File(_) => Retval::SYSCALL_ERROR_1,
        };
        Refusal::new(retval, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;
    use pcap_file::pcap::PcapReader;
    use quiver_compat::Caller;
    use quiver_testkit::crossing;
    use quiver_testkit::daemon::{Daemon, Rooms, Setup};
    use std::path::Path;
    use std::rc::Rc;

    fn daemon() -> Daemon {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            crossing::register(control).map_err(|error| error.to_string())?;
            quiver_pg::register(control).map_err(|error| error.to_string())?;
            quiver_classify::register(control);
            crate::register(control).map_err(|error| error.to_string())
        };
        let (answer, send, sent) = (quiver_interface::Events::answer, quiver_pg::send, quiver_pg::sent);
        let mut daemon = Daemon::new(Rooms { register, answer, send, sent }, Setup::default()).expect("a daemon");
        daemon.configure("create packet-generator interface pg0\ncreate packet-generator interface pg1");
        daemon.configure("set interface state pg0 up\nset interface state pg1 up");
        daemon
    }

    fn wanted(sw_if_index: u32, filename: &str) -> PcapTraceOn {
        PcapTraceOn {
            capture_rx: true,
            capture_tx: true,
            capture_drop: false,
            filter: false,
            preallocate_data: false,
            free_data: false,
            max_packets: 1000,
            max_bytes_per_packet: 40,
            sw_if_index: InterfaceIndex(sw_if_index),
            error: "".into(),
            filename: filename.into(),
        }
    }

    /// Ends the capture, which takes the workers and the task that writes a while.
    fn off(daemon: &mut Daemon, caller: &mut Caller) -> Result<(), Retval> {
        let mut ended = std::pin::pin!(caller.waiting(&PcapTraceOff));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        loop {
            if let std::task::Poll::Ready(ended) = ended.as_mut().poll(&mut context) {
                return ended.map(drop);
            }
            daemon.advance(std::time::Duration::from_millis(10)).expect("it settles");
        }
    }

    #[test]
    fn clients_capture_what_passes_an_interface_or_all() {
        let (mut daemon, files) = (daemon(), MemoryFiles::default());
        crate::capture_to(daemon.control(), Rc::new(files.clone()));
        let mut caller = Caller::connect(daemon.control());
        for (sw_if_index, name, lengths) in [(0, "all.pcap", vec![40, 40]), (2, "one.pcap", vec![40])] {
            caller.request(&wanted(sw_if_index, name)).expect("it begins");
            assert_eq!(caller.request(&wanted(0, "b.pcap")).err(), Some(Retval::INVALID_VALUE), "one at a time");
            daemon.send("pg0", &[7; 60]).expect("pg0 is up");
            daemon.settle().expect("it settles");
            let ended = off(&mut daemon, &mut caller);
            assert!(ended.is_ok(), "{name}");
            let bytes = files.read(Path::new("/tmp").join(name)).expect("it was written");
            let mut reader = PcapReader::new(&bytes[..]).expect("a header");
            let mut seen = vec![];
            while let Some(packet) = reader.next_packet() {
                seen.push(packet.expect("a whole one").data.len());
            }
            assert_eq!(seen, lengths, "{name}");
        }
        caller.request(&wanted(0, "none.pcap")).expect("it begins");
        let ended = off(&mut daemon, &mut caller);
        assert_eq!(ended.err(), Some(Retval::NO_SUCH_ENTRY));
        assert!(files.read("/tmp/none.pcap").is_none(), "it had no packet");
        let ended = off(&mut daemon, &mut caller);
        assert_eq!(ended.err(), Some(Retval::VALUE_EXIST));
    }

    #[test]
    fn a_capture_that_has_its_packets_is_in_nobodys_way() {
        let (mut daemon, files) = (daemon(), MemoryFiles::default());
        crate::capture_to(daemon.control(), Rc::new(files.clone()));
        let mut caller = Caller::connect(daemon.control());
        let begun = |daemon: &mut Daemon, caller: &mut Caller, name: &str| {
            caller.request(&PcapTraceOn { max_packets: 1, ..wanted(0, name) }).expect("it begins");
            daemon.send("pg0", &[7; 60]).expect("pg0 is up");
            daemon.advance(std::time::Duration::from_millis(50)).expect("it settles");
        };
        begun(&mut daemon, &mut caller, "a.pcap");
        assert_eq!(off(&mut daemon, &mut caller), Ok(()), "it is told of still");
        assert_eq!(off(&mut daemon, &mut caller).err(), Some(Retval::VALUE_EXIST));
        begun(&mut daemon, &mut caller, "a.pcap");
        // The next one is another matter: what is told of it has nothing to do with the one before.
        caller.request(&wanted(0, "b.pcap")).expect("it begins");
        assert_eq!(off(&mut daemon, &mut caller).err(), Some(Retval::NO_SUCH_ENTRY), "no packet came");
        assert!(files.read("/tmp/a.pcap").is_some() && files.read("/tmp/b.pcap").is_none());
    }

    #[test]
    fn a_filter_and_a_reason_choose_among_packets() {
        let (mut daemon, files) = (daemon(), MemoryFiles::default());
        crate::capture_to(daemon.control(), Rc::new(files.clone()));
        let mut caller = Caller::connect(daemon.control());
        let mut lengths = |daemon: &mut Daemon, name: &str, request: PcapTraceOn| {
            caller.request(&request).expect("it begins");
            for byte in [7, 8] {
                daemon.send("pg0", &[byte; 60 + 1]).expect("pg0 is up");
            }
            daemon.settle().expect("it settles");
            let ended = off(daemon, &mut caller);
            let bytes = files.read(Path::new("/tmp").join(name));
            assert_eq!(ended.is_ok(), bytes.is_some(), "{name}");
            let mut reader = PcapReader::new(std::io::Cursor::new(bytes?)).expect("a header");
            let mut seen = vec![];
            while let Some(packet) = reader.next_packet() {
                seen.push(packet.expect("a whole one").data[0]);
            }
            Some(seen)
        };
        let filtered = |name: &str| PcapTraceOn { filter: true, ..wanted(0, name) };
        assert_eq!(lengths(&mut daemon, "nothing.pcap", filtered("nothing.pcap")), None, "there is no table");
        daemon.configure("classify filter pcap mask hex ff match hex 08");
        assert_eq!(lengths(&mut daemon, "eights.pcap", filtered("eights.pcap")), Some(vec![8, 8]), "in and out");
        daemon.configure("classify filter pcap del\nset interface state pg1 down");
        let dropped = |reason: &str, name: &str| PcapTraceOn {
            error: format!("{{interface-output}}.{{{reason}}}").into(),
            capture_drop: true,
            ..wanted(0, name)
        };
        let down = dropped("interface_down", "down.pcap");
        assert_eq!(lengths(&mut daemon, "down.pcap", down), Some(vec![7, 8]), "not as received");
        let full = dropped("tx-full", "full.pcap");
        assert_eq!(lengths(&mut daemon, "full.pcap", full), None, "another reason");
    }

    #[test]
    fn what_cannot_be_captured_is_refused() {
        let daemon = daemon();
        let mut caller = Caller::connect(daemon.control());
        for (request, retval) in [
            (wanted(0, ""), Retval::ILLEGAL_NAME),
            (wanted(0, "/etc/passwd"), Retval::ILLEGAL_NAME),
            (wanted(0, ".."), Retval::ILLEGAL_NAME),
            (wanted(99, "a.pcap"), Retval::INVALID_SW_IF_INDEX),
            (PcapTraceOn { error: "{ip4-input}.{bad-luck}".into(), ..wanted(0, "a.pcap") }, Retval::NO_SUCH_ENTRY),
            (PcapTraceOn { error: "interface-output".into(), ..wanted(0, "a.pcap") }, Retval::NO_SUCH_ENTRY),
            (PcapTraceOn { capture_rx: false, capture_tx: false, ..wanted(0, "a.pcap") }, Retval::VALUE_EXIST),
        ] {
            assert_eq!(caller.request(&request).err(), Some(retval), "{request:?}");
        }
    }
}
