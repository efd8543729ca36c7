//! How fast a quiverd answers VPP's API: pings one by one and many at a time, and a million routes, while packets take the
//! routes that are there already, in a closed loop: each comes back, or the run fails.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use quiver_engine::Level;
use quiver_memif_client::Packets;

use crate::load;
use crate::load::peer::{BURST, DESTINATION, Peer};
use crate::machine::Machine;
use crate::quiverd::Quiverd;
use crate::report::append_lines;

/// Requests under way at a time.
const WINDOW: usize = 64;
/// Pings that are sent, many at a time.
const PINGS: usize = 1_000_000;
/// Pings that are waited for one by one.
const ROUND_TRIPS: usize = 20_000;
/// Routes that are added.
const ROUTES: usize = 1_000_000;
/// The number of the interface that routes lead to: interfaces are numbered as they were made, behind `local0`.
const OUT: u32 = 2;
/// How long the last packets may take to come back.
const STRAGGLING: Duration = Duration::from_secs(1);
/// Goals: control pings per second, and seconds for a million routes.
const PINGS_GOAL: f64 = 200_000.0;
const ROUTES_GOAL: f64 = 10.0;
/// Bytes before each message on the socket.
const FRAME: usize = 16;

/// A client on a socket, which knows messages as bytes.
struct Client {
    stream: UnixStream,
    /// Bytes read from the socket and not parsed yet.
    received: Vec<u8>,
    /// Name and checksum of each message, with its number.
    table: Vec<(String, u16)>,
}

impl Client {
    fn connect(path: &Path) -> Result<Client, String> {
        let stream = UnixStream::connect(path).map_err(|error| format!("{}: {error}", path.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(|error| error.to_string())?;
        let mut client = Client { stream, received: vec![], table: vec![] };
        // sockclnt_create: context, and a name of 64 bytes.
        client.write(&message(15, &[&[0; 4][..], b"quiver-bench", &[0; 52]].concat()))?;
        let mut reply = vec![];
        client.messages(1, |bytes| reply = bytes.to_vec())?;
        // Number, client_index, context, response, index, count; then a number and 64 bytes of name each.
        let entry = |entry: &[u8]| {
            let name = String::from_utf8_lossy(&entry[2..]);
            (name.trim_end_matches('\0').to_owned(), u16::from_be_bytes([entry[0], entry[1]]))
        };
        client.table = reply[20..].chunks_exact(66).map(entry).collect();
        Ok(client)
    }
    /// The number of a message, whatever its checksum.
    fn number(&self, name: &str) -> Result<u16, String> {
        let is_it = |known: &str| known.rsplit_once('_').is_some_and(|(known, _)| known == name);
        let found = self.table.iter().find(|(known, _)| is_it(known));
        found.map(|(_, number)| *number).ok_or_else(|| format!("quiverd has no message {name}"))
    }
    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|error| format!("quiverd does not read: {error}"))
    }
    /// Reads so many messages, and calls `each` with number and body of each.
    fn messages(&mut self, count: usize, mut each: impl FnMut(&[u8])) -> Result<(), String> {
        let mut seen = 0;
        let mut buffer = [0; 64 * 1024];
        while seen < count {
            let mut start = 0;
            while let Some(header) = self.received.get(start..start + FRAME) {
                let length = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
                let Some(body) = self.received.get(start + FRAME..start + FRAME + length) else { break };
                each(body);
                (start, seen) = (start + FRAME + length, seen + 1);
            }
            self.received.drain(..start);
            if seen < count {
                let length =
                    self.stream.read(&mut buffer).map_err(|error| format!("quiverd does not answer: {error}"))?;
                if length == 0 {
                    return Err("quiverd has ended the connection".into());
                }
                self.received.extend(&buffer[..length]);
            }
        }
        Ok(())
    }
    /// Sends `count` requests, [`WINDOW`] at a time, and waits for as many answers, whose retval must be 0. `meanwhile` is
    /// called while a window is under way, and told how many requests are answered.
    fn pipelined(
        &mut self,
        count: usize,
        request: impl Fn(usize) -> Vec<u8>,
        mut meanwhile: impl FnMut(usize) -> Result<(), String>,
    ) -> Result<Duration, String> {
        let start = Instant::now();
        for first in (0..count).step_by(WINDOW) {
            let last = count.min(first + WINDOW);
            let all = (first..last).map(&request).collect::<Vec<_>>().concat();
            self.write(&all)?;
            meanwhile(first)?;
            let mut refused = None;
            self.messages(last - first, |body| {
                // Number, context, retval.
                let retval = i32::from_be_bytes([body[6], body[7], body[8], body[9]]);
                refused = refused.or(Some(retval).filter(|retval| *retval != 0));
            })?;
            if let Some(retval) = refused {
                return Err(format!("one of the requests from {first} on is refused: {retval}"));
            }
        }
        Ok(start.elapsed())
    }
}

