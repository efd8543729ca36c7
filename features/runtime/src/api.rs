//! VPP's messages about the daemon as a whole: `vlib.api` and `vpe.api`.

use quiver_compat::types::{NONE, Timestamp};
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::Control;
use quiver_engine::{ArcSpec, Dataplane, To};
use std::time::SystemTime;

use crate::Runtime;
use crate::log::{Line, Severity};

mod pcap;

pub(crate) fn register(control: &Control) {
    let (file, of) = quiver_interface::api::FILE;
    quiver_compat::add(control, file, of, pcap::add_messages);
    quiver_compat::add(control, "vlib", (1, 0, 0), |file| {
        file.waiting(cli_inband);
        file.request(show_threads);
        file.request(get_node_index);
        file.request(|control, AddNodeNext { node_name, next_name }| {
            Ok(AddNodeNextReply { next_index: arc(control, &node_name, &next_name)? })
        });
        file.request(|control, GetNextIndex { node_name, next_name }| {
            Ok(GetNextIndexReply { next_index: arc(control, &node_name, &next_name)? })
        });
        file.request(get_f64_endian_value);
        file.request(get_f64_increment_by_one);
    });
    quiver_compat::add(control, "vpe", (1, 7, 0), |file| {
        file.request(|_, _: ShowVersion| Ok(version()));
        file.request(|control, _: ShowVpeSystemTime| {
            let since = control.date().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Ok(ShowVpeSystemTimeReply { vpe_system_time: Timestamp(since.as_secs_f64()) })
        });
        file.dump(log_dump);
    });
}

/// Bytes of an answer to `cli_inband` at most. A longer one would be made and kept as a whole before its first byte goes out.
const CLI_ANSWER_MAX: usize = 4 << 20;

/// Runs CLI commands, one per line.
#[derive(Message, Clone, Debug)]
#[message(request, reply = CliInbandReply)]
struct CliInband {
    cmd: String,
}

/// Output of the commands, and the error of the one that failed.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct CliInbandReply {
    reply: String,
}

async fn cli_inband(control: Control, request: CliInband) -> Result<(Retval, CliInbandReply), Refusal> {
    let (reply, result) = control.commands().run_script_within(&control, &request.cmd, CLI_ANSWER_MAX).await;
    Ok((if result.is_ok() { Retval::DONE } else { Retval::UNSPECIFIED }, CliInbandReply { reply }))
}

/// Asks for the threads of the daemon.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ShowThreadsReply)]
struct ShowThreads;

/// Threads with their names, process ids and CPU cores.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ShowThreadsReply {
    #[count(u32, "count")]
    thread_data: Vec<ThreadData>,
}

#[derive(Wire, Clone, Debug)]
struct ThreadData {
    id: u32,
    name: Text<64>,
    r#type: Text<64>,
    pid: u32,
    cpu_id: u32,
    core: u32,
    cpu_socket: u32,
}

fn show_threads(control: &Control, _: ShowThreads) -> Result<ShowThreadsReply, Refusal> {
    let dataplane = control.room::<Dataplane>();
    // VPP's clients know the first thread as the main one, and what it does by the names. What is pinned to no CPU has all
    // ones, as there.
    let thread = |id: usize| {
        let (name, kind) = if id == 0 { ("vpp_main".into(), "") } else { (format!("vpp_wk_{}", id - 1), "workers") };
        let worker = id.checked_sub(1).and_then(|worker| dataplane.worker_counters(worker));
        let running = worker.and_then(|worker| worker.running.get());
        let cpu = running.and_then(|running| running.cpu);
        ThreadData {
            id: id as u32,
            name: name.into(),
            r#type: kind.into(),
            pid: running.map_or_else(std::process::id, |running| running.thread),
            cpu_id: cpu.map_or(NONE, |cpu| cpu.number),
            core: cpu.and_then(|cpu| cpu.core).unwrap_or(NONE),
            cpu_socket: cpu.and_then(|cpu| cpu.socket).unwrap_or(NONE),
        }
    };
    Ok(ShowThreadsReply { thread_data: (0..=dataplane.settings().workers).map(thread).collect() })
}

