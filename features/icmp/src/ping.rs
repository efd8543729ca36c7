//! `ping`: echo requests of our own, their answers, and what was lost.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_control::{Control, Signal, Time};
use quiver_engine::channel::Inbox;
use quiver_engine::{Dataplane, Injected};
use quiver_interface::{Events, InterfaceId, Interfaces, LOCAL};
use quiver_ip::Ip4;
use quiver_ip::fib::{TableId, hop};
use quiver_wire::icmp4::Icmp4Type;
use quiver_wire::{Header, Icmp4Header, Ip4Header, IpProtocol, checksum};
use serde_json::json;
use zerocopy::IntoBytes;

use crate::input::Heard;

/// Messages for control that may wait.
pub(crate) const HEARD_MAX: usize = 64;
const TTL: u8 = 64;
/// The largest request whose packet is an IPv4 packet.
const SIZE_MAX: u32 = 65_535 - 28;

/// What a ping has yet to look at.
type Queue = Rc<RefCell<VecDeque<Heard>>>;

/// The pings that run, by identifier.
#[derive(Default, Clone)]
struct Pings(Rc<RefCell<Running>>);
#[derive(Default)]
struct Running {
    waiting: HashMap<u16, (Queue, Signal)>,
    last: u16,
}

pub(crate) fn register(control: &Control, heard: Inbox<Heard>) {
    let pings = Pings::default();
    control.insert_room(pings.clone());
    control.spawn("ping", Events::listen(control.clone(), move |_| pings.hear(&heard)));
    let grammar = "ping <address:ip4> {repeat <repeat:u32> | size <size:u32> | interval <interval:text> \
        | source <interface> | table-id <table:u32>}";
    control.commands().add(
        Command::waiting(grammar, "Send echo requests, and show their answers.", ping)
            .argument("address", "who is to answer")
            .argument("repeat", "how many requests, 5 if nothing is said")
            .argument("size", "bytes behind the ICMP header, 60 if nothing is said")
            .argument("interval", "seconds between requests, 1 if nothing is said")
            .argument("interface", "the interface whose address is the source")
            .argument("table", "the IP table in which the address is looked up"),
    );
}

impl Pings {
    /// Hands what workers heard to the pings that wait for it. True if more has come.
    fn hear(&self, heard: &Inbox<Heard>) -> bool {
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
            identifier
        };
        Session { pings, identifier, heard, signal }
    }
}
impl Drop for Session {
    fn drop(&mut self) {
        self.pings.0.borrow_mut().waiting.remove(&self.identifier);
    }
}

/// What is sent, and from where.
struct Request {
    from: Ipv4Addr,
    to: Ipv4Addr,
    /// The interface whose table is asked.
    rx: InterfaceId,
    size: usize,
}

async fn ping(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let (request, repeat, interval) = (request(&control, &given)?, given.find::<u32>("repeat")?, interval(&given)?);
    let repeat = repeat.unwrap_or(5);
    let session = Session::start(&control);
    let (mut sent, mut received) = (HashMap::<u16, Time>::new(), 0u32);
    for number in 1..=repeat {
        let sequence = number as u16;
        let started = control.now();
        sent.insert(sequence, started);
        send(&control, &request, session.identifier, sequence);
        let end = started + interval;
        loop {
            let changed = session.signal.changed();
            while let Some(heard) = { session.heard.borrow_mut().pop_front() } {
                let Some(started) = sent.remove(&heard.sequence) else { continue };
                received += u32::from(heard.error.is_none());
                output.send(line(&heard, started)).await;
            }
            let left = end.since(control.now());
            if left.is_zero() || number == repeat && sent.is_empty() || control.timeout(left, changed).await.is_none() {
                break;
            }
        }
        // Answers later than a minute are lost; the numbers of requests repeat after 65,536.
        sent.retain(|_, started| control.now().since(*started) < Duration::from_secs(60));
    }
    let loss = u64::from(repeat - received.min(repeat)) * 100 / u64::from(repeat.max(1));
    let text = format!("\nStatistics: {repeat} sent, {received} received, {loss}% packet loss");
    Ok(Reply::new(text, json!({"sent": repeat, "received": received, "loss-percent": loss})))
}

fn interval(given: &Matches) -> Result<Duration, CommandError> {
    let Some(text) = given.find::<String>("interval")? else { return Ok(Duration::from_secs(1)) };
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    let wrong = || CommandError::new(format!("'{text}' is not a number of seconds from 0.001 to 3600"));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| wrong().at(given.place("interval")))
}

