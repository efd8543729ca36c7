//! The log of a simulation, step by step. The same seed gives the same log.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use quiver_control::Time;

use crate::coroutine::Pause;
use crate::wire::PortEvent;

/// Events kept for the report of a failure.
const KEPT: usize = 60;

/// One event.
#[derive(Clone, Hash, Debug)]
pub enum Event {
    /// A worker ran, and waits there now.
    Worker(usize, Pause),
    /// Control ran, and waits there now.
    Control(Pause),
    /// Time passed.
    Time(Time),
    /// A peer put a packet onto a ring of its port, and interrupted or not.
    Given {
        /// The port.
        port: usize,
        /// The packet.
        number: u64,
        /// The receive queue.
        queue: usize,
        /// Whether the worker was told.
        told: bool,
    },
    /// The daemon did something at a port; with the number of the packet.
    Port(String, &'static str, Option<u64>),
    /// A node dropped a packet.
    Dropped(Option<u64>, &'static str, &'static str),
    /// An operator asked.
    Asked(u64, String),
    /// The daemon answered; the error is the refusal.
    Answered(u64, Result<(), String>),
    /// Something was made to go wrong, or right again.
    Fault(String),
}

impl Event {
    /// An event at a port.
    pub fn seen(port: &str, seen: &PortEvent) -> Event {
        let (what, bytes) = match seen {
            PortEvent::Taken(bytes) => ("took", bytes),
            PortEvent::NoBuffer(bytes) => ("had no buffer for", bytes),
            PortEvent::Sent(bytes) => ("sent", bytes),
        };
        Event::Port(port.to_owned(), what, crate::traffic::number_of(bytes))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pause = |pause: &Pause| match pause {
            Pause::Seam(place) => format!("stopped: {place}"),
            Pause::Done(0) => "had nothing to do".into(),
            Pause::Done(done) => format!("did {done}"),
            Pause::Asleep => "sleeps".into(),
            Pause::Ended => "ended".into(),
        };
        let packet = |number: &Option<u64>| number.map_or("a packet of the daemon's".into(), |n| format!("packet {n}"));
        match self {
            Event::Worker(worker, at) => write!(f, "worker {worker} {}", pause(at)),
            Event::Control(at) => write!(f, "control {}", pause(at)),
            Event::Time(now) => write!(f, "it is {now}"),
            Event::Given { port, number, queue, told } => {
                let told = if *told { "" } else { ", and its interrupt is lost" };
                write!(f, "the peer of p{port} gives packet {number} to queue {queue}{told}")
            }
            Event::Port(port, what, number) => write!(f, "{port} {what} {}", packet(number)),
            Event::Dropped(number, node, reason) => write!(f, "{node} drops {}: {reason}", packet(number)),
            Event::Asked(client, request) => write!(f, "client {client} asks: {request}"),
            Event::Answered(client, Ok(())) => write!(f, "client {client} has its answer"),
            Event::Answered(client, Err(refusal)) => write!(f, "client {client} is refused: {refusal}"),
            Event::Fault(what) => write!(f, "{what}"),
        }
    }
}

/// All events: a digest, the last ones, and all of them as lines if asked for.
pub struct Log {
    step: u64,
    digest: DefaultHasher,
    last: VecDeque<(u64, Event)>,
    print: bool,
}

impl Log {
    /// An empty log, printed as it grows or not.
    pub fn new(print: bool) -> Log {
        // The hasher's keys are fixed.
        Log { step: 0, digest: DefaultHasher::new(), last: VecDeque::new(), print }
    }
    /// The next step begins.
    pub fn step(&mut self) -> u64 {
        self.step += 1;
        self.step
    }
    /// The step.
    pub fn now(&self) -> u64 {
        self.step
    }
    /// Notes an event.
    pub fn note(&mut self, event: Event) {
        event.hash(&mut self.digest);
        if self.print {
            println!("{:6}  {event}", self.step);
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((self.step, event));
    }
    /// A number that differs where logs differ.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }
    /// The last events as lines.
    pub fn end(&self) -> Vec<String> {
        self.last.iter().map(|(step, event)| format!("{step:6}  {event}")).collect()
    }
}