/// Asks for the index of a graph node.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetNodeIndexReply)]
struct GetNodeIndex {
    node_name: Text<64>,
}

/// Index of the graph node.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetNodeIndexReply {
    node_index: u32,
}

fn get_node_index(control: &Control, request: GetNodeIndex) -> Result<GetNodeIndexReply, Refusal> {
    let node = find(&control.room::<Dataplane>(), &request.node_name)?;
    Ok(GetNodeIndexReply { node_index: node.index() as u32 })
}

fn find(dataplane: &Dataplane, name: &Text<64>) -> Result<quiver_engine::NodeId, Refusal> {
    dataplane.graph().find(name.as_str()).map_err(|error| Refusal::new(Retval::NO_SUCH_NODE, error.to_string()))
}

/// Looks up the arc from one node to another. It creates none: a node's arcs are fixed by its room.
#[derive(Message, Clone, Debug)]
#[message(request, reply = AddNodeNextReply)]
struct AddNodeNext {
    node_name: Text<64>,
    next_name: Text<64>,
}

/// Index of the arc.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct AddNodeNextReply {
    next_index: u32,
}

/// Looks up the arc from one node to another.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetNextIndexReply)]
struct GetNextIndex {
    node_name: Text<64>,
    next_name: Text<64>,
}

/// Index of the arc.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct GetNextIndexReply {
    next_index: u32,
}

/// The number of the arc from one node to another, or onto the feature arc that ends there.
fn arc(control: &Control, from: &Text<64>, to: &Text<64>) -> Result<u32, Refusal> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let node = find(&dataplane, from)?;
    let next = graph.find(to.as_str()).map_err(|error| Refusal::new(Retval::NO_SUCH_NODE_2, error.to_string()))?;
    let leads_there = |arc: &ArcSpec| match arc.to {
        To::Node(name) => name == to.as_str(),
        To::Features(name) => graph.feature_arcs().any(|(arc, _)| (arc.name, arc.end) == (name, to.as_str())),
        To::Drop => graph.find("drop") == Ok(next),
        _ => false,
    };
    let found = graph.arcs(node).iter().position(leads_there);
    let arc = found.and_then(|arc| u32::try_from(arc).ok());
    arc.ok_or_else(|| {
        let what = format!(
            "next_name: {from} has no arc to {to}, and none can be added: `show node {from}` lists those it has"
        );
        Refusal::unimplemented(what)
    })
}

/// Checks the byte order of floating-point numbers: `f64_one` must arrive as 1.0.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetF64EndianValueReply)]
struct GetF64EndianValue {
    f64_one: f64,
}

/// Whether 1.0 arrived as such, and 1.0 in return.
#[derive(Message, Clone, Debug, Default)]
#[message(details)]
struct GetF64EndianValueReply {
    retval: u32,
    f64_one_result: f64,
}

fn get_f64_endian_value(_: &Control, request: GetF64EndianValue) -> Result<GetF64EndianValueReply, Refusal> {
    if request.f64_one == 1.0 {
        return Ok(GetF64EndianValueReply { retval: 0, f64_one_result: 1.0 });
    }
    Err(Refusal::new(Retval::API_ENDIAN_FAILED, format!("f64_one: {} has arrived in place of 1", request.f64_one)))
}

/// Asks for `f64_value` plus 1.0.
#[derive(Message, Clone, Debug)]
#[message(request, reply = GetF64IncrementByOneReply)]
struct GetF64IncrementByOne {
    f64_value: f64,
}

/// The number plus 1.0.
#[derive(Message, Clone, Debug, Default)]
#[message(details)]
struct GetF64IncrementByOneReply {
    retval: u32,
    f64_value: f64,
}