fn request(control: &Control, given: &Matches) -> Result<Request, CommandError> {
    let to: Ipv4Addr = given.get("address")?;
    let size = given.find::<u32>("size")?.unwrap_or(60);
    if size > SIZE_MAX {
        return Err(CommandError::new(format!("at most {SIZE_MAX} bytes fit")).at(given.place("size")));
    }
    let (interfaces, ip) = (control.room::<Interfaces>(), control.room::<Ip4>());
    let source = given.find::<String>("interface")?;
    let source = source.map(|name| interfaces.id_of(&name)).transpose()?;
    let table = given.find::<u32>("table")?.map(TableId);
    let table = table.or(source.map(|id| ip.table_of(id))).unwrap_or(TableId::DEFAULT);
    let found = ip.fib.table(table).ok_or_else(|| {
        CommandError::new(format!("there is no IP table {table}; `show ip table` lists them")).at(given.place("table"))
    })?;
    // The interface that leads there, unless one is named.
    let no_route = || CommandError::new(format!("no route leads to {to}")).at(given.place("address"));
    let (_, group) = found.find(to).ok_or_else(no_route)?;
    let hops = ip.fib.groups.get(group).map(|group| group.hops).ok_or_else(no_route)?;
    let out = hops.iter().find_map(|hop| ip.fib.adjacencies.get(*hop)).map(|adjacency| adjacency.interface);
    let own = hops.contains(&hop::LOCAL).then_some(to);
    let from = match source {
        Some(id) => ip.current().source_for(id, to),
        None => own.or_else(|| ip.current().source_for(out?, to)),
    };
    let from = from.ok_or_else(|| {
        CommandError::new(format!("no address to send from: no interface with one leads to {to}"))
            .at(given.place("address"))
    })?;
    let of_table = |id: &InterfaceId| ip.table_of(*id) == table;
    let rx =
        match source.filter(of_table) {
            Some(id) => id,
            None if table == TableId::DEFAULT => LOCAL,
            None => interfaces.iter().map(|interface| interface.id).find(of_table).ok_or_else(|| {
                CommandError::new(format!("no interface is in table {table}")).at(given.place("table"))
            })?,
        };
    Ok(Request { from, to, rx, size: size as usize })
}

fn send(control: &Control, request: &Request, identifier: u16, sequence: u16) {
    let data: Vec<u8> = (0..request.size).map(|i| i as u8).collect();
    let mut icmp = Icmp4Header::new(Icmp4Type::ECHO_REQUEST, 0);
    (icmp.identifier, icmp.sequence) = (identifier.into(), sequence.into());
    icmp.checksum = checksum::of(icmp.as_bytes()).add_bytes(&data).checksum().into();
    let length = Icmp4Header::LENGTH + data.len();
    let Some(mut ip) = Ip4Header::new(request.from, request.to, IpProtocol::ICMP4, TTL, length) else { return };
    ip.identification = sequence.into();
    ip.fill_checksum(&[]);
    let bytes = [ip.as_bytes(), icmp.as_bytes(), &data].concat();
    let dataplane = control.room::<Dataplane>();
    if let Ok(lookup) = dataplane.graph().find("ip4-lookup") {
        dataplane.inject(0, lookup, Injected { bytes, rx: request.rx.0, tx: 0, hop: 0 });
    }
}

fn line(heard: &Heard, started: Time) -> Reply {
    let time_ms = Time(heard.time).since(started).as_secs_f64() * 1000.0;
    let Heard { from, sequence, ttl, length, .. } = heard;
    let Some((kind, code)) = heard.error else {
        let text = format!("{length} bytes from {from}: icmp_seq={sequence} ttl={ttl} time={time_ms:.4} ms");
        let json =
            json!({"from": from.to_string(), "bytes": length, "sequence": sequence, "ttl": ttl, "time-ms": time_ms});
        return Reply::new(text, json);
    };
    let what = match (Icmp4Type(kind), code) {
        (Icmp4Type::TIME_EXCEEDED, _) => "time exceeded",
        (Icmp4Type::UNREACHABLE, 0) => "network unreachable",
        (Icmp4Type::UNREACHABLE, 1) => "host unreachable",
        (Icmp4Type::UNREACHABLE, 4) => "fragmentation needed",
        (Icmp4Type::UNREACHABLE, 13) => "prohibited",
        _ => "refused",
    };
    let text = format!("from {from}: icmp_seq={sequence} {what}");
    Reply::new(text, json!({"from": from.to_string(), "sequence": sequence, "error": {"type": kind, "code": code}}))
}
