//! `ping`: echo requests of our own, their answers, and what was lost.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::object::Interval;
use quiver_control::{Control, Signal, Time};
use quiver_engine::channel::Inbox;
use quiver_engine::{Dataplane, Injected, Publisher};
use quiver_interface::{Events, InterfaceId, Interfaces, LOCAL};
use quiver_ip::Ip;
use quiver_ip::fib::{TableId, hop};
use quiver_ip::table_word::table;
use quiver_wire::{IcmpHeader, V4, V6};
use serde_json::json;

use crate::family::{self, Icmp};
use crate::input::{EchoAnswer, EchoError};
use crate::stopwatch::{Departure, SENDER, Stopwatch};

mod api;

/// Messages for control that may wait.
pub(crate) const HEARD_MAX: usize = 64;
/// As far as packets can go, and as VPP has it; RFC 1122, 3.2.1.7, says no more than that it is to be enough.
const HOP_LIMIT: u8 = 255;
/// Requests of one burst at most.
const BURST_MAX: u32 = 1024;
/// Bytes behind the header if nothing else is said.
const SIZE: u32 = 60;
/// Shortest wait for answers after the last request. The interval is the period of requests, and says nothing about the
/// round-trip time.
const LINGER: Duration = Duration::from_secs(1);

/// Messages that a ping has not looked at yet.
type Queue = Rc<RefCell<VecDeque<EchoAnswer>>>;

/// The pings that run, by identifier.
#[derive(Clone)]
struct Pings(Rc<RefCell<Running>>, Stopwatch);
struct Running {
    waiting: HashMap<u16, (Queue, Signal)>,
    last: u16,
    /// The identifiers, for workers.
    awaited: Publisher<BTreeSet<u16>>,
}

impl Running {
    fn publish(&mut self) {
        self.awaited.publish(self.waiting.keys().copied().collect());
    }
}

pub(crate) fn register(
    control: &Control,
    heard: Inbox<EchoAnswer>,
    awaited: Publisher<BTreeSet<u16>>,
    stopwatch: Stopwatch,
) {
    let running = Running { waiting: HashMap::new(), last: 0, awaited };
    let pings = Pings(Rc::new(RefCell::new(running)), stopwatch);
    control.insert_room(pings.clone());
    control.spawn("ping", Events::listen(control.clone(), move |_| pings.hear(&heard)));
    api::register(control);
    register_family::<V4>(control);
    register_family::<V6>(control);
}

fn register_family<F: Icmp>(control: &Control) {
    let name = F::NAME;
    let grammar = format!(
        "ping <address:{name}> {{repeat <repeat:u32> | size <size:u32> | interval <interval> \
         | source <interface> | table-id <table:{name}-table> | burst <burst:u32>}}"
    );
    control.commands().add(
        Command::waiting(grammar, "Send ICMP echo requests and show the replies.", ping::<F>)
            .argument("address", "destination address")
            .argument("repeat", "number of requests; default 5")
            .argument("size", "bytes after the ICMP header; default 60")
            .argument("interval", "seconds between requests; default 1")
            .argument("burst", "requests per interval; default 1")
            .argument("interface", "interface whose address is the source")
            .argument("table", "IP table of the lookup"),
    );
}

impl Pings {
    /// Hands what workers heard to the pings that wait for it. True if more has come.
    fn hear(&self, heard: &Inbox<EchoAnswer>) -> bool {
        for heard in heard.waiting() {
            let running = self.0.borrow();
            // A ping that has ended waits for nothing.
            if let Some((queue, signal)) = running.waiting.get(&heard.identifier) {
                queue.borrow_mut().push_back(heard);
                signal.notify();
            }
        }
        !heard.is_empty()
    }
}