fn get_f64_increment_by_one(_: &Control, request: GetF64IncrementByOne) -> Result<GetF64IncrementByOneReply, Refusal> {
    Ok(GetF64IncrementByOneReply { retval: 0, f64_value: request.f64_value + 1.0 })
}

/// Dumps log entries since a time in seconds since 1970.
#[derive(Message, Clone, Debug)]
#[message(dump, details = LogDetails)]
struct LogDump {
    start_timestamp: Timestamp,
}

/// Severity of a log line.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum LogLevel {
    #[value("VPE_API_LOG_LEVEL_EMERG")]
    Emerg = 0,
    #[value("VPE_API_LOG_LEVEL_ALERT")]
    Alert = 1,
    #[value("VPE_API_LOG_LEVEL_CRIT")]
    Crit = 2,
    #[value("VPE_API_LOG_LEVEL_ERR")]
    Err = 3,
    #[value("VPE_API_LOG_LEVEL_WARNING")]
    Warning = 4,
    #[value("VPE_API_LOG_LEVEL_NOTICE")]
    Notice = 5,
    #[value("VPE_API_LOG_LEVEL_INFO")]
    Info = 6,
    #[value("VPE_API_LOG_LEVEL_DEBUG")]
    Debug = 7,
    #[value("VPE_API_LOG_LEVEL_DISABLED")]
    Disabled = 8,
}

impl From<Severity> for LogLevel {
    fn from(severity: Severity) -> LogLevel {
        match severity {
            Severity::Error => LogLevel::Err,
            Severity::Warning => LogLevel::Warning,
            Severity::Notice => LogLevel::Notice,
            Severity::Info => LogLevel::Info,
            Severity::Debug => LogLevel::Debug,
        }
    }
}

/// Describes one log entry: its time, severity, class and text.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct LogDetails {
    timestamp: Timestamp,
    level: LogLevel,
    msg_class: Text<32>,
    message: Text<256>,
}

fn log_dump(control: &Control, request: LogDump) -> Vec<LogDetails> {
    let runtime = &mut *control.room_mut::<Runtime>();
    let details = |line: &Line| LogDetails {
        timestamp: Timestamp(line.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()),
        level: line.severity.into(),
        msg_class: line.class.as_str().into(),
        message: line.text.as_str().into(),
    };
    runtime.log.lines().iter().map(details).filter(|line| line.timestamp.0 >= request.start_timestamp.0).collect()
}

/// Asks for the program's name and version.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ShowVersionReply)]
struct ShowVersion;

/// Program name, version, and date and folder of the build.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ShowVersionReply {
    program: Text<32>,
    version: Text<32>,
    build_date: Text<32>,
    build_directory: Text<256>,
}

fn version() -> ShowVersionReply {
    let (program, version) = ("quiver".into(), crate::version::VERSION.into());
    ShowVersionReply { program, version, ..ShowVersionReply::default() }
}

/// Asks for the system time.
#[derive(Message, Clone, Debug)]
#[message(request, reply = ShowVpeSystemTimeReply)]
struct ShowVpeSystemTime;