fn message(number: u16, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; FRAME];
    message[8..12].copy_from_slice(&(body.len() as u32 + 2).to_be_bytes());
    message.extend(number.to_be_bytes());
    message.extend(body);
    message
}

/// A request with nothing behind its header.
fn ping(number: u16) -> Vec<u8> {
    message(number, &[0; 8])
}

/// The destination of a route.
fn destination(n: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x1000_0000 + n as u32)
}

/// `ip_route_add_del_v2` for a /32 by a next hop on an interface.
fn route(number: u16, n: usize, sw_if_index: u32) -> Vec<u8> {
    let address = destination(n).octets();
    // client_index, context; is_add, is_multipath; table_id, stats_index.
    let mut body = [&[0; 8][..], &[1, 0], &[0; 8]].concat();
    // The prefix: family, 16 bytes of address, length; then the number of paths, and the source.
    body.extend([&[0][..], &address, &[0; 12], &[32, 1, 0]].concat());
    // A path: sw_if_index, table_id, rpf_id, weight, preference, type, flags, proto.
    body.extend([&sw_if_index.to_be_bytes()[..], &[0; 8], &[1, 0], &[0; 12]].concat());
    // The next hop: address, via_label, obj_id, classify_table_index; no labels, but room for 16 of 7 bytes.
    body.extend([&DESTINATION.octets()[..], &[0; 12], &[0; 12], &[0; 1 + 16 * 7]].concat());
    message(number, &body)
}

/// Packets in a closed loop: a burst of them goes to routes that are there, the next one when all are back.
struct Traffic {
    peer: Peer,
    packets: Packets,
    sent: usize,
    back: usize,
}

impl Traffic {
    fn turn(&mut self, routes: usize) -> Result<(), String> {
        self.back += self.peer.take(&mut self.packets)?;
        if routes > 0 && self.back == self.sent {
            // A stride that is no divisor of their number meets old and new ones alike.
            let first = self.sent;
            self.sent += self.peer.send_to((first..first + BURST).map(|n| destination(n * 7919 % routes)))?;
        }
        Ok(())
    }
    /// Waits for the last ones.
    fn end(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while self.back < self.sent && start.elapsed() < STRAGGLING {
            self.back += self.peer.take(&mut self.packets)?;
        }
        match self.sent - self.back {
            0 => Ok(()),
            lost => Err(format!("{lost} of {} packets that took the routes are lost", self.sent)),
        }
    }
}

/// Measures, and prints; appends the rows to a file if one is given.
pub fn run(csv: Option<&Path>) -> Result<(), String> {
    let quiverd = Quiverd::start(load::commands)?;
    let mut traffic = Traffic { peer: Peer::through(&quiverd)?, packets: Packets::new(), sent: 0, back: 0 };
    let mut client = Client::connect(&quiverd.api())?;
    let number = client.number("control_ping")?;
    let mut each: Vec<Duration> = vec![];
    for _ in 0..ROUND_TRIPS {
        each.push(client.pipelined(1, |_| ping(number), |_| Ok(()))?);
    }
    each.sort();
    let median = each[each.len() / 2].as_secs_f64() * 1e6;
    let pings = PINGS as f64 / client.pipelined(PINGS, |_| ping(number), |_| Ok(()))?.as_secs_f64();
    let number = client.number("ip_route_add_del_v2")?;
    let request = |n| route(number, n, OUT);
    let routes = client.pipelined(ROUTES, request, |answered| traffic.turn(answered))?.as_secs_f64();
    traffic.end()?;
    let met = |met: bool| if met { "met" } else { "MISSED" };
    println!("one control_ping, median of {ROUND_TRIPS}: {median:.1} us");
    println!(
        "control_ping, {WINDOW} at a time: {pings:.0} in a second (goal: {PINGS_GOAL:.0}: {})",
        met(pings >= PINGS_GOAL)
    );
    println!("{ROUTES} ip_route_add_del_v2: {routes:.2} s (goal: {ROUTES_GOAL:.0} s: {})", met(routes <= ROUTES_GOAL));
    println!("meanwhile {} packets took the routes and came back, and none was lost", traffic.back);
    let Some(path) = csv else { return Ok(()) };
    let machine = Machine::here(quiver_engine::Backing::Transparent, Level::best());
    let row = format!("{},{},{median:.1},{pings:.0},{routes:.2},\"{}\"", machine.date, machine.revision, machine.cpu);
    append_lines(path, "date,revision,ping_us,pings_per_second,million_routes_s,cpu", [row].into_iter())
}