/// A running ping; it is forgotten when the command ends or its client goes.
struct Session {
    pings: Pings,
    identifier: u16,
    heard: Queue,
    signal: Signal,
}
impl Session {
    fn start(control: &Control) -> Session {
        let pings = control.room::<Pings>().clone();
        let (heard, signal) = (Queue::default(), Signal::new());
        let identifier = {
            let mut running = pings.0.borrow_mut();
            running.last = running.last.wrapping_add(1);
            let identifier = running.last;
            running.waiting.insert(identifier, (heard.clone(), signal.clone()));
            running.publish();
            identifier
        };
        Session { pings, identifier, heard, signal }
    }
}
impl Drop for Session {
    fn drop(&mut self) {
        let mut running = self.pings.0.borrow_mut();
        running.waiting.remove(&self.identifier);
        running.publish();
    }
}

/// Addresses and size of the requests.
struct Request<F: Icmp> {
    from: F::Address,
    to: F::Address,
    /// The interface whose table is used.
    rx: InterfaceId,
    size: usize,
}

/// Number and timing of the requests.
struct Course {
    repeat: u32,
    burst: u32,
    interval: Duration,
}

/// Result of a ping.
#[derive(Clone, Copy, Default)]
struct Outcome {
    sent: u32,
    received: u32,
}

async fn ping<F: Icmp>(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let request = request::<F>(&control, &given)?;
    let course = Course {
        repeat: given.find("repeat")?.unwrap_or(5),
        burst: given.find("burst")?.unwrap_or(1),
        interval: given.find::<Interval>("interval")?.map_or(Duration::from_secs(1), |interval| interval.0),
    };
    if !(1..=BURST_MAX).contains(&course.burst) {
        return Err(CommandError::new(format!("1 to {BURST_MAX} requests go at once")).at(given.place("burst")));
    }
    let Outcome { sent, received } =
        run(&control, &request, &course, || true, async |reply| output.send(reply).await).await;
    let loss = u64::from(sent - received.min(sent)) * 100 / u64::from(sent.max(1));
    let text = format!("\nStatistics: {sent} sent, {received} received, {loss}% packet loss");
    let json = json!({"sent": sent, "received": received, "loss-percent": loss});
    Ok(Reply::new(text, json).failed_if(sent > 0 && received == 0))
}

/// Sends requests while `wanted` says so and passes each answer to `tell` as it comes. After the last request it waits for
/// the answers that are missing, one interval but at least [`LINGER`].
async fn run<F: Icmp>(
    control: &Control,
    request: &Request<F>,
    course: &Course,
    wanted: impl Fn() -> bool,
    tell: impl AsyncFn(Reply),
) -> Outcome {
    let Course { repeat, burst, interval } = *course;
    let session = Session::start(control);
    // When the requests of a number were asked for and left, and how many of them were not answered yet.
    let (mut waiting, mut outcome) = (HashMap::<u16, (Time, Departure, u32)>::new(), Outcome::default());
    for number in (1..=repeat).take_while(|_| wanted()) {
        let sequence = number as u16;
        let started = control.now();
        let departure = session.pings.1.departs(control);
        waiting.insert(sequence, (started, departure, burst));
        (0..burst).for_each(|_| send(control, request, session.identifier, sequence));
        outcome.sent = outcome.sent.saturating_add(burst);
        let end = started + if number == repeat { interval.max(LINGER) } else { interval };
        loop {
            let changed = session.signal.changed();
            while let Some(heard) = { session.heard.borrow_mut().pop_front() } {
                let Some((_, departure, left)) = waiting.get_mut(&heard.sequence) else { continue };
                let line = line(&heard, departure.until(heard.moment));
                *left -= 1;
                if *left == 0 {
                    waiting.remove(&heard.sequence);
                }
                outcome.received += u32::from(heard.error.is_none());
                tell(line).await;
            }
            let left = end.since(control.now());
            if left.is_zero()
                || number == repeat && waiting.is_empty()
                || control.timeout(left, changed).await.is_none()
            {
                break;
            }
        }
        // Answers later than a minute are lost; the numbers of requests repeat after 65,536.
        waiting.retain(|_, (started, ..)| control.now().since(*started) < Duration::from_secs(60));
    }
    outcome
}