/// System time in seconds since 1970.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct ShowVpeSystemTimeReply {
    vpe_system_time: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_compat::Caller;
    use quiver_testkit::daemon::{Daemon, Rooms, Setup};

    fn house(setup: Setup) -> (Daemon, Caller) {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            crate::register(control).map_err(|error| error.to_string())
        };
        let rooms = Rooms::without_wires(register, quiver_interface::Events::answer);
        let daemon = Daemon::new(rooms, setup).expect("a daemon");
        let caller = Caller::connect(daemon.control());
        (daemon, caller)
    }

    #[test]
    fn the_daemon_says_what_it_is() {
        let (mut daemon, mut caller) = house(Setup { workers: 2, ..Setup::default() });
        let version = caller.request(&ShowVersion).expect("known");
        assert_eq!((version.program.as_str(), version.version.as_str()), ("quiver", env!("CARGO_PKG_VERSION")));
        let threads = caller.request(&ShowThreads).expect("known").thread_data;
        let names: Vec<_> = threads.iter().map(|thread| (thread.id, thread.name.as_str())).collect();
        assert_eq!(names, [(0, "vpp_main"), (1, "vpp_wk_0"), (2, "vpp_wk_1")]);
        let seats: Vec<_> = threads.iter().map(|thread| (thread.pid, thread.cpu_id, thread.core)).collect();
        assert_eq!(seats, [(std::process::id(), NONE, NONE); 3], "workers have no threads yet, and no CPUs");
        daemon.start_threads().expect("threads");
        let thread = caller.request(&ShowThreads).expect("known").thread_data[1].pid;
        assert_ne!(thread, std::process::id(), "a thread that was started says who it is");
        assert!(std::path::Path::new("/proc/self/task").join(thread.to_string()).exists(), "{thread}");
        daemon.stop_threads();
        let before = caller.request(&ShowVpeSystemTime).expect("known").vpe_system_time;
        let date = daemon.control().date().duration_since(SystemTime::UNIX_EPOCH).expect("later");
        assert_eq!(before.0, date.as_secs_f64());

        let mut node =
            |name: &str| caller.request(&GetNodeIndex { node_name: name.into() }).map(|node| node.node_index);
        let drop = daemon.control().room::<Dataplane>().graph().find("drop").expect("it is there");
        assert_eq!(node("drop"), Ok(drop.index() as u32));
        assert_eq!(node("drip"), Err(Retval::NO_SUCH_NODE));
        let mut arc = |from: &str, to: &str| {
            let asked = AddNodeNext { node_name: from.into(), next_name: to.into() };
            let added = caller.request(&asked).map(|reply| reply.next_index);
            let asked = GetNextIndex { node_name: from.into(), next_name: to.into() };
            assert_eq!(caller.request(&asked).map(|reply| reply.next_index), added);
            added
        };
        assert_eq!(arc("drip", "drop"), Err(Retval::NO_SUCH_NODE));
        assert_eq!(arc("interface-output", "drip"), Err(Retval::NO_SUCH_NODE_2));
    }

    #[test]
    fn fractions_arrive_whole() {
        let (_daemon, mut caller) = house(Setup::default());
        let mut one = |f64_one| caller.request(&GetF64EndianValue { f64_one }).expect("known");
        assert_eq!((one(1.0).retval, one(1.0).f64_one_result), (0, 1.0));
        assert_eq!(one(2.0).retval, Retval::API_ENDIAN_FAILED.0.cast_unsigned());
        let more = caller.request(&GetF64IncrementByOne { f64_value: 0.5 }).expect("known");
        assert_eq!(more.f64_value, 1.5);
    }

    #[test]
    fn the_log_is_told_from_a_moment_on() {
        let (mut daemon, mut caller) = house(Setup::default());
        let mut dump = |start| caller.dump(&LogDump { start_timestamp: Timestamp(start) });
        assert!(dump(0.0).is_empty());
        daemon.configure("test log notice fib entry this is a test\ntest log debug ip lookup another");
        let all = dump(0.0);
        let told: Vec<_> =
            all.iter().map(|line| (line.level, line.msg_class.as_str(), line.message.as_str())).collect();
        let expected = [(LogLevel::Notice, "fib/entry", "this is a test"), (LogLevel::Debug, "ip/lookup", "another")];
        assert_eq!(told, expected);
        let now = all[1].timestamp.0;
        assert_eq!((dump(now).is_empty(), dump(now + 1.0).is_empty()), (false, true));
        assert!(daemon.run("show log").expect("it can be shown").text.contains("this is a test"));
        daemon.configure("clear log");
        assert!(dump(0.0).is_empty());
        assert!(daemon.run("show clock").expect("it can be shown").text.starts_with("Time now "));
    }
}