fn request<F: Icmp>(control: &Control, given: &Matches) -> Result<Request<F>, CommandError> {
    let to: F::Address = given.get("address")?;
    let size = given.find::<u32>("size")?.unwrap_or(SIZE);
    if size > F::ECHO_MAX {
        return Err(CommandError::new(format!("at most {} bytes fit", F::ECHO_MAX)).at(given.place("size")));
    }
    let source = given.find::<String>("interface")?;
    let source = source.map(|name| control.room::<Interfaces>().id_of(&name)).transpose()?;
    let table = table::<F>(control, given, "table")?.map(TableId);
    prepare(control, to, source, table, size as usize)
        .map_err(|(place, what)| CommandError::new(what).at(given.place(place)))
}

/// Finds out from where a request can be sent. The error says which argument stands in the way, and why.
fn prepare<F: Icmp>(
    control: &Control,
    to: F::Address,
    source: Option<InterfaceId>,
    table: Option<TableId>,
    size: usize,
) -> Result<Request<F>, (&'static str, String)> {
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip<F>>());
    let table = table.or(source.map(|id| ip.table_of(id))).unwrap_or(TableId::DEFAULT);
    let no_table = || ("table", format!("there is no IP table {table}; `show {} table` lists them", F::NAMES.command));
    let found = ip.fib.table(table).ok_or_else(no_table)?;
    // The interface that leads there, unless one is named.
    let no_route = || ("address", format!("no route leads to {to}"));
    let (_, group) = found.find(to).ok_or_else(no_route)?;
    let hops = ip.fib.groups.get(group).map(|group| group.hops).ok_or_else(no_route)?;
    let out = hops.iter().find_map(|hop| ip.fib.adjacencies.get(*hop)).map(|adjacency| adjacency.interface);
    let own = hops.contains(&hop::LOCAL).then_some(to);
    let from = match source {
        Some(id) => ip.current().source_for(id, to),
        None => own.or_else(|| ip.current().source_for(out?, to)),
    };
    let no_source = || ("address", format!("no address to send from: no interface with one leads to {to}"));
    let from = from.ok_or_else(no_source)?;
    let of_table = |id: &InterfaceId| ip.table_of(*id) == table;
    let rx = match source.filter(of_table) {
        Some(id) => id,
        None if table == TableId::DEFAULT => LOCAL,
        None => {
            let nobody = || ("table", format!("no interface is in table {table}"));
            interfaces.iter().map(|interface| interface.id).find(of_table).ok_or_else(nobody)?
        }
    };
    Ok(Request { from, to, rx, size })
}

fn send<F: Icmp>(control: &Control, request: &Request<F>, identifier: u16, sequence: u16) {
    let data: Vec<u8> = (0..request.size).map(|i| i as u8).collect();
    let mut icmp = IcmpHeader::new(F::ECHO_REQUEST, 0);
    (icmp.identifier, icmp.sequence) = (identifier.into(), sequence.into());
    let ends = (request.from, request.to);
    let Some(ip) = F::header(ends.0, ends.1, HOP_LIMIT, size_of_val(&icmp) + data.len()) else { return };
    let bytes = family::message::<F>(ip, icmp, ends, &data, |ip| F::complete(ip, sequence));
    let dataplane = control.room::<Dataplane>();
    if let Ok(lookup) = dataplane.graph().find(F::NAMES.lookup) {
        dataplane.inject(SENDER, lookup, Injected { bytes, rx: request.rx.0, tx: 0, hop: 0 });
    }
}

fn line(heard: &EchoAnswer, took: Duration) -> Reply {
    let time_ms = took.as_secs_f64() * 1000.0;
    let EchoAnswer { from, sequence, ttl, length, .. } = heard;
    let Some(EchoError { kind, code, words }) = heard.error else {
        let text = format!("{length} bytes from {from}: icmp_seq={sequence} ttl={ttl} time={time_ms:.4} ms");
        let json =
            json!({"from": from.to_string(), "bytes": length, "sequence": sequence, "ttl": ttl, "time-ms": time_ms});
        return Reply::new(text, json);
    };
    let text = format!("from {from}: icmp_seq={sequence} {words}");
    Reply::new(text, json!({"from": from.to_string(), "sequence": sequence, "error": {"type": kind, "code": code}}))
}
